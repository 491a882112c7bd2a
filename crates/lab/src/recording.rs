//! A run whose queues record their events.

use joulio_energy::Meters;
use joulio_model::MachineProfile;
use joulio_trace::{Event, Timeline, WaitKind};
use joulio_twin::TwinSetup;
use joulio_wait::{StepKind, WaitCosts};
use joulio_workload::{
    CompletionMode, EngineName, Job, Method, RunError, RunResult, Setup, Stop, Target, run_traced,
};
use std::path::Path;

/// Events that an I/O takes, generously: a submission, a doorbell, a completion, and some waits
/// that end too early.
const EVENTS_PER_IO: u64 = 16;
/// A queue's recorder has room for at least this many events, and at most.
const MIN_EVENTS: u64 = 4 << 10;
const MAX_EVENTS: u64 = 1 << 20;
const _: () = assert!(MAX_EVENTS * (size_of::<Event>() as u64) < 32 << 20);

/// Runs `job` by joulio's own driver in completion mode `mode`, and returns the timeline of what its
/// threads recorded beside the result. Of very many I/Os the last are recorded. Waits that were
/// planned are priced by the costs of `machine`.
///
/// # Errors
/// The job does not fit the targets, or the run fails.
pub fn record(
    job: &Job,
    mode: CompletionMode,
    targets: &[Box<dyn Target>],
    machine: &MachineProfile,
    stop: &Stop,
) -> Result<(RunResult, Timeline), RunError> {
    let method = Method {
        engine: EngineName::Nvme,
        mode,
    };
    let costs = joulio_twin::wait_costs(job, method, &TwinSetup::new(machine, &[])).ok();
    let costs = costs.unwrap_or_else(WaitCosts::generic);
    let setup = Setup {
        targets,
        machine: None,
        at_home: false,
        baseline: None,
        stop,
        progress: &|_| {},
        root: Path::new("/"),
        wait_costs: Some(&costs),
        trace: Some(capacity(job.number_ios.unwrap_or(u64::MAX))),
    };
    let (result, threads) = run_traced(job, method, &setup, &mut Meters::default())?;
    let mut timeline = Timeline::new(&threads);
    timeline.price(|kind, time| costs.energy(step(kind), time));
    Ok((result, timeline))
}

/// The step that a wait of the trace was.
fn step(kind: WaitKind) -> StepKind {
    match kind {
        WaitKind::Sleep => StepKind::Sleep,
        WaitKind::Block => StepKind::Block,
        WaitKind::Spin => StepKind::Spin,
        WaitKind::Pause => StepKind::Pause,
    }
}

/// Events that a queue keeps for `ios` I/Os.
fn capacity(ios: u64) -> usize {
    let events = ios.saturating_mul(EVENTS_PER_IO);
    events.clamp(MIN_EVENTS, MAX_EVENTS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_has_room_for_a_short_run_and_an_end_for_a_long_one() {
        assert_eq!(capacity(1), 4096);
        assert_eq!(capacity(1000), 16_000);
        assert_eq!(capacity(u64::MAX), 1 << 20);
    }
}
