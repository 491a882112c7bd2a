//! Runs whose queues record their events.

use crate::experiment::{EnergyError, ExperimentError, WorkloadOptions, check_cpus};
use crate::machine_profile;
use crate::plan_costs::plan_costs;
use crate::targets::{TargetOptions, open_targets};
use joulio_energy::Meters;
use joulio_model::MachineProfile;
use joulio_trace::{Event, Timeline, WaitKind};
use joulio_wait::StepKind;
use joulio_workload::{
    CompletionMode, EngineName, Job, Member, Method, RunResult, Setup, Stop, run_recorded,
};
use std::path::Path;
use std::slice;

/// Generous estimate of the events of an I/O: a submission, a doorbell, a completion, and some waits that end too
/// early.
const EVENTS_PER_IO: u64 = 16;
/// Smallest and largest number of events that a queue's recorder has room for.
const MIN_EVENTS: u64 = 4 << 10;
const MAX_EVENTS: u64 = 1 << 20;
const _: () = assert!(MAX_EVENTS * (size_of::<Event>() as u64) < 32 << 20);

/// Options of a recorded run.
#[derive(Clone, Debug)]
pub struct RecordingOptions {
    /// Devices, and how they are opened.
    pub targets: TargetOptions,
    /// The workload.
    pub workload: WorkloadOptions,
    /// Completion mode of joulio's own driver.
    pub completion: CompletionMode,
    /// Machine with whose costs `adaptive` plans: a name, or a path to a .toml file; `None`: the one that fits this
    /// processor, or a generic server.
    pub machine: Option<String>,
}

/// A recorded run with valid options; nothing is opened yet.
#[derive(Debug)]
pub struct Recording {
    options: RecordingOptions,
    job: Job,
    machine: MachineProfile,
}

impl Recording {
    /// Checks the options as far as possible before anything is opened.
    ///
    /// # Errors
    /// An option is not valid, a device is not for joulio's driver, or there is no such machine.
    pub fn new(options: RecordingOptions) -> Result<Recording, ExperimentError> {
        options.workload.goal.check([options.completion])?;
        let job = options.workload.job()?;
        check_cpus(&job.cpus_allowed)?;
        for device in &options.targets.devices {
            device.check(EngineName::Nvme)?;
        }
        let machine = machine_profile(options.machine.as_deref()).map_err(EnergyError::from)?;
        Ok(Recording {
            options,
            job,
            machine,
        })
    }

    /// Runs the job; returns its result and the timeline that its threads recorded. With too many I/Os, only the last
    /// ones are in it. The energy of waits is computed from the machine's costs.
    ///
    /// # Errors
    /// A device cannot be opened, or the run fails.
    pub fn run(&self, stop: &Stop) -> Result<(RunResult, Timeline), ExperimentError> {
        let Recording {
            options,
            job,
            machine,
        } = self;
        let method = Method {
            engine: EngineName::Nvme,
            mode: options.completion,
        };
        let (costs, of) = plan_costs(Some(machine), job, method);
        let members = vec![Member {
            wait_costs: Some(costs.clone()),
            ..Member::alone(job.clone(), method, options.targets.devices.len())
        }];
        let targets = open_targets(&options.targets, slice::from_ref(&members))?;
        let setup = Setup {
            targets: &targets,
            machine: None,
            at_home: false,
            baseline: None,
            stop,
            progress: &|_| {},
            root: Path::new("/"),
            trace: Some(capacity(job.number_ios.unwrap_or(u64::MAX))),
        };
        let (mut result, recorded) = run_recorded(&members, &setup, &mut Meters::default())?;
        result.planned_by = Some(of).filter(|_| options.completion == CompletionMode::Adaptive);
        let mut timeline = Timeline::new(&recorded.traced);
        timeline.charge(|kind, time| costs.energy(step(kind), time));
        Ok((result, timeline))
    }
}

/// Returns the step for a kind of wait in the trace.
fn step(kind: WaitKind) -> StepKind {
    match kind {
        WaitKind::Sleep => StepKind::Sleep,
        WaitKind::Block => StepKind::Block,
        WaitKind::Spin => StepKind::Spin,
        WaitKind::Pause => StepKind::Pause,
        WaitKind::Monitor => StepKind::Monitor,
    }
}

/// Returns the number of events that a queue's recorder keeps for `ios` I/Os.
fn capacity(ios: u64) -> usize {
    let events = ios.saturating_mul(EVENTS_PER_IO);
    events.clamp(MIN_EVENTS, MAX_EVENTS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::{Nanos, Watts};
    use joulio_wait::WaitCosts;

    #[test]
    fn a_wait_for_a_cache_line_has_its_own_watts() {
        let costs = WaitCosts {
            monitor: Watts(1.0),
            pause: Watts(4.0),
            ..WaitCosts::generic()
        };
        let time = Nanos::from_micros(10);
        let joules = |kind| costs.energy(step(kind), time).0;
        assert!((joules(WaitKind::Monitor) - 10e-6).abs() < 1e-12);
        assert!((joules(WaitKind::Pause) - 40e-6).abs() < 1e-12);
    }

    #[test]
    fn a_recorder_has_room_for_a_short_run_and_an_end_for_a_long_one() {
        assert_eq!(capacity(1), 4096);
        assert_eq!(capacity(1000), 16_000);
        assert_eq!(capacity(u64::MAX), 1 << 20);
    }
}
