//! How a queue pair is waited for: its policy, its interrupt, its counters.

use super::QueuePair;
use crate::PolicyError;
use joulio_device::{Device, DeviceError, DmaDomain, DmaMemory, Iova, Vector};
use joulio_trace::EventKind;
use joulio_units::Nanos;
use joulio_wait::{
    AnyPolicy, CacheLine, Counters, Policy, Slept, Step, StepKind, StepSet, Tally, WaitError,
    Waiter, now, poll_until,
};
use rustix::event::{PollFd, PollFlags};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long after its completion an interrupt may come and not be lost.
const INTERRUPT_ON_ITS_WAY: Nanos = Nanos::from_millis(20);

/// A generation that nothing has had before.
pub(super) fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The queue's interrupt.
pub(super) struct Interrupt {
    pub(super) vector: Option<Vector>,
    masked: bool,
    /// Where the vector's writes go, if it is aimed.
    pub(super) aimed: Option<Aimed>,
    /// Completions seen less interrupts taken: above zero, the eventfd may hold interrupts of
    /// completions that are no news any more.
    pub(super) unclaimed: i64,
}

/// A word of memory that a vector writes.
pub(super) struct Aimed {
    pub(super) memory: Arc<DmaMemory>,
    at: Iova,
    data: u32,
}

/// Whether a policy of these steps has its vector unmasked.
fn takes_interrupts(steps: StepSet) -> bool {
    steps.has(StepKind::Block) || steps.has(StepKind::UserInterrupt)
}

impl Interrupt {
    /// Sets the vector up as it was: who resets a function may have touched its MSI-X table.
    pub(super) fn restore(&self) -> Result<(), DeviceError> {
        let Some(vector) = &self.vector else {
            return Ok(());
        };
        if let Some(aimed) = &self.aimed {
            vector.redirect(aimed.at, aimed.data)?;
        }
        if self.masked {
            vector.mask()
        } else {
            vector.unmask()
        }
    }

