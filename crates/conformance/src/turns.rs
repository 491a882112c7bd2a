//! The completion modes of a run in turn.

use crate::Modes;
use anyhow::{Result, ensure};
use joulio_device::Device;
use joulio_job::CompletionMode;
use joulio_nvme::PollGroup;
use joulio_nvme::wait::{AnyPolicy, now};
use joulio_units::Nanos;

/// Number of completions between two switches of [`Modes::Switching`].
const SWITCH: u64 = 97;

/// The turns of a run, on the first queue of a group.
pub(crate) struct Turns {
    switching: bool,
    blocking: bool,
    next: u64,
}

impl Turns {
    /// Begins the first turn; nothing may be in flight.
    pub(crate) fn begin<D: Device>(modes: Modes, group: &mut PollGroup<D>) -> Result<Turns> {
        if modes == Modes::One(CompletionMode::Interrupt) {
            arm(group)?;
        }
        Ok(Turns {
            switching: modes == Modes::Switching,
            blocking: false,
            next: SWITCH,
        })
    }

    /// Switches if it is time after `done` completions; returns true if the switch is to interrupts.
    pub(crate) fn go_on<D: Device>(&mut self, done: u64, group: &mut PollGroup<D>) -> Result<bool> {
        if !self.switching || done < self.next {
            return Ok(false);
        }
        self.next = done + SWITCH;
        self.blocking = !self.blocking;
        let policy = if self.blocking {
            AnyPolicy::INTERRUPT
        } else {
            AnyPolicy::POLL
        };
        group.queues()[0].set_policy(policy)?;
        Ok(self.blocking)
    }
}

/// Waits once in a group with nothing in flight, so that its vectors are unmasked.
///
/// A queue unmasks its vector when it first blocks, and never blocks if the device has completed everything by the
/// first poll: without this, it would depend on chance whether a run sees interrupts.
pub(crate) fn arm<D: Device>(group: &mut PollGroup<D>) -> Result<()> {
    ensure!(group.outstanding() == 0, "there is work to wait for");
    let delivered = group.reap(1, Some(now() + Nanos::from_millis(1)), |_, _| {})?;
    ensure!(delivered == 0, "{delivered} completions of nothing");
    Ok(())
}
