//! Residency of the core in C0.1 and C0.2, from the processor's counters.

use super::check::SelftestCheck;
use super::waits::{WaitResult, state};
use joulio_cpu::{Depth, PauseLimits};

/// Checks the waits in which the core should sleep; `None` if the processor's counters cannot be read.
pub fn judge(waits: &[WaitResult], limits: Option<PauseLimits>) -> Option<SelftestCheck> {
    let mut check = SelftestCheck::new("residency in C0.1 and C0.2");
    let mut counted = false;
    for wait in waits {
        let (Some(depth), Some(c01), Some(c02)) = (wait.depth, wait.c01_cycles, wait.c02_cycles)
        else {
            continue;
        };
        counted = true;
        check.count(&format!("{} c01_cycles", wait.name), c01);
        check.count(&format!("{} c02_cycles", wait.name), c02);
        check.demand(c01 + c02 > 0, || {
            format!("{}: the core was in neither", wait.name)
        });
        // If the system does not allow C0.2, the core enters C0.1 instead (Intel SDM, TPAUSE).
        let allowed = limits.is_none_or(|limits| limits.c02);
        check.demand(depth == Depth::C01 || !allowed || c02 > 0, || {
            format!("{}: the core was never in {}", wait.name, state(depth))
        });
    }
    counted.then_some(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(depth: Option<Depth>, c01: Option<u64>, c02: Option<u64>) -> WaitResult {
        WaitResult {
            name: "x".into(),
            depth,
            cycles: Some(1_000),
            c01_cycles: c01,
            c02_cycles: c02,
            missing: Default::default(),
            power: Vec::new(),
        }
    }

    #[test]
    fn a_core_that_was_to_sleep_and_did_not_is_reported() {
        let passed = |depth, c01, c02, allowed| {
            let limits = PauseLimits {
                c02: allowed,
                max_cycles: 0,
            };
            let waits = [wait(None, Some(0), Some(0)), wait(depth, c01, c02)];
            judge(&waits, Some(limits)).map(|check| check.passed)
        };
        let (light, deep) = (Some(Depth::C01), Some(Depth::C02));
        assert_eq!(passed(light, Some(9), Some(0), true), Some(true));
        assert_eq!(passed(light, Some(0), Some(0), true), Some(false));
        assert_eq!(passed(deep, Some(0), Some(9), true), Some(true));
        assert_eq!(passed(deep, Some(9), Some(0), true), Some(false));
        assert_eq!(passed(deep, Some(9), Some(0), false), Some(true));
        assert_eq!(passed(deep, Some(9), None, true), None);
    }
}
