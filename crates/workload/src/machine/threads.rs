//! Counters of one thread in the processor and the kernel, through perf events.

use perf_event::events::{Event, Hardware, Raw, Tracepoint};
use perf_event::{Builder, Counter};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;

/// A count, or the reason why there is none.
type Count = Result<u64, String>;

/// CPU_CLK_UNHALTED.C01 and .C02 of processors with WAITPKG (Intel's perfmon, Sapphire Rapids:
/// event ECh, masks 10h and 20h).
const C01: u64 = 0x10ec;
const C02: u64 = 0x20ec;

/// Directories with the identifiers of tracepoints (Documentation/trace/events.rst).
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Counters of one thread, or the sums over several: each a count, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadCounters {
    /// Unhalted cycles.
    pub cycles: Count,
    /// Instructions.
    pub instructions: Count,
    /// Cycles in C0.1, in tpause or umwait.
    pub c01: Count,
    /// Cycles in C0.2, in tpause or umwait.
    pub c02: Count,
    /// Requests that the thread issued to a device.
    pub issued: Count,
}

impl ThreadCounters {
    /// Returns the sums over no thread: zeros.
    pub(crate) fn none() -> ThreadCounters {
        ThreadCounters {
            cycles: Ok(0),
            instructions: Ok(0),
            c01: Ok(0),
            c02: Ok(0),
            issued: Ok(0),
        }
    }

    /// Returns counters that are missing for the reason `why`.
    pub(crate) fn missing(why: &str) -> ThreadCounters {
        let missing = || Err(why.to_owned());
        ThreadCounters {
            cycles: missing(),
            instructions: missing(),
            c01: missing(),
            c02: missing(),
            issued: missing(),
        }
    }

    /// Returns the sums of both; a count that either lacks is missing.
    pub(crate) fn and(&self, other: &ThreadCounters) -> ThreadCounters {
        let sum = |one: &Count, other: &Count| Ok(one.clone()?.saturating_add(other.clone()?));
        ThreadCounters {
            cycles: sum(&self.cycles, &other.cycles),
            instructions: sum(&self.instructions, &other.instructions),
            c01: sum(&self.c01, &other.c01),
            c02: sum(&self.c02, &other.c02),
            issued: sum(&self.issued, &other.issued),
        }
    }
}

/// The open counters of a thread. They count only between [`Counting::start`] and [`Counting::stop`].
pub struct Counting {
    cycles: Result<Counter, String>,
    instructions: Result<Counter, String>,
    c01: Result<Counter, String>,
    c02: Result<Counter, String>,
    issued: Result<Counter, String>,
}

impl Counting {
    /// Opens the counters of the calling thread.
    pub fn this_thread() -> Counting {
        let waits = waits();
        let wait = |config| {
            waits.clone()?;
            open(Raw::new(config))
        };
        Counting {
            cycles: open(Hardware::CPU_CYCLES),
            instructions: open(Hardware::INSTRUCTIONS),
            c01: wait(C01),
            c02: wait(C02),
            issued: tracepoint("block/block_rq_issue").and_then(open),
        }
    }

    /// Starts counting.
    pub fn start(&mut self) {
        self.each(|counter| {
            let _ = counter.reset();
            let _ = counter.enable();
        });
    }

    /// Stops counting, and returns the counts since the start.
    pub fn stop(&mut self) -> ThreadCounters {
        self.each(|counter| {
            let _ = counter.disable();
        });
        ThreadCounters {
            cycles: read(&mut self.cycles),
            instructions: read(&mut self.instructions),
            c01: read(&mut self.c01),
            c02: read(&mut self.c02),
            issued: read(&mut self.issued),
        }
    }

    fn each(&mut self, mut act: impl FnMut(&mut Counter)) {
        let all = [
            &mut self.cycles,
            &mut self.instructions,
            &mut self.c01,
            &mut self.c02,
            &mut self.issued,
        ];
        all.into_iter().flatten().for_each(&mut act);
    }
}

/// Opens a counter of `event`. The thread's time in the kernel is counted too, where the kernel's engines work.
fn open(event: impl Event) -> Result<Counter, String> {
    let built = Builder::new(event).observe_self().include_kernel().build();
    built.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "no permission: sysctl kernel.perf_event_paranoid=1, or run as root".into()
        }
        io::ErrorKind::NotFound => {
            "no counters of the processor here: most virtual machines have none".to_string()
        }
        _ => format!("perf_event_open: {error}"),
    })
}

/// Reads a counter; fails if the kernel gave its hardware counter to other events for part of the time.
fn read(counter: &mut Result<Counter, String>) -> Count {
    let counter = counter.as_mut().map_err(|why| why.clone())?;
    let counted = counter.read_count_and_time();
    let counted = counted.map_err(|error| format!("perf event: {error}"))?;
    if counted.time_running < counted.time_enabled {
        return Err(
            "too many counters at once: another program has some of the processor's".into(),
        );
    }
    Ok(counted.count)
}

/// Checks that the processor has the states C0.1 and C0.2.
fn waits() -> Result<(), String> {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags"));
    match flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "waitpkg")) {
        true => Ok(()),
        false => Err("this processor has no tpause or umwait (WAITPKG)".into()),
    }
}

fn tracepoint(name: &str) -> Result<Tracepoint, String> {
    let ids = TRACEFS
        .iter()
        .map(|folder| fs::read_to_string(format!("{folder}/events/{name}/id")));
    for id in ids {
        match id {
            Ok(id) => {
                let id = id.trim().parse();
                let id =
                    id.map_err(|_| format!("{name}: the id in {TRACEFS:?} is not a number"))?;
                return Ok(Tracepoint::with_id(id));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(format!("{name}: no permission: run as root"));
            }
            Err(_) => {}
        }
    }
    Err(format!(
        "{name}: no tracepoints: mount -t tracefs nodev {}",
        TRACEFS[0]
    ))
}
