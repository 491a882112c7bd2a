//! The counters mean the same as in a real run.

use crate::common::policies::{ADAPTIVE, BLOCKING, POLICIES, policy};
use crate::common::{device, machine, method};
use joulio_job::{Arrivals, EngineName, Job, Method};
use joulio_model::MachineProfile;
use joulio_model::machine::costs::IdleState;
use joulio_twin::replay::{History, PolicyEvent};
use joulio_twin::{Coalescing, TwinError, TwinRun, TwinSetup, run, run_policy};
use joulio_units::Nanos;
use joulio_wait::{
    AnyPolicy, Class, Dpas, Hybrid, Outstanding, Policy, SkiRental, Slept, Step, StepKind, StepSet,
    Tpause, Uintr, Umwait,
};

const IOS: u64 = 2_000;

const PATHS: [EngineName; 2] = [EngineName::Psync, EngineName::Nvme];

/// Returns a job of reads, with seed 7.
fn reads(number_ios: u64) -> Job {
    Job {
        seed: 7,
        ..Job::random_reads(number_ios)
    }
}

fn simulate_on(engine: EngineName, job: &Job, policy: fn() -> AnyPolicy) -> TwinRun {
    let (machine, devices) = (machine(), [device("optane-900p")]);
    let setup = TwinSetup::new(&machine, &devices);
    run_policy(job, method(engine), &setup, |_| policy()).unwrap()
}

fn simulate(job: &Job, policy: fn() -> AnyPolicy) -> TwinRun {
    simulate_on(EngineName::Psync, job, policy)
}

#[test]
fn polling_never_gives_its_cpu_away() {
    let done = simulate(&reads(IOS), || AnyPolicy::POLL);
    let c = done.counters;
    assert_eq!((c.sleeps, c.blocks, c.wakes, c.interrupts), (0, 0, 0, 0));
    assert_eq!(c.polls - c.empty_polls, IOS);
    assert!(c.empty_polls > 50 * IOS, "{} polls in vain", c.empty_polls);
    assert_eq!(done.cpus[0].1.busy(), done.window);
}

#[test]
fn an_interrupt_is_one_block_and_one_wake() {
    for path in PATHS {
        let done = simulate_on(path, &reads(IOS), || AnyPolicy::INTERRUPT);
        let c = done.counters;
        assert_eq!(
            (c.blocks, c.wakes, c.interrupts, c.sleeps),
            (IOS, IOS, IOS, 0)
        );
        // The poll before the plan and the one after arming find nothing; the one after the block finds the
        // completion.
        assert_eq!((c.polls, c.empty_polls), (3 * IOS, 2 * IOS));
        assert_eq!((c.vain_wakes, c.lost_interrupts), (0, 0));
        assert_eq!(c.arms, IOS);
    }
}

/// All interrupts end blocks: for every policy that needs only the kernel or an eventfd, at depth 1.
#[test]
fn interrupts_are_those_of_blocks() {
    for path in PATHS {
        for name in ["optane-900p", "samsung-960-evo", "hdd-7200"] {
            for which in 0..POLICIES {
                let (machine, devices) = (machine(), [device(name)]);
                let setup = TwinSetup::new(&machine, &devices);
                let done =
                    run_policy(&reads(IOS), method(path), &setup, |_| policy(which)).unwrap();
                let c = done.counters;
                let what = format!("{} on {name}: {c:?}", done.effective());
                assert!(c.interrupts <= c.blocks && c.blocks <= c.arms, "{what}");
                // A deadline may end a block just before its interrupt does.
                let late = which == ADAPTIVE && c.interrupts > c.wakes;
                assert!(late || c.interrupts == c.wakes, "{what}");
            }
        }
    }
}

