//! The waiter: the code that a core runs for each kind of step.

use crate::binding::Binding;
use crate::clock::sleep_until;
use crate::spin::spin;
use crate::user;
use crate::{Blocked, Step, StepKind, StepSet, WaitCounters, Watched, Woken};
use joulio_cpu::uintr::{Receiver, UintrError};
use joulio_cpu::{Depth, MissingFeature, UserWait};
use joulio_units::Nanos;
use rustix::io::fcntl_dupfd_cloexec;
use std::error::Error;
use std::os::fd::BorrowedFd;

/// A failure to wait.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The policy planned a step that this machine does not have. The waiter does not replace it.
    #[error("the policy planned a {0:?} step, which this machine or queue does not have")]
    Unavailable(StepKind),
    /// The thread cannot take user interrupts.
    #[error("cannot take user interrupts: {0}")]
    UserInterrupt(#[from] UintrError),
    /// The interrupt cannot be armed or waited for.
    #[error("cannot wait for an interrupt: {0}")]
    Interrupt(Box<dyn Error + Send + Sync>),
}

/// The part of a core that executes steps.
#[derive(Debug)]
pub struct Waiter {
    can: StepSet,
    user: Result<UserWait, MissingFeature>,
    binding: Option<Binding>,
    /// Interrupts that the receiver had delivered at the last count.
    delivered: u64,
    counters: WaitCounters,
    /// A spin yields the CPU to the thread that it waits for.
    yields: bool,
}

impl Default for Waiter {
    fn default() -> Self {
        Waiter::new()
    }
}

impl Waiter {
    /// Creates a waiter with the steps of this machine.
    pub fn new() -> Waiter {
        let user = UserWait::detect(Depth::default());
        let mut can = StepSet::NONE
            .with(StepKind::Spin)
            .with(StepKind::Sleep)
            .with(StepKind::Block);
        if user.is_ok() {
            can = can.with(StepKind::Pause).with(StepKind::Monitor);
        }
        Waiter {
            can,
            user,
            binding: None,
            delivered: 0,
            counters: WaitCounters::default(),
            yields: false,
        }
    }

    /// Steps that it can execute.
    pub fn can(&self) -> StepSet {
        self.can
    }

    /// Returns the reason why the waiter cannot execute `kind`; empty if it can.
    pub fn lacks(&self, kind: StepKind) -> String {
        match kind {
            _ if self.can.has(kind) => String::new(),
            StepKind::UserInterrupt => match Receiver::open(Depth::default()) {
                Ok(_) => "this thread takes no user interrupts yet".into(),
                Err(error) => error.to_string(),
            },
            _ => self
                .user
                .err()
                .map_or_else(String::new, |missing| missing.to_string()),
        }
    }

