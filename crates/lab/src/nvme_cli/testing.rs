//! Golden files: output of nvme-cli 2.3, and the structures that it was given.

use zerocopy::FromBytes;

/// Reads a structure as a device sent it.
pub fn structure<T: FromBytes>(bytes: &[u8]) -> T {
    T::read_from_bytes(bytes).expect("a golden structure has its length")
}

/// Reads JSON.
pub fn parsed(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("a golden file is JSON")
}
