//! History of a policy, and its replay.
//!
//! A policy has no clock and does no I/O, so that the same reports lead to the same plans, in real and in virtual
//! time. A replay tests that: a new value of the policy gets the reports of a real run's [`History`], and its plans
//! are compared with those of the run.

use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Class, Outstanding, PlannedWait, Policy, Slept, Step, StepSet};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// A call of a policy's method.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyEvent {
    /// Report of how long the next command waited for its submission, and the time of the report.
    Waited(Nanos, Nanos),
    /// Report of how long the thread was runnable and did not run, and the time of the report.
    Lost(Nanos, Nanos),
    /// Report of a submission: the class of the command, and the time.
    Submitted(Class, Nanos),
    /// Report of a completion: the class, and the times of submission and of completion.
    Completed(Class, Nanos, Nanos),
    /// Report of how a sleep ended, and the time of the report.
    Woke(Slept, Nanos),
    /// Question how to wait, with the policy's answer.
    Planned {
        /// The commands in flight, with their times of submission.
        outstanding: Vec<(Class, Nanos)>,
        /// True if another thread was runnable on the core; `None` if the policy was not told.
        others: Option<bool>,
        /// The steps that were available.
        can: StepSet,
        /// Time at which the policy planned.
        now: Nanos,
        /// Step that the policy planned.
        step: Step,
    },
}

impl PolicyEvent {
    /// Time of the event.
    pub fn at(&self) -> Nanos {
        match self {
            PolicyEvent::Submitted(_, at)
            | PolicyEvent::Waited(_, at)
            | PolicyEvent::Lost(_, at)
            | PolicyEvent::Completed(_, _, at)
            | PolicyEvent::Woke(_, at)
            | PolicyEvent::Planned { now: at, .. } => *at,
        }
    }
}

/// Error of a replay: the policy planned another step than in the recorded run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("word {index}: planned {said:?}, and {want:?} in the recorded run")]
pub struct Diverged {
    /// Index of the event in the history.
    pub index: usize,
    /// Step that the policy planned.
    pub said: Step,
    /// Step that was planned in the recorded run.
    pub want: Step,
}

/// History of a policy: everything that it was told and that it planned, in order. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<Vec<PolicyEvent>>>);

impl History {
    /// Returns `policy` inside a recorder, which keeps every call from now on. The policy is told times even if it
    /// uses none.
    pub fn record(&self, policy: AnyPolicy) -> AnyPolicy {
        AnyPolicy::Other(Box::new(Recorder {
            inner: policy,
            history: self.clone(),
            others: None,
        }))
    }

    /// Returns the events so far.
    pub fn events(&self) -> Vec<PolicyEvent> {
        // A thread that panicked had pushed a whole event, or none.
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.clone()
    }

    fn note(&self, event: PolicyEvent) {
        let events = self.0.lock();
        events.unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// Replays `events` to `policy`, which must be new, and compares the steps that it plans. Returns their number.
///
/// # Errors
/// [`Diverged`], at the first step that differs.
pub fn replay(events: &[PolicyEvent], policy: &mut impl Policy) -> Result<usize, Diverged> {
    let mut planned = 0;
    for (index, event) in events.iter().enumerate() {
        match event {
            PolicyEvent::Waited(time, at) => policy.waited(*time, *at),
            PolicyEvent::Lost(time, at) => policy.lost(*time, *at),
            PolicyEvent::Submitted(class, at) => policy.submitted(*class, *at),
            PolicyEvent::Completed(class, submitted, at) => {
                policy.completed(*class, *submitted, *at)
            }
            PolicyEvent::Woke(slept, at) => policy.woke(*slept, *at),
            PolicyEvent::Planned {
                outstanding,
                others,
                can,
                now,
                step,
            } => {
                if let Some(others) = *others {
                    policy.others_runnable(others);
                }
                let said = policy.plan(&Commands(outstanding), *can, *now);
                planned += 1;
                if said != *step {
                    let want = *step;
                    return Err(Diverged { index, said, want });
                }
            }
        }
    }
    Ok(planned)
}

struct Commands<'a>(&'a [(Class, Nanos)]);

impl Outstanding for Commands<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        self.0.iter().for_each(|&(class, at)| each(class, at));
    }
}

struct Recorder {
    inner: AnyPolicy,
    history: History,
    /// Report of other threads for the next plan.
    others: Option<bool>,
}

impl Policy for Recorder {
    fn name(&self) -> Cow<'static, str> {
        self.inner.name()
    }

    fn steps(&self) -> StepSet {
        self.inner.steps()
    }

    fn timed(&self) -> bool {
        true
    }

    fn waited(&mut self, time: Nanos, at: Nanos) {
        self.history.note(PolicyEvent::Waited(time, at));
        self.inner.waited(time, at);
    }

    fn asks_lost(&self) -> bool {
        self.inner.asks_lost()
    }

    fn lost(&mut self, time: Nanos, at: Nanos) {
        self.history.note(PolicyEvent::Lost(time, at));
        self.inner.lost(time, at);
    }

    fn submitted(&mut self, class: Class, at: Nanos) {
        self.history.note(PolicyEvent::Submitted(class, at));
        self.inner.submitted(class, at);
    }

    fn completed(&mut self, class: Class, submitted: Nanos, at: Nanos) {
        self.history
            .note(PolicyEvent::Completed(class, submitted, at));
        self.inner.completed(class, submitted, at);
    }

    fn woke(&mut self, slept: Slept, at: Nanos) {
        self.history.note(PolicyEvent::Woke(slept, at));
        self.inner.woke(slept, at);
    }

    fn asks_others(&self) -> bool {
        self.inner.asks_others()
    }

    fn others_runnable(&mut self, others: bool) {
        self.others = Some(others);
        self.inner.others_runnable(others);
    }

    fn learning(&self) -> Nanos {
        self.inner.learning()
    }

    fn planned(&self, class: Class) -> Option<PlannedWait> {
        self.inner.planned(class)
    }

    fn plan(&mut self, outstanding: &dyn Outstanding, can: StepSet, now: Nanos) -> Step {
        let mut commands = Vec::new();
        outstanding.for_each(&mut |class, at| commands.push((class, at)));
        let step = self.inner.plan(outstanding, can, now);
        self.history.note(PolicyEvent::Planned {
            outstanding: commands,
            others: self.others.take(),
            can,
            now,
            step,
        });
        step
    }
}
