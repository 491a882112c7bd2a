//! Real runs on the emulator beside the twin's, with this machine's times.

use super::driver::{BS, CalibrateCpus};
use super::error::CalibrateError;
use super::reads::{Read, Reads, median, reads};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_nvme::wait::{AnyPolicy, Counters, Policy, StepKind, Waiter};
use joulio_twin::grid::Sweep;
use joulio_twin::{TwinError, TwinSetup, run as run_twin};
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, EngineName, Job, Method, Stop};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest difference of the twin's median from the real one, as a fraction of the real one.
const MAX_ERROR: f64 = 0.2;

/// The smallest share of the real I/Os that have to count the same. Other programs preempt a job
/// now and then, and what has completed by then it need not wait for.
const ALIKE: f64 = 0.95;

/// Largest difference of the mean counts an I/O, of a mode that learns: what it does hangs on
/// times, which differ from one I/O to the next.
const NEAR: f64 = 0.1;

/// Every completion mode that this machine has, and why the others are not compared.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checked {
    /// Comparisons that were made.
    pub check: Vec<Compared>,
    /// Comparisons that were not made, and why.
    pub not_checked: Vec<NotChecked>,
}

/// A completion mode that cannot be compared here.
#[derive(Clone, Debug, Serialize)]
pub struct NotChecked {
    /// The completion mode.
    pub completion: String,
    /// Why not.
    pub why: String,
}

/// One completion mode, real and simulated: counts an I/O, and the median latency.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The completion mode.
    pub completion: String,
    /// On the emulated device, in real time: what most of its I/Os counted; the mean, of a mode
    /// that learns and so does not do the same for each.
    pub real: Figures,
    /// The share of the real I/Os that counted what most of them did, exactly.
    pub alike: f64,
    /// In virtual time, with the times that were measured: the mean of the counts.
    pub twin: Figures,
}

/// Counts of an I/O and its median latency, real or simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// In virtual time.
    pub modelled: bool,
    /// Interrupts an I/O.
    pub interrupts: f64,
    /// Timer sleeps an I/O.
    pub sleeps: f64,
    /// Blocks an I/O that an interrupt ended. The driver checks its queues some times a second,
    /// which ends a block too, and has nothing to do with the I/O.
    pub wakes: f64,
    /// Median latency in nanoseconds.
    pub median_ns: u64,
}

impl Figures {
    /// Returns what most of `reads` counted, or all of them in the mean where each is not `alike`,
    /// with their median latency; and the share that counted what most did.
    fn of(reads: &[Read], alike: bool) -> (Figures, f64) {
        let mut counts: BTreeMap<[u64; 3], usize> = BTreeMap::new();
        for read in reads {
            let c = &read.counters;
            *counts.entry([c.interrupts, c.sleeps, c.wakes]).or_default() += 1;
        }
        let usual = counts.into_iter().max_by_key(|(_, ios)| *ios);
        let (usual, ios) = usual.unwrap_or_default();
        let all = reads.len().max(1) as f64;
        let mean = |of: fn(&Counters) -> u64| {
            let sum: u64 = reads.iter().map(|read| of(&read.counters)).sum();
            sum as f64 / all
        };
        let [interrupts, sleeps, wakes] = match alike {
            true => usual.map(|count| count as f64),
            false => [
                mean(|c| c.interrupts),
                mean(|c| c.sleeps),
                mean(|c| c.wakes),
            ],
        };
        let figures = Figures {
            modelled: false,
            interrupts,
            sleeps,
            wakes,
            median_ns: median(reads) as u64,
        };
        (figures, ios as f64 / all)
    }

    /// Interrupts, timer sleeps and wakes an I/O.
    pub fn counts(&self) -> [f64; 3] {
        [self.interrupts, self.sleeps, self.wakes]
    }

    /// Every I/O did the same.
    fn are_alike(&self) -> bool {
        self.counts().iter().all(|count| count.fract() == 0.0)
    }
}

impl Compared {
    /// All of the twin's I/Os do what nearly all of the real ones do; where the twin's do not all
    /// do the same, the means are near each other.
    pub fn same_counts(&self) -> bool {
        let (real, twin) = (self.real.counts(), self.twin.counts());
        if self.twin.are_alike() {
            return real == twin && self.alike >= ALIKE;
        }
        real.iter()
            .zip(twin)
            .all(|(real, twin)| (real - twin).abs() <= NEAR)
    }

    /// The twin's median less the real one, over the real one.
    pub fn error(&self) -> f64 {
        let real = self.real.median_ns.max(1) as f64;
        self.twin.median_ns as f64 / real - 1.0
    }

