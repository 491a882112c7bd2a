//! Interrupts of other queues and devices on a job's CPU.

use crate::common::{device, method};
use joulio_job::{Arrivals, EngineName, Job};
use joulio_model::{FrequencyRatio, MachineProfile};
use joulio_twin::{CoreTimes, TwinError, TwinRun, TwinSetup, run_policy};
use joulio_units::Nanos;
use joulio_wait::AnyPolicy;

const RATE: u32 = 20_000;

fn machine() -> MachineProfile {
    MachineProfile::builtin("generic-server").unwrap()
}

/// Returns the nanoseconds that a handler takes.
fn handler() -> u64 {
    let costs = machine().costs.unwrap();
    costs.interrupt_ns.value as u64
}

fn poll() -> AnyPolicy {
    AnyPolicy::POLL
}

fn interrupt() -> AnyPolicy {
    AnyPolicy::INTERRUPT
}

/// Runs reads at depth 1 on CPU 0 for a second, with this number of other interrupts per second.
fn reads(
    other_irqs: u32,
    neighbours: usize,
    arrivals: Arrivals,
    policy: fn() -> AnyPolicy,
) -> Result<TwinRun, TwinError> {
    let (machine, devices) = (machine(), [device("optane-900p")]);
    let setup = TwinSetup {
        other_irqs,
        neighbours,
        ..TwinSetup::new(&machine, &devices)
    };
    let job = Job {
        cpus_allowed: vec![0],
        number_ios: None,
        runtime: Some(Nanos::from_millis(1_000)),
        arrivals,
        ..Job::random_reads(1)
    };
    run_policy(&job, method(EngineName::Nvme), &setup, |_| policy())
}

fn closed(other_irqs: u32, neighbours: usize, policy: fn() -> AnyPolicy) -> TwinRun {
    reads(other_irqs, neighbours, Arrivals::Closed, policy).unwrap()
}

fn times(done: &TwinRun) -> CoreTimes {
    done.cpus[0].1
}

#[test]
fn as_many_come_as_were_asked_for_and_each_takes_a_handlers_time() {
    for policy in [poll, interrupt] {
        for neighbours in [0, 1] {
            let done = closed(RATE, neighbours, policy);
            let count = done.other_irqs.unwrap();
            // Within five times the square root of a second's number.
            assert!(count.abs_diff(u64::from(RATE)) < 700, "{count}");
            assert_eq!(done.result.counts.as_ref().unwrap().other_irqs, Some(count));
            let times = times(&done);
            assert!(times.other_irq.0.abs_diff(count * handler()) <= handler());
            // No time of the CPU is lost or counted twice.
            let all = times.total().0 as f64 / done.window.0 as f64;
            assert!((0.999..1.001).contains(&all), "{neighbours}: {all}");
        }
    }
    let none = closed(0, 0, poll);
    assert_eq!(none.other_irqs, None);
    assert_eq!(times(&none).other_irq, Nanos::ZERO);
}

#[test]
fn who_polls_loses_no_more_than_the_handlers_time() {
    let alone = closed(0, 0, poll);
    let beside = closed(RATE, 0, poll);
    let lost = 1.0 - beside.iops() / alone.iops();
    let handling = f64::from(RATE) * handler() as f64 / 1e9;
    // Most handlers run while the device works, and delay nothing.
    assert!(lost > 0.0 && lost < handling, "{lost}, {handling}");
    // They do not count as the job's own interrupts.
    assert_eq!(beside.counters.interrupts, 0);
}

#[test]
fn who_blocks_still_wakes_once_an_io_and_its_cpu_time_has_no_others_handlers() {
    let alone = closed(0, 0, interrupt);
    let beside = closed(RATE, 0, interrupt);
    assert_eq!(beside.counters.interrupts, beside.counters.wakes);
    assert!(beside.counters.wakes.abs_diff(beside.ios()) <= 1);
    let [alone, more] = [&alone, &beside].map(|done| done.cpu_per_io().unwrap());
    assert!((more / alone - 1.0).abs() < 0.05, "{more} and {alone}");
}

#[test]
fn a_cpu_that_others_interrupt_leaves_its_idle_state_for_them() {
    let rare = Arrivals::Every(Nanos::from_millis(5));
    let run = |rate| reads(rate, 0, rare, interrupt).unwrap();
    let (alone, beside) = (run(0), run(RATE));
    assert!(times(&alone).c6 > Nanos::from_millis(500));
    // 50 us between two interrupts are too short for the deepest state.
    assert!(times(&beside).c6.0 < times(&alone).c6.0 / 10);
    assert!(times(&beside).wakes > times(&alone).wakes + u64::from(RATE) / 2);
    assert!(beside.energy.joules.0 > alone.energy.joules.0);
}

#[test]
fn more_than_a_cpu_can_handle_is_refused() {
    let refused = reads(5_000_000, 0, Arrivals::Closed, poll).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "other-irqs: 5000000 a second leave no CPU to the jobs: handlers may have 80 % of it"
    );
}

#[test]
fn at_a_lower_clock_a_cpu_can_handle_fewer() {
    let (machine, devices) = (machine(), [device("optane-900p")]);
    let job = Job {
        cpus_allowed: vec![0],
        ..Job::random_reads(1)
    };
    let run = |ratio| {
        let setup = TwinSetup {
            other_irqs: 1_100_000,
            frequency: FrequencyRatio::new(ratio),
            ..TwinSetup::new(&machine, &devices)
        };
        run_policy(&job, method(EngineName::Nvme), &setup, |_| poll())
    };
    assert!(run(1.0).is_ok());
    let refused = run(0.5).unwrap_err().to_string();
    assert_eq!(
        refused,
        "other-irqs: 1100000 a second leave no CPU to the jobs: handlers may have 80 % of it"
    );
}

/// Replicates have successive seeds.
#[test]
fn no_cpu_is_interrupted_as_another_is_in_the_next_replicate() {
    const CPUS: usize = 8;
    let (machine, devices) = (machine(), [device("optane-900p")]);
    let setup = TwinSetup {
        other_irqs: RATE,
        ..TwinSetup::new(&machine, &devices)
    };
    let counts = |seed| -> Vec<u64> {
        let job = Job {
            seed,
            numjobs: CPUS,
            number_ios: None,
            runtime: Some(Nanos::from_millis(500)),
            ..Job::random_reads(1)
        };
        let done = run_policy(&job, method(EngineName::Nvme), &setup, |_| interrupt()).unwrap();
        let each = done.cpus.iter();
        each.map(|(_, times)| times.other_irqs).collect()
    };
    let (first, next) = (counts(1), counts(2));
    assert_eq!(first.len(), CPUS);
    // The same interrupts would differ in number by one at most, which the end of the jobs may cut off.
    let mut pairs = first[1..].iter().zip(&next);
    assert!(
        pairs.any(|(one, other)| one.abs_diff(*other) > 1),
        "{first:?} {next:?}"
    );
}
