//! User interrupts: the handlers, and the waits that they end.

mod code;
mod hand_over;
mod shadow_stack;

use super::waits::operand;
use crate::uintr::slot::HandlerState;
use crate::{Depth, Feature, MissingFeature};
pub(crate) use code::code;

/// A CPU with user interrupts and WAITPKG.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserInterrupts(());

impl UserInterrupts {
    /// Checks that this CPU has both.
    pub(crate) fn detect() -> Result<UserInterrupts, MissingFeature> {
        Feature::Uintr.check()?;
        Feature::Waitpkg.check()?;
        Ok(UserInterrupts(()))
    }

    /// Returns the address of the handler that sets the mark.
    pub(crate) fn handler(self) -> usize {
        code::handler()
    }

    /// Returns the address of the handler that hands the core over.
    pub(crate) fn hand_over_handler(self) -> usize {
        hand_over::handler()
    }

    /// Returns the address at which the low-power thread of a hand-over begins.
    pub(crate) fn low_power(self) -> usize {
        hand_over::low_power()
    }

    /// Returns whether the kernel gave the calling thread a shadow stack.
    pub(crate) fn has_shadow_stack(self) -> bool {
        shadow_stack::has_shadow_stack()
    }

    /// Enables delivery of user interrupts (STUI): a thread begins with them disabled.
    ///
    /// # Safety
    /// The thread is registered, so that the module has user interrupts on.
    pub(crate) unsafe fn allow(self) {
        // SAFETY: by the caller.
        unsafe { code::allow() };
    }

    /// Disables delivery of user interrupts (CLUI) until [`UserInterrupts::allow`] or [`UserInterrupts::wait_at`].
    ///
    /// # Safety
    /// That of [`UserInterrupts::allow`].
    pub(crate) unsafe fn hold(self) {
        // SAFETY: by the caller.
        unsafe { code::hold() };
    }

    /// Waits with TPAUSE until the counter reaches `deadline`, unless there is a mark. An interrupt, the system's limit
    /// or no apparent cause may end it before; returns true if it was the limit.
    #[inline]
    pub(crate) fn wait(self, state: &HandlerState, deadline: u64, depth: Depth) -> bool {
        // SAFETY: this CPU has WAITPKG: `detect`.
        unsafe { code::wait(state, deadline, operand(depth)) }
    }

    /// Waits as [`UserInterrupts::wait`] does, from the instruction `at` of the window on, with user
    /// interrupts on from there: one that is pending is delivered before that instruction.
    ///
    /// # Safety
    /// `at` is an instruction of the window; this thread has no shadow stack.
    pub(crate) unsafe fn wait_at(
        self,
        state: &HandlerState,
        deadline: u64,
        depth: Depth,
        at: usize,
    ) -> bool {
        // SAFETY: the features by `detect`, the rest by the caller.
        unsafe { code::wait_at(state, deadline, operand(depth), at) }
    }

    /// Hands the core over until an interrupt, or until the counter reaches `deadline`.
    ///
    /// # Safety
    /// This thread has registered with [`UserInterrupts::hand_over_handler`], holds user interrupts
    /// back, has no shadow stack, and `state` is that of its vector, with a low-power thread that lives.
    pub(crate) unsafe fn hand_over(self, state: &HandlerState, deadline: u64, depth: Depth) {
        // SAFETY: WAITPKG by `detect`, the rest by the caller.
        unsafe { hand_over::wait(state, deadline, operand(depth)) };
    }
}
