//! Description of a device in a result's manifest.

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
    /// True if the controller sleeps by itself during the runs (APST, feature 0Ch); `None` where it cannot be read.
    pub apst: Option<bool>,
    /// Bytes of the host's memory that the controller has (feature 0Dh); `None` where it wants none, or that cannot be
    /// read.
    pub host_memory_bytes: Option<u64>,
    /// True if an IOMMU keeps it from memory that is not its own, false if nothing does (VFIO's no-IOMMU mode); `None`
    /// where joulio does not drive it over PCIe.
    pub iommu: Option<bool>,
}

impl ManifestDevice {
    /// Returns a sentence about those of `devices` from which no IOMMU protects the machine.
    pub fn unguarded(devices: &[ManifestDevice]) -> Option<String> {
        let of = devices.iter().filter(|device| device.iommu == Some(false));
        let names: Vec<&str> = of.map(|device| device.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "No IOMMU guards this machine's memory from {}.",
                names.join(", ")
            )
        })
    }

    /// Returns a sentence about differences between `devices` in host memory and APST, which may explain differences in
    /// their figures.
    pub fn unlike(devices: &[ManifestDevice]) -> Option<String> {
        let first = devices.first()?;
        let of = |device: &ManifestDevice| device_setting(device.apst, device.host_memory_bytes);
        let other = devices.iter().find(|one| of(one) != of(first))?;
        Some(format!(
            "{} has {}, {} has {}: their figures may differ by that (joulio power-states).",
            first.name,
            of(first),
            other.name,
            of(other)
        ))
    }
}

/// Describes the APST and host memory settings of a device.
pub(crate) fn device_setting(apst: Option<bool>, host_memory_bytes: Option<u64>) -> String {
    let apst = match apst {
        None => "APST not known",
        Some(true) => "APST on",
        Some(false) => "APST off",
    };
    match host_memory_bytes {
        None => format!("{apst}, no host memory buffer"),
        Some(bytes) => format!("{apst}, a host memory buffer of {} KiB", bytes >> 10),
    }
}