    /// A line that lets nothing through.
    pub(super) fn masked(vector: Option<Vector>) -> Interrupt {
        Interrupt {
            vector,
            masked: true,
            aimed: None,
            // The vector's last owner may have left one.
            unclaimed: 1,
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

    /// Looks so far.
    pub(crate) fn polls(&self) -> u64 {
        self.counters.polls
    }

    /// Whether a completion is there; not counted as a look.
    pub(crate) fn has_completion(&self) -> bool {
        self.completion.ready()
    }

    /// The steps that this queue can wait with, out of a waiter's.
    pub(crate) fn can(&self, waiter: StepSet) -> StepSet {
        let mut can = StepSet::NONE
            .with(StepKind::Spin)
            .with(StepKind::Pause)
            .with(StepKind::Monitor)
            .with(StepKind::Sleep);
        if self.interrupt.vector.is_some() {
            can = can.with(StepKind::UserInterrupt).with(StepKind::Block);
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

    /// Changes with the policy, and is no other queue's.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether somebody is told times.
    pub(crate) fn timed(&self) -> bool {
        self.timed
    }

    /// Changes the way of waiting, at any time, with commands outstanding or not. A policy that
    /// never blocks has the vector masked, so that completions raise no interrupt at all; one that
    /// also waits in other ways has it unmasked only while it blocks
    /// ([`QueuePair::masks_between_blocks`]).
    pub fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError> {
        let steps = policy.steps();
        self.check_policy(&policy)?;
        self.aim_back()?;
        if !takes_interrupts(steps) {
            self.mask()?;
        }
        self.slots.forget_notes();
        self.policy = policy;
        self.generation = next_generation();
        self.take_times();
        Ok(())
    }

    /// Whether this queue and this machine have the steps of `policy`.
    fn check_policy(&self, policy: &AnyPolicy) -> Result<(), PolicyError> {
        let steps = policy.steps();
        let waiter = Waiter::new();
        let mut machine = waiter.can();
        if steps.has(StepKind::UserInterrupt) {
            Waiter::may_receive()?;
            // Its thread has yet to be made ready for them: `PollGroup::attach`.
            machine = machine.with(StepKind::UserInterrupt);
        }
        let lacks = |can: StepSet| {
            let mut kinds = StepKind::ALL.into_iter();
            kinds.find(|&kind| steps.has(kind) && !can.has(kind))
        };
        let policy = || policy.name().into_owned();
        if let Some(kind) = lacks(machine) {
            return Err(PolicyError::NoStep {
                policy: policy(),
                reason: waiter.lacks(kind),
            });
        }
        match lacks(self.can(machine)) {
            Some(_) => Err(self.no_vector(policy())),
            None => Ok(()),
        }
    }

    fn no_vector(&self, policy: String) -> PolicyError {
        let (had, wanted) = self.shared.vectors();
        PolicyError::NoVector {
            policy,
            had,
            wanted,
        }
    }

    pub(super) fn mask(&mut self) -> Result<(), PolicyError> {
        if let Some(vector) = self
            .interrupt
            .vector
            .as_ref()
            .filter(|_| !self.interrupt.masked)
        {
            vector.mask()?;
            self.interrupt.masked = true;
        }
        Ok(())
    }

    /// The vector, if the policy blocks on it.
    pub(crate) fn blocking_vector(&self) -> Option<&Vector> {
        self.interrupt
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
        if takes_interrupts(self.policy.steps()) || memory.domain() != self.domain {
            return Err(PolicyError::NotAimed { policy });
        }
        let Some(vector) = &self.interrupt.vector else {
            return Err(self.no_vector(policy));
        };
        assert!(offset.is_multiple_of(4) && offset + 4 <= memory.memory().len());
        let at = memory.iova().offset(offset);
        vector.redirect(at, data)?;
        self.interrupt.aimed = Some(Aimed {
            memory: Arc::clone(memory),
            at,
            data,
        });
        self.unmask()?;
        Ok(())
    }

    /// The vector, if the policy takes its interrupts straight.
    pub(crate) fn user_vector(&self) -> Option<&Vector> {
        self.interrupt
            .vector
            .as_ref()
            .filter(|_| self.policy.steps().has(StepKind::UserInterrupt))
    }

    /// Lets interrupts through; whether it did not before.
    pub(crate) fn unmask(&mut self) -> Result<bool, DeviceError> {
        let masked = self.interrupt.masked;
        let Some(vector) = self.interrupt.vector.as_ref().filter(|_| masked) else {
            return Ok(false);
        };
        vector.unmask()?;
        self.interrupt.masked = false;
        Ok(true)
    }

    /// The memory that the vector is aimed at.
    pub(crate) fn aimed(&self) -> Option<&Arc<DmaMemory>> {
        self.interrupt.aimed.as_ref().map(|aimed| &aimed.memory)
    }

    /// The device that it is a queue of.
    pub(crate) fn device(&self) -> &D {
        &self.shared.device
    }

    /// The address space that the device reaches its memory in.
    pub(crate) fn domain(&self) -> DmaDomain {
        self.domain
    }

    /// Ends [`QueuePair::aim`]: the vector is masked and reaches the eventfd again.
    pub fn aim_back(&mut self) -> Result<(), PolicyError> {
        if self.interrupt.aimed.is_some() {
            self.mask()?;
            if let Some(vector) = &self.interrupt.vector {
                vector.restore()?;
            }
            // Only now: until here the device could write there.
            self.interrupt.aimed = None;
        }
        Ok(())
    }

    /// Lets interrupts through and forgets those of completions already seen.
    pub(crate) fn arm(&mut self) -> Result<(), DeviceError> {
        self.counters.arms += 1;
        if self.interrupt.unclaimed <= 0 {
            return self.unmask_soon();
        }
        // What completed while it was masked may be pending, and comes now: that is no news either.
        self.unmask()?;
        self.take();
        self.interrupt.unclaimed = 0;
        Ok(())
    }

    /// Sets the vector again if somebody else has written its table entry.
    #[cold]
    pub(super) fn keep_vector(&mut self) -> Result<(), DeviceError> {
        let Interrupt {
            vector,
            masked,
            aimed,
            ..
        } = &self.interrupt;
        if let Some(vector) = vector {
            let target = aimed.as_ref().map(|aimed| (aimed.at, aimed.data));
            let kept = vector.keep(*masked, target)?;
            self.faults.vectors_rewritten += u64::from(!kept);
        }
        Ok(())
    }

    /// Lets interrupts through, without waiting until the device knows.
    fn unmask_soon(&mut self) -> Result<(), DeviceError> {
        let masked = self.interrupt.masked;
        if let Some(vector) = self.interrupt.vector.as_ref().filter(|_| masked) {
            vector.post_unmask()?;
            self.interrupt.masked = false;
        }
        Ok(())
    }

    /// Masks the vector while the core waits in ways that need no interrupt, where that is a store:
    /// else every completion that the core finds by itself raises one.
    #[inline]
    pub(crate) fn disarm(&mut self) -> Result<(), DeviceError> {
        if self.interrupt.masked {
            return Ok(());
        }
        self.mask_soon()
    }

    #[cold]
    fn mask_soon(&mut self) -> Result<(), DeviceError> {
        let steps = self.policy.steps();
        let kept = !steps.has(StepKind::Block) || steps.has(StepKind::UserInterrupt);
        let vector = self.interrupt.vector.as_ref();
        if let Some(vector) = vector.filter(|vector| !kept && vector.masks_by_store()) {
            vector.post_mask()?;
            self.interrupt.masked = true;
        }
        Ok(())
    }

    /// Whether completions that are found without a block raise no interrupt: the vector is masked
    /// by a store, and the policy blocks, but not always.
    pub fn masks_between_blocks(&self) -> bool {
        let steps = self.policy.steps();
        let vector = self.interrupt.vector.as_ref();
        steps.has(StepKind::Block)
            && steps != StepSet::NONE.with(StepKind::Block)
            && !steps.has(StepKind::UserInterrupt)
            && vector.is_some_and(Vector::masks_by_store)
    }

    /// Claims the interrupts that ended a block; whether there were any.
    pub(crate) fn claim(&mut self) -> bool {
        self.take() > 0
    }

    /// Takes the interrupts raised since the last time into the counters.
    pub(super) fn take(&mut self) -> u64 {
        let raised = self.interrupt.vector.as_ref().map_or(0, Vector::take);
        self.counters.interrupts += raised;
        self.interrupt.unclaimed -= raised as i64;
        if self.outstanding() == 0 {
            // Interrupts that come without a completion must not add up to a debt.
            self.interrupt.unclaimed = self.interrupt.unclaimed.max(0);
        }
        raised
    }

    /// A completion is there that no interrupt has told of. One that is under way is waited for,
    /// and claimed; when none comes it is counted as lost. Whether none came.
    pub(crate) fn missed_interrupt(&mut self) -> bool {
        let Some(vector) = self.interrupt.vector.as_ref() else {
            return false;
        };
        let mut fds = [PollFd::from_borrowed_fd(vector.event(), PollFlags::IN)];
        // An error here is no interrupt either.
        let _ = poll_until(&mut fds, now() + INTERRUPT_ON_ITS_WAY);
        let came = self.claim();
        if !came {
            self.counters.lost_interrupts += 1;
            self.trace_now(EventKind::LostInterrupt);
        }
        !came
    }

    /// What the core did in user-level power states.
    pub(crate) fn waited(&mut self, tally: Tally) {
        self.counters.pauses += tally.pauses;
        self.counters.monitors += tally.monitors;
        self.counters.limited += tally.limited;
        self.counters.user_interrupts += tally.user_interrupts;
        self.counters.lost_bindings += tally.lost_bindings;
        self.counters.rebindings += tally.rebindings;
    }

    /// The line that the next completion is written to.
    pub(crate) fn cache_line(&self) -> CacheLine<'_> {
        self.completion.cache_line()
    }

    /// An interrupt ended a block, and no completion is there.
    pub(crate) fn woken_in_vain(&mut self) {
        self.counters.vain_wakes += 1;
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

    /// Tells the policy that the core woke at `at`; a completion was there, or not.
    pub(crate) fn woke(&mut self, over: bool, at: Nanos) {
        if self.policy.timed() {
            let slept = if over { Slept::Over } else { Slept::Under };
            self.policy.woke(slept, at);
        }
    }

    /// What waiting did, interrupts not yet claimed included.
    pub fn counters(&mut self) -> Counters {
        self.take();
        self.counters
    }
}
