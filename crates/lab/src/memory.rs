//! Check of the memory that a run would take.

use crate::error::OpenError;
use std::path::Path;

/// Returns an error if `bytes` would take more than half of the free memory.
pub(crate) fn check_memory(
    what: &'static str,
    bytes: u64,
    remedy: &'static str,
) -> Result<(), OpenError> {
    let meminfo = std::fs::read_to_string(Path::new("/proc/meminfo")).unwrap_or_default();
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match kib {
        Some(kib) if bytes / 1024 > kib / 2 => Err(OpenError::Memory {
            what,
            bytes,
            free_mib: kib / 1024,
            remedy,
        }),
        _ => Ok(()),
    }
}
