//! Diagnosis of the machine: settings that cost latency or energy, and their remedies.

use crate::experiment::Observer;
use joulio_host::Machine;
use joulio_host::machine::{Cpu, DiskSettings};
use joulio_model::MachineProfile;
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use joulio_workload::{Counts, RunResult};
use rustix::thread::sched_getcpu;
use serde::Serialize;
use std::fmt;
use std::hint::spin_loop;
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

/// Displays the finding and its remedy in one line.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.remedy {
            Some(remedy) => write!(f, ": {remedy}"),
            None => Ok(()),
        }
    }
}

/// Largest lateness of a timer in microseconds on real hardware in a shallow idle state.
const LATE_US: f64 = 15.0;
/// Fraction of the highest frequency below which the governor is reported as holding a CPU back.
const SLOW: f64 = 0.75;
/// Least CPU time in seconds of a run whose cycles give a clock, since CPU times are coarse.
const ENOUGH: f64 = 0.1;
/// Time for which a CPU is kept busy before its clock is read.
const BUSY: Nanos = Nanos::from_millis(50);

/// Returns the diagnoses of `machine`, whose file tree begins at `root`, and of the `runs` that were done on it.
pub fn diagnose(root: &Path, machine: &Machine, runs: &[RunResult]) -> Vec<Diagnosis> {
    let states = machine.cpu.idle_states.value.iter().flatten();
    let states = states.map(|state| ExitTime {
        name: state.name.clone(),
        us: state.latency_ns.unwrap_or(0) as f64 / 1e3,
    });
    let clock = clock(runs).or_else(|| busy_clock(root));
    let mut all = Vec::new();
    all.extend(machine.disks.iter().filter_map(polling));
    all.extend(governor(root, &machine.cpu, clock));
    all.extend(virtual_machine(root));
    all.extend(idle(&states.collect::<Vec<_>>(), runs));
    all.extend(timers(runs));
    all.extend(spoiled(runs));
    all
}

/// Returns the diagnoses of the modelled `machine` that the simulated `runs` show: those of its idle states.
pub fn diagnose_modelled(machine: &MachineProfile, runs: &[RunResult]) -> Vec<Diagnosis> {
    let states = machine.costs.iter().flat_map(|costs| &costs.idle);
    let states = states.map(|costs| ExitTime {
        name: costs.state.to_string(),
        us: costs.exit_ns.value / 1e3,
    });
    idle(&states.collect::<Vec<_>>(), runs)
        .into_iter()
        .collect()
}

