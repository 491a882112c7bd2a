//! Reads of an emulated device, one at a time, with the latency and the counts of each.

use super::accounts::{Account, CpuShares, Scheduled};
use super::driver::{CalibrateCpus, DriverBench};
use super::error::CalibrateError;
use super::pair::settle;
use super::spread::Spread;
use crate::experiment::Neighbours;
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{WaitCounters, now};
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, Job, Stop};

/// A read: the time from the call until the buffer is returned, and the wait's counters.
pub struct Read {
    pub latency: Nanos,
    pub counters: WaitCounters,
    /// True if the job's CPU was taken from it since the read before; false if this was not observed.
    pub preempted: bool,
    /// Time since the read before in which the job was runnable but had no CPU; zero if this was not observed.
    pub run_delay: Nanos,
}

/// Description of a series of reads: device, completion mode, number.
pub struct Reads {
    pub profile: DeviceProfile,
    pub mode: CompletionMode,
    pub ios: u64,
    /// Time of reads that do not count, in which the mode learns.
    pub learns: Nanos,
}

/// CPUs of the reads, and the number of neighbours.
#[derive(Clone, Copy, Debug)]
pub struct CalibratePlace {
    pub cpus: CalibrateCpus,
    /// Number of threads that compute on the job's CPU.
    pub neighbours: usize,
}

impl CalibratePlace {
    /// Returns a place without neighbours.
    pub fn alone(cpus: CalibrateCpus) -> CalibratePlace {
        CalibratePlace {
            cpus,
            neighbours: 0,
        }
    }
}

/// Reads of one series, in their order.
pub struct Round {
    pub reads: Vec<Read>,
    /// CPU times of the job and of its neighbours; `None` without neighbours.
    pub shares: Option<CpuShares>,
}

impl Round {
    /// Returns a measure of disturbance: the share of other programs on a CPU that is never idle, or without neighbours
    /// the median latency.
    fn noise(&self) -> f64 {
        let shares = self.shares.as_ref();
        shares.map_or_else(|| median(&self.reads), CpuShares::others_percent)
    }
}

/// Returns the median latency of `reads`.
pub fn median(reads: &[Read]) -> f64 {
    Spread::of_nanos(reads.iter().map(|read| read.latency.0).collect()).median
}

/// Runs all of `kinds` in turn, `rounds` times, and returns the quietest round of each. Other programs and a guest's
/// host can only make reads slower, and do so for seconds at a time.
pub fn reads(
    kinds: &[Reads],
    rounds: u32,
    place: CalibratePlace,
    stop: &Stop,
) -> Result<Vec<Round>, CalibrateError> {
    settle(place.cpus.job)?;
    let mut quietest: Vec<Option<Round>> = kinds.iter().map(|_| None).collect();
    for _ in 0..rounds.max(1) {
        for (kind, best) in kinds.iter().zip(&mut quietest) {
            let done = round(kind, place, stop)?;
            if best.as_ref().is_none_or(|best| done.noise() < best.noise()) {
                *best = Some(done);
            }
        }
    }
    Ok(quietest.into_iter().flatten().collect())
}

fn round(kind: &Reads, place: CalibratePlace, stop: &Stop) -> Result<Round, CalibrateError> {
    let CalibratePlace { cpus, neighbours } = place;
    let ios = kind.ios as usize;
    // The first reads run with cold caches.
    let mut first = (ios / 2).min(1_000);
    let mut bench = DriverBench::new(kind.profile.clone(), cpus)?;
    let policy = kind
        .mode
        .policy()
        .ok_or_else(|| CalibrateError::NoPolicy(kind.mode))?;
    let queue = &mut bench.group.queues()[0];
    let effective = queue.set_policy(policy);
    effective.map_err(|error| CalibrateError::Unavailable {
        completion: kind.mode,
        reason: error.to_string(),
    })?;
    let pinned = Job {
        cpus_allowed: vec![cpus.job],
        ..Job::random_reads(1)
    };
    let beside = Neighbours::beside(&pinned, neighbours).map_err(CalibrateError::Neighbours)?;
    let account = (neighbours > 0).then(Account::open).transpose()?;
    let scheduled = || {
        let read = account.as_ref().map(Account::read).transpose();
        read.map(Option::unwrap_or_default)
    };
    let mut reads = Vec::with_capacity(ios);
    let learnt = now() + kind.learns;
    let mut until = Scheduled::default();
    let mut begun = None;
    while reads.len() < ios {
        if stop.stopped() {
            return Err(CalibrateError::Interrupted);
        }
        let counts = first == 0 && now() >= learnt;
        if counts && begun.is_none() {
            until = scheduled()?;
            begun = Some(CpuShares::now(&beside));
        }
        let before = bench.group.counters();
        let start = now();
        bench.send()?;
        while bench.buffers.is_empty() {
            bench.reap(None)?;
        }
        let latency = now() - start;
        let counters = bench.group.counters() - before;
        if !counts {
            first = first.saturating_sub(1);
            continue;
        }
        let so_far = scheduled()?;
        reads.push(Read {
            latency,
            counters,
            preempted: so_far.preemptions > until.preemptions,
            run_delay: so_far.run_delay.since(until.run_delay),
        });
        until = so_far;
    }
    let begun = begun.filter(|_| neighbours > 0);
    let shares = begun.map(|begun| CpuShares::now(&beside).since(begun));
    beside.end().map_err(CalibrateError::Neighbours)?;
    Ok(Round { reads, shares })
}
