//! Fields of NVMe structures as text and as JSON.

use serde_json::Value;

/// A field of an NVMe structure, in nvme-cli's notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NvmeField {
    /// A decimal number.
    Decimal(u64),
    /// A bit field or an identifier: hexadecimal in text, a number in JSON.
    Hex(u64),
    /// A 128-bit number: a string in JSON, where a number would lose digits.
    Wide(u128),
    /// An OUI, most significant byte first: hexadecimal without a prefix in text, a number in JSON.
    Oui(u32),
    /// Text.
    Text(String),
}

impl NvmeField {
    /// Returns the field as text.
    pub fn text(&self) -> String {
        match self {
            NvmeField::Decimal(n) => n.to_string(),
            NvmeField::Hex(n) => hex(*n),
            NvmeField::Wide(n) => n.to_string(),
            NvmeField::Oui(n) => format!("{n:06x}"),
            NvmeField::Text(text) => text.clone(),
        }
    }

    /// Returns the field as JSON.
    pub fn json(&self) -> Value {
        match self {
            NvmeField::Decimal(n) | NvmeField::Hex(n) => Value::from(*n),
            NvmeField::Wide(n) => Value::from(n.to_string()),
            NvmeField::Oui(n) => Value::from(*n),
            NvmeField::Text(text) => Value::from(text.as_str()),
        }
    }
}

/// Creates a decimal field.
pub(super) fn decimal(n: impl Into<u64>) -> NvmeField {
    NvmeField::Decimal(n.into())
}

/// Creates a hexadecimal field.
pub(super) fn bits(n: impl Into<u64>) -> NvmeField {
    NvmeField::Hex(n.into())
}

/// Creates an ASCII field with its padding, up to the first byte that is not printable: a device must not be able to
/// send terminal escapes.
pub(super) fn ascii(field: &[u8]) -> NvmeField {
    let printable = field.iter().take_while(|b| (0x20..0x7f).contains(*b));
    NvmeField::Text(printable.map(|b| char::from(*b)).collect())
}

/// Formats bytes as hexadecimal digits without separators.
pub(super) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Formats a hexadecimal number like C's `%#x`: zero has no prefix.
pub fn hex(n: u64) -> String {
    if n == 0 {
        "0".to_owned()
    } else {
        format!("{n:#x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_prefix() {
        assert_eq!(bits(0u8).text(), "0");
        assert_eq!(bits(0x10400u32).text(), "0x10400");
    }

    #[test]
    fn padding_stays_and_escapes_end_the_text() {
        assert_eq!(ascii(b"QEMU  ").text(), "QEMU  ");
        assert_eq!(ascii(b"evil\x1b[2J").text(), "evil");
        assert_eq!(ascii(b"high\xe9").text(), "high");
    }

    #[test]
    fn a_wide_number_keeps_its_digits_in_json() {
        assert_eq!(
            NvmeField::Wide(u128::MAX).json(),
            "340282366920938463463374607431768211455"
        );
    }

    #[test]
    fn a_32_bit_number_never_turns_negative() {
        assert_eq!(decimal(u32::MAX).text(), "4294967295");
        assert_eq!(decimal(u32::MAX).json(), 4294967295u64);
    }
}
