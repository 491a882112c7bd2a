//! Text on a terminal: its width, lines that fit it, and no control characters.

use std::os::fd::AsFd;
use textwrap::{Options, WordSplitter, wrap};

/// `text` with `?` for each control character that is no end of a line and no tab: names and sentences of
/// files, drives and servers may be anybody's.
pub fn clean_lines(text: &str) -> String {
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "?")
}

/// Columns of the terminal `stream`; `None`: it is none.
pub fn columns_of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// `text` as it is, or broken between words where `stream` is a terminal.
pub fn fitted(text: String, stream: impl AsFd) -> String {
    match columns_of(stream) {
        Some(width) => wrapped(&text, width),
        None => text,
    }
}

/// `text` in lines of up to `width` columns. What follows the first part of a line stands two columns further in; a
/// command is left whole, to be copied.
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
