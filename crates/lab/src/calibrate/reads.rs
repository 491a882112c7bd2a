//! Reads of an emulated device, one at a time, and what each was.

use super::driver::{CalibrateCpus, DriverBench};
use super::error::CalibrateError;
use super::pair::settle;
use super::spread::Spread;
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{Counters, now};
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, Stop};

/// A read, from the call to the buffer handed back, and what waiting for it counted.
pub struct Read {
    pub latency: Nanos,
    pub counters: Counters,
}

/// Order for reads: of which device, by which completion mode, and how many.
pub struct Reads {
    pub profile: DeviceProfile,
    pub mode: CompletionMode,
    pub ios: u64,
    /// Time of reading before the reads that count, so that the mode has learnt.
    pub learns: Nanos,
}

/// The median latency of `reads`.
pub fn median(reads: &[Read]) -> f64 {
    Spread::of_nanos(reads.iter().map(|read| read.latency.0).collect()).median
}

/// All of `kinds` in turn, for so many `rounds`; of each the round with the smallest median. Other
/// programs, and a guest's host, only ever make them slower, for seconds at a time.
pub fn reads(
    kinds: &[Reads],
    rounds: u32,
    cpus: CalibrateCpus,
    stop: &Stop,
) -> Result<Vec<Vec<Read>>, CalibrateError> {
    settle(cpus.job)?;
    let mut quietest: Vec<_> = kinds.iter().map(|_| (f64::INFINITY, Vec::new())).collect();
    for _ in 0..rounds {
        for (kind, best) in kinds.iter().zip(&mut quietest) {
            let reads = round(kind, cpus, stop)?;
            let median = median(&reads);
            if median < best.0 {
                *best = (median, reads);
            }
        }
    }
    Ok(quietest.into_iter().map(|(_, reads)| reads).collect())
}

fn round(kind: &Reads, cpus: CalibrateCpus, stop: &Stop) -> Result<Vec<Read>, CalibrateError> {
    let Reads {
        profile,
        mode,
        ios,
        learns,
    } = kind;
    let ios = *ios as usize;
    // The first find nothing in the caches.
    let mut first = (ios / 2).min(1_000);
    let mut bench = DriverBench::new(profile.clone(), cpus)?;
    let policy = mode
        .policy()
        .ok_or_else(|| CalibrateError::NoPolicy(*mode))?;
    let queue = &mut bench.group.queues()[0];
    let effective = queue.set_policy(policy);
    effective.map_err(|error| CalibrateError::Unavailable {
        completion: *mode,
        reason: error.to_string(),
    })?;
    let mut reads = Vec::with_capacity(ios);
    let learnt = now() + *learns;
    while reads.len() < ios {
        if stop.stopped() {
            return Err(CalibrateError::Interrupted);
        }
        let before = bench.group.counters();
        let start = now();
        bench.send()?;
        while bench.buffers.is_empty() {
            bench.reap(None)?;
        }
        let latency = now() - start;
        if first > 0 || start < learnt {
            first = first.saturating_sub(1);
            continue;
        }
        let counters = bench.group.counters() - before;
        reads.push(Read { latency, counters });
    }
    Ok(reads)
}
