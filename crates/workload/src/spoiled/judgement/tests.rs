//! Tests of the judgement.

use super::*;
use joulio_kernel_io::CpuUse;
use std::collections::BTreeMap;

const SECOND: Nanos = Nanos::from_millis(1_000);

fn ms(time: u64) -> Nanos {
    Nanos::from_millis(time)
}

/// A poller that ran for `ran` of a second and waited for `run_delay`, both in milliseconds.
fn poller(ran: u64, run_delay: Option<u64>) -> JobEvidence {
    JobEvidence {
        window: SECOND,
        scheduled: Scheduled {
            ran: ms(ran),
            run_delay: run_delay.map(ms),
            wakes: 3,
            preemptions: 200,
        },
        never_waits: true,
        ..JobEvidence::default()
    }
}

/// A job that blocked 20,000 times in a second.
fn blocker(run_delay: u64) -> JobEvidence {
    let mut job = poller(60, Some(run_delay));
    job.scheduled.wakes = 20_000;
    job.never_waits = false;
    job
}

fn run(jobs: &[JobEvidence]) -> Evidence<'static> {
    Evidence {
        window: SECOND,
        jobs: jobs.to_vec(),
        ..Evidence::default()
    }
}

fn by(run: &Evidence<'_>) -> Vec<SpoiledBy> {
    judge(run).into_iter().map(|spoiled| spoiled.by).collect()
}

#[test]
fn an_idle_machine_s_run_is_not_spoiled() {
    // A thread ends slightly after its window, and leaving idle states takes some time.
    assert_eq!(by(&run(&[poller(1_001, Some(1))])), []);
    assert_eq!(by(&run(&[poller(985, Some(15))])), []);
    assert_eq!(by(&run(&[blocker(400)])), []);
    assert_eq!(by(&run(&[])), []);
}

#[test]
fn a_job_that_had_no_cpu_until_its_time_was_over_is_spoiled() {
    let missed = JobEvidence {
        window: Nanos(4_000),
        due: SECOND,
        ..JobEvidence::default()
    };
    let reason = judge(&run(&[missed]));
    assert_eq!(reason[0].by, SpoiledBy::Preempted);
    assert!(reason[0].share.unwrap() > 0.999, "{reason:?}");
    // A job that ends after a number of I/Os has no intended length.
    let counted = JobEvidence {
        due: Nanos::ZERO,
        ..missed
    };
    assert_eq!(by(&run(&[counted])), []);
}

#[test]
fn a_poller_that_shares_its_cpu_is_spoiled_by_how_much_it_lost() {
    for lost in [
        poller(510, Some(490)),
        poller(510, None),
        poller(990, Some(490)),
    ] {
        let reason = judge(&run(&[
            poller(1_000, Some(0)),
            JobEvidence { index: 1, ..lost },
        ]));
        assert_eq!(reason[0].by, SpoiledBy::Preempted);
        let share = reason[0].share.unwrap();
        assert!((0.489..=0.49).contains(&share), "{share}");
        let why = &reason[0].why;
        assert!(why.starts_with("the thread of job 1 was ready"), "{why}");
        assert!(
            why.contains("49 % of the time (0.4") && why.contains("preempted 200 times"),
            "{why}"
        );
    }
    let alone = judge(&run(&[poller(510, Some(490))]));
    assert!(alone[0].why.starts_with("its thread"), "{alone:?}");
}

#[test]
fn a_job_that_blocks_may_wait_for_its_cpu_as_long_as_wake_ups_take() {
    // The limit is the time it was blocked, or 0.25 ms per wake-up, whichever is less.
    assert_eq!(by(&run(&[blocker(470)])), []);
    assert_eq!(by(&run(&[blocker(800)])), [SpoiledBy::Preempted]);
    assert_eq!(judge(&run(&[blocker(800)]))[0].share, Some(0.66));
    let mut seldom = blocker(25);
    seldom.scheduled.wakes = 100;
    assert_eq!(by(&run(&[seldom])), []);
    seldom.scheduled.run_delay = Some(ms(50));
    assert_eq!(by(&run(&[seldom])), [SpoiledBy::Preempted]);
    // A job that runs for a small part of its window is not spoiled.
    seldom.scheduled.run_delay = None;
    assert_eq!(by(&run(&[seldom])), []);
    // Nor is a job whose policy may only spin, although its thread slept.
    seldom.never_waits = true;
    assert_eq!(by(&run(&[seldom])), []);
}

