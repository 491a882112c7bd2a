//! Sending commands again.

use super::QueuePair;
use super::slots::{Entry, Slots};
use joulio_device::Device;
use joulio_nvme_spec::{Command, CommandId, Status};
use joulio_units::Direction;

/// The commands of a queue as they were sent, as long as they may have to be sent again.
pub(super) struct Retries {
    max: u8,
    /// Commands by slot; empty if commands are never sent again.
    kept: Box<[Kept]>,
}

#[derive(Clone, Copy)]
struct Kept {
    command: Command,
    /// Direction and size in bytes of its data.
    moved: (Direction, u32),
    /// Number of times that the command was sent again.
    again: u8,
}

impl Retries {
    /// Retries for a queue of `depth` commands, each of which is sent again up to `max` times.
    pub(super) fn new(max: u8, depth: usize) -> Retries {
        let depth = if max > 0 { depth } else { 0 };
        let none = Kept {
            command: Command::default(),
            moved: (Direction::Other, 0),
            again: 0,
        };
        Retries {
            max,
            kept: vec![none; depth].into(),
        }
    }

    #[inline]
    pub(super) fn wanted(&self) -> bool {
        self.max > 0
    }

    /// Keeps a new command of `slot`, without its identifier.
    #[inline]
    pub(super) fn keep(&mut self, slot: u16, command: Command, moved: (Direction, u32)) {
        self.kept[usize::from(slot)] = Kept {
            command,
            moved,
            again: 0,
        };
    }

    /// Returns the command of `slot`, if it may be sent once more.
    fn once_more(&mut self, slot: u16) -> Option<Kept> {
        let max = self.max;
        let kept = self.kept.get_mut(usize::from(slot))?;
        if kept.again >= max {
            return None;
        }
        kept.again += 1;
        Some(*kept)
    }
}

impl<D: Device> QueuePair<D> {
    /// Sends the failed command of `cid` again, if retries are on and may help; otherwise gives it back.
    #[cold]
    pub(super) fn try_again(
        &mut self,
        cid: CommandId,
        status: Status,
        entry: Entry,
    ) -> Option<Entry> {
        if !status.may_retry() {
            return Some(entry);
        }
        let entry = self.send_again(cid, entry);
        if entry.is_none() {
            self.ring();
        }
        entry
    }

    /// Writes the command of `cid`, whose slot was just freed, to the queue again, if it has a try left; otherwise
    /// gives it back. No doorbell is rung.
    pub(super) fn send_again(&mut self, cid: CommandId, entry: Entry) -> Option<Entry> {
        let slot = Slots::index(cid) as u16;
        let Some(kept) = self.retries.once_more(slot) else {
            return Some(entry);
        };
        // The slot that was freed last is taken first.
        let cid = match self.slots.insert(entry) {
            Ok(cid) => cid,
            Err(entry) => return Some(entry),
        };
        debug_assert_eq!(Slots::index(cid), usize::from(slot));
        self.faults.retries += 1;
        self.send(cid, kept.command);
        self.note(cid, kept.moved.0, kept.moved.1);
        None
    }
}