#[test]
fn a_policy_that_may_block_and_does_not_takes_no_interrupt() {
    // At depth 1 DPAS polls, and a spin of 200 us finds every completion.
    let patient = || AnyPolicy::SkiRental(SkiRental::new(Nanos(200_000)));
    let dpas = || AnyPolicy::Dpas(Dpas::new(Dpas::THETA));
    for policy in [patient, dpas] {
        for path in PATHS {
            let c = simulate_on(path, &reads(IOS), policy).counters;
            assert_eq!((c.blocks, c.interrupts), (0, 0));
        }
    }
}

/// A policy that blocks for every other I/O and spins for the rest.
#[derive(Default)]
struct Alternate {
    completed: u64,
}

impl Policy for Alternate {
    fn name(&self) -> std::borrow::Cow<'static, str> {
        "alternate".into()
    }
    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin).with(StepKind::Block)
    }
    fn timed(&self) -> bool {
        true
    }
    fn completed(&mut self, _: Class, _: Nanos, _: Nanos) {
        self.completed += 1;
    }
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        match self.completed % 2 {
            0 => Step::BLOCK,
            _ => Step::SPIN,
        }
    }
}

#[test]
fn a_spin_after_a_block_has_the_vector_masked() {
    for path in PATHS {
        let c = simulate_on(path, &reads(IOS), || {
            AnyPolicy::Other(Box::<Alternate>::default())
        })
        .counters;
        assert_eq!((c.blocks, c.interrupts), (IOS / 2, IOS / 2));
    }
}

#[test]
fn at_depth_an_unmasked_vector_raises_an_interrupt_a_completion() {
    for path in PATHS {
        let job = Job {
            iodepth: 8,
            ..reads(IOS)
        };
        let c = simulate_on(path, &job, || AnyPolicy::INTERRUPT).counters;
        assert_eq!(c.interrupts, IOS);
        assert!(c.blocks < IOS, "{c:?}");
    }
}

#[test]
fn a_hybrid_sleeps_once_for_each() {
    let done = simulate(&reads(IOS), || {
        AnyPolicy::Hybrid(Hybrid::fixed(Nanos(3_000)))
    });
    let c = done.counters;
    assert_eq!((c.sleeps, c.blocks, c.oversleeps), (IOS, 0, 0));
    assert!(c.slept >= Nanos(3_000 * IOS - IOS) && c.overslept > Nanos::ZERO);
    assert_eq!(done.cpus[0].1.timer_wakes, IOS);
}

#[test]
fn idle_states_are_counted_by_their_names() {
    let idle = |policy: fn() -> AnyPolicy| {
        let done = simulate(&reads(IOS), policy);
        let counts = done.result.counts.unwrap();
        (counts.machine.cpuidle.unwrap(), done.cpus[0].1)
    };
    let (used, times) = idle(|| AnyPolicy::INTERRUPT);
    let entries: u64 = used.values().map(|state| state.entries).sum();
    assert_eq!(entries, times.wakes + times.timer_wakes);
    assert!(entries > IOS / 2, "{used:?}");
    let seconds: f64 = used.values().map(|state| state.seconds).sum();
    let halted = times.c1 + times.c1e + times.c6 + times.polled_idle;
    assert!((seconds - halted.seconds()).abs() < 1e-9, "{used:?}");
    let known = |name: &String| IdleState::ALL.iter().any(|state| state.name() == name);
    assert!(used.keys().all(known), "{used:?}");
    let (used, _) = idle(|| AnyPolicy::POLL);
    assert!(used.is_empty(), "{used:?}");
}