    /// Counts are the same, and medians near each other.
    pub fn agrees(&self) -> bool {
        self.same_counts() && self.error().abs() <= MAX_ERROR
    }
}

/// Runs `profile` in each completion mode that this machine has, really and in virtual time.
/// `beside`: what the emulated device takes more than the profile says, in nanoseconds.
pub fn compare(
    machine: &MachineProfile,
    profile: &DeviceProfile,
    beside: f64,
    (ios, rounds, cpus): (u64, u32, CalibrateCpus),
    stop: &Stop,
) -> Result<Checked, CalibrateError> {
    let mut slower = profile.clone();
    for point in &mut slower.service.read {
        point.us.value += beside / 1e3;
        point.us.band = None;
    }
    let point = slower.service.read.first();
    let half = Nanos(point.map_or(1.0, |point| point.us.value * 500.0) as u64);
    let mut checked = Checked::default();
    let (mut kinds, mut twins) = (Vec::new(), Vec::new());
    for (mode, policy) in modes(half) {
        let twin = match lacks(&policy) {
            Some(why) => Err(why),
            None => simulated(machine, &slower, mode, learns(&policy), ios)?,
        };
        match twin {
            Ok(twin) => {
                twins.push((mode, twin));
                kinds.push(Reads {
                    profile: profile.clone(),
                    mode,
                    ios,
                    learns: learns(&policy),
                });
            }
            Err(why) => checked.not_checked.push(NotChecked {
                completion: mode.to_string(),
                why,
            }),
        }
    }
    let done = reads(&kinds, rounds, cpus, stop)?;
    for ((mode, twin), reads) in twins.into_iter().zip(done) {
        let (real, alike) = Figures::of(&reads, twin.are_alike());
        checked.check.push(Compared {
            completion: mode.to_string(),
            real,
            alike,
            twin,
        });
    }
    Ok(checked)
}

/// Every completion mode of the driver with a policy of it; a sleep of `half` the service time
/// beside them.
fn modes(half: Nanos) -> impl Iterator<Item = (CompletionMode, AnyPolicy)> {
    let fixed = CompletionMode::HybridFixed(half);
    let all = CompletionMode::ALL.into_iter().chain([fixed]);
    all.filter_map(|mode| Some((mode, mode.policy()?)))
}

/// Why this machine cannot wait by `policy`; `None` if it can.
fn lacks(policy: &AnyPolicy) -> Option<String> {
    if policy.asks_others() {
        return Some("no stock kernel says whether another thread is runnable on its CPU".into());
    }
    if matches!(policy, AnyPolicy::Adaptive(_)) {
        return Some("it plans by the times that it has seen, and those are not the twin's".into());
    }
    let (waiter, steps) = (Waiter::new(), policy.steps());
    if steps.has(StepKind::UserInterrupt) {
        return Some("an emulated device raises no user interrupts".into());
    }
    let mut kinds = StepKind::ALL.into_iter();
    let kind = kinds.find(|&kind| steps.has(kind) && !waiter.can().has(kind));
    kind.map(|kind| waiter.lacks(kind))
}

/// Returns the time that `policy` runs before it is itself.
fn learns(policy: &AnyPolicy) -> Nanos {
    match policy.timed() {
        true => Sweep::RAMP,
        false => Nanos::ZERO,
    }
}

/// Runs a completion mode in virtual time; returns why not, where the machine's profile lacks what
/// the mode needs.
fn simulated(
    machine: &MachineProfile,
    device: &DeviceProfile,
    mode: CompletionMode,
    learns: Nanos,
    ios: u64,
) -> Result<Result<Figures, String>, CalibrateError> {
    let job = Job {
        bs: u64::from(BS).into(),
        ramp_time: learns.max(Nanos::from_millis(50)),
        ..Job::random_reads(ios)
    };
    let method = Method {
        engine: EngineName::Nvme,
        mode,
    };
    let setup = TwinSetup::new(machine, std::slice::from_ref(device));
    let done = match run_twin(&job, method, &setup) {
        Err(error @ TwinError::Step { .. }) => return Ok(Err(error.to_string())),
        done => done?,
    };
    let each = |count: u64| count as f64 / done.ios().max(1) as f64;
    Ok(Ok(Figures {
        modelled: true,
        interrupts: each(done.counters.interrupts),
        sleeps: each(done.counters.sleeps),
        wakes: each(done.counters.wakes),
        median_ns: done.read.latency.value_at_quantile(0.5),
    }))
}
