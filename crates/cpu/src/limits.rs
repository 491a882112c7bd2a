//! Limits that the system sets to user-level waits.

use std::fs;
use std::path::Path;

/// The kernel's settings of IA32_UMWAIT_CONTROL (Intel SDM volume 4, MSR E1h), as Linux shows them
/// in `/sys/devices/system/cpu/umwait_control`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseLimits {
    /// Whether C0.2 is allowed; otherwise a wait in it is one in C0.1.
    pub c02: bool,
    /// Longest wait in cycles of the TSC; zero means no limit.
    pub max_cycles: u32,
}

impl PauseLimits {
    /// Reads the limits of the system whose files are under `root`; `None` if it does not show them.
    pub fn read(root: &Path) -> Option<PauseLimits> {
        let folder = root.join("sys/devices/system/cpu/umwait_control");
        let number = |file| {
            let text = fs::read_to_string(folder.join(file)).ok()?;
            text.trim().parse::<u32>().ok()
        };
        Some(PauseLimits {
            c02: number("enable_c02")? != 0,
            max_cycles: number("max_time")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(PauseLimits::read(root.path()), None);
        let folder = root.path().join("sys/devices/system/cpu/umwait_control");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("enable_c02"), "1\n").unwrap();
        assert_eq!(PauseLimits::read(root.path()), None);
        fs::write(folder.join("max_time"), "100000\n").unwrap();
        let limits = PauseLimits {
            c02: true,
            max_cycles: 100_000,
        };
        assert_eq!(PauseLimits::read(root.path()), Some(limits));
    }
}