#[test]
fn a_policy_hears_of_every_sleep_before_it_plans_again() {
    for which in 0..POLICIES {
        for arrivals in [Arrivals::Closed, Arrivals::Every(Nanos(40_000))] {
            let job = Job {
                iodepth: 2,
                arrivals,
                ..reads(IOS)
            };
            let history = History::default();
            let recorded = |_| history.record(policy(which));
            let (machine, devices) = (machine(), [device("optane-900p")]);
            let setup = TwinSetup::new(&machine, &devices);
            let method = method(EngineName::Psync);
            let done = run_policy(&job, method, &setup, recorded).unwrap();
            let c = done.counters;
            let events = history.events();
            let woke = |event: &&PolicyEvent| matches!(event, PolicyEvent::Woke(..));
            let ended = events.iter().filter(woke).count() as u64;
            assert_eq!(ended, c.sleeps + c.blocks - c.wakes, "{}", done.effective());
            let over = |event: &&PolicyEvent| matches!(event, PolicyEvent::Woke(Slept::Over, _));
            let over = events.iter().filter(over).count() as u64;
            assert!(over >= c.oversleeps, "{}", done.effective());
            for pair in events.windows(2) {
                if let [PolicyEvent::Planned { step, .. }, next] = pair
                    && step.kind == StepKind::Sleep
                {
                    assert!(matches!(next, PolicyEvent::Woke(..)), "{next:?}");
                }
            }
        }
    }
}

#[test]
fn the_time_of_user_level_waits_is_that_of_the_cpu() {
    let (machine, devices) = (
        MachineProfile::builtin("generic-server").unwrap(),
        [device("optane-900p")],
    );
    let setup = TwinSetup::new(&machine, &devices);
    for which in [
        || AnyPolicy::Tpause(Tpause::new(Tpause::PAUSE)),
        || AnyPolicy::Umwait(Umwait),
        || AnyPolicy::Uintr(Uintr),
    ] {
        let method = method(EngineName::Nvme);
        let done = run_policy(&reads(IOS), method, &setup, |_| which()).unwrap();
        let (c, times) = (done.counters, done.cpus[0].1);
        assert_eq!((c.paused, c.monitored), (times.paused, times.monitored));
        assert!(c.paused + c.monitored > Nanos::ZERO, "{c:?}");
    }
}

#[test]
fn a_sleep_past_the_completion_is_counted() {
    let done = simulate(&reads(IOS), || {
        AnyPolicy::Hybrid(Hybrid::fixed(Nanos(50_000)))
    });
    assert_eq!((done.counters.sleeps, done.counters.oversleeps), (IOS, IOS));
    assert!(done.all().mean().unwrap() > 50_000.0);
}

#[test]
fn coalescing_saves_interrupts_and_costs_latency() {
    let job = Job {
        iodepth: 8,
        ..reads(IOS)
    };
    let (machine, devices) = (machine(), [device("optane-900p")]);
    let coalesced = TwinSetup {
        coalescing: Some(Coalescing {
            threshold: 8,
            time: Nanos::from_micros(100),
        }),
        ..TwinSetup::new(&machine, &devices)
    };
    let each = simulate(&job, || AnyPolicy::INTERRUPT);
    let coalesced = |job: &Job| {
        let method = method(EngineName::Psync);
        run_policy(job, method, &coalesced, |_| AnyPolicy::INTERRUPT).unwrap()
    };
    let few = coalesced(&job);
    assert!(few.counters.interrupts * 4 < each.counters.interrupts);
    assert_eq!(each.ios(), few.ios());
    // A single completion waits for the time limit of the coalescing.
    let late = coalesced(&Job { iodepth: 1, ..job });
    assert!(late.all().mean().unwrap() > 100_000.0);
}

#[test]
fn an_open_loop_keeps_its_rate_whatever_waits() {
    let job = Job {
        arrivals: Arrivals::Every(Nanos(50_000)),
        ..reads(IOS)
    };
    for policy in [|| AnyPolicy::POLL, || AnyPolicy::INTERRUPT] {
        let done = simulate(&job, policy);
        assert!((done.iops() - 20_000.0).abs() < 50.0, "{}", done.iops());
    }
}

#[test]
fn a_run_that_outlasts_virtual_time_is_refused() {
    let job = Job {
        arrivals: Arrivals::Every(Nanos(u64::MAX / 4)),
        ..reads(10)
    };
    let (machine, devices) = (machine(), [device("optane-900p")]);
    let setup = TwinSetup::new(&machine, &devices);
    for policy in [|| AnyPolicy::POLL, || AnyPolicy::INTERRUPT] {
        let refused = run_policy(&job, method(EngineName::Psync), &setup, |_| policy());
        assert_eq!(refused.err(), Some(TwinError::TooLong));
    }
}

