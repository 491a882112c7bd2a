//! Data verification.

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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" | "0" => Ok(Verify::None),
            "crc32c" | "crc32c-intel" => Ok(Verify::Crc32c),
            _ => Err(format!("'{text}' is not offered: crc32c or none")),
        }
    }
}
