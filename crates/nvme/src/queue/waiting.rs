//! How a queue pair is waited for: its policy, its interrupt, its counters.

use super::QueuePair;
use crate::PolicyError;
use joulio_device::{Device, DeviceError, DmaMemory, Vector};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Counters, Policy, Step, StepKind, StepSet, WaitError, Waiter};
use std::sync::Arc;

/// The queue's interrupt.
pub(super) struct Line {
    pub(super) vector: Option<Vector>,
    masked: bool,
    /// Where the vector's writes go, if it is aimed.
    pub(super) aimed: Option<Arc<DmaMemory>>,
    /// Completions seen less interrupts taken: above zero, the eventfd may hold interrupts of
    /// completions that are no news any more.
    pub(super) unclaimed: i64,
}

impl Line {
    /// A line that lets nothing through.
    pub(super) fn masked(vector: Option<Vector>) -> Line {
        Line {
            vector,
            masked: true,
            aimed: None,
            unclaimed: 0,
        }
    }
}

impl<D: Device> QueuePair<D> {
    /// Looks whether a completion is there, and counts the look when it is in vain.
    #[inline]
    pub(crate) fn look(&mut self) -> bool {
        let ready = self.completion.ready();
        let vain = u64::from(!ready);
        self.counters.polls += vain;
        self.counters.empty_polls += vain;
        ready
    }

    /// The steps that this queue can wait with, out of a waiter's.
    pub(crate) fn can(&self, waiter: StepSet) -> StepSet {
        let mut can = StepSet::NONE
            .with(StepKind::Spin)
            .with(StepKind::Pause)
            .with(StepKind::Monitor)
            .with(StepKind::Sleep);
        if self.line.vector.is_some() {
            can = can.with(StepKind::Block);
        }
        can.and(waiter)
    }

    /// The way of waiting.
    pub fn policy(&self) -> &AnyPolicy {
        &self.policy
    }

    /// What the policy plans; an error when that is none of the steps it said it would take.
    pub(crate) fn plan(&mut self, waiter: StepSet, at: Nanos) -> Result<Step, WaitError> {
        let can = self.can(waiter).and(self.policy.steps());
        let step = self.policy.plan(&self.slots, can, at);
        if can.has(step.kind) {
            Ok(step)
        } else {
            Err(WaitError::Unavailable(step.kind))
        }
    }

    /// Whether the policy is told times.
    pub(crate) fn timed(&self) -> bool {
        self.timed
    }

    /// Changes the way of waiting, at any time, with commands outstanding or not. A policy that
    /// never blocks has the vector masked, so that completions raise no interrupt at all.
    pub fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError> {
        let steps = policy.steps();
        let can = self.can(Waiter::new().can());
        if steps.and(can) != steps {
            let policy = policy.name().into_owned();
            return Err(
                if steps.has(StepKind::Block) && self.line.vector.is_none() {
                    PolicyError::NoVector {
                        policy,
                        have: self.shared.device.max_vectors(),
                    }
                } else {
                    PolicyError::NoStep { policy }
                },
            );
        }
        self.aim_back()?;
        if !steps.has(StepKind::Block) {
            self.mask()?;
        }
        self.slots.forget_notes();
        self.timed = policy.timed();
        self.policy = policy;
        Ok(())
    }

    pub(super) fn mask(&mut self) -> Result<(), PolicyError> {
        if let Some(vector) = self.line.vector.as_ref().filter(|_| !self.line.masked) {
            vector.mask()?;
            self.line.masked = true;
        }
        Ok(())
    }

    /// The vector, if the policy blocks on it.
    pub(crate) fn blocking_vector(&self) -> Option<&Vector> {
        self.line
            .vector
            .as_ref()
            .filter(|_| self.policy.steps().has(StepKind::Block))
    }

    /// Points the vector's interrupt at the word at `offset` of `memory`: from now on a completion
    /// writes `data` there, after its entry in the completion queue, and raises no interrupt. For
    /// queues whose policy does not block; a change of policy ends it. Without a vector, an error.
    ///
    /// # Panics
    /// When the word is not inside `memory`.
    pub fn aim(
        &mut self,
        memory: &Arc<DmaMemory>,
        offset: usize,
        data: u32,
    ) -> Result<(), PolicyError> {
        let policy = self.policy.name().into_owned();
        if self.policy.steps().has(StepKind::Block) || memory.domain() != self.domain {
            return Err(PolicyError::NoStep { policy });
        }
        let Some(vector) = &self.line.vector else {
            let have = self.shared.device.max_vectors();
            return Err(PolicyError::NoVector { policy, have });
        };
        assert!(offset.is_multiple_of(4) && offset + 4 <= memory.memory().len());
        vector.aim(memory.iova().offset(offset), data)?;
        self.line.aimed = Some(Arc::clone(memory));
        vector.unmask()?;
        self.line.masked = false;
        Ok(())
    }

    /// Ends [`QueuePair::aim`]: the vector is masked and reaches the eventfd again.
    pub fn aim_back(&mut self) -> Result<(), PolicyError> {
        if self.line.aimed.is_some() {
            self.mask()?;
            if let Some(vector) = &self.line.vector {
                vector.aim_back()?;
            }
            // Only now: until here the device could write there.
            self.line.aimed = None;
        }
        Ok(())
    }

    /// Lets interrupts through and forgets those of completions already seen.
    pub(crate) fn arm(&mut self) -> Result<(), DeviceError> {
        if let Some(vector) = self.line.vector.as_ref().filter(|_| self.line.masked) {
            vector.unmask()?;
            self.line.masked = false;
            // What completed while it was masked is pending and comes now: no news either.
            self.line.unclaimed = self.line.unclaimed.max(1);
        }
        if self.line.unclaimed > 0 {
            self.take();
            self.line.unclaimed = 0;
        }
        Ok(())
    }

    /// Claims the interrupts that ended a block; whether there were any.
    pub(crate) fn claim(&mut self) -> bool {
        self.take() > 0
    }

    /// Takes the interrupts raised since the last time into the counters.
    pub(super) fn take(&mut self) -> u64 {
        let raised = self.line.vector.as_ref().map_or(0, Vector::take);
        self.counters.interrupts += raised;
        self.line.unclaimed -= raised as i64;
        if self.outstanding() == 0 {
            // Interrupts that come without a completion must not add up to a debt.
            self.line.unclaimed = self.line.unclaimed.max(0);
        }
        raised
    }

    /// The core blocked for `time`; an interrupt ended it, or not.
    pub(crate) fn blocked_for(&mut self, time: Nanos, woken: bool) {
        self.counters.blocks += 1;
        self.counters.wakes += u64::from(woken);
        self.counters.blocked += time;
    }

    /// The core slept for `time`, `late` longer than it was to; a completion was there at the end,
    /// or not.
    pub(crate) fn slept_for(&mut self, time: Nanos, late: Nanos, over: bool) {
        self.counters.sleeps += 1;
        self.counters.oversleeps += u64::from(over);
        self.counters.slept += time;
        self.counters.overslept += late;
    }

    /// What waiting did, interrupts not yet claimed included.
    pub fn counters(&mut self) -> Counters {
        self.take();
        self.counters
    }
}
