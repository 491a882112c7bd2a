//! What a policy is told, and what happens to one that does not keep its word.

mod common;

use joulio_nvme::wait::{
    AnyPolicy, Class, Outstanding, Policy, Step, StepKind, StepSet, WaitError, now,
};
use joulio_nvme::{NvmeError, PollGroup};
use joulio_units::Nanos;
use std::sync::{Arc, Mutex};

/// What a policy was told, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

/// Spins, and writes down what it hears.
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
        Step {
            kind: StepKind::Spin,
            until: Nanos::ZERO,
        }
    }
}

/// Says it spins, and blocks.
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

struct Stage {
    stepper: joulio_emulator::Stepper,
    group: PollGroup<common::Spy>,
    namespace: joulio_nvme::Namespace,
    controller: joulio_nvme::Controller<common::Spy>,
}

fn stage() -> Stage {
    let (controller, stepper, _) = common::open();
    let namespace = controller.namespace(1).unwrap();
    let group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
    Stage {
        stepper,
        group,
        namespace,
        controller,
    }
}

impl Stage {
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
fn a_policy_learns_of_each_command_once() {
    let mut stage = stage();
    let diary = Diary::default();
    let policy = AnyPolicy::Other(Box::new(Diarist(diary.clone())));
    stage.group.queues()[0].set_policy(policy).unwrap();
    stage.submit(8);
    let soon = now() + Nanos::from_millis(1);
    stage.group.reap(1, Some(soon), |_, _| {}).unwrap();
    stage.complete();
    let mut notes = diary.0.lock().unwrap().clone();
    notes.dedup();
    assert_eq!(
        notes,
        ["submitted Read 3", "plan 1 of 1", "completed Read 3"]
    );
}

#[test]
fn a_policy_never_hears_times_noted_for_its_predecessor() {
    let mut stage = stage();
    let diary = Diary::default();
    let diarist = || AnyPolicy::Other(Box::new(Diarist(diary.clone())));
    // Submitted under a policy that wants times, completed under one that does not ...
    stage.group.queues()[0].set_policy(diarist()).unwrap();
    stage.submit(1);
    stage.group.queues()[0].set_policy(AnyPolicy::POLL).unwrap();
    stage.complete();
    // ... and the other way round, in the same slot.
    stage.submit(1);
    stage.group.queues()[0].set_policy(diarist()).unwrap();
    stage.complete();
    let notes = diary.0.lock().unwrap().clone();
    assert_eq!(notes, ["submitted Read 0"]);
}

#[test]
fn a_step_that_was_not_announced_is_an_error_not_a_hang() {
    let mut stage = stage();
    let policy = AnyPolicy::Other(Box::new(Liar));
    stage.group.queues()[0].set_policy(policy).unwrap();
    stage.submit(1);
    let result = stage.group.reap(1, None, |_, _| {});
    assert!(matches!(
        result,
        Err(NvmeError::Wait(WaitError::Unavailable(StepKind::Block)))
    ));
}
