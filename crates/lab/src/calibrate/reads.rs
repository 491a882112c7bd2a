//! Reads of an emulated device, one at a time, with the latency and the counts of each.

use super::accounts::{Account, CpuShares, Scheduled};
use super::compared::lost;
use super::driver::{CalibrateCpus, DriverBench};
use super::error::CalibrateError;
use super::pair::settle;
use super::spread::Spread;
use crate::experiment::Neighbours;
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{Adaptive, AnyPolicy, Policy, WaitCounters, now};
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
    /// Policy in place of the mode's own.
    pub adaptive: Option<Adaptive>,
    pub ios: u64,
    /// Time of reads that do not count, in which the mode learns.
    pub learns: Nanos,
}

impl Reads {
    /// Returns a new policy, if the mode has one.
    pub fn policy(&self) -> Option<AnyPolicy> {
        let adaptive = self.adaptive.clone().map(AnyPolicy::Adaptive);
        adaptive.or_else(|| self.mode.policy())
    }
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
    /// Time that the reads took together, if their run delays were recorded.
    pub observed: Option<Nanos>,
    /// CPU times of the job and of its neighbours; `None` without neighbours.
    pub shares: Option<CpuShares>,
}

impl Round {
    /// Returns the percentage of the time in which the job was runnable and waited for another program's turn to end, if
    /// that was observed and no neighbour has such turns.
    pub fn lost_percent(&self) -> Option<f64> {
        let window = self.observed.filter(|_| self.shares.is_none())?;
        Some(lost(self.reads.iter().map(|read| read.run_delay), window) / 10.0)
    }

    /// Returns a measure of disturbance: the share of other programs on a CPU that is never idle; without neighbours the
    /// time that was lost to other programs, or the median latency.
    fn noise(&self) -> f64 {
        let shares = self.shares.as_ref().map(CpuShares::others_percent);
        let lost = || self.lost_percent();
        shares.or_else(lost).unwrap_or_else(|| median(&self.reads))
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
        .policy()
        .ok_or_else(|| CalibrateError::NoPolicy(kind.mode))?;
    // What such a policy does depends on whether others want its CPU.
    let observed = neighbours > 0 || policy.asks_lost();
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
    let account = observed.then(Account::open).transpose()?;
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
    let shares = begun.map(|begun| CpuShares::now(&beside).since(begun));
    beside.end().map_err(CalibrateError::Neighbours)?;
    Ok(Round {
        reads,
        observed: shares.map(|shares| shares.window).filter(|_| observed),
        shares: shares.filter(|_| neighbours > 0),
    })
}
