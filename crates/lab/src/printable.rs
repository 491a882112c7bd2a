//! Names that drivers and servers give.

/// Replaces control characters, which a terminal must not obey and not every reader takes.
pub fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}
