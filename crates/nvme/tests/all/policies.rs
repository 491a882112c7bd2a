//! The events that a policy is told, and the handling of one that does not do what it announced.

use joulio_nvme::wait::{
    AnyPolicy, Class, Hybrid, Outstanding, Policy, Slept, Step, StepKind, StepSet, WaitError, now,
};
use joulio_nvme::{ControllerOptions, NvmeError, PollGroup};
use joulio_units::Nanos;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Everything that was reported to a policy, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

/// Spins, and records the events that it is told.
struct Diarist(Diary);

impl Diarist {
    fn note(&self, text: String) {
        self.0.0.lock().unwrap().push(text);
    }
}

impl Policy for Diarist {
    fn name(&self) -> std::borrow::Cow<'static, str> {
        "diarist".into()
    }
    fn steps(&self) -> StepSet {
        StepSet::NONE.with(StepKind::Spin)
    }
    fn timed(&self) -> bool {
        true
    }
    fn submitted(&mut self, class: Class, at: Nanos) {
        assert!(at <= now() && at != Nanos::ZERO);
        self.note(format!(
            "submitted {:?} {}",
            class.direction(),
            class.bucket()
        ));
    }
    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        assert!(submitted <= at && submitted != Nanos::ZERO);
        self.note(format!(
            "completed {:?} {}",
            class.direction(),
            class.bucket()
        ));
    }
    fn plan(&mut self, outstanding: &dyn Outstanding, _: StepSet, _: Nanos) -> Step {
        let mut dated = 0;
        outstanding.for_each(&mut |_, at| dated += usize::from(at != Nanos::ZERO));
        self.note(format!("plan {} of {}", dated, outstanding.count()));
        Step::new(StepKind::Spin, Nanos::ZERO)
    }
}

/// Announces that it spins, and blocks.
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

struct Fixture {
    stepper: joulio_emulator::Stepper,
    group: PollGroup<crate::common::Spy>,
    namespace: joulio_nvme::Namespace,
    controller: joulio_nvme::Controller<crate::common::Spy>,
}

fn fixture() -> Fixture {
    let (controller, stepper, _) = crate::common::open();
    let namespace = controller.namespace(1).unwrap();
    let group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    Fixture {
        stepper,
        group,
        namespace,
        controller,
    }
}

impl Fixture {
    fn submit(&mut self, blocks: u32) {
        let buffer = self.controller.allocate_buffers(1, 4096).unwrap().remove(0);
        let queue = &mut self.group.queues()[0];
        queue.read(&self.namespace, 0, blocks, buffer, 0).unwrap();
        queue.ring();
    }

    fn complete(&mut self) {
        self.stepper.step(Nanos::ZERO);
        assert_eq!(self.group.reap(1, None, |_, _| {}).unwrap(), 1);
    }
}

#[test]
fn a_queue_with_nothing_outstanding_is_passed_over_until_it_has_something() {
    let (controller, stepper, _) = crate::common::open();
    let namespace = controller.namespace(1).unwrap();
    let pair = |_| controller.create_queue_pair(4).unwrap();
    let mut group = PollGroup::new((0..2).map(pair).collect());
    let read_on = |group: &mut PollGroup<_>, index: usize| {
        let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
        let queue = &mut group.queues()[index];
        queue.read(&namespace, 0, 1, buffer, 7).unwrap();
        queue.ring();
        assert_eq!(group.reap(0, None, |_, _| {}).unwrap(), 0);
        stepper.step(Nanos::ZERO);
        let mut from = Vec::new();
        let reaped = group.reap(1, None, |queue, done| from.push((queue, done.tag)));
        assert_eq!((reaped.unwrap(), from), (1, vec![(index, 7)]));
    };
    read_on(&mut group, 0);
    let before = group.queue_counters();
    for _ in 0..9 {
        read_on(&mut group, 0);
    }
    let after = group.queue_counters();
    assert_eq!(after[0].polls - before[0].polls, 18);
    assert_eq!(after[1].polls, before[1].polls);
    read_on(&mut group, 1);
}

#[test]
fn a_policy_learns_of_each_command_once() {
    let mut fixture = fixture();
    let diary = Diary::default();
    let policy = AnyPolicy::Other(Box::new(Diarist(diary.clone())));
    fixture.group.queues()[0].set_policy(policy).unwrap();
    fixture.submit(8);
    let soon = now() + Nanos::from_millis(1);
    fixture.group.reap(1, Some(soon), |_, _| {}).unwrap();
    fixture.complete();
    let mut notes = diary.0.lock().unwrap().clone();
    notes.dedup();
    assert_eq!(
        notes,
        ["submitted Read 3", "plan 1 of 1", "completed Read 3"]
    );
}

#[test]
fn a_policy_never_hears_times_noted_for_its_predecessor() {
    let mut fixture = fixture();
    let diary = Diary::default();
    let diarist = || AnyPolicy::Other(Box::new(Diarist(diary.clone())));
    // Submitted with a policy that needs times, completed with one that does not ...
    fixture.group.queues()[0].set_policy(diarist()).unwrap();
    fixture.submit(1);
    fixture.group.queues()[0]
        .set_policy(AnyPolicy::POLL)
        .unwrap();
    fixture.complete();
    // ... and the reverse, in the same slot.
    fixture.submit(1);
    fixture.group.queues()[0].set_policy(diarist()).unwrap();
    fixture.complete();
    let notes = diary.0.lock().unwrap().clone();
    assert_eq!(notes, ["submitted Read 0"]);
}

