//! Printable form of names that come from drivers and servers.

/// Replaces control characters, which could control a terminal or break a reader.
pub fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}
