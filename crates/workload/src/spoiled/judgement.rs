//! The judgement: computes causes with their shares from the evidence.

use super::evidence::{Evidence, JobEvidence, Learning, Scheduled};
use super::reasons;
use super::thresholds::{CLOCKS, LATE, SPINNER_SWITCHES, TOLERATED, WAKE};
use crate::surroundings::Happened;
use joulio_job::{Spoiled, SpoiledBy};
use joulio_kernel_io::TICK;
use joulio_units::Nanos;

/// Returns the reason that `device` lost a setting in a reset.
pub(crate) fn settings_lost(device: &str, setting: &str) -> Spoiled {
    let why = reasons::settings_lost(device, setting);
    spoiled(SpoiledBy::SettingsLost, None, why)
}

/// Returns the reason that other programs ran for `time` of `window` on `cpu`, which should run nothing else;
/// `None` if that is at most the share `tolerated`.
pub fn by_others(cpu: &str, time: Nanos, window: Nanos, tolerated: f64) -> Option<Spoiled> {
    let spoiled = lost(SpoiledBy::Busy, time, window, |extent| {
        reasons::busy(cpu, extent)
    });
    spoiled.filter(|spoiled| spoiled.share.is_some_and(|share| share > tolerated))
}

/// Returns everything that spoiled a run.
pub(crate) fn judge(run: &Evidence<'_>) -> Vec<Spoiled> {
    let continued = run.happened.stopped || run.jobs.iter().any(|job| job.stopped);
    let stopped = continued && (!run.requested_to_end || run.late > LATE);
    let happened = Happened {
        stopped,
        ..run.happened.clone()
    };
    let mut all: Vec<_> = [preempted(run), device(run), kernel(run)]
        .into_iter()
        .flatten()
        .collect();
    all.extend(happened.spoiled(run.cpus));
    if run.late > LATE && !stopped {
        all.push(spoiled(
            SpoiledBy::Stalled,
            None,
            reasons::stalled(run.late),
        ));
    }
    all.extend(not_learnt(run));
    all
}

fn preempted(run: &Evidence<'_>) -> Option<Spoiled> {
    let worst = run.jobs.iter().max_by(|one, other| {
        share(one.lost(), one.whole()).total_cmp(&share(other.lost(), other.whole()))
    })?;
    let job = (run.jobs.len() > 1).then_some(worst.index);
    lost(
        SpoiledBy::Preempted,
        worst.lost(),
        worst.whole(),
        |extent| reasons::preempted(job, extent, worst.scheduled.preemptions),
    )
}

fn device(run: &Evidence<'_>) -> Option<Spoiled> {
    let (scheduled, threads) = run.devices;
    let whole = Nanos(run.window.0.saturating_mul(threads as u64));
    let waited = scheduled.waited(whole);
    let by = SpoiledBy::DevicePreempted;
    lost(by, waited, whole, reasons::device_preempted)
}

fn kernel(run: &Evidence<'_>) -> Option<Spoiled> {
    let threads = run
        .jobs
        .iter()
        .filter_map(|job| Some((job.kernel?, job.window)));
    let worst = threads.max_by_key(|(thread, window)| thread.waited(*window));
    let (thread, window) = worst?;
    let by = SpoiledBy::KernelPreempted;
    lost(by, thread.waited(window), window, reasons::kernel_preempted)
}

fn not_learnt(run: &Evidence<'_>) -> Option<Spoiled> {
    let of = |job: &JobEvidence| match job.learning {
        Learning {
            to_the_end: true, ..
        } => 1.0,
        Learning { at_first, .. } => share(at_first, job.window).min(1.0),
    };
    let worst = run.jobs.iter().map(of).max_by(f64::total_cmp)?;
    let why = || reasons::not_learnt(worst);
    (worst > TOLERATED).then(|| spoiled(SpoiledBy::NotLearnt, Some(worst), why()))
}

impl Happened {
    /// Returns the events that spoil a measurement on `cpus` (empty: on any).
    pub fn spoiled(&self, cpus: &[usize]) -> Vec<Spoiled> {
        let all = [
            self.stolen(cpus),
            self.throttled
                .then(|| spoiled(SpoiledBy::Throttled, None, reasons::THROTTLED.into())),
            self.stopped
                .then(|| spoiled(SpoiledBy::Stopped, None, reasons::STOPPED.into())),
            (self.suspended > CLOCKS).then(|| {
                let why = reasons::suspended(self.suspended);
                spoiled(SpoiledBy::Suspended, None, why)
            }),
            (self.stepped_ns.unsigned_abs() > CLOCKS.0).then(|| {
                let why = reasons::clock_stepped(self.stepped_ns);
                spoiled(SpoiledBy::ClockStepped, None, why)
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// Returns the reason for the CPU from which the host took the most time. A tick that began before the run is
    /// not counted as stolen in it.
    fn stolen(&self, cpus: &[usize]) -> Option<Spoiled> {
        let used = self.cpus.iter();
        let used = used.filter(|(cpu, _)| cpus.is_empty() || cpus.contains(cpu));
        let (cpu, most_stolen) = used.max_by_key(|(_, used)| used.stolen)?;
        let stolen = most_stolen.stolen.since(TICK);
        lost(SpoiledBy::Stolen, stolen, self.window, |extent| {
            reasons::stolen(*cpu, extent)
        })
    }
}

impl Scheduled {
    /// Returns the part of `window` for which the thread waited for its CPU, beyond the time that its wake-ups
    /// take. A CPU enters no idle state that takes longer to leave than the expected idle time, so that wake-ups
    /// take at most as long as the thread was blocked.
    fn waited(&self, window: Nanos) -> Nanos {
        let delay = self.run_delay.unwrap_or_default();
        let blocked = window.since(self.ran + delay);
        let woken = Nanos(self.wakes.saturating_mul(WAKE.0)).min(blocked);
        delay.since(woken)
    }
}

impl JobEvidence {
    /// Returns the length of the measured part, actual or intended: the job may have had no CPU when it should have
    /// begun.
    fn whole(&self) -> Nanos {
        self.window.max(self.due)
    }

    /// Returns the time for which the job had no CPU although it should have had one.
    fn lost(&self) -> Nanos {
        self.lost_in_window() + self.due.since(self.window)
    }

    fn lost_in_window(&self) -> Nanos {
        let waited = self.scheduled.waited(self.window);
        let switches = SPINNER_SWITCHES * self.window.seconds() + 1.0;
        match self.never_waits && self.scheduled.wakes as f64 <= switches {
            true => waited.max(self.window.since(self.scheduled.ran)),
            false => waited,
        }
    }
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    match whole {
        Nanos::ZERO => 0.0,
        whole => part.seconds() / whole.seconds(),
    }
}

fn spoiled(by: SpoiledBy, share: Option<f64>, why: String) -> Spoiled {
    Spoiled { by, share, why }
}

/// Returns the reason that `part` of `whole` was lost, if that is more than is tolerated.
fn lost(
    by: SpoiledBy,
    part: Nanos,
    whole: Nanos,
    why: impl FnOnce(&str) -> String,
) -> Option<Spoiled> {
    let share = share(part, whole).min(1.0);
    let extent = reasons::extent(share, part);
    (share > TOLERATED).then(|| spoiled(by, Some(share), why(&extent)))
}

#[cfg(test)]
mod tests;
