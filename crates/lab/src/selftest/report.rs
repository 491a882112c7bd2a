//! Report of a self-test.

use super::SelftestOptions;
use super::check::SelftestCheck;
use super::latency::Latency;
use super::residency;
use super::waits::{MeasuredWait, Waits};
use joulio_cpu::PauseLimits;
use serde::Serialize;
use std::path::Path;

/// Result of a self-test, in the form of `--output json`.
#[derive(Serialize)]
pub struct SelftestReport {
    /// Version of the format.
    pub version: u32,
    /// Name of the test.
    pub selftest: &'static str,
    /// True if no check failed.
    pub passed: bool,
    /// Device that was read; null if the test made its own events.
    pub device: Option<String>,
    /// CPU that waited.
    pub cpu: usize,
    /// IA32_UMWAIT_CONTROL as sysfs shows it; null if it does not.
    pub limits: Option<LimitsRow>,
    /// The checks.
    pub checks: Vec<SelftestCheck>,
    /// Latencies of the waits.
    pub latency: Vec<Latency>,
    /// Results of the waits and of spinning, each over a window.
    #[serde(flatten)]
    pub waits: Waits,
}

/// Limits of the system on user-level waits.
#[derive(Serialize)]
pub struct LimitsRow {
    /// True if C0.2 is allowed.
    pub c02: bool,
    /// Longest wait in TSC cycles; 0: no limit.
    pub max_cycles: u32,
}

/// Result of a test: its checks and latencies, and the waits to measure.
pub struct Tested {
    pub parts: Parts,
    pub waits: Vec<MeasuredWait>,
}

/// Checks, and latencies found by them.
#[derive(Default)]
pub struct Parts {
    pub checks: Vec<SelftestCheck>,
    pub latency: Vec<Latency>,
}

impl SelftestReport {
    pub(super) fn new(
        options: &SelftestOptions,
        cpu: usize,
        mut parts: Parts,
        waits: Waits,
    ) -> SelftestReport {
        let limits = PauseLimits::read(Path::new("/"));
        parts.checks.extend(residency::judge(&waits.waits, limits));
        SelftestReport {
            version: 1,
            selftest: options.test.name(),
            passed: parts.checks.iter().all(|check| check.passed),
            device: options.device.as_ref().map(|name| name.text.clone()),
            cpu,
            limits: limits.map(|limits| LimitsRow {
                c02: limits.c02,
                max_cycles: limits.max_cycles,
            }),
            checks: parts.checks,
            latency: parts.latency,
            waits,
        }
    }

    /// Lists what failed in one line; `None` if no check failed.
    pub fn failure(&self) -> Option<String> {
        let failed = self.checks.iter().flat_map(|check| {
            let failures = check.failures.iter();
            failures.map(|failure| format!("{}: {failure}", check.name))
        });
        let failed: Vec<_> = failed.collect();
        (!failed.is_empty()).then(|| format!("selftest {}: {}", self.selftest, failed.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Selftest;
    use super::*;
    use joulio_units::Nanos;

    #[test]
    fn one_check_that_fails_fails_the_test_and_is_named() {
        let mut parts = Parts::default();
        parts.checks.push(SelftestCheck::new("good"));
        let mut bad = SelftestCheck::new("bad");
        bad.count("lost", 3);
        bad.demand(true, || unreachable!());
        bad.demand(false, || "3 lost".into());
        parts.checks.push(bad);
        let options = SelftestOptions {
            test: Selftest::Uintr,
            rounds: 1,
            cpu: None,
            store_cpu: None,
            window: Nanos::from_millis(1_000),
            device: None,
        };
        let report = SelftestReport::new(&options, 0, parts, Waits::default());
        assert!(!report.passed);
        assert_eq!(report.failure().unwrap(), "selftest uintr: bad: 3 lost");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["checks"][1]["counts"]["lost"], 3);
        assert_eq!(json["checks"][0]["passed"], true);
        assert!(json["waits"].is_array(), "{json}");
    }
}
