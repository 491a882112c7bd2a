//! Check of a self-test, with its counts and failures.

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
    /// Descriptions of what failed.
    pub failures: Vec<String>,
}

impl SelftestCheck {
    /// Creates a check without counts, which has not failed so far.
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

    /// Fails the check with the message `failure` unless `holds` is true.
    pub(super) fn demand(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        if !holds {
            self.passed = false;
            self.failures.push(failure());
        }
    }
}
