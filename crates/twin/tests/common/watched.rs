//! Policies to play with, and one of which every word is kept.

use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Class, Hybrid, Outstanding, Policy, Step, StepSet};
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// The `which`th policy: poll, interrupt, hybrid fixed and automatic.
pub fn policy(which: usize) -> AnyPolicy {
    match which % 4 {
        0 => AnyPolicy::POLL,
        1 => AnyPolicy::INTERRUPT,
        2 => AnyPolicy::Hybrid(Hybrid::fixed(Nanos(3_000))),
        _ => AnyPolicy::Hybrid(Hybrid::automatic()),
    }
}

/// What a policy was told, and what it said.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Submitted(Class, Nanos),
    Completed(Class, Nanos, Nanos),
    Planned(Vec<(Class, Nanos)>, Nanos, Step),
}

impl Event {
    pub fn at(&self) -> Nanos {
        match self {
            Event::Submitted(_, at) | Event::Completed(_, _, at) | Event::Planned(_, at, _) => *at,
        }
    }
}

/// A policy of which every word is kept.
pub struct Watched {
    pub inner: AnyPolicy,
    pub events: Arc<Mutex<Vec<Event>>>,
}

impl Watched {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl Policy for Watched {
    fn name(&self) -> Cow<'static, str> {
        self.inner.name()
    }

    fn steps(&self) -> StepSet {
        self.inner.steps()
    }

    fn timed(&self) -> bool {
        true
    }

    fn submitted(&mut self, class: Class, at: Nanos) {
        self.note(Event::Submitted(class, at));
        self.inner.submitted(class, at);
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.note(Event::Completed(class, submitted, at));
        self.inner.completed(class, submitted, at);
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        let mut commands = Vec::new();
        outstanding.for_each(&mut |class, at| commands.push((class, at)));
        let step = self.inner.plan(outstanding, can, now);
        self.note(Event::Planned(commands, now, step));
        step
    }
}
