//! ASCII fields: left-justified, padded with spaces (Base 1.4.2).

/// Returns the text of a padded ASCII field, without trailing spaces and NULs. A byte that is not printable ASCII
/// ends the text, because a device is not trusted not to send terminal escapes.
pub fn ascii(field: &[u8]) -> &str {
    let printable = field
        .iter()
        .position(|b| !(0x20..0x7f).contains(b))
        .unwrap_or(field.len());
    core::str::from_utf8(&field[..printable])
        .unwrap_or("")
        .trim_end_matches(' ')
}

#[cfg(test)]
mod tests {
    use super::ascii;

    #[test]
    fn padding_goes_and_escapes_end_the_text() {
        assert_eq!(ascii(b"QEMU NVMe Ctrl      "), "QEMU NVMe Ctrl");
        assert_eq!(ascii(b"evil\x1b[2J"), "evil");
        assert_eq!(ascii(b"\0\0"), "");
    }
}
