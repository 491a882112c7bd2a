//! A check of a self-test: its counts, and the claims that did not hold.

use serde::Serialize;
use serde_json::{Map, Value};

/// Check of a self-test.
#[derive(Serialize)]
pub struct SelftestCheck {
    /// Name of the check.
    pub name: String,
    /// True if it held.
    pub passed: bool,
    /// Counts, by name.
    pub counts: Map<String, Value>,
    /// Claims that did not hold.
    pub failures: Vec<String>,
}

impl SelftestCheck {
    /// A check without counts that holds so far.
    pub(super) fn new(name: impl Into<String>) -> SelftestCheck {
        SelftestCheck {
            name: name.into(),
            passed: true,
            counts: Map::new(),
            failures: Vec::new(),
        }
    }

    /// Adds a count.
    pub(super) fn count(&mut self, name: &str, count: u64) {
        self.counts.insert(name.into(), count.into());
    }

    /// Demands that `holds` is true: otherwise the check fails with the message `failure`.
    pub(super) fn demand(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        if !holds {
            self.passed = false;
            self.failures.push(failure());
        }
    }
}
