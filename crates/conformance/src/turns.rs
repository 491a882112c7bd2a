//! Turns of a run's completion modes.

use crate::QueueMode;
use anyhow::{Result, ensure};
use joulio_device::Device;
use joulio_nvme::PollGroup;
use joulio_nvme::wait::{AnyPolicy, now};
use joulio_units::Nanos;

/// Completions between two switches of [`QueueMode::Switching`].
const SWITCH: u64 = 97;

/// The turns of a mode in a run, on the first queue of a group.
pub(crate) struct Turns {
    switching: bool,
    blocking: bool,
    next: u64,
}

impl Turns {
    /// Begins the first turn, with nothing outstanding yet.
    pub(crate) fn begin<D: Device>(mode: QueueMode, group: &mut PollGroup<D>) -> Result<Turns> {
        if mode == QueueMode::Interrupt {
            arm(group)?;
        }
        Ok(Turns {
            switching: mode == QueueMode::Switching,
            blocking: false,
            next: SWITCH,
        })
    }

    /// Switches if it is time to after `done` completions; returns `true` if to interrupts.
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

/// Waits once in a group with nothing outstanding, so that its vectors are unmasked.
///
/// A queue unmasks its vector when it first blocks, and never blocks for a device that is done by the first poll:
/// without this, whether a run sees interrupts depends on chance.
pub(crate) fn arm<D: Device>(group: &mut PollGroup<D>) -> Result<()> {
    ensure!(group.outstanding() == 0, "there is work to wait for");
    let delivered = group.reap(1, Some(now() + Nanos::from_millis(1)), |_, _| {})?;
    ensure!(delivered == 0, "{delivered} completions of nothing");
    Ok(())
}
