//! A device in the manifest of a result.

use serde::Serialize;

/// Device of an experiment.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManifestDevice {
    /// Name that the user gave it.
    pub name: String,
    /// Bytes of its namespace.
    pub bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Name of the profile that it follows; `None`: it is not emulated.
    pub emulates: Option<String>,
    /// NVMe power state before the runs; `None` where it cannot be read.
    pub power_state: Option<u8>,
}
