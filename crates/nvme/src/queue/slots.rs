//! The commands outstanding on a queue, and the identifiers that find them again.
//!
//! A command identifier is 12 bits of slot and 4 bits of sequence, which counts the slot's uses.
//! A completion whose sequence is not the slot's current one is stale; one for a free slot was
//! delivered before. Slot 4095 does not exist, so that FFFFh, which the error log reserves, is
//! never an identifier.

use joulio_device::DmaBuffer;
use joulio_nvme_spec::CommandId;
use joulio_trace::FaultKind;
use joulio_units::{Direction, Nanos};
use joulio_wait::{Class, Outstanding};

/// Maximum number of slots: the largest index is FFEh.
pub(crate) const MAX_SLOTS: usize = 4095;

const SLOT_BITS: u32 = 12;

/// A completion that belongs to no outstanding command and was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", text(*.kind, *.cid))]
#[non_exhaustive]
pub struct CompletionFault {
    /// Reason why it belongs to none.
    pub kind: FaultKind,
    /// Identifier in the completion.
    pub cid: CommandId,
}

fn text(kind: FaultKind, cid: CommandId) -> String {
    let cid = cid.0;
    match kind {
        FaultKind::Unknown => format!("completion of an unknown command (CID {cid:#06x})"),
        FaultKind::Stale => {
            format!("stale completion (CID {cid:#06x}): its slot has been used again")
        }
        FaultKind::Doubled => format!("doubled completion (CID {cid:#06x})"),
    }
}

/// A command of the caller's.
pub(crate) struct Entry {
    pub(crate) tag: u64,
    pub(crate) buffer: Option<DmaBuffer>,
}

struct Slot {
    tag: u64,
    buffer: Option<DmaBuffer>,
    /// Tick in which the command was submitted, or aborted.
    born: u32,
    /// Identifier of the slot's current or last command: only its sequence changes.
    name: u16,
    /// Identifier of the command while it is outstanding, otherwise [`NOBODY`].
    outstanding: u16,
    /// Slot that was freed before this one, while both are free, otherwise [`NOBODY`].
    next_free: u16,
    /// An abort was tried.
    aborted: bool,
}

/// Mark for "no slot" and "no command": FFFFh is never an identifier.
const NOBODY: u16 = u16::MAX;

impl Slot {
    fn is_free(&self) -> bool {
        self.outstanding == NOBODY
    }

    /// Ends the command and frees the slot, in front of `next` in the list.
    #[inline]
    fn end(&mut self, next: u16) {
        self.outstanding = NOBODY;
        self.next_free = next;
        self.aborted = false;
    }
}

/// A command that has been outstanding for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overdue {
    pub(crate) cid: CommandId,
    /// True if an abort was tried, one time limit ago.
    pub(crate) aborted: bool,
}

pub(crate) struct Slots {
    slots: Box<[Slot]>,
    /// The slot that was freed last: free slots are a list.
    free: u16,
    /// Number of commands outstanding.
    count: u16,
    /// Number of ticks so far, see [`Slots::tick`].
    tick: u32,
    /// Time and class of each slot's command at its submission, for policies that need them.
    history: Box<[(Nanos, Class)]>,
}

impl Slots {
    pub(crate) fn new(depth: usize) -> Slots {
        assert!((1..=MAX_SLOTS).contains(&depth));
        let slot = |index: u16| Slot {
            tag: 0,
            buffer: None,
            born: 0,
            name: index,
            outstanding: NOBODY,
            next_free: match index + 1 {
                next if usize::from(next) < depth => next,
                _ => NOBODY,
            },
            aborted: false,
        };
        Slots {
            slots: (0..depth as u16).map(slot).collect(),
            free: 0,
            count: 0,
            tick: 0,
            history: vec![(Nanos::ZERO, Class::new(Direction::Other, 0)); depth].into(),
        }
    }