    /// Returns the instruction of the waiter's user-level waits, `tpause` or `mwaitx`, if this machine has one.
    pub fn user_level_wait(&self) -> Option<&'static str> {
        self.user.as_ref().ok().map(UserWait::name)
    }

    /// Checks that a thread could take user interrupts.
    ///
    /// # Errors
    /// The CPU, the module or the permission for it is missing.
    pub fn may_receive() -> Result<(), UintrError> {
        Receiver::open(Depth::default()).map(drop)
    }

    /// Makes the calling thread, which must be pinned to a CPU, take the device interrupts that signal `events` as
    /// user interrupts: the first without the kernel, the others through its handler, since a CPU delivers one
    /// interrupt directly. Between waits they are held back: all that come while the thread polls become one, which
    /// ends the next wait as it begins. From then on only that thread may run this waiter. Interrupts from an earlier
    /// call are given back.
    ///
    /// # Errors
    /// User interrupts are missing ([`Waiter::may_receive`]), the thread is not pinned, or the
    /// interrupt cannot be bound to it.
    pub fn receive(&mut self, events: &[BorrowedFd<'_>]) -> Result<(), UintrError> {
        self.receive_by(events, Receiver::open_in_waits_only)
    }

    /// Receives as [`Waiter::receive`] does, with SPDK+'s own mechanism ([`crate::SpdkPlus`]).
    ///
    /// # Errors
    /// Those of [`Waiter::receive`], or the thread has a shadow stack.
    pub fn receive_by_hand_over(&mut self, events: &[BorrowedFd<'_>]) -> Result<(), UintrError> {
        self.receive_by(events, Receiver::open_hand_over)
    }

    fn receive_by(
        &mut self,
        events: &[BorrowedFd<'_>],
        open: fn(Depth) -> Result<Receiver, UintrError>,
    ) -> Result<(), UintrError> {
        // A thread has one receiver: the old one goes first.
        self.release();
        let Some((direct, others)) = events.split_first() else {
            return Ok(());
        };
        let receiver = open(Depth::default())?;
        self.delivered = receiver.delivered();
        let direct = fcntl_dupfd_cloexec(direct, 0)
            .map_err(|errno| UintrError::Call { call: "dup", errno })?;
        let binding = Binding::new(receiver, direct)?;
        for other in others {
            binding.receiver().watch(*other)?;
        }
        self.binding = Some(binding);
        self.can = self.can.with(StepKind::UserInterrupt);
        Ok(())
    }

    /// Gives the interrupts of [`Waiter::receive`] back to the kernel.
    pub fn release(&mut self) {
        self.count_delivered();
        self.binding = None;
        self.can = self.can.without(StepKind::UserInterrupt);
    }

    /// Asks the module whether the thread still has the interrupt of [`Waiter::receive`], and takes it again if it
    /// was lost and is available: a CPU may go offline and come back. This takes system calls; several times a second
    /// is often enough.
    #[cold]
    pub fn keep_binding(&mut self) {
        let Some(binding) = &mut self.binding else {
            return;
        };
        // Without an answer nothing is known; the next call tries again.
        if let Ok(changes) = binding.keep_binding() {
            self.counters.lost_bindings += u64::from(changes.lost);
            self.counters.rebindings += u64::from(changes.bound);
        }
    }

    /// Sets whether spins yield the CPU after some empty polls: for a core that waits for a thread which may share
    /// the CPU with it.
    pub fn set_yields(&mut self, yields: bool) {
        self.yields = yields;
    }

    /// Returns the counts of this waiter since it was made: yields, pauses and monitors with their times, and user
    /// interrupts.
    pub fn counters(&mut self) -> WaitCounters {
        self.count_delivered();
        self.counters
    }

    fn count_delivered(&mut self) {
        if let Some(binding) = &self.binding {
            let delivered = binding.receiver().delivered();
            self.counters.user_interrupts += delivered.wrapping_sub(self.delivered);
            self.delivered = delivered;
        }
    }

    /// Waits by `step`.
    ///
    /// # Errors
    /// This machine lacks the step, or the interrupt cannot be armed or waited for.
    pub fn run(&mut self, step: Step, watched: &mut impl Watched) -> Result<Woken, WaitError> {
        match step.kind {
            StepKind::Spin => {
                let yields = self.yields.then_some(&mut self.counters.yields);
                Ok(spin(step, watched, yields))
            }
            StepKind::Sleep => Ok(sleep(step.until)),
            StepKind::Block => {
                let _held = match &self.binding {
                    Some(binding) => Some(binding.receiver().hold()?),
                    None => None,
                };
                arm_check_block(step.until, watched)
            }
            StepKind::Pause | StepKind::Monitor => {
                let Ok(user) = &self.user else {
                    return Err(WaitError::Unavailable(step.kind));
                };
                Ok(match step.kind {
                    StepKind::Pause => user::pause(user, step, watched, &mut self.counters),
                    _ => user::monitor(user, step, watched, &mut self.counters),
                })
            }
            StepKind::UserInterrupt => {
                let Some(binding) = &self.binding else {
                    return Err(WaitError::Unavailable(step.kind));
                };
                let counters = &mut self.counters;
                let receiver = binding.receiver();
                Ok(user::interrupted(receiver, step, watched, counters)?)
            }
        }
    }
}

fn sleep(until: Nanos) -> Woken {
    // A signal ends the sleep early; the policy plans again then.
    sleep_until(until);
    Woken::TimedOut
}

/// The order that loses no wake-up: arm, then poll, then block. A completion before the poll is
/// seen by it; one after the poll raises an interrupt, because the vector is armed. Checked for
/// every interleaving with up to two preemptions in `tests/arm_check_block.rs`.
fn arm_check_block(until: Nanos, watched: &mut impl Watched) -> Result<Woken, WaitError> {
    let armed = arm_and_check(watched, |watched| watched.arm(), |watched| watched.ready());
    if !armed.map_err(WaitError::Interrupt)? {
        return Ok(Woken::Ready);
    }
    match watched.block(until).map_err(WaitError::Interrupt)? {
        Blocked::Interrupted => Ok(Woken::Interrupted),
        Blocked::TimedOut => Ok(Woken::TimedOut),
    }
}

/// Executes the first two parts of [`StepKind::Block`], for a caller that blocks by itself, as an event loop does:
/// arms `core`, then polls it. `true`: there is no completion, and any from now on raises an interrupt; `false`:
/// there is a completion, and the caller must not block.
///
/// # Errors
/// The error of `arm`.
#[inline]
pub fn arm_and_check<C: ?Sized, E>(
    core: &mut C,
    arm: impl FnOnce(&mut C) -> Result<(), E>,
    ready: impl FnOnce(&mut C) -> bool,
) -> Result<bool, E> {
    arm(core)?;
    Ok(!ready(core))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Becomes ready at the nth poll.
    struct After(u32);

    impl Watched for After {
        fn ready(&mut self) -> bool {
            self.0 = self.0.saturating_sub(1);
            self.0 == 0
        }
        fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
            Ok(())
        }
        fn block(&mut self, _: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
            Ok(Blocked::Interrupted)
        }
    }

    #[test]
    fn a_spin_ends_at_the_completion_or_at_its_time() {
        let mut waiter = Waiter::new();
        let step = Step::forever(StepKind::Spin);
        assert_eq!(waiter.run(step, &mut After(9)).unwrap(), Woken::Ready);
        let over = Step::new(StepKind::Spin, Nanos(0));
        assert_eq!(waiter.run(over, &mut After(99)).unwrap(), Woken::TimedOut);
    }

    #[test]
    fn a_block_that_finds_the_completion_does_not_block() {
        let step = Step::forever(StepKind::Block);
        let woken = Waiter::new().run(step, &mut After(1)).unwrap();
        assert_eq!(woken, Woken::Ready);
        let woken = Waiter::new().run(step, &mut After(2)).unwrap();
        assert_eq!(woken, Woken::Interrupted);
    }

    #[test]
    fn a_step_that_the_machine_lacks_is_refused_not_replaced() {
        let mut waiter = Waiter::new();
        for kind in [StepKind::Pause, StepKind::Monitor, StepKind::UserInterrupt] {
            let lacks = waiter.lacks(kind);
            assert_eq!(lacks.is_empty(), waiter.can().has(kind), "{lacks:?}");
            match waiter.run(Step::forever(kind), &mut After(1)) {
                Ok(woken) => assert_eq!((woken, lacks), (Woken::Ready, String::new())),
                Err(WaitError::Unavailable(lacking)) => {
                    assert!(!lacks.is_empty() && lacking == kind)
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
