//! Every policy on a core and a device in virtual time: the steps that it may plan in any situation, and its effect
//! on a steady device.

use joulio_units::{Direction, Nanos};
use joulio_wait::{
    Adaptive, AnyPolicy, Class, Dpas, Ehp, Hybrid, Outstanding, Pas, Policy, SkiRental, Slept,
    Step, StepKind, UringHybrid,
};
use proptest::prelude::*;

/// A command, with its time of submission and the time at which the device completes it.
#[derive(Clone, Copy, Debug)]
struct Command {
    class: Class,
    submitted: Nanos,
    done: Nanos,
}

struct Flying(Vec<Command>);

impl Outstanding for Flying {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        for command in &self.0 {
            each(command.class, command.submitted);
        }
    }
}

/// A plan, and the commands in flight at that time.
struct Planned {
    now: Nanos,
    step: Step,
    submitted: Vec<Nanos>,
}

/// A core that waits as a policy plans.
struct Core {
    policy: AnyPolicy,
    now: Nanos,
    flying: Flying,
    /// Time by which sleeps end late.
    late: Nanos,
    planned: Vec<Planned>,
    /// Longest time of an I/O so far.
    largest: Nanos,
}

impl Core {
    fn new(policy: AnyPolicy, late: u64) -> Core {
        Core {
            policy,
            now: Nanos(1_000),
            flying: Flying(Vec::new()),
            late: Nanos(late),
            planned: Vec::new(),
            largest: Nanos::ZERO,
        }
    }

    fn submit(&mut self, class: Class, time: Nanos) {
        self.now += Nanos(50);
        self.policy.submitted(class, self.now);
        self.flying.0.push(Command {
            class,
            submitted: self.now,
            done: self.now + time,
        });
    }

    fn ready(&self) -> bool {
        self.flying.0.iter().any(|command| command.done <= self.now)
    }

    fn reap(&mut self) {
        self.now += Nanos(20);
        let now = self.now;
        let (done, flying) = self
            .flying
            .0
            .iter()
            .partition(|command| command.done <= now);
        self.flying.0 = flying;
        let done: Vec<Command> = done;
        for Command {
            class, submitted, ..
        } in done
        {
            self.largest = self.largest.max(now - submitted);
            self.policy.completed(class, submitted, now);
        }
    }

    /// Waits for a completion, and reaps it.
    fn wait(&mut self) {
        while !self.flying.0.is_empty() && !self.ready() {
            let steps = self.policy.steps();
            let step = self.policy.plan(&self.flying, steps, self.now);
            let fixed = self.policy.fixed();
            assert!(
                fixed.is_none_or(|fixed| fixed == step),
                "{fixed:?}, and {step:?}"
            );
            self.planned.push(Planned {
                now: self.now,
                step,
                submitted: self.flying.0.iter().map(|c| c.submitted).collect(),
            });
            let first = self.flying.0.iter().map(|command| command.done).min();
            let first = first.unwrap().max(self.now);
            match step.kind {
                StepKind::Sleep => {
                    self.now = self.now.max(step.until) + self.late;
                    let slept = if self.ready() {
                        Slept::Over
                    } else {
                        Slept::Under
                    };
                    self.policy.woke(slept, self.now);
                }
                StepKind::Block if step.until < first => {
                    self.now = self.now.max(step.until);
                    self.policy.woke(Slept::Under, self.now);
                }
                _ => self.now = first.min(step.until.max(self.now)),
            }
        }
        self.reap();
    }

    /// Runs `ios` I/Os one after the other, each of which takes `time`, and returns the plans.
    fn steady(&mut self, ios: usize, time: u64) -> Vec<Planned> {
        self.planned.clear();
        for _ in 0..ios {
            self.submit(Class::new(Direction::Read, 4096), Nanos(time));
            self.wait();
        }
        std::mem::take(&mut self.planned)
    }
}

fn policies() -> [AnyPolicy; 9] {
    [
        AnyPolicy::Hybrid(Hybrid::automatic()),
        AnyPolicy::Hybrid(Hybrid::fixed(Nanos(4_000))),
        AnyPolicy::UringHybrid(UringHybrid::new()),
        AnyPolicy::Ehp(Ehp::new()),
        AnyPolicy::Pas(Pas::new()),
        AnyPolicy::Dpas(Dpas::new(1)),
        AnyPolicy::Dpas(Dpas::new(3)),
        AnyPolicy::SkiRental(SkiRental::new(Nanos(2_000))),
        AnyPolicy::Adaptive(Adaptive::generic()),
    ]
}

/// An event: the kind of command, the device's time for it, the depth at which to wait, and for how long the core
/// does something else.
type Event = (usize, u64, usize, u64);

fn events() -> impl Strategy<Value = Vec<Event>> {
    let time = prop_oneof![4 => 200u64..20_000, 2 => 20_000u64..200_000, 1 => 0u64..5_000_000];
    let busy = prop_oneof![4 => Just(0u64), 1 => 0u64..20_000_000];
    prop::collection::vec((0usize..5, time, 1usize..9, busy), 1..600)
}

