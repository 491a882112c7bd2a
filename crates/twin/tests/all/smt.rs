//! Jobs on the two hardware threads of a core.

use crate::common::{device, method};
use joulio_job::{EngineName, Job};
use joulio_model::{Figure, FigureKind, MachineProfile};
use joulio_twin::{TwinRun, TwinSetup, run_policy};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Tpause};

/// Number of cores: CPUs 0 and 20 of generic-server are one core.
const CORES: usize = 20;

fn machine() -> MachineProfile {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    assert_eq!(machine.cores.count(), CORES as u64);
    machine
}

/// Runs reads at depth 1 for a tenth of a second, each job on its own drive: the first CPU polls, and the second
/// uses the policy that `second` makes.
fn reads(machine: &MachineProfile, cpus: &[usize], second: fn() -> AnyPolicy) -> TwinRun {
    // The nth I/O of a drive takes the same time in every run, so that only code makes a difference.
    let devices = vec![device("optane-900p"); cpus.len()];
    let job = Job {
        numjobs: cpus.len(),
        cpus_allowed: cpus.to_vec(),
        number_ios: None,
        runtime: Some(Nanos::from_millis(100)),
        ..Job::random_reads(1)
    };
    let policy = |index| match index {
        0 => AnyPolicy::POLL,
        _ => second(),
    };
    let setup = TwinSetup::new(machine, &devices);
    run_policy(&job, method(EngineName::Nvme), &setup, policy).unwrap()
}

/// Returns the number of I/Os of the first job.
fn first(done: &TwinRun) -> f64 {
    done.devices[0].read.ios as f64
}

fn poll() -> AnyPolicy {
    AnyPolicy::POLL
}

fn pause() -> AnyPolicy {
    AnyPolicy::Tpause(Tpause::new(Tpause::PAUSE))
}

#[test]
fn a_spinner_slows_the_other_thread_of_its_core_and_a_pause_hardly_does() {
    let machine = machine();
    let alone = first(&reads(&machine, &[0], poll));
    let apart = first(&reads(&machine, &[0, 1], poll));
    assert!((apart / alone - 1.0).abs() < 0.01, "{apart} and {alone}");
    let spun = first(&reads(&machine, &[0, CORES], poll));
    let paused = first(&reads(&machine, &[0, CORES], pause));
    assert!(spun < 0.995 * alone, "{spun} and {alone}");
    assert!(
        paused > spun && paused <= alone * 1.005,
        "{paused} between {spun} and {alone}"
    );
    // A thread that works all the time would slow it down more.
    let mut busy = machine.clone();
    busy.costs.as_mut().unwrap().smt_spin_slowdown = None;
    let worked = first(&reads(&busy, &[0, CORES], poll));
    assert!(worked < spun, "{worked} and {spun}");
}

#[test]
fn a_second_thread_draws_its_share_and_no_more() {
    let mut machine = machine();
    let cores = |machine: &MachineProfile, cpus: &[usize]| reads(machine, cpus, poll).parts.cores.0;
    let one = cores(&machine, &[0]);
    let apart = cores(&machine, &[0, 1]);
    let both = cores(&machine, &[0, CORES]);
    assert!((apart / one - 2.0).abs() < 0.02, "{apart} and {one}");
    assert!((both / one - 1.15).abs() < 0.02, "{both} and {one}");
    machine.costs.as_mut().unwrap().smt_watts_share = None;
    let free = cores(&machine, &[0, CORES]);
    assert!((free / one - 1.0).abs() < 0.02, "{free} and {one}");
}

#[test]
fn what_the_second_thread_draws_makes_the_uncore_no_busier() {
    let mut machine = machine();
    machine.uncore_watts = Some(Figure {
        value: 10.0,
        kind: FigureKind::Guess,
        source: "a test's".into(),
        band: None,
    });
    let active = machine.uncore_active_watts.as_ref().unwrap().value;
    let done = reads(&machine, &[0, CORES], poll);
    let most = (10.0 + active / CORES as f64) * done.window.seconds();
    let uncore = done.parts.uncore.0;
    assert!(uncore > 0.99 * most, "{uncore} of {most} J");
    assert!(uncore <= most * (1.0 + 1e-6), "{uncore} of {most} J");
}
