//! CPUs that a job shares with other jobs, or with a thread that always computes.

use crate::common::{device, method};
use joulio_job::{EngineName, Job};
use joulio_model::MachineProfile;
use joulio_twin::replay::{History, replay};
use joulio_twin::{TwinRun, TwinSetup, run_policy};
use joulio_units::Nanos;
use joulio_wait::{ActiveCheck, AnyPolicy};

/// Runs reads at depth 1 of `jobs` on one CPU, beside `neighbours` threads, for a second after the first tenth.
fn reads(drive: &str, jobs: usize, neighbours: usize, policy: impl Fn() -> AnyPolicy) -> TwinRun {
    let machine = MachineProfile::builtin("generic-server").unwrap();
    let devices = [device(drive)];
    let setup = TwinSetup {
        neighbours,
        per_io: true,
        ..TwinSetup::new(&machine, &devices)
    };
    let job = Job {
        numjobs: jobs,
        cpus_allowed: vec![0],
        number_ios: None,
        runtime: Some(Nanos::from_millis(1_000)),
        ramp_time: Nanos::from_millis(100),
        ..Job::random_reads(1)
    };
    run_policy(&job, method(EngineName::Nvme), &setup, |_| policy()).unwrap()
}

fn quantile(done: &TwinRun, quantile: f64) -> u64 {
    done.all().latency.value_at_quantile(quantile)
}

const TICK_NS: u64 = 4_000_000;
/// A flash drive that takes about 80 us per read.
const SLOW: &str = "samsung-960-evo";
/// A drive that takes about 10 us per read.
const FAST: &str = "optane-900p";

#[test]
fn who_spins_beside_a_thread_that_computes_has_half_of_the_cpu_and_its_tail_is_a_tick() {
    for drive in [FAST, SLOW] {
        let alone = reads(drive, 1, 0, || AnyPolicy::POLL);
        let beside = reads(drive, 1, 1, || AnyPolicy::POLL);
        assert_eq!(alone.neighbour_percent, None);
        let percent = beside.neighbour_percent.unwrap();
        assert!((48.0..52.0).contains(&percent), "{drive}: {percent}");
        let share = beside.iops() / alone.iops();
        assert!((0.45..0.6).contains(&share), "{drive}: {share}");
        // Each of 125 turns per second makes one I/O wait for the other's turn.
        let slow = beside
            .all()
            .latency
            .count_between(TICK_NS * 9 / 10, u64::MAX);
        assert!((115..=126).contains(&slow), "{drive}: {slow}");
        assert!((115..=126).contains(&beside.preempted), "{drive}");
    }
}

#[test]
fn who_blocks_beside_a_thread_that_computes_has_the_cpu_when_it_wakes() {
    let alone = reads(SLOW, 1, 0, || AnyPolicy::INTERRUPT);
    let beside = reads(SLOW, 1, 1, || AnyPolicy::INTERRUPT);
    assert!(beside.iops() > 0.9 * alone.iops());
    assert!(quantile(&beside, 0.999) < 2 * quantile(&alone, 0.999));
    // The job uses the CPU only for work, some microseconds per I/O.
    let percent = beside.neighbour_percent.unwrap();
    assert!((85.0..98.0).contains(&percent), "{percent}");
    // Beside the thread no core is idle, so that none is slow to wake.
    let times = beside.cpus[0].1;
    assert_eq!(times.c1 + times.c1e + times.c6, Nanos::ZERO);
    assert_eq!(times.wakes, 0);
    let counters = beside.counters;
    assert_eq!(counters.interrupts, counters.wakes);
    assert!(counters.wakes.abs_diff(beside.ios()) <= 1);
}

#[test]
fn all_of_a_cpu_is_the_jobs_or_the_neighbours() {
    for policy in [|| AnyPolicy::POLL, || AnyPolicy::INTERRUPT] {
        for (jobs, neighbours) in [(1, 1), (2, 1), (1, 2), (3, 2)] {
            let done = reads(FAST, jobs, neighbours, policy);
            let times = done.cpus[0].1;
            let all = times.total().0 as f64 / done.window.0 as f64;
            assert!((0.999..1.001).contains(&all), "{jobs} {neighbours}: {all}");
        }
    }
}

