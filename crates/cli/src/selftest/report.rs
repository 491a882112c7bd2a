//! What a test found.

use super::What;
use super::latency::Latency;
use super::residency;
use super::waits::{Wait, Waits};
use joulio_cpu::Limits;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// All of a test.
#[derive(Serialize)]
pub struct Report {
    /// The form of this report.
    pub version: u32,
    /// What was tested.
    pub selftest: &'static str,
    /// All of it held.
    pub passed: bool,
    /// Where the waits were.
    pub cpu: usize,
    /// IA32_UMWAIT_CONTROL as the system shows it; null: it does not.
    pub limits: Option<LimitsRow>,
    /// What was tried.
    pub checks: Vec<Check>,
    /// How soon the core was back.
    pub latency: Vec<Latency>,
    /// Spinning, and each wait, for a time.
    #[serde(flatten)]
    pub waits: Waits,
}

/// The system's limits.
#[derive(Serialize)]
pub struct LimitsRow {
    /// C0.2 is allowed.
    pub c02: bool,
    /// The longest wait in cycles of the TSC; 0: any.
    pub max_cycles: u32,
}

/// A part of a test.
#[derive(Serialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// It held.
    pub passed: bool,
    /// What was counted.
    pub counts: Map<String, Value>,
    /// What did not hold.
    pub failures: Vec<String>,
}

/// What a test hands over: its parts, and its waits to be measured.
pub struct Tested {
    pub parts: Parts,
    pub waits: Vec<Wait>,
}

/// Checks, and what they took.
#[derive(Default)]
pub struct Parts {
    pub checks: Vec<Check>,
    pub latency: Vec<Latency>,
}

impl Check {
    /// One of which nothing is known yet.
    pub fn new(name: impl Into<String>) -> Check {
        Check {
            name: name.into(),
            passed: true,
            counts: Map::new(),
            failures: Vec::new(),
        }
    }

    /// Adds a count.
    pub fn count(&mut self, name: &str, count: u64) {
        self.counts.insert(name.into(), count.into());
    }

    /// What has to hold: otherwise the check says `failure`.
    pub fn demand(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        if !holds {
            self.passed = false;
            self.failures.push(failure());
        }
    }
}

impl Report {
    pub fn new(what: What, cpu: usize, mut parts: Parts, waits: Waits) -> Report {
        let limits = Limits::read(Path::new("/"));
        parts.checks.extend(residency::judge(&waits.waits, limits));
        Report {
            version: 1,
            selftest: what.name(),
            passed: parts.checks.iter().all(|check| check.passed),
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

    /// What did not hold, in one line.
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
    use super::*;

    #[test]
    fn one_check_that_fails_fails_the_test_and_is_named() {
        let mut parts = Parts::default();
        parts.checks.push(Check::new("good"));
        let mut bad = Check::new("bad");
        bad.count("lost", 3);
        bad.demand(true, || unreachable!());
        bad.demand(false, || "3 lost".into());
        parts.checks.push(bad);
        let report = Report::new(What::Uintr, 0, parts, Waits::default());
        assert!(!report.passed);
        assert_eq!(report.failure().unwrap(), "selftest uintr: bad: 3 lost");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["checks"][1]["counts"]["lost"], 3);
        assert_eq!(json["checks"][0]["passed"], true);
        assert!(json["waits"].is_array(), "{json}");
    }
}
