//! Data verification.

use crate::ParseError;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Verification of data, as with fio's `verify`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verify {
    /// Data is not verified.
    #[default]
    None,
    /// A header in each block, which contains where and when it was written, and a CRC-32C.
    Crc32c,
}

impl FromStr for Verify {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "none" | "0" => Ok(Verify::None),
            "crc32c" | "crc32c-intel" => Ok(Verify::Crc32c),
            _ => Err(ParseError::form(text, "is not offered", "crc32c or none")),
        }
    }
}