#[test]
fn each_io_by_itself_adds_up_to_the_run() {
    for policy in [|| AnyPolicy::POLL, || AnyPolicy::INTERRUPT] {
        for neighbours in [0, 1] {
            let done = reads(SLOW, 1, neighbours, policy);
            assert_eq!(done.per_io.len() as u64, done.ios());
            let (mut interrupts, mut preemptions, mut waited) = (0, 0, Nanos::ZERO);
            for io in &done.per_io {
                interrupts += io.counters.interrupts;
                preemptions += io.preemptions;
                waited += io.run_delay;
            }
            // Except for what comes after the last I/O.
            assert!(done.counters.interrupts - interrupts <= 1);
            assert!(done.preempted - preemptions <= 1);
            let neighbour: u64 = done.cpus.iter().map(|(_, times)| times.neighbour.0).sum();
            if done.counters.blocks > 0 {
                // While the job sleeps it does not request the CPU.
                assert!(waited.0 <= neighbour / 2, "{waited:?} {neighbour}");
            } else {
                assert!(
                    waited.0.abs_diff(neighbour) <= 2 * TICK_NS,
                    "{waited:?} {neighbour}"
                );
            }
        }
    }
}

#[test]
fn spinning_jobs_have_equal_shares_of_their_cpu() {
    let one = reads(SLOW, 1, 0, || AnyPolicy::POLL);
    for jobs in [2, 4] {
        let done = reads(SLOW, jobs, 0, || AnyPolicy::POLL);
        // Together they do no more I/Os than one: one of them always spins.
        let share = done.iops() / one.iops();
        assert!((0.9..1.1).contains(&share), "{jobs}: {share}");
        let longest = done.all().latency.max();
        let turns = (jobs as u64 - 1) * TICK_NS;
        // A thread whose deadline equals that of the next may have two turns.
        assert!(
            (turns * 9 / 10..turns * 3).contains(&longest),
            "{jobs}: {longest}"
        );
    }
}

#[test]
fn blocking_jobs_use_what_the_others_leave() {
    let one = reads(SLOW, 1, 0, || AnyPolicy::INTERRUPT);
    let four = reads(SLOW, 4, 0, || AnyPolicy::INTERRUPT);
    assert!(four.iops() > 3.0 * one.iops());
    assert!(quantile(&four, 0.999) < 2 * quantile(&one, 0.999));
}

#[test]
fn a_user_interrupt_for_a_thread_that_is_away_is_the_kernels() {
    let alone = reads(SLOW, 1, 0, uintr);
    assert_eq!(alone.counters.interrupts, 0);
    let beside = reads(SLOW, 1, 1, uintr);
    let all = beside.counters.interrupts + beside.counters.user_interrupts;
    assert!(all.abs_diff(beside.ios()) <= 2, "{all} of {}", beside.ios());
    // One interrupt per turn of the other.
    let kernel = beside.counters.interrupts;
    assert!((115..=126).contains(&kernel), "{kernel}");
}

fn uintr() -> AnyPolicy {
    let mode: joulio_job::CompletionMode = "uintr".parse().unwrap();
    mode.policy().unwrap()
}

#[test]
fn active_checking_blocks_beside_others_and_stays_where_it_is_alone() {
    let poll = || AnyPolicy::ActiveCheck(ActiveCheck::poll());
    let interrupt = || AnyPolicy::ActiveCheck(ActiveCheck::user_interrupt());
    // Alone, the policy waits with the step that it prefers.
    for (policy, same) in [
        (
            poll as fn() -> AnyPolicy,
            (|| AnyPolicy::POLL) as fn() -> AnyPolicy,
        ),
        (interrupt, uintr),
    ] {
        let alone = reads(SLOW, 1, 0, policy);
        assert_eq!(alone.counters.blocks, 0);
        assert_eq!(alone.all().latency, reads(SLOW, 1, 0, same).all().latency);
    }
    // Beside a thread that always computes, it blocks.
    let beside = reads(SLOW, 1, 1, poll);
    let blocks = reads(SLOW, 1, 1, || AnyPolicy::INTERRUPT);
    assert!(
        beside.counters.blocks + 1 >= beside.ios(),
        "{:?}",
        beside.counters
    );
    assert_eq!(beside.all().latency, blocks.all().latency);
    // Beside jobs that block at times, it blocks at times.
    let jobs = reads(SLOW, 3, 0, poll);
    let blocked = jobs.counters.blocks;
    assert!((1..jobs.ios()).contains(&blocked), "{:?}", jobs.counters);
}

#[test]
fn a_policy_that_is_recorded_is_told_of_others_and_so_is_its_replay() {
    for policy in [
        || AnyPolicy::ActiveCheck(ActiveCheck::poll()),
        || AnyPolicy::ActiveCheck(ActiveCheck::user_interrupt()),
    ] {
        for neighbours in [0, 1] {
            let history = History::default();
            let plain = reads(SLOW, 1, neighbours, policy);
            let recorded = reads(SLOW, 1, neighbours, || history.record(policy()));
            assert_eq!(recorded.counters, plain.counters);
            assert_eq!(recorded.counters.blocks > 0, neighbours > 0);
            let planned = replay(&history.events(), &mut policy());
            assert!(planned.is_ok_and(|count| count > 0), "{neighbours}");
        }
    }
}
