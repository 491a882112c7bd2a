//! Identity of the machine on which a state file's runs were done.

use joulio_energy::{Processor, Root};
use rustix::system::uname;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Identity of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepMachine {
    /// Name of the CPU.
    cpu: String,
    /// Release of the kernel.
    kernel: String,
    /// Name of the host, which distinguishes machines of the same kind.
    host: String,
}

impl SweepMachine {
    /// Key of the machine in the header of a state file of real runs.
    pub(crate) const KEY: &str = "machine";

    /// Returns the identity of this machine.
    pub(crate) fn here() -> SweepMachine {
        let uname = uname();
        SweepMachine {
            cpu: machine_here(),
            kernel: uname.release().to_string_lossy().into_owned(),
            host: uname.nodename().to_string_lossy().into_owned(),
        }
    }

    /// Returns the machine in `header`; `None` if it has none, as in virtual time.
    pub(crate) fn of(header: &Value) -> Option<SweepMachine> {
        serde_json::from_value(header.get(Self::KEY)?.clone()).ok()
    }

    /// Returns the name of the CPU, as records have it.
    pub(crate) fn cpu(&self) -> &str {
        &self.cpu
    }

    /// Returns a name that no other machine with the same CPU has: the CPU with host and kernel.
    pub(crate) fn full_name(&self) -> String {
        format!("{} ({}, kernel {})", self.cpu, self.host, self.kernel)
    }

    /// Returns true if `name` is the full name of a machine with the CPU of this one.
    pub(crate) fn has_cpu_of(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.cpu);
        rest.is_some_and(|rest| rest.starts_with(" ("))
    }

    /// Describes how the machine `here` differs; empty if it does not.
    pub(crate) fn differences(&self, here: &SweepMachine) -> String {
        let parts = [
            ("CPU", &self.cpu, &here.cpu),
            ("kernel", &self.kernel, &here.kernel),
            ("host name", &self.host, &here.host),
        ];
        let unlike = parts.iter().filter(|(_, there, here)| there != here);
        let unlike = unlike.map(|(what, there, here)| format!("{what} {there}, here {here}"));
        unlike.collect::<Vec<_>>().join("; ")
    }
}

/// Returns the name of this machine's CPU.
pub fn machine_here() -> String {
    Processor::of(&Root::system()).name
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named() {
        let machine = |cpu: &str, kernel: &str, host: &str| {
            let machine = json!({ "cpu": cpu, "kernel": kernel, "host": host });
            SweepMachine::of(&json!({ "machine": machine })).unwrap()
        };
        let one = machine("Xeon", "6.1", "a");
        assert_eq!(one.differences(&one.clone()), "");
        assert_eq!(
            one.differences(&machine("Xeon", "6.2", "b")),
            "kernel 6.1, here 6.2; host name a, here b"
        );
        assert_eq!(
            one.differences(&machine("EPYC", "6.1", "a")),
            "CPU Xeon, here EPYC"
        );
        assert!(SweepMachine::of(&json!({})).is_none());
        assert_eq!(one.full_name(), "Xeon (a, kernel 6.1)");
        assert!(one.has_cpu_of(&machine("Xeon", "6.2", "b").full_name()));
        assert!(!one.has_cpu_of("Xeon") && !one.has_cpu_of("Xeon 2 (a, kernel 6.1)"));
    }
}