#[test]
fn threads_of_devices_and_of_the_kernel_are_judged_too() {
    let starved = poller(300, Some(700)).scheduled;
    let mut undisturbed = run(&[poller(1_000, Some(0))]);
    undisturbed.devices = (starved, 1);
    assert_eq!(by(&undisturbed), [SpoiledBy::DevicePreempted]);
    undisturbed.devices = (starved, 50);
    assert_eq!(by(&undisturbed), []);
    let job = JobEvidence {
        kernel: Some(starved),
        ..poller(1_000, Some(0))
    };
    assert_eq!(by(&run(&[job])), [SpoiledBy::KernelPreempted]);
}

#[test]
fn what_happened_to_the_machine_spoils_a_run() {
    let stolen = |ticks: u64| CpuUse {
        busy: SECOND,
        stolen: ms(10 * ticks),
        ..CpuUse::default()
    };
    let of = |happened| Evidence {
        happened: Happened {
            window: SECOND,
            ..happened
        },
        ..run(&[poller(1_000, Some(0))])
    };
    let undisturbed = Happened::default();
    for (happened, expected) in [
        (
            Happened {
                throttled: true,
                ..undisturbed.clone()
            },
            SpoiledBy::Throttled,
        ),
        (
            Happened {
                stopped: true,
                ..undisturbed.clone()
            },
            SpoiledBy::Stopped,
        ),
        (
            Happened {
                suspended: ms(101),
                ..undisturbed.clone()
            },
            SpoiledBy::Suspended,
        ),
        (
            Happened {
                stepped_ns: -200_000_000,
                ..undisturbed.clone()
            },
            SpoiledBy::ClockStepped,
        ),
        (
            Happened {
                cpus: BTreeMap::from([(0, stolen(0)), (3, stolen(20))]),
                ..undisturbed.clone()
            },
            SpoiledBy::Stolen,
        ),
    ] {
        assert_eq!(by(&of(happened)), [expected]);
    }
    for happened in [
        Happened {
            suspended: ms(99),
            ..undisturbed.clone()
        },
        Happened {
            stepped_ns: 99_000_000,
            ..undisturbed.clone()
        },
        // One of three ticks may have begun before the run.
        Happened {
            cpus: BTreeMap::from([(3, stolen(3))]),
            ..undisturbed.clone()
        },
    ] {
        assert_eq!(by(&of(happened)), []);
    }
    // A steal from another CPU does not count.
    let elsewhere = Happened {
        cpus: BTreeMap::from([(3, stolen(20))]),
        ..undisturbed
    };
    let pinned = Evidence {
        cpus: &[1],
        ..of(elsewhere)
    };
    assert_eq!(by(&pinned), []);
}

#[test]
fn a_watcher_that_is_late_says_that_the_machine_stood_still_unless_it_was_stopped() {
    let mut late = run(&[poller(1_000, Some(0))]);
    late.late = LATE;
    assert_eq!(by(&late), []);
    late.late = LATE + ms(1);
    assert_eq!(by(&late), [SpoiledBy::Stalled]);
    late.jobs[0].stopped = true;
    assert_eq!(by(&late), [SpoiledBy::Stopped]);
}

#[test]
fn a_run_told_to_end_and_to_continue_was_not_stopped_unless_there_is_a_gap() {
    let mut ended = run(&[poller(1_000, Some(0))]);
    ended.happened.stopped = true;
    assert_eq!(by(&ended), [SpoiledBy::Stopped]);
    ended.requested_to_end = true;
    assert_eq!(by(&ended), []);
    ended.late = LATE + ms(1);
    assert_eq!(by(&ended), [SpoiledBy::Stopped]);
}

#[test]
fn a_learner_is_spoiled_by_what_it_polled_while_it_learnt() {
    let with = |at_first, to_the_end| {
        let learning = Learning {
            at_first: ms(at_first),
            to_the_end,
        };
        judge(&run(&[JobEvidence {
            learning,
            ..poller(1_000, Some(0))
        }]))
    };
    assert_eq!(with(0, false), []);
    assert_eq!(with(20, false), []);
    assert_eq!(with(100, false)[0].share, Some(0.1));
    let never = &with(100, true)[0];
    assert_eq!((never.by, never.share), (SpoiledBy::NotLearnt, Some(1.0)));
    assert!(never.why.contains("--ramp_time"), "{never:?}");
}

#[test]
fn other_programs_on_a_cpu_are_reported_by_their_share() {
    let reason = |time| by_others("CPU 1", ms(time), SECOND, 0.1);
    assert_eq!(reason(100), None);
    let reason = reason(400).unwrap();
    assert_eq!((reason.by, reason.share), (SpoiledBy::Busy, Some(0.4)));
    assert!(
        reason.why.starts_with("CPU 1 ran other programs for 40 %"),
        "{reason:?}"
    );
}
