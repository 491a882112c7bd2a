//! Waits for a queue pair: its policy, and what its core needs from it during a wait.

use super::QueuePair;
use super::interrupt::Interrupt;
use crate::{NvmeError, PolicyError};
use joulio_device::{Device, DmaMemory, Vector};
use joulio_trace::EventKind;
use joulio_units::{CpuList, Nanos};
use joulio_wait::{
    AnyPolicy, CacheLine, Policy, Slept, Step, StepKind, StepSet, WaitCounters, WaitError, Waiter,
    now,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of identifiers given to policies of queues.
static POLICY_IDS: AtomicU64 = AtomicU64::new(0);

/// Returns an identifier that was not given before.
pub(super) fn new_policy_id() -> u64 {
    POLICY_IDS.fetch_add(1, Ordering::Relaxed)
}

/// Returns the number of identifiers given: while it stays the same, no queue of this process was made and none has
/// changed its policy.
#[inline]
pub(crate) fn policy_ids_given() -> u64 {
    POLICY_IDS.load(Ordering::Relaxed)
}

impl<D: Device> QueuePair<D> {
    /// Polls the completion queue once, and counts the poll if it finds nothing.
    #[inline]
    pub(crate) fn poll(&mut self) -> bool {
        self.peek().is_some()
    }

    /// Polls so far.
    pub(crate) fn polls(&self) -> u64 {
        self.full_polls.wrapping_add(self.empty_polls)
    }

    /// Returns whether a completion is there; not counted as a poll.
    #[inline]
    pub(crate) fn has_completion(&self) -> bool {
        self.completion.ready()
    }

    /// Returns the cache line that the next completion is written to.
    pub(crate) fn cache_line(&self) -> CacheLine<'_> {
        self.completion.cache_line()
    }

    /// Returns the steps that this queue can wait by, out of a waiter's.
    fn can(&self, waiter: StepSet) -> StepSet {
        let mut can = StepSet::NONE
            .with(StepKind::Spin)
            .with(StepKind::Pause)
            .with(StepKind::Monitor)
            .with(StepKind::Sleep);
        if self.interrupt.is_there() {
            can = can.with(StepKind::UserInterrupt).with(StepKind::Block);
        }
        can.and(waiter)
    }

    /// Returns the step that the policy always plans, if there is one and `waiter` has it.
    pub(crate) fn fixed_step(&self, waiter: StepSet) -> Option<Step> {
        let can = self.can(waiter).and(self.policy.steps());
        self.policy.fixed().filter(|step| can.has(step.kind))
    }

    /// Returns the step that the policy plans; an error if it is not one of those that the policy announced.
    pub(crate) fn plan(&mut self, waiter: StepSet, at: Nanos) -> Result<Step, WaitError> {
        let can = self.can(waiter).and(self.policy.steps());
        let step = self.policy.plan(&self.slots, can, at);
        if can.has(step.kind) {
            Ok(step)
        } else {
            Err(WaitError::Unavailable(step.kind))
        }
    }

    /// Reports to the policy that the core woke at `at`, and whether a completion was there.
    pub(crate) fn woke(&mut self, over: bool, at: Nanos) {
        if self.policy.timed() {
            let slept = if over { Slept::Over } else { Slept::Under };
            self.policy.woke(slept, at);
        }
    }

    /// Reports to the policy that the next command to be submitted waited for `time` since it was requested, for room
    /// in the queue or for the core.
    pub fn waited(&mut self, time: Nanos) {
        if self.policy.timed() {
            self.policy.waited(time, now());
        }
    }

    /// Returns whether the policy asks for the time that its thread loses.
    pub(crate) fn asks_lost(&self) -> bool {
        self.policy.asks_lost()
    }

    /// Returns whether the policy waits by SPDK+'s hand-over to a second user-level thread.
    pub(crate) fn hands_over(&self) -> bool {
        matches!(self.policy, AnyPolicy::SpdkPlus(_))
    }

    /// Reports to the policy that the thread was ready and did not run, for `time` up to `at`.
    pub(crate) fn lost(&mut self, time: Nanos, at: Nanos) {
        self.policy.lost(time, at);
    }

    /// Returns an identifier that changes with the policy, and differs from that of every other queue.
    pub(crate) fn policy_id(&self) -> u64 {
        self.policy_id
    }

    /// Returns whether the policy or the trace needs times.
    pub(crate) fn timed(&self) -> bool {
        self.timed
    }

    /// Changes the policy, at any time, with commands outstanding or not. The vector of a policy that never blocks is
    /// masked, so that completions raise no interrupt at all; that of a policy which also takes other steps is
    /// unmasked only while it blocks ([`QueueInfo::masks_between_blocks`](super::QueueInfo::masks_between_blocks)).
    ///
    /// # Errors
    /// The policy plans steps that this machine or this queue does not have
    /// ([`PolicyError::NoStep`], [`PolicyError::NoVector`], [`PolicyError::UserInterrupt`]), it asks who
    /// else is runnable ([`PolicyError::AsksOthers`]), or the
    /// device refuses to mask the vector; the policy stays as it was.
    pub fn set_policy(&mut self, policy: AnyPolicy) -> Result<(), PolicyError> {
        self.check_policy(&policy)?;
        self.interrupt.set_steps(policy.steps())?;
        self.slots.forget_notes();
        self.policy = policy;
        self.policy_id = new_policy_id();
        self.take_times();
        Ok(())
    }

    /// Directs the interrupts that the policy blocks for to `cpu`, the CPU of the thread that waits for them, and
    /// returns the CPUs that then take them. `None`: the policy has no interrupts that the kernel takes, or no CPU of
    /// this machine takes them. The setting lasts until the controller is closed; a policy that is set later does not
    /// change it.
    ///
    /// # Errors
    /// The system refuses: only root may change where an interrupt goes, or the CPU is not online.
    pub fn direct_interrupts(&self, cpu: usize) -> Result<Option<CpuList>, NvmeError> {
        Ok(self.interrupt.direct(cpu)?)
    }

    /// Returns the CPUs that take the interrupts that the policy blocks for; `None`: as for
    /// [`QueuePair::direct_interrupts`].
    ///
    /// # Errors
    /// The system does not say it.
    pub fn interrupt_cpus(&self) -> Result<Option<CpuList>, NvmeError> {
        Ok(self.interrupt.cpus()?)
    }

    /// Checks that this queue and this machine have the steps of `policy`.
    fn check_policy(&self, policy: &AnyPolicy) -> Result<(), PolicyError> {
        if policy.asks_others() {
            let policy = policy.name().into_owned();
            return Err(PolicyError::AsksOthers { policy });
        }
        let steps = policy.steps();
        let waiter = Waiter::new();
        let mut machine = waiter.can();
        if steps.has(StepKind::UserInterrupt) {
            Waiter::may_receive()?;
            // The thread is not ready for them yet: `PollGroup::attach`.
            machine = machine.with(StepKind::UserInterrupt);
        }
        let policy = || policy.name().into_owned();
        if let Some(kind) = steps.missing_in(machine) {
            return Err(PolicyError::NoStep {
                policy: policy(),
                reason: waiter.lacks(kind),
            });
        }
        match steps.missing_in(self.can(machine)) {
            Some(_) => Err(self.no_vector(policy())),
            None => Ok(()),
        }
    }

    /// Returns the error of an event loop that would wait for this queue.
    #[cold]
    pub(crate) fn never_blocks(&self) -> PolicyError {
        PolicyError::NeverBlocks {
            policy: self.policy.name().into_owned(),
            queue: self.id.0,
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

    /// Redirects the vector, as [`crate::PollGroup::redirect`] does.
    pub(crate) fn redirect(
        &mut self,
        memory: &Arc<DmaMemory>,
        offset: usize,
        data: u32,
    ) -> Result<(), PolicyError> {
        let policy = self.policy.name().into_owned();
        if self.interrupt.is_taken() || memory.domain() != self.domain {
            return Err(PolicyError::NotRedirectable { policy });
        }
        if !self.interrupt.is_there() {
            return Err(self.no_vector(policy));
        }
        assert!(offset.is_multiple_of(4) && offset + 4 <= memory.memory().len());
        Ok(self.interrupt.redirect(memory, offset, data)?)
    }

    /// Ends a redirection: the vector is masked and reaches the eventfd again.
    pub(crate) fn restore_vector(&mut self) -> Result<(), PolicyError> {
        Ok(self.interrupt.restore()?)
    }

    /// The vector, if the policy blocks on it.
    pub(crate) fn blocking_vector(&self) -> Option<&Vector> {
        self.interrupt.blocking_vector()
    }

    /// The vector, if the policy takes its interrupts as user interrupts.
    pub(crate) fn user_vector(&self) -> Option<&Vector> {
        self.interrupt.user_vector()
    }

    /// The memory that the vector is redirected to.
    pub(crate) fn redirected_to(&self) -> Option<&Arc<DmaMemory>> {
        self.interrupt.target()
    }

    /// The queue's interrupt.
    pub(crate) fn interrupt(&mut self) -> &mut Interrupt {
        &mut self.interrupt
    }

    /// Returns whether the interrupts that end the core's blocks are unmasked, and each that came is claimed.
    pub(crate) fn is_armed(&self) -> bool {
        self.interrupt.is_armed()
    }

    /// Claims the interrupts that ended a block; returns whether there were any.
    pub(crate) fn claim(&mut self) -> bool {
        self.interrupt.claim(self.outstanding())
    }

    /// Waits for the interrupt of a completion that is there and whose interrupt has not been seen, and claims it. An
    /// interrupt that does not come is counted as lost. Returns whether it was lost.
    pub(crate) fn missed_interrupt(&mut self) -> bool {
        let lost = self.interrupt.is_lost(self.outstanding());
        if lost {
            self.trace_now(EventKind::LostInterrupt);
        }
        lost
    }

    /// Returns the counts of this queue since it was made: polls and interrupts, those not yet claimed included.
    /// Sleeps, blocks and pauses are counted by its core: [`crate::PollGroup::counters`].
    pub(crate) fn counters(&mut self) -> WaitCounters {
        self.claim();
        let interrupt = self.interrupt.counts();
        WaitCounters {
            polls: self.polls(),
            empty_polls: self.empty_polls,
            arms: interrupt.arms,
            interrupts: interrupt.raised,
            lost_interrupts: interrupt.lost,
            ..WaitCounters::default()
        }
    }
}
