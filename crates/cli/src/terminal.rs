//! Text for a terminal: its width, lines that fit it, and removal of control characters.

use std::os::fd::AsFd;
use textwrap::{Options, WordSplitter, wrap};

/// Replaces each control character of `text`, except line breaks and tabs, with `?`: text from files, drives and
/// servers cannot be trusted.
pub fn clean_lines(text: &str) -> String {
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "?")
}

/// Returns the width of the terminal `stream`; `None` if it is not a terminal.
pub fn columns_of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns `text` unchanged, or broken between words if `stream` is a terminal.
pub fn fitted(text: String, stream: impl AsFd) -> String {
    match columns_of(stream) {
        Some(width) => wrapped(&text, width),
        None => text,
    }
}

/// Breaks `text` into lines of up to `width` characters. Continuation lines are indented by two more columns. Lines
/// with a command are not broken, so that they can be copied.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content, "\n"),
            None => (line, ""),
        };
        let inner = content.trim_start();
        let is_command = ["joulio ", "$ ", "# ", "echo "]
            .iter()
            .any(|begin| inner.starts_with(begin));
        if textwrap::core::display_width(content) <= width || is_command {
            lines.push_str(line);
            continue;
        }
        let indent = " ".repeat((content.len() - inner.len()).min(width / 2));
        let further = format!("{indent}  ");
        let options = Options::new(width)
            .initial_indent(&indent)
            .subsequent_indent(&further)
            .word_splitter(WordSplitter::NoHyphenation)
            .break_words(false);
        lines.push_str(&wrap(inner, options).join("\n"));
        lines.push_str(end);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_between_words_and_further_in() {
        let text = "poll: least energy, and the most IOPS\n\n  a: one two three four five\nshort\n";
        assert_eq!(
            wrapped(text, 20),
            "poll: least energy,\n  and the most IOPS\n\n  a: one two three\n    four five\nshort\n"
        );
    }

    #[test]
    fn no_text_commands_the_terminal() {
        let text = clean_lines("a\tb\nc\u{1b}]0;d\u{7}\u{9b}2J\r");
        assert_eq!(text, "a\tb\nc?]0;d??2J?");
    }

    #[test]
    fn commands_and_long_words_stay_whole() {
        let command = "  joulio bench --device emulated:optane-900p --completion poll\n";
        assert_eq!(wrapped(command, 20), command);
        let path = "/a/path/that/is/longer/than/a/line";
        assert_eq!(wrapped(&format!("in {path}"), 20), format!("in\n  {path}"));
    }
}
