//! How settings outlive a reboot.

use joulio_host::knobs::idle_states;
use joulio_lab::advise::Candidate;
use std::fmt::Write;

/// What would make the settings of `chosen` last, on `disks`; empty: there is nothing to make.
pub fn text(disks: &[String], chosen: &Candidate) -> String {
    let mut text = String::new();
    if let Some(scheduler) = chosen.settings.get("scheduler") {
        for disk in disks {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "To make it last, in /etc/udev/rules.d/60-joulio.rules:\n  ACTION==\"add|change\", KERNEL==\"{disk}\", ATTR{{queue/scheduler}}=\"{scheduler}\""
            );
        }
    }
    if let Some(state) = chosen.settings.get("max-cstate") {
        let deeper = deeper(state);
        if !deeper.is_empty() {
            text.push_str("To make it last, in /etc/tmpfiles.d/joulio.conf:\n");
        }
        for number in deeper {
            let _ = writeln!(
                text,
                "  w /sys/devices/system/cpu/cpu*/cpuidle/state{number}/disable - - - - 1"
            );
        }
    }
    text
}

/// Numbers of the idle states of this machine that are deeper than `state`.
fn deeper(state: &str) -> Vec<u32> {
    let all = idle_states("/");
    let Some((_, states)) = all.first() else {
        return Vec::new();
    };
    let at = states.iter().position(|one| one.name == state);
    let deeper = states.iter().skip(at.map_or(states.len(), |at| at + 1));
    deeper.map(|one| one.number).collect()
}