#[test]
fn a_step_that_was_not_announced_is_an_error_not_a_hang() {
    let mut fixture = fixture();
    let policy = AnyPolicy::Other(Box::new(Liar));
    fixture.group.queues()[0].set_policy(policy).unwrap();
    fixture.submit(1);
    let result = fixture.group.reap(1, None, |_, _| {});
    assert!(matches!(
        result,
        Err(NvmeError::Wait(WaitError::Unavailable(StepKind::Block)))
    ));
}

/// Observations of a [`Witness`].
#[derive(Default)]
struct Testimony {
    /// Number of epochs that have ended.
    epochs: u32,
    /// Number of sleeps planned.
    sleeps: u64,
    /// Number of sleeps that were reported as too short, and as too long.
    went: [u64; 2],
    /// Events that should not have occurred.
    wrong: Vec<String>,
}

/// Waits like automatic hybrid, and checks each sleep that it plans by its own record of the times that it was
/// told.
struct Witness {
    hybrid: Hybrid,
    /// Time at which the epoch began.
    epoch: Option<Nanos>,
    /// Longest latency of each class in this epoch, or in the last one that had any.
    running: HashMap<Class, Nanos>,
    largest: HashMap<Class, Nanos>,
    testimony: Arc<Mutex<Testimony>>,
}

/// Epoch of the kernel's algorithm with which [`Hybrid`] learns.
const EPOCH: Nanos = Nanos::from_millis(100);

impl Policy for Witness {
    fn name(&self) -> std::borrow::Cow<'static, str> {
        "witness".into()
    }
    fn steps(&self) -> StepSet {
        self.hybrid.steps()
    }
    fn timed(&self) -> bool {
        true
    }
    fn submitted(&mut self, class: Class, at: Nanos) {
        self.hybrid.submitted(class, at);
    }
    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.hybrid.completed(class, submitted, at);
        if at - *self.epoch.get_or_insert(at) >= EPOCH {
            self.epoch = Some(at);
            self.largest.extend(self.running.drain());
            self.testimony.lock().unwrap().epochs += 1;
        }
        let largest = self.running.entry(class).or_default();
        *largest = (*largest).max(at - submitted);
    }
    fn woke(&mut self, slept: Slept, at: Nanos) {
        assert!(at <= now());
        self.testimony.lock().unwrap().went[usize::from(slept == Slept::Over)] += 1;
    }
    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        let step = self.hybrid.plan(outstanding, can, now);
        if step.kind != StepKind::Sleep {
            return step;
        }
        let mut testimony = self.testimony.lock().unwrap();
        testimony.sleeps += 1;
        let mut first: Option<(Nanos, Class)> = None;
        outstanding.for_each(&mut |class, at| {
            first = Some(first.map_or(
                (at, class),
                |found| {
                    if at < found.0 { (at, class) } else { found }
                },
            ));
        });
        let allowed = first.and_then(|(at, class)| {
            let half = self.largest.get(&class)?.0.div_ceil(2);
            Some((at, Nanos(half)))
        });
        let right = allowed.is_some_and(|(at, half)| step.until - at <= half);
        if !right || testimony.epochs == 0 {
            let what = format!(
                "in epoch {}: until {:?}, submitted at and allowed {allowed:?}",
                testimony.epochs, step.until
            );
            testimony.wrong.push(what);
        }
        step
    }
}

/// Reads and writes of three sizes at `depth`, until `epochs` epochs have ended.
fn sleeps_over_epochs(depth: usize, epochs: u32) {
    let options = ControllerOptions::default();
    let (controller, _) = crate::common::open_spawned("", crate::common::Seen::default(), options);
    let namespace = controller.namespace(1).unwrap();
    let testimony = Arc::<Mutex<Testimony>>::default();
    let mut queue = controller.create_queue_pair(depth).unwrap();
    let witness = Witness {
        hybrid: Hybrid::automatic(),
        epoch: None,
        running: HashMap::new(),
        largest: HashMap::new(),
        testimony: Arc::clone(&testimony),
    };
    let policy = AnyPolicy::Other(Box::new(witness));
    queue.set_policy(policy).unwrap();
    let mut group = PollGroup::new(vec![queue]);
    let mut buffers = controller.allocate_buffers(depth, 16_384).unwrap();
    let mut ios = 0;
    while testimony.lock().unwrap().epochs < epochs {
        let queue = &mut group.queues()[0];
        while let Some(buffer) = buffers.pop() {
            let (lba, blocks) = (ios * 32 % 4096, [1, 8, 32][ios as usize % 3]);
            let submitted = if ios % 5 == 0 {
                queue.write(&namespace, lba, blocks, buffer, ios)
            } else {
                queue.read(&namespace, lba, blocks, buffer, ios)
            };
            submitted.unwrap();
            ios += 1;
        }
        queue.ring();
        group
            .reap(1, None, |_, done| buffers.extend(done.buffer))
            .unwrap();
    }
    while group.outstanding() > 0 {
        group.reap(1, None, |_, _| {}).unwrap();
    }
    let testimony = testimony.lock().unwrap();
    assert!(testimony.wrong.is_empty(), "{:?}", testimony.wrong);
    let counters = group.counters();
    println!("depth {depth}: {ios} I/Os, {} sleeps", counters.sleeps);
    assert_eq!(counters.sleeps, testimony.sleeps);
    let [under, over] = testimony.went;
    assert_eq!((under + over, over), (counters.sleeps, counters.oversleeps));
    assert!(counters.sleeps > 0, "nothing was put to the test");
    assert!(counters.sleeps <= ios, "{counters:?}");
    assert_eq!((counters.blocks, counters.interrupts), (0, 0));
}

#[test]
fn no_sleep_of_hybrid_is_longer_than_its_estimate_says() {
    crate::common::watched(|| {
        sleeps_over_epochs(1, 6);
        sleeps_over_epochs(4, 6);
    });
}
