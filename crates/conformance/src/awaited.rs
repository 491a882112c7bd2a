//! Waits for a word in memory, without the driver.

use anyhow::Result;
use joulio_nvme::wait::now;
use joulio_units::Nanos;

/// Longest wait: a minute.
const LIMIT: Nanos = Nanos::from_millis(60_000);

/// Number of polls after which the thread yields, since the device may be a thread that needs the CPU.
const POLLS: u32 = 256;

/// Polls until `check` returns true; returns false if it does not within a minute.
pub(crate) fn awaited(mut check: impl FnMut() -> Result<bool>) -> Result<bool> {
    let end = now() + LIMIT;
    while now() < end {
        for _ in 0..POLLS {
            if check()? {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
        std::thread::yield_now();
    }
    Ok(false)
}
