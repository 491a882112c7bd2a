//! CPU time.

use serde::{Deserialize, Serialize};

/// CPU time and context switches of threads in one role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadUsage {
    /// Threads in the role; zero where it does not exist.
    pub threads: usize,
    /// CPU seconds in user mode.
    pub user_seconds: f64,
    /// CPU seconds in the kernel.
    pub system_seconds: f64,
    /// Context switches because the thread waited.
    pub voluntary_switches: u64,
    /// Context switches because another thread was due.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    /// Returns the usage since `earlier`.
    pub fn since(self, earlier: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            threads: self.threads,
            user_seconds: (self.user_seconds - earlier.user_seconds).max(0.0),
            system_seconds: (self.system_seconds - earlier.system_seconds).max(0.0),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }

    /// Adds the usage of `other`.
    pub fn add(&mut self, other: ThreadUsage) {
        self.threads += other.threads;
        self.user_seconds += other.user_seconds;
        self.system_seconds += other.system_seconds;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }
}

/// CPU time by role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threads {
    /// Threads of the jobs.
    pub submitter: ThreadUsage,
    /// Threads of the emulated devices: work that a real device would do itself.
    pub device: ThreadUsage,
    /// Threads of the kernel that poll for the jobs.
    pub kernel: ThreadUsage,
}
