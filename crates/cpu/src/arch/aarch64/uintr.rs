//! No user interrupts.

use crate::uintr::Code;
use crate::uintr::slot::HandlerState;
use crate::{Depth, Feature, MissingFeature};

/// A CPU with user interrupts: there is none, so that this type has no value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UserInterrupts {}

/// Returns no code, as there is no handler.
pub(crate) fn code() -> Code {
    Code {
        handler: 0..0,
        wait: 0..0,
        window: 0..0,
        instructions: Vec::new(),
        rearm: 0,
    }
}

impl UserInterrupts {
    /// Returns the error that there are none.
    pub(crate) fn detect() -> Result<UserInterrupts, MissingFeature> {
        Err(MissingFeature(Feature::Uintr))
    }

    pub(crate) fn handler(self) -> usize {
        match self {}
    }

    pub(crate) fn hand_over_handler(self) -> usize {
        match self {}
    }

    pub(crate) fn low_power(self) -> usize {
        match self {}
    }

    pub(crate) fn has_shadow_stack(self) -> bool {
        match self {}
    }

    /// # Safety
    /// Never called.
    pub(crate) unsafe fn allow(self) {
        match self {}
    }

    /// # Safety
    /// Never called.
    pub(crate) unsafe fn hold(self) {
        match self {}
    }

    pub(crate) fn wait(self, _: &HandlerState, _: u64, _: Depth) -> bool {
        match self {}
    }

    /// # Safety
    /// Never called.
    pub(crate) unsafe fn wait_at(self, _: &HandlerState, _: u64, _: Depth, _: usize) -> bool {
        match self {}
    }

    /// # Safety
    /// Never called.
    pub(crate) unsafe fn hand_over(self, _: &HandlerState, _: u64, _: Depth) {
        match self {}
    }
}
