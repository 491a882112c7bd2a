//! Splitting a file into header and rows.

use super::ImportError;
use super::heading::Heading;
use std::borrow::Cow;

/// Number of lines in which the header is searched: a title may come before it.
const SEARCHED_LINES: usize = 10;

/// The header of a file, and the rows below it.
pub struct LogLayout<'a> {
    /// The columns.
    pub headings: Vec<Heading>,
    /// Separator of cells: a comma, a semicolon or a tab.
    pub separator: u8,
    /// The rows.
    pub rows: &'a str,
    /// Line number of the first row, counted from 1.
    pub first_line: u64,
}

/// Decodes UTF-8, with or without a byte order mark, or else Latin-1. A file that was cut within a character loses that
/// character and still counts as UTF-8.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, ImportError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(ImportError::Utf16);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = bytes.utf8_chunks().next();
    Ok(match (std::str::from_utf8(bytes), text) {
        (Ok(text), _) => Cow::Borrowed(text),
        (Err(error), Some(chunk)) if error.error_len().is_none() => Cow::Borrowed(chunk.valid()),
        // Latin-1 is the first 256 characters of Unicode.
        _ => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    })
}

/// Finds the header: the first line with an offset from UTC in one of several columns.
pub fn layout(text: &str) -> Result<LogLayout<'_>, ImportError> {
    let mut rest = text;
    for line in 1..=SEARCHED_LINES {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (header, after) = rest.split_at(end);
        let after = after
            .strip_prefix("\r\n")
            .unwrap_or_else(|| after.get(1..).unwrap_or(""));
        let (separator, headings) = headings(header);
        if headings.len() > 1 && headings.iter().any(|heading| heading.offset.is_some()) {
            return Ok(LogLayout {
                headings,
                separator,
                rows: after,
                first_line: line as u64 + 1,
            });
        }
        rest = after;
    }
    Err(ImportError::NoHeader)
}

/// Splits a header line into columns. A tab or a semicolon outside quotes and parentheses is the separator if there is
/// one, since a heading itself contains commas.
fn headings(line: &str) -> (u8, Vec<Heading>) {
    for separator in ['\t', ';'] {
        let parts = split(line, separator);
        if parts.len() > 1 {
            return (separator as u8, parts.iter().map(Heading::new).collect());
        }
    }
    (
        b',',
        joined(split(line, ',')).iter().map(Heading::new).collect(),
    )
}

/// A piece of a header line.
struct Part {
    text: String,
    quoted: bool,
}

impl AsRef<str> for Part {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// Splits at separators outside quotes; if nothing is quoted, also only outside parentheses.
fn split(line: &str, separator: char) -> Vec<Part> {
    let empty = || Part {
        text: String::new(),
        quoted: false,
    };
    let mut parts = vec![];
    let (mut part, mut inside, mut depth) = (empty(), false, 0_usize);
    for char in line.chars() {
        match char {
            '"' => {
                inside = !inside;
                part.quoted = true;
            }
            _ if char == separator && !inside && (depth == 0 || part.quoted) => {
                parts.push(std::mem::replace(&mut part, empty()));
                depth = 0;
            }
            _ => {
                match char {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                part.text.push(char);
            }
        }
    }
    parts.push(part);
    parts
}

/// Joins parts that unquoted commas separated: HOBOware writes a space after a comma within a heading, and none between
/// headings.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut whole: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match whole.last_mut() {
            Some(last) if !last.quoted && !part.quoted && part.text.starts_with(' ') => {
                last.text.push(',');
                last.text.push_str(&part.text);
            }
            _ => whole.push(part),
        }
    }
    whole
}