    /// The bytes this takes.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.history)
    }

    /// Puts a command into the free slot that was freed last and gives it an identifier; returns the command if no
    /// slot is free.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry) -> Result<CommandId, Entry> {
        let Some(slot) = self.slots.get_mut(usize::from(self.free)) else {
            return Err(entry);
        };
        self.free = slot.next_free;
        self.count += 1;
        slot.name = slot.name.wrapping_add(1 << SLOT_BITS);
        slot.outstanding = slot.name;
        slot.born = self.tick;
        slot.tag = entry.tag;
        // Free slots have no buffer: nothing is dropped here.
        std::mem::forget(std::mem::replace(&mut slot.buffer, entry.buffer));
        Ok(CommandId(slot.name))
    }

    /// Returns the identifier that the next command gets; none if no slot is free.
    pub(crate) fn upcoming(&self) -> Option<CommandId> {
        let slot = self.slots.get(usize::from(self.free))?;
        Some(CommandId(slot.name.wrapping_add(1 << SLOT_BITS)))
    }

    /// Removes the command of `cid` if it is outstanding and `take`, which gets its tag and takes its buffer, accepts
    /// it; returns whether it was removed.
    #[inline(always)]
    pub(crate) fn remove_if(
        &mut self,
        cid: CommandId,
        take: impl FnOnce(u64, &mut Option<DmaBuffer>) -> bool,
    ) -> bool {
        let index = Self::index(cid);
        let Some(slot) = self.slots.get_mut(index) else {
            return false;
        };
        if slot.outstanding != cid.0 || !take(slot.tag, &mut slot.buffer) {
            return false;
        }
        slot.end(self.free);
        self.free = index as u16;
        self.count -= 1;
        true
    }

    /// Removes the command of `cid`.
    #[inline]
    pub(crate) fn remove(&mut self, cid: CommandId) -> Result<Entry, CompletionFault> {
        let index = Self::index(cid);
        match self.slots.get_mut(index) {
            Some(slot) if slot.outstanding == cid.0 => {
                slot.end(self.free);
                self.free = index as u16;
                self.count -= 1;
                Ok(Entry {
                    tag: slot.tag,
                    buffer: slot.buffer.take(),
                })
            }
            _ => Err(self.fault(cid)),
        }
    }

    /// Returns the fault of a completion that belongs to no outstanding command.
    #[cold]
    fn fault(&self, cid: CommandId) -> CompletionFault {
        let kind = match self.slots.get(Self::index(cid)) {
            None => FaultKind::Unknown,
            Some(slot) if slot.name != cid.0 => FaultKind::Stale,
            Some(_) => FaultKind::Doubled,
        };
        CompletionFault { kind, cid }
    }

    /// Advances the time by one interval; must be called once in each, and not more often. So a command's age is
    /// known to within an interval, never too high, without reading the clock for each command.
    pub(crate) fn tick(&mut self) {
        self.tick = self.tick.wrapping_add(1);
    }

    /// Returns a command that has been outstanding for `limit` whole intervals.
    pub(crate) fn overdue(&self, limit: u32) -> Option<Overdue> {
        let mut slots = self.slots.iter();
        let slot = slots.find(|slot| {
            // The interval of the submission was not a whole one.
            !slot.is_free() && self.tick.wrapping_sub(slot.born) > limit
        })?;
        Some(Overdue {
            cid: CommandId(slot.name),
            aborted: slot.aborted,
        })
    }

    /// Starts the time limit of the command of `cid` again, in which an abort has to end it.
    pub(crate) fn mark_aborted(&mut self, cid: CommandId) {
        if let Some(slot) = self.slots.get_mut(Self::index(cid)) {
            slot.aborted = true;
            slot.born = self.tick;
        }
    }

    /// The commands outstanding.
    pub(crate) fn names(&self) -> Vec<CommandId> {
        let slots = self.slots.iter().filter(|slot| !slot.is_free());
        slots.map(|slot| CommandId(slot.name)).collect()
    }

    /// Tags of the commands outstanding.
    pub(crate) fn tags(&self) -> impl Iterator<Item = u64> {
        let slots = self.slots.iter().filter(|slot| !slot.is_free());
        slots.map(|slot| slot.tag)
    }

    /// The slot that `cid` speaks of.
    #[inline]
    pub(crate) fn index(cid: CommandId) -> usize {
        usize::from(cid.0 & ((1 << SLOT_BITS) - 1))
    }

    /// Records the time and class of the command `cid` at its submission.
    pub(crate) fn note(&mut self, cid: CommandId, at: Nanos, class: Class) {
        if let Some(noted) = self.history.get_mut(Self::index(cid)) {
            *noted = (at, class);
        }
    }

    /// Returns the time and class that were recorded for the last command of `cid`, and forgets the time; time zero
    /// if nothing was recorded.
    pub(crate) fn noted(&mut self, cid: CommandId) -> (Nanos, Class) {
        let noted = &mut self.history[Self::index(cid)];
        (std::mem::take(&mut noted.0), noted.1)
    }

    /// Forgets all records: the policy that needed them is gone.
    pub(crate) fn forget_notes(&mut self) {
        for (at, _) in &mut self.history {
            *at = Nanos::ZERO;
        }
    }

    /// Takes out every buffer that the device still has.
    pub(crate) fn take_buffers(&mut self) -> Vec<DmaBuffer> {
        self.slots
            .iter_mut()
            .filter_map(|slot| slot.buffer.take())
            .collect()
    }
}

