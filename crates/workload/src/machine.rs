//! Counters of the machine during a run.

mod threads;

pub use threads::{Counting, ThreadCounters};

use joulio_job::{DiskCounters, Dispatch, IdleCounters, MachineCounters, MissingCounters};
use joulio_kernel_io::{CpuIdle, Disk, DiskStats, DiskUse, Disks, Interrupts};
use joulio_units::Nanos;
use std::collections::BTreeMap;

/// Counters of the machine at a moment.
pub(crate) struct Snapshot {
    interrupts: Result<Interrupts, String>,
    disks: Result<BTreeMap<String, DiskStats>, String>,
    idle: Result<CpuIdle, String>,
}

impl Snapshot {
    /// Reads the counters.
    pub(crate) fn now() -> Snapshot {
        Snapshot {
            interrupts: Interrupts::read("/").map_err(|error| error.to_string()),
            disks: Disks::at("/").read().map_err(|error| error.to_string()),
            idle: CpuIdle::read("/").map_err(|error| error.to_string()),
        }
    }

    /// Returns the counts since `before`. `disks` has one entry for each target, `None` for those that the kernel
    /// does not drive; `threads` are the counts of the jobs' threads.
    pub(crate) fn since(
        &self,
        before: &Snapshot,
        disks: &[Option<&Disk>],
        threads: &ThreadCounters,
    ) -> MachineCounters {
        let mut missing = MissingCounters::new();
        let disks = apart(disks);
        let came = both(&self.interrupts, &before.interrupts);
        let came = came.map(|(after, before)| after.since(before));
        let timer = came.clone().and_then(|came| {
            let timer = came.timer();
            timer.ok_or_else(|| "no line LOC in /proc/interrupts".into())
        });
        let devices = came.and_then(|came| interrupts(&came, disks.clone()?));
        let stats = both(&self.disks, &before.disks)
            .and_then(|(after, before)| ios(after, before, disks.clone()?));
        let idle = both(&self.idle, &before.idle).map(|(after, before)| used(after, before));
        let issued = threads.issued.clone();
        let dispatch = issued.and_then(|by_jobs| {
            let all = stats.clone()?.ios;
            Ok(Dispatch {
                by_jobs: by_jobs.min(all),
                by_others: all.saturating_sub(by_jobs),
            })
        });
        let mut found = Found(&mut missing);
        let of_threads = found.of_threads(threads);
        MachineCounters {
            device_interrupts: found.of("device_interrupts", devices),
            timer_interrupts: found.of("timer_interrupts", timer),
            disks: found.of("disks", stats),
            cpuidle: found.of("cpuidle", idle),
            dispatch: found.of("dispatch", dispatch),
            missing,
            ..of_threads
        }
    }
}

/// Returns the counters of some jobs, which are those of their `threads`; all others are missing, for the reason
/// `why`.
pub(crate) fn of_threads(threads: &ThreadCounters, why: &str) -> MachineCounters {
    let others = [
        "device_interrupts",
        "timer_interrupts",
        "disks",
        "cpuidle",
        "dispatch",
    ];
    let others = others.map(|name| (name.to_owned(), why.to_owned()));
    let mut missing = MissingCounters::from(others);
    let of_threads = Found(&mut missing).of_threads(threads);
    MachineCounters {
        missing,
        ..of_threads
    }
}

/// Collects the reasons for which counters are missing.
struct Found<'a>(&'a mut MissingCounters);

impl Found<'_> {
    /// Returns the counts of the jobs' threads.
    fn of_threads(&mut self, threads: &ThreadCounters) -> MachineCounters {
        MachineCounters {
            cycles: self.of("cycles", threads.cycles.clone()),
            c01_cycles: self.of("c01_cycles", threads.c01.clone()),
            c02_cycles: self.of("c02_cycles", threads.c02.clone()),
            instructions: self.of("instructions", threads.instructions.clone()),
            ..MachineCounters::default()
        }
    }

    fn of<T>(&mut self, name: &'static str, counted: Result<T, String>) -> Option<T> {
        counted.map_err(|why| self.0.insert(name.into(), why)).ok()
    }
}

fn both<'a, T>(
    after: &'a Result<T, String>,
    before: &'a Result<T, String>,
) -> Result<(&'a T, &'a T), String> {
    match (after, before) {
        (Ok(after), Ok(before)) => Ok((after, before)),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    }
}

/// Returns each disk once, even if several targets are on it.
fn apart<'a>(disks: &[Option<&'a Disk>]) -> Result<Vec<&'a Disk>, String> {
    let mut apart: Vec<&Disk> = Vec::new();
    for disk in disks {
        let disk = disk.ok_or("not a block device of the kernel's")?;
        if !apart.iter().any(|other| other.name == disk.name) {
            apart.push(disk);
        }
    }
    Ok(apart)
}

fn interrupts(came: &Interrupts, disks: Vec<&Disk>) -> Result<u64, String> {
    let of = |disk: &Disk| {
        let own = came.of_disk(disk);
        own.ok_or_else(|| format!("{} has no interrupts of its own that are known", disk.name))
    };
    disks.into_iter().map(of).sum()
}

fn ios(
    after: &BTreeMap<String, DiskStats>,
    before: &BTreeMap<String, DiskStats>,
    disks: Vec<&Disk>,
) -> Result<DiskCounters, String> {
    let mut sum = DiskCounters::default();
    for disk in disks {
        let stats = after.get(&disk.name).zip(before.get(&disk.name));
        let (after, before) =
            stats.ok_or_else(|| format!("{} is not in /proc/diskstats", disk.name))?;
        let interval = DiskUse::between(before, after, Nanos::ZERO);
        let merges = |stats: &DiskStats| stats.read_merges.saturating_add(stats.write_merges);
        sum.ios += interval.ios;
        sum.merges += merges(after).saturating_sub(merges(before));
        sum.read_bytes += interval.read_bytes;
        sum.write_bytes += interval.write_bytes;
    }
    Ok(sum)
}

fn used(after: &CpuIdle, before: &CpuIdle) -> BTreeMap<String, IdleCounters> {
    let used = after.since(before).into_iter();
    let used = used.map(|(name, used)| {
        let counters = IdleCounters {
            entries: used.entries,
            seconds: used.residency.seconds(),
        };
        (name, counters)
    });
    used.collect()
}