#[test]
fn polls_of_the_idle_task_are_no_thread_s_cpu_time() {
    let machine = MachineProfile::builtin("xeon-6230").unwrap();
    let devices = [device("optane-900p")];
    let setup = TwinSetup {
        max_cstate: Some(IdleState::Poll),
        ..TwinSetup::new(&machine, &devices)
    };
    let method = method(EngineName::Nvme);
    let done = run_policy(&reads(IOS), method, &setup, |_| AnyPolicy::INTERRUPT).unwrap();
    let times = done.cpus[0].1;
    assert!(times.polled_idle > Nanos::ZERO, "{times:?}");
    let usage = done.result.counts.unwrap().threads.submitter;
    assert!(usage.system_seconds >= 0.0, "{usage:?}");
    assert!((usage.user_seconds - times.spin.seconds()).abs() < 1e-9);
}

#[test]
fn jobs_on_one_cpu_share_it() {
    let job = Job {
        numjobs: 3,
        cpus_allowed: vec![2],
        ..reads(IOS)
    };
    let alone = Job {
        numjobs: 1,
        ..job.clone()
    };
    let three = simulate(&job, || AnyPolicy::INTERRUPT);
    let one = simulate(&alone, || AnyPolicy::INTERRUPT);
    let (a, b) = (three.iops(), one.iops());
    // While one job waits another works: more I/Os than one job alone, and fewer than three times as many.
    assert!(a > 1.2 * b && a < 3.0 * b, "{a} and {b}");
    assert_eq!(three.cpus.len(), 1);
    // A job that spins keeps the CPU from the others for its whole I/O.
    let spinning = simulate(&job, || AnyPolicy::POLL);
    assert!(spinning.iops() < three.iops());
}

#[test]
fn spinning_jobs_on_one_cpu_take_turns() {
    let job = Job {
        numjobs: 2,
        cpus_allowed: vec![2],
        number_ios: None,
        runtime: Some(Nanos::from_millis(60)),
        ..reads(1)
    };
    let machine = MachineProfile::builtin("generic-server").unwrap();
    // User-level waits do not give up the CPU either.
    let light = POLICIES..BLOCKING;
    for which in std::iter::once(0).chain(light) {
        let devices = [device("optane-900p")];
        let setup = TwinSetup::new(&machine, &devices);
        let method = method(EngineName::Psync);
        let done = run_policy(&job, method, &setup, |_| policy(which)).unwrap();
        // An I/O of the job without the CPU waits for the other's turn: one per turn, whose slice of 3 ms ends at a
        // tick of 4 ms, or at the next tick if both jobs had the same time by then.
        let slow = done.all().latency.count_between(3_000_000, 9_000_000);
        let name = done.effective();
        // Interrupts for a thread without the CPU went to the kernel; the thread was not always waiting.
        let kernel = done.counters.interrupts;
        assert!(kernel <= slow, "{name}: {kernel}");
        assert_eq!(kernel > 0, name == "uintr", "{name}: {kernel}");
        assert!((7..=16).contains(&slow), "{name}: {slow} waited for a turn");
        assert!(
            (7..=16).contains(&done.preempted),
            "{name}: {}",
            done.preempted
        );
    }
}

/// A policy that plans a step that it did not announce.
struct Liar;

