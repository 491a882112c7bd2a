//! Comparison of real runs on the emulator with runs of the twin that uses this machine's measured times.

use super::compared::{Compared, Figures};
use super::driver::BS;
use super::error::CalibrateError;
use super::reads::{CalibratePlace, Reads, reads};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_nvme::wait::{Adaptive, AnyPolicy, Goal, Policy, Promised, StepKind, Waiter};
use joulio_twin::grid::GridSweep;
use joulio_twin::{TwinError, TwinSetup, run_policy, wait_costs};
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, EngineName, Job, Method, Stop};
use serde::Serialize;

/// Comparisons of the completion modes that this machine supports, and the reasons why others were not compared.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checked {
    /// Comparisons that were made.
    pub check: Vec<Compared>,
    /// Completion modes that were not compared, and why.
    pub not_checked: Vec<NotChecked>,
}

/// A completion mode that cannot be compared on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct NotChecked {
    /// The completion mode.
    pub completion: String,
    /// Reason why it cannot.
    pub why: String,
}

/// Runs `profile` in each completion mode that this machine supports, really and in virtual time. `beside` is the time
/// in nanoseconds by which the emulated device is slower than its profile; the tuple has the number of real reads, the
/// number of rounds, and the place of the reads.
pub fn compare(
    machine: &MachineProfile,
    profile: &DeviceProfile,
    beside: f64,
    (ios, rounds, place): (u64, u32, CalibratePlace),
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
    let adaptive = adaptive(machine, &slower)?;
    for (mode, policy) in modes(half) {
        let kind = Reads {
            profile: profile.clone(),
            mode,
            adaptive: matches!(policy, AnyPolicy::Adaptive(_)).then(|| adaptive.clone()),
            ios,
            learns: learns(&policy),
        };
        let twin = match lacks(&policy) {
            Some(why) => Err(why),
            None => simulated(machine, &slower, &kind, place.neighbours)?,
        };
        match twin {
            Ok(twin) => {
                twins.push((mode, twin));
                kinds.push(kind);
            }
            Err(why) => checked.not_checked.push(NotChecked {
                completion: mode.to_string(),
                why,
            }),
        }
    }
    let done = reads(&kinds, rounds, place, stop)?;
    let tick = machine
        .costs
        .as_ref()
        .and_then(|costs| costs.tick_ns.as_ref());
    for ((mode, twin), round) in twins.into_iter().zip(done) {
        let (real, alike) = Figures::of_real(&round, twin.are_alike());
        let window = round.shares.map(|shares| shares.window.0.max(1) as f64);
        checked.check.push(Compared {
            completion: mode.to_string(),
            real,
            alike,
            twin,
            tick_ms_per_second: window
                .zip(tick)
                .map(|(window, tick)| tick.value / window * 1e3),
            lost_percent: round.lost_percent(),
        });
    }
    Ok(checked)
}

/// Returns every completion mode of the driver with its policy, and also a fixed sleep of `half` the service time.
fn modes(half: Nanos) -> impl Iterator<Item = (CompletionMode, AnyPolicy)> {
    let fixed = CompletionMode::HybridFixed(half);
    let all = CompletionMode::ALL.into_iter().chain([fixed]);
    all.filter_map(|mode| Some((mode, mode.policy()?)))
}

/// Returns the reason why this machine cannot wait with `policy`; `None` if it can.
fn lacks(policy: &AnyPolicy) -> Option<String> {
    if policy.asks_others() {
        return Some("no stock kernel says whether another thread is runnable on its CPU".into());
    }
    let (waiter, steps) = (Waiter::new(), policy.steps());
    if steps.has(StepKind::UserInterrupt) {
        return Some("an emulated device raises no user interrupts".into());
    }
    let kind = steps.missing_in(waiter.can());
    kind.map(|kind| waiter.lacks(kind))
}

/// Returns the time that `policy` needs to learn before its runs are comparable.
fn learns(policy: &AnyPolicy) -> Nanos {
    match policy.timed() {
        true => GridSweep::RAMP,
        false => Nanos::ZERO,
    }
}

/// Returns the policy `adaptive` with the costs of `machine`, and the steps that this CPU has: the profile's watts may
/// be of a CPU that has more. Nothing is promised: whether a promise allows a sleep depends on the latest of this
/// machine's timers, and no timer of the twin is unexpectedly late.
fn adaptive(machine: &MachineProfile, device: &DeviceProfile) -> Result<Adaptive, CalibrateError> {
    let setup = TwinSetup::new(machine, std::slice::from_ref(device));
    let costs = wait_costs(
        &job(1, Nanos::ZERO),
        method(CompletionMode::Adaptive),
        &setup,
    )?;
    let goal = Goal {
        promised: Promised::Nothing,
        ..Goal::default()
    };
    Ok(Adaptive::new(costs, goal, 1, Waiter::new().can()))
}

fn job(ios: u64, ramp_time: Nanos) -> Job {
    Job {
        bs: u64::from(BS).into(),
        ramp_time,
        ..Job::random_reads(ios)
    }
}

fn method(mode: CompletionMode) -> Method {
    Method {
        engine: EngineName::Nvme,
        mode,
    }
}

/// Runs reads in virtual time; returns the reason if the machine's profile lacks figures that their mode needs.
fn simulated(
    machine: &MachineProfile,
    device: &DeviceProfile,
    kind: &Reads,
    neighbours: usize,
) -> Result<Result<Figures, String>, CalibrateError> {
    let job = job(kind.ios, kind.learns.max(Nanos::from_millis(50)));
    let setup = TwinSetup {
        neighbours,
        per_io: true,
        ..TwinSetup::new(machine, std::slice::from_ref(device))
    };
    let policy = |_| kind.policy().unwrap_or(AnyPolicy::POLL);
    let done = match run_policy(&job, method(kind.mode), &setup, policy) {
        Err(error @ TwinError::Step { .. }) => return Ok(Err(error.to_string())),
        done => done?,
    };
    Ok(Ok(Figures::of_twin(&done)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adaptive_is_compared_without_a_promise_and_with_the_steps_of_this_cpu() {
        let machine = MachineProfile::builtin("generic-server").unwrap();
        let device = DeviceProfile::builtin("samsung-960-evo").unwrap();
        let adaptive = adaptive(&machine, &device).unwrap();
        let policy = AnyPolicy::Adaptive(adaptive.clone());
        // The profile has TPAUSE; this CPU may not.
        assert_eq!(lacks(&policy), None);
        let mode = CompletionMode::Adaptive;
        assert!(modes(Nanos(1)).any(|(one, _)| one == mode));
        let kind = Reads {
            profile: device.clone(),
            mode,
            adaptive: Some(adaptive),
            ios: 500,
            learns: learns(&policy),
        };
        let twin = simulated(&machine, &device, &kind, 0).unwrap().unwrap();
        // A sleep is cheaper than a spin of 70 us; where the CPU has TPAUSE, that may be cheaper still.
        let rests = twin.sleeps + twin.interrupts > 0.9;
        assert!(rests || policy.steps().has(StepKind::Pause), "{twin:?}");
    }
}