/// Shows `diagnoses` to the user where there is no advice that could have them: they may say why.
pub(super) fn note(diagnoses: &[Diagnosis], observer: &dyn Observer) {
    for diagnosis in diagnoses {
        observer.note(&diagnosis.to_string());
    }
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

/// Reports a governor that keeps CPUs far below the highest frequency that it may use; `clock` is a clock in kHz that a
/// CPU had while it was busy.
fn governor(root: &Path, cpu: &Cpu, clock: Option<f64>) -> Option<Diagnosis> {
    let now = clock?;
    // The job may have been on any CPU, and the cores of a machine may differ.
    let cpus = std::fs::read_dir(root.join("sys/devices/system/cpu")).ok()?;
    let of_cpu = |cpu: std::fs::DirEntry| -> Option<f64> {
        let folder = cpu.path().join("cpufreq");
        let khz = |name: &str| -> Option<f64> { read(&folder, name)?.parse().ok() };
        khz("scaling_max_freq").or_else(|| khz("cpuinfo_max_freq"))
    };
    let most = cpus.flatten().filter_map(of_cpu).min_by(f64::total_cmp)?;
    let governor = cpu.governor.value.as_deref()?;
    (now < SLOW * most && governor != "performance").then(|| Diagnosis {
        what: format!(
            "the governor {governor} holds a job's CPU at {:.1} of {:.1} GHz: software takes longer, and so does each wake-up",
            now / 1e6,
            most / 1e6
        ),
        remedy: Some("joulio knobs --set scaling_governor=performance --for 1h".into()),
    })
}

/// Returns the lowest mean clock in kHz that the jobs' CPUs had in a run; `None` if no run counted cycles.
fn clock(runs: &[RunResult]) -> Option<f64> {
    let clocks = runs.iter().filter_map(|run| {
        let counts = run.counts.as_ref()?;
        let usage = &counts.threads.submitter;
        let seconds = usage.user_seconds + usage.system_seconds;
        // Waits in a user-level power state are CPU time, but not all of them have cycles.
        let awake = counts.wait.pauses + counts.wait.monitors == 0;
        let cycles = counts.machine.cycles?;
        (awake && seconds >= ENOUGH).then_some(cycles as f64 / seconds / 1e3)
    });
    clocks.min_by(f64::total_cmp)
}

/// Returns the clock in kHz of this thread's CPU after it was busy for a moment; `None` if the system does not tell it.
/// An idle CPU has a low clock whatever its governor does.
fn busy_clock(root: &Path) -> Option<f64> {
    let file = || {
        let cpu = sched_getcpu();
        format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")
    };
    read(root, &file())?;
    let begun = now();
    while now() - begun < BUSY {
        spin_loop();
    }
    read(root, &file())?.parse().ok()
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

/// An idle state, and the time that it takes to leave it.
struct ExitTime {
    name: String,
    us: f64,
}

/// Reports an idle state that was entered often although leaving it takes more than half of what the device takes.
/// `states` are all, the deepest last.
fn idle(states: &[ExitTime], runs: &[RunResult]) -> Option<Diagnosis> {
    let counted = || {
        let runs = runs.iter();
        runs.filter_map(|run| Some((run, run.counts.as_ref()?)))
    };
    let median_us = |counts: &Counts| counts.all.latency_ns.p50 as f64 / 1e3;
    // The quickest of all at the same depth shows what the device takes.
    let wait_us = |depth: Option<usize>| {
        let alike = counted().filter(|(run, _)| run.iodepth == depth);
        let medians = alike.map(|(_, counts)| median_us(counts));
        medians.fold(f64::INFINITY, f64::min)
    };
    let suffers = |state: &ExitTime, run: &RunResult, counts: &Counts| {
        let used = counts.machine.cpuidle.as_ref();
        let used = used.and_then(|used| used.get(&state.name));
        let often = used.is_some_and(|used| used.entries > counts.all.ios / 10);
        let wait_us = wait_us(run.iodepth);
        // Other CPUs enter it too: a core that has to leave it for its I/Os is late.
        let later_us = median_us(counts) - wait_us;
        often && state.us > wait_us / 2.0 && (later_us >= state.us / 4.0 || later_us == 0.0)
    };
    let (state, wait_us) = states.iter().rev().find_map(|state| {
        let mut open = counted().filter(|(run, counts)| {
            let sleeps = counts.wait.blocks + counts.wait.sleeps > 0;
            sleeps && !run.settings.contains_key("max-cstate")
        });
        let (run, _) = open.find(|(run, counts)| suffers(state, run, counts))?;
        Some((state, wait_us(run.iodepth)))
    })?;
    Some(Diagnosis {
        what: format!(
            "{} is entered at waits of {wait_us:.0} us, and takes {:.0} us to leave",
            state.name, state.us
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
    use crate::record::sample::run;
    use joulio_host::machine::{IdleStateSetting, Known};
    use joulio_workload::{CompletionMode, IdleCounters};
    use std::collections::BTreeMap;
    use std::fs;
    use std::sync::Mutex;
    use tempfile::TempDir;

    const POLL: CompletionMode = CompletionMode::Poll;
    const INTERRUPT: CompletionMode = CompletionMode::Interrupt;

    /// Returns a file tree with these files.
    fn tree(files: &[(&str, &str)]) -> TempDir {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn machine(tree: &TempDir) -> Machine {
        Machine::read(tree.path(), &[])
    }

    fn what(all: &[Diagnosis]) -> Vec<&str> {
        all.iter().map(|one| one.what.as_str()).collect()
    }

    /// Returns a run of 1,000 I/Os of `us` microseconds each, with counts that `change` completes.
    fn run_of(mode: CompletionMode, us: f64, change: impl FnOnce(&mut Counts)) -> RunResult {
        let mut result = run(mode, 1, 1, 1e6 / us, 40.0).result;
        change(result.counts.as_mut().unwrap());
        result
    }

    #[test]
    fn a_machine_without_faults_has_no_diagnosis() {
        let tree = tree(&[]);
        let runs = [run_of(POLL, 20.0, |_| {}), run_of(INTERRUPT, 25.0, |_| {})];
        assert_eq!(diagnose(tree.path(), &machine(&tree), &runs), []);
    }

    #[test]
    fn a_disk_that_is_not_polled_has_a_remedy_if_it_is_nvme() {
        let tree = tree(&[]);
        let disk = |name: &str, io_poll: &str, poll_queues: u32| DiskSettings {
            name: name.into(),
            controllers: Vec::new(),
            model: Known::none("made up"),
            scheduler: Known::none("made up"),
            nr_requests: Known::none("made up"),
            nomerges: Known::none("made up"),
            rq_affinity: Known::none("made up"),
            io_poll: Known::some(io_poll.into()),
            io_poll_delay: Known::none("made up"),
            wbt_lat_usec: Known::none("made up"),
            hardware_queues: Known::none("made up"),
            poll_queues: Known::some(poll_queues),
            bus_power_state: Known::none("made up"),
            interrupts: Known::none("made up"),
        };
        let machine = Machine {
            disks: vec![
                disk("nvme0n1", "0", 0),
                disk("nvme1n1", "1", 4),
                disk("sda", "0", 0),
            ],
            ..machine(&tree)
        };
        let all = diagnose(tree.path(), &machine, &[]);
        assert_eq!(
            what(&all),
            [
                "the kernel's engines cannot poll nvme0n1: nvme.poll_queues=0",
                "the kernel's engines cannot poll sda: its driver has no polled queue",
            ]
        );
        let remedies: Vec<_> = all.iter().map(|one| one.remedy.is_some()).collect();
        assert_eq!(remedies, [true, false]);
    }

    #[test]
    fn a_governor_is_judged_by_the_clock_of_the_runs() {
        let tree = tree(&[
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                "powersave\n",
            ),
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors",
                "performance powersave\n",
            ),
            // The CPU is idle when the runs have ended.
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                "800000\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
                "5200000\n",
            ),
            // A core that is slower at its best.
            (
                "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq",
                "3500000\n",
            ),
        ]);
        let at = |ghz: f64| {
            run_of(POLL, 20.0, |counts| {
                counts.threads.submitter.user_seconds = 0.5;
                counts.machine.cycles = Some((ghz * 0.5e9) as u64);
            })
        };
        let of = |runs: &[RunResult]| diagnose(tree.path(), &machine(&tree), runs);
        assert_eq!(of(&[at(3.4), at(3.3)]), []);
        let all = of(&[at(3.4), at(1.2)]);
        assert_eq!(all.len(), 1);
        assert!(
            all[0]
                .what
                .contains("powersave holds a job's CPU at 1.2 of 3.5 GHz"),
            "{all:?}"
        );
        // A core in a user-level power state may count no cycles.
        let mut pausing = at(0.1);
        pausing.counts.as_mut().unwrap().wait.pauses = 1;
        assert_eq!(of(&[at(3.4), pausing]), []);
        let cpu = machine(&tree).cpu;
        assert!(governor(tree.path(), &cpu, Some(3.4e6)).is_none());
        assert!(governor(tree.path(), &cpu, None).is_none());
    }

    #[test]
    fn a_virtual_machine_says_so() {
        let tree = tree(&[(
            "proc/cpuinfo",
            "processor : 0\nflags : fpu hypervisor tsc\n",
        )]);
        let all = diagnose(tree.path(), &machine(&tree), &[]);
        assert_eq!(all.len(), 1);
        assert!(all[0].what.contains("virtual machine"), "{all:?}");
    }

    #[test]
    fn an_idle_state_that_takes_as_long_as_the_device_is_named() {
        let tree = tree(&[]);
        let mut machine = machine(&tree);
        let state = |name: &str, latency_ns| IdleStateSetting {
            name: name.into(),
            latency_ns: Some(latency_ns),
            cpus: 4,
            disabled_on: 0,
        };
        machine.cpu.idle_states = Known::some(vec![state("C1", 2_000), state("C6", 133_000)]);
        let sleeping = |us: f64, entries| {
            run_of(INTERRUPT, us, |counts| {
                counts.wait.blocks = counts.all.ios;
                let used = IdleCounters {
                    entries,
                    seconds: 0.5,
                };
                counts.machine.cpuidle = Some(BTreeMap::from([("C6".to_owned(), used)]));
            })
        };
        let limited = |us: f64| {
            let mut run = sleeping(us, 0);
            run.settings.insert("max-cstate".into(), "C1".into());
            run
        };
        let of = |runs: &[RunResult]| diagnose(tree.path(), &machine, runs);
        let poll = || run_of(POLL, 20.0, |_| {});
        // The run that may not enter it is the quickest of those that sleep.
        let all = of(&[poll(), sleeping(80.0, 900), limited(25.0)]);
        assert_eq!(
            what(&all),
            ["C6 is entered at waits of 20 us, and takes 133 us to leave"]
        );
        // Other CPUs entered it, or the device takes longer.
        assert_eq!(of(&[poll(), sleeping(25.0, 900), limited(25.0)]), []);
        assert_eq!(of(&[poll(), sleeping(80.0, 100), limited(25.0)]), []);
        let slow = run_of(POLL, 500.0, |_| {});
        assert_eq!(of(&[slow, sleeping(600.0, 900)]), []);
        // Alone it is compared with itself.
        assert_eq!(of(&[sleeping(80.0, 900)]).len(), 1);
    }

    #[test]
    fn late_timers_are_those_of_every_policy_that_sleeps() {
        let tree = tree(&[]);
        let late = |us: u64| {
            run_of(CompletionMode::Hybrid, 20.0, |counts| {
                counts.wait.sleeps = 200;
                counts.wait.overslept = Nanos::from_micros(200 * us);
            })
        };
        let of = |runs: &[RunResult]| diagnose(tree.path(), &machine(&tree), runs);
        let all = of(&[late(25), late(40), run_of(POLL, 20.0, |_| {})]);
        assert_eq!(all.len(), 1);
        assert!(all[0].what.starts_with("timers are 25 us late"), "{all:?}");
        assert_eq!(of(&[late(5), late(40)]), []);
    }

    #[test]
    fn what_there_is_no_advice_for_is_shown_with_its_remedy() {
        struct Notes(Mutex<Vec<String>>);
        impl Observer for Notes {
            fn begin(&self, _: &[joulio_workload::Member]) {}
            fn progress(&self, _: joulio_workload::RunProgress) {}
            fn end(&self) {}
            fn note(&self, line: &str) {
                self.0.lock().unwrap().push(line.into());
            }
        }
        let notes = Notes(Mutex::new(Vec::new()));
        let of = |what: &str, remedy: Option<&str>| Diagnosis {
            what: what.into(),
            remedy: remedy.map(Into::into),
        };
        note(
            &[of("timers are late", None), of("C6", Some("keep off"))],
            &notes,
        );
        let notes = notes.0.into_inner().unwrap();
        assert_eq!(notes, ["timers are late", "C6: keep off"]);
    }
}