impl Policy for Liar {
    fn name(&self) -> std::borrow::Cow<'static, str> {
        "liar".into()
    }
    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin)
    }
    fn plan(&mut self, _: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        Step::forever(StepKind::Block)
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_by_name() {
    let refused = |job: Job, policy: fn() -> AnyPolicy| {
        let (machine, devices) = (machine(), [device("optane-900p")]);
        let setup = TwinSetup::new(&machine, &devices);
        run_policy(&job, method(EngineName::Psync), &setup, |_| policy())
            .unwrap_err()
            .to_string()
    };
    let job = || Job::random_reads(1);
    let sized = |bs: u64| Job {
        bs: bs.into(),
        ..job()
    };
    let poll = || AnyPolicy::POLL;
    assert!(refused(sized(0), poll).starts_with("bs: "));
    assert!(refused(sized(1 << 31), poll).contains("at most 1073741824"));
    let none = Job {
        iodepth: 0,
        ..job()
    };
    assert!(refused(none, poll).starts_with("iodepth: "));
    let far = Job {
        cpus_allowed: vec![8],
        ..job()
    };
    assert!(refused(far, poll).contains("CPUs 0 to 7"));
    let liar = refused(job(), || AnyPolicy::Other(Box::new(Liar)));
    assert!(liar.contains("'liar' planned a Block step"), "{liar}");
    let mut bare = machine();
    bare.costs = None;
    let devices = [device("optane-900p")];
    let polled = |setup| run_policy(&job(), method(EngineName::Psync), &setup, |_| poll());
    let error = polled(TwinSetup::new(&bare, &devices)).unwrap_err();
    assert!(matches!(error, TwinError::NoCosts { .. }));
    let machine = machine();
    let error = polled(TwinSetup::new(&machine, &[])).unwrap_err();
    assert_eq!(error, TwinError::NoDevice);
}

#[test]
fn a_method_that_is_not_modelled_is_refused() {
    let (machine, devices) = (machine(), [device("optane-900p")]);
    let setup = TwinSetup::new(&machine, &devices);
    let refused = |engine, mode: &str, iodepth| {
        let mode = mode.parse().unwrap();
        let job = Job {
            iodepth,
            ..Job::random_reads(1)
        };
        let refused = run(&job, Method { engine, mode }, &setup).unwrap_err();
        refused.to_string()
    };
    let text = refused(EngineName::Libaio, "poll", 1);
    assert_eq!(text, "completion mode poll is not modelled for libaio");
    assert!(refused(EngineName::IoUring, "sqpoll", 1).contains("sqpoll is not modelled"));
    assert!(refused(EngineName::Psync, "poll", 2).starts_with("iodepth: "));
}

#[test]
fn a_device_whose_last_io_arrives_before_those_of_others_does_not_fall_behind() {
    let (machine, devices) = (machine(), [(); 8].map(|()| device("optane-900p")));
    let setup = TwinSetup::new(&machine, &devices);
    for (interval, late) in [(Nanos::from_millis(1), false), (Nanos(1_000), true)] {
        let job = Job {
            arrivals: Arrivals::Poisson(interval),
            ..reads(IOS)
        };
        let done = run_policy(&job, method(EngineName::Nvme), &setup, |_| AnyPolicy::POLL);
        let counts = done.unwrap().result.counts.unwrap();
        assert_eq!(counts.falls_behind, late, "{interval:?}");
    }
}

#[test]
fn a_device_that_does_not_keep_up_is_known_whatever_ends_the_run() {
    let falls_behind = |arrivals: Arrivals, by_time: bool| {
        let job = Job {
            arrivals,
            number_ios: (!by_time).then_some(IOS),
            runtime: by_time.then_some(Nanos::from_millis(20)),
            ..reads(IOS)
        };
        let done = simulate(&job, || AnyPolicy::POLL);
        let counts = done.result.counts.unwrap();
        if !by_time {
            assert_eq!((counts.all.ios, counts.arrivals_not_issued), (IOS, 0));
        }
        counts.falls_behind
    };
    // With one in flight an I/O takes about 10 us.
    for by_time in [true, false] {
        for arrivals in [Arrivals::Every, Arrivals::Poisson] {
            assert!(falls_behind(arrivals(Nanos(5_000)), by_time));
            assert!(!falls_behind(arrivals(Nanos(20_000)), by_time));
        }
        assert!(!falls_behind(Arrivals::Closed, by_time));
    }
}