impl Outstanding for Slots {
    #[inline]
    fn count(&self) -> usize {
        self.count.into()
    }

    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        let slots = self.slots.iter().zip(&self.history);
        for (_, &(at, class)) in slots.filter(|(slot, _)| !slot.is_free()) {
            each(class, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(slots: &mut Slots, tag: u64) -> Option<CommandId> {
        slots.insert(Entry { tag, buffer: None }).ok()
    }

    #[test]
    fn a_command_is_found_once() {
        let mut slots = Slots::new(2);
        let cid = put(&mut slots, 5).unwrap();
        assert_eq!(slots.remove(cid).map(|e| e.tag), Ok(5));
        let kind = FaultKind::Doubled;
        assert_eq!(
            slots.remove(cid).map(|e| e.tag),
            Err(CompletionFault { kind, cid })
        );
    }

    #[test]
    fn a_stale_completion_is_rejected_not_delivered() {
        let mut slots = Slots::new(1);
        let old = put(&mut slots, 1).unwrap();
        slots.remove(old).map(drop).unwrap();
        put(&mut slots, 2).unwrap();
        let (kind, cid) = (FaultKind::Stale, old);
        assert_eq!(
            slots.remove(old).map(|e| e.tag),
            Err(CompletionFault { kind, cid })
        );
        assert_eq!(slots.count(), 1);
    }

    #[test]
    fn an_unknown_completion_is_rejected() {
        let mut slots = Slots::new(4);
        for cid in [4, 0xfff, 0xffff] {
            let (kind, cid) = (FaultKind::Unknown, CommandId(cid));
            assert_eq!(
                slots.remove(cid).map(|e| e.tag),
                Err(CompletionFault { kind, cid })
            );
        }
    }

    #[test]
    fn no_identifier_is_ever_ffff() {
        let mut slots = Slots::new(MAX_SLOTS);
        for _ in 0..17 {
            let cids: Vec<_> = (0..MAX_SLOTS)
                .map(|i| put(&mut slots, i as u64).unwrap())
                .collect();
            assert!(put(&mut slots, 0).is_none());
            assert!(cids.iter().all(|cid| cid.0 != 0xffff));
            for cid in cids {
                slots.remove(cid).map(drop).unwrap();
            }
        }
    }

    #[test]
    fn a_command_is_overdue_after_whole_intervals_and_an_abort_gives_it_as_many_again() {
        let mut slots = Slots::new(2);
        slots.tick();
        let cid = put(&mut slots, 1).unwrap();
        for _ in 0..3 {
            slots.tick();
            assert_eq!(slots.overdue(3), None);
        }
        slots.tick();
        let aborted = false;
        assert_eq!(slots.overdue(3), Some(Overdue { cid, aborted }));
        slots.mark_aborted(cid);
        for _ in 0..4 {
            assert_eq!(slots.overdue(3), None);
            slots.tick();
        }
        let aborted = true;
        assert_eq!(slots.overdue(3), Some(Overdue { cid, aborted }));
        // The slot's next command starts anew.
        slots.remove(cid).map(drop).unwrap();
        assert_eq!(slots.overdue(3), None);
        put(&mut slots, 2).unwrap();
        assert_eq!(slots.overdue(3), None);
    }

    proptest! {
        #[test]
        fn every_command_comes_back_with_its_own_tag(
            depth in 1usize..40,
            steps in proptest::collection::vec((any::<bool>(), any::<usize>()), 0..400),
        ) {
            let mut slots = Slots::new(depth);
            let mut held = Vec::new();
            for (tag, (submit, pick)) in steps.into_iter().enumerate() {
                if submit {
                    match put(&mut slots, tag as u64) {
                        Some(cid) => held.push((cid, tag as u64)),
                        None => prop_assert_eq!(held.len(), depth),
                    }
                } else if !held.is_empty() {
                    let (cid, tag) = held.swap_remove(pick % held.len());
                    prop_assert_eq!(slots.remove(cid).map(|e| e.tag), Ok(tag));
                }
                prop_assert_eq!(slots.count(), held.len());
            }
        }
    }
}
