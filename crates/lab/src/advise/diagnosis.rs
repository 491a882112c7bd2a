//! Diagnosis of the machine: settings that cost latency or energy, and their remedies.

use joulio_host::Machine;
use joulio_host::machine::{Cpu, DiskSettings, IdleStateSetting};
use joulio_workload::RunResult;
use serde::Serialize;
use std::path::Path;

/// Something about the machine that a completion mode suffers from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// Description of the finding, and its consequence.
    pub what: String,
    /// Remedy, as a command or a sentence; `None`: nothing can be done.
    pub remedy: Option<String>,
}

/// Largest lateness of a timer in microseconds on real hardware in a shallow idle state.
const LATE_US: f64 = 15.0;
/// Fraction of the highest frequency below which the governor is reported as holding a CPU back.
const SLOW: f64 = 0.75;

/// Returns the diagnoses of `machine`, whose file tree begins at `root`, and of the `runs` that were done on it.
pub fn diagnose(root: &Path, machine: &Machine, runs: &[RunResult]) -> Vec<Diagnosis> {
    let mut all = Vec::new();
    all.extend(machine.disks.iter().filter_map(polling));
    all.extend(governor(root, &machine.cpu));
    all.extend(virtual_machine(root));
    all.extend(idle(&machine.cpu, runs));
    all.extend(timers(runs));
    all.extend(spoiled(runs));
    all
}

fn read(root: &Path, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(file)).ok()?;
    Some(text.trim().to_owned())
}

/// Reports a disk of which the kernel polls no queue.
fn polling(disk: &DiskSettings) -> Option<Diagnosis> {
    let polls = disk.io_poll.value.as_deref() == Some("1");
    let nvme = disk.name.starts_with("nvme");
    match (polls, nvme) {
        (true, _) => None,
        (false, true) if disk.poll_queues.value.unwrap_or(0) == 0 => Some(Diagnosis {
            what: format!(
                "the kernel's engines cannot poll {}: nvme.poll_queues=0",
                disk.name
            ),
            remedy: Some("boot with nvme.poll_queues=4 on the kernel's command line".into()),
        }),
        (false, _) => Some(Diagnosis {
            what: format!(
                "the kernel's engines cannot poll {}: its driver has no polled queue",
                disk.name
            ),
            remedy: None,
        }),
    }
}

/// Reports a governor that keeps a CPU far below its highest frequency.
fn governor(root: &Path, cpu: &Cpu) -> Option<Diagnosis> {
    let folder = "sys/devices/system/cpu/cpu0/cpufreq";
    let khz = |name: &str| -> Option<f64> { read(root, &format!("{folder}/{name}"))?.parse().ok() };
    let (now, most) = (khz("scaling_cur_freq")?, khz("cpuinfo_max_freq")?);
    let governor = cpu.governor.value.as_deref()?;
    (now < SLOW * most && governor != "performance").then(|| Diagnosis {
        what: format!(
            "the governor {governor} holds CPU 0 at {:.1} of {:.1} GHz: software takes longer, and so does each wake-up",
            now / 1e6,
            most / 1e6
        ),
        remedy: Some("joulio knobs --set scaling_governor=performance --for 1h".into()),
    })
}

fn virtual_machine(root: &Path) -> Option<Diagnosis> {
    let cpuinfo = read(root, "proc/cpuinfo")?;
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    let is = flags
        .next()?
        .split_whitespace()
        .any(|flag| flag == "hypervisor");
    is.then(|| Diagnosis {
        what: "this is a virtual machine: an interrupt and a timer go through its host, and no idle state of a core is the guest's".into(),
        remedy: None,
    })
}

/// Returns the microseconds that it takes to leave `state`.
fn exit_us(state: &IdleStateSetting) -> f64 {
    state.latency_ns.unwrap_or(0) as f64 / 1e3
}

/// Reports an idle state that was entered often although leaving it takes more than half of a median I/O.
fn idle(cpu: &Cpu, runs: &[RunResult]) -> Option<Diagnosis> {
    let states = cpu.idle_states.value.as_ref()?;
    let counts = runs.iter().filter_map(|run| run.counts.as_ref());
    // The run with the shortest waits, among runs whose cores sleep or block.
    let sleeping = counts.filter(|counts| counts.wait.blocks + counts.wait.sleeps > 0);
    let run = sleeping.min_by(|a, b| a.all.latency_ns.p50.cmp(&b.all.latency_ns.p50))?;
    let used = run.machine.cpuidle.as_ref()?;
    let wait_us = run.all.latency_ns.p50 as f64 / 1e3;
    let deep = states.iter().rev().find(|state| {
        let entered = used.get(&state.name).map_or(0, |used| used.entries);
        entered > run.all.ios / 10 && exit_us(state) > wait_us / 2.0
    })?;
    Some(Diagnosis {
        what: format!(
            "{} is entered at waits of {wait_us:.0} us, and takes {:.0} us to leave",
            deep.name,
            exit_us(deep)
        ),
        remedy: Some(format!(
            "keep CPUs from it: joulio knobs --set max-cstate=... --for 1h, or hold {} us in /dev/cpu_dma_latency",
            (wait_us / 4.0).max(1.0) as u64
        )),
    })
}

/// Reports timers that fire late.
fn timers(runs: &[RunResult]) -> Option<Diagnosis> {
    let counts = runs.iter().filter_map(|run| run.counts.as_ref());
    let slept = counts.filter(|counts| counts.wait.sleeps >= 100);
    let late: Vec<_> = slept
        .map(|counts| counts.wait.mean_oversleep_ns() / 1e3)
        .collect();
    let least = late.iter().copied().fold(f64::INFINITY, f64::min);
    (least.is_finite() && least > LATE_US).then(|| Diagnosis {
        what: format!(
            "timers are {least:.0} us late here: a sleep costs more than spinning for an I/O that is as short"
        ),
        remedy: None,
    })
}

fn spoiled(runs: &[RunResult]) -> Option<Diagnosis> {
    let ran = runs.iter().filter(|run| run.counts.is_some()).count();
    let mut spoiled = runs.iter().flat_map(|run| run.spoiled.first());
    let first = spoiled.next()?;
    Some(Diagnosis {
        what: format!(
            "{} of {ran} runs are spoiled; the first: {}",
            1 + spoiled.count(),
            first.why
        ),
        remedy: Some("leave the machine alone meanwhile, and ask again".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_machine_that_is_held_back_says_so() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(
            diagnose(tree.path(), &Machine::read(tree.path(), &[]), &[]),
            []
        );
        let policy = "sys/devices/system/cpu/cpufreq/policy0";
        let cpu = "sys/devices/system/cpu/cpu0/cpufreq";
        write(&format!("{policy}/scaling_governor"), "powersave\n");
        write(
            &format!("{policy}/scaling_available_governors"),
            "performance powersave\n",
        );
        write(&format!("{cpu}/scaling_cur_freq"), "1200000\n");
        write(&format!("{cpu}/cpuinfo_max_freq"), "3500000\n");
        write(
            "proc/cpuinfo",
            "processor : 0\nflags : fpu hypervisor tsc\n",
        );
        let all = diagnose(tree.path(), &Machine::read(tree.path(), &[]), &[]);
        let what: Vec<_> = all.iter().map(|one| one.what.as_str()).collect();
        assert!(
            what[0].contains("powersave holds CPU 0 at 1.2 of 3.5 GHz"),
            "{what:?}"
        );
        assert!(what[1].contains("virtual machine"), "{what:?}");
        assert_eq!(all.len(), 2);
    }
}