fn run(policy: AnyPolicy, events: &[Event], late: u64, check: bool) -> Result<Core, TestCaseError> {
    let classes = [
        Class::new(Direction::Read, 512),
        Class::new(Direction::Read, 4_096),
        Class::new(Direction::Write, 4_096),
        Class::new(Direction::Write, 1 << 20),
        Class::new(Direction::Other, 0),
    ];
    let mut core = Core::new(policy, late);
    let mut slept_at = Nanos::ZERO;
    for &(class, time, depth, busy) in events {
        core.submit(classes[class], Nanos(time));
        core.now += Nanos(busy);
        while core.flying.count() >= depth {
            let from = core.planned.len();
            let largest = core.largest;
            core.wait();
            for planned in core.planned[from..].iter().filter(|_| check) {
                let Planned {
                    now,
                    step,
                    submitted,
                } = planned;
                let steps = core.policy.steps();
                prop_assert!(steps.has(step.kind), "{step:?} is not in {steps:?}");
                if !matches!(step.kind, StepKind::Sleep) {
                    continue;
                }
                prop_assert!(step.until > *now, "a sleep that is over");
                // By what it has learnt meanwhile it may sleep again for a command, and for as long as it expects.
                if matches!(core.policy, AnyPolicy::Adaptive(_)) {
                    continue;
                }
                let first = submitted.iter().min().copied().unwrap_or_default();
                prop_assert!(first > slept_at, "a second sleep for one command");
                slept_at = *now;
                let bound = match &core.policy {
                    AnyPolicy::Hybrid(_) => first + largest.max(Nanos(4_000)),
                    AnyPolicy::UringHybrid(_) | AnyPolicy::Ehp(_) => first + largest,
                    _ => *now + Pas::CEILING,
                };
                prop_assert!(step.until <= bound, "{step:?} past {bound:?}");
            }
        }
    }
    Ok(core)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_policy_plans_what_it_did_not_announce_nor_sleeps_twice_or_too_long(
        events in events(),
        late in 0u64..100_000,
    ) {
        for policy in policies() {
            run(policy, &events, late, true)?;
        }
    }

    #[test]
    fn the_same_history_leads_to_the_same_decisions(events in events(), late in 0u64..100_000) {
        for (a, b) in policies().into_iter().zip(policies()) {
            let decisions = |core: Core| -> Vec<(Nanos, Step)> {
                core.planned.iter().map(|planned| (planned.now, planned.step)).collect()
            };
            let a = decisions(run(a, &events, late, false)?);
            let b = decisions(run(b, &events, late, false)?);
            prop_assert_eq!(a, b);
        }
    }
}

fn sleeps(planned: &[Planned]) -> Vec<u64> {
    let sleeps = planned.iter().filter(|p| p.step.kind == StepKind::Sleep);
    sleeps.map(|p| (p.step.until - p.now).0).collect()
}

fn kinds(planned: &[Planned], kind: StepKind) -> usize {
    planned.iter().filter(|p| p.step.kind == kind).count()
}

/// PAS finds the time of a device less the lateness of the timer, and stays around it.
#[test]
fn pas_finds_the_time_of_a_steady_device_and_follows_it() {
    let mut core = Core::new(AnyPolicy::Pas(Pas::new()), 1_000);
    for time in [10_000, 80_000, 5_000] {
        core.steady(1_000, time);
        let sleeps = sleeps(&core.steady(1_000, time));
        assert_eq!(sleeps.len(), 1_000);
        let target = time - 1_000;
        let near = |&sleep: &u64| sleep * 10 > target * 8 && sleep * 10 < target * 12;
        assert!(sleeps.iter().all(near), "{time}: {:?}", &sleeps[..20]);
        let under = sleeps.iter().filter(|&&sleep| sleep < target).count();
        assert!((100..900).contains(&under), "{time}: {under} under");
    }
}

/// At depth 1 DPAS polls, except in one window in eleven.
#[test]
fn dpas_at_depth_one_sleeps_for_one_io_in_eleven() {
    let mut core = Core::new(AnyPolicy::Dpas(Dpas::new(1)), 1_000);
    let planned = core.steady(11_000, 10_000);
    // The wait for the I/O that ends a mode belongs to the next mode.
    let sleeps = sleeps(&planned).len();
    assert!((980..=1_020).contains(&sleeps), "{sleeps} sleeps");
    assert_eq!(kinds(&planned, StepKind::Block), 0);
}

#[test]
fn ehp_goes_to_interrupts_when_its_own_sleeps_make_a_device_slow() {
    let mut core = Core::new(AnyPolicy::Ehp(Ehp::new()), 0);
    let planned = core.steady(10_000, 10_000);
    assert!(kinds(&planned, StepKind::Sleep) > 8_000);
    assert_eq!(kinds(&planned, StepKind::Block), 0);
    // Each sleep ends 50 us late, which becomes part of the least time.
    let mut core = Core::new(AnyPolicy::Ehp(Ehp::new()), 50_000);
    let planned = core.steady(10_000, 10_000);
    assert!(kinds(&planned, StepKind::Block) > 1_000);
}

#[test]
fn ski_rental_blocks_for_slow_ios_alone() {
    let policy = || AnyPolicy::SkiRental(SkiRental::new(Nanos(4_000)));
    let quick = Core::new(policy(), 0).steady(100, 3_000);
    assert_eq!(kinds(&quick, StepKind::Block), 0);
    let slow = Core::new(policy(), 0).steady(100, 80_000);
    assert_eq!(kinds(&slow, StepKind::Block), 100);
    assert_eq!(kinds(&slow, StepKind::Sleep), 0);
}

#[test]
fn who_plans_one_step_for_every_wait_says_so_and_learns_nothing() {
    let fixed = |policy: &AnyPolicy| policy.fixed().is_some();
    let all = AnyPolicy::all();
    let names: Vec<_> = all.iter().filter(|p| fixed(p)).map(|p| p.name()).collect();
    assert_eq!(
        names,
        [
            "poll",
            "interrupt",
            "tpause",
            "umwait",
            "uintr",
            "spdk-plus"
        ]
    );
    for policy in all.iter().filter(|policy| fixed(policy)) {
        assert!(!policy.timed() && !policy.asks_others() && !policy.asks_lost());
    }
}
