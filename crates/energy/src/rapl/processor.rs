//! The processor, as its meters depend on it.

use crate::root::Root;

/// Vendor of a processor, by its RAPL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// `GenuineIntel`.
    Intel,
    /// `AuthenticAMD` or `HygonGenuine`.
    Amd,
    /// Any other, without RAPL.
    Other,
}

/// The processor by `/proc/cpuinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Model name of the processor; empty if there is none.
    pub name: String,
    /// Vendor of the processor.
    pub vendor: Vendor,
    /// Whether the machine is a virtual one.
    pub virtual_machine: bool,
}

impl Processor {
    /// Reads the processor of `root`.
    pub fn of(root: &Root) -> Processor {
        /// Bytes to read: the first processor's paragraph.
        const ENOUGH: usize = 8192;
        let bytes = root.bytes("/proc/cpuinfo", 0, ENOUGH).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let value = |key: &str| {
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim())
        };
        Processor {
            name: value("model name").unwrap_or_default().into(),
            vendor: match value("vendor_id") {
                Some("GenuineIntel") => Vendor::Intel,
                Some("AuthenticAMD" | "HygonGenuine") => Vendor::Amd,
                _ => Vendor::Other,
            },
            virtual_machine: value("flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        }
    }
}

impl Processor {
    /// Returns the reason why there is no RAPL.
    pub(super) fn without_rapl(&self) -> &'static str {
        match self {
            Processor {
                virtual_machine: true,
                ..
            } => ": this is a virtual machine, and its host shows it no RAPL",
            Processor {
                vendor: Vendor::Other,
                ..
            } => ": this processor has no RAPL that Linux knows",
            _ => "",
        }
    }

    /// Returns the command that loads the driver `module`, if that can help.
    pub(super) fn load(&self, module: &str) -> Option<String> {
        let can = !self.virtual_machine && self.vendor != Vendor::Other;
        can.then(|| format!("sudo modprobe {module}"))
    }
}
