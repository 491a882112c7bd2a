//! The commands outstanding on a queue, and the identifiers that find them again.
//!
//! A command identifier is 12 bits of slot and 4 bits of sequence, which counts the slot's uses.
//! A completion whose sequence is not the slot's current one is stale; one for a free slot was
//! delivered before. Slot 4095 does not exist, so that FFFFh, which the error log reserves, is
//! never an identifier.

use joulio_device::DmaBuffer;
use joulio_nvme_spec::CommandId;
use joulio_units::Nanos;
use joulio_wait::{Class, Outstanding};

/// The most slots: the largest index is FFEh.
pub(crate) const MOST: usize = 4095;

const SLOT_BITS: u32 = 12;

/// A completion that belongs to no outstanding command. It was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompletionFault {
    /// No such slot, or another queue's identifier.
    #[error("completion of an unknown command (CID {:#06x})", .0.0)]
    Unknown(CommandId),
    /// An earlier command of a slot that has been used again since.
    #[error("stale completion (CID {:#06x}): its slot has been used again", .0.0)]
    Stale(CommandId),
    /// The command was completed before.
    #[error("doubled completion (CID {:#06x})", .0.0)]
    Doubled(CommandId),
}

pub(crate) struct Entry {
    pub(crate) tag: u64,
    pub(crate) buffer: Option<DmaBuffer>,
    pub(crate) submitted: Nanos,
    pub(crate) class: Class,
}

struct Slot {
    entry: Option<Entry>,
    sequence: u8,
}

pub(crate) struct Slots {
    slots: Box<[Slot]>,
    free: Vec<u16>,
}

impl Slots {
    pub(crate) fn new(depth: usize) -> Slots {
        assert!((1..=MOST).contains(&depth));
        let slot = || Slot {
            entry: None,
            sequence: 0,
        };
        Slots {
            slots: std::iter::repeat_with(slot).take(depth).collect(),
            free: (0..depth as u16).rev().collect(),
        }
    }

    /// The bytes this takes.
    pub(crate) fn memory(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.free.capacity() * 2
    }

    /// The slot that the next [`Slots::insert`] fills.
    #[inline]
    pub(crate) fn next(&self) -> Option<usize> {
        self.free.last().map(|&slot| slot.into())
    }

    /// Takes a free slot and names the command.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry) -> Option<CommandId> {
        let index = self.free.pop()?;
        let slot = &mut self.slots[usize::from(index)];
        slot.sequence = (slot.sequence + 1) & 0xf;
        slot.entry = Some(entry);
        Some(CommandId(index | u16::from(slot.sequence) << SLOT_BITS))
    }

    /// Gives up the command that `cid` names.
    #[inline]
    pub(crate) fn remove(&mut self, cid: CommandId) -> Result<Entry, CompletionFault> {
        let index = cid.0 & ((1 << SLOT_BITS) - 1);
        let Some(slot) = self.slots.get_mut(usize::from(index)) else {
            return Err(CompletionFault::Unknown(cid));
        };
        let current = u16::from(slot.sequence) == cid.0 >> SLOT_BITS;
        if !current {
            return Err(CompletionFault::Stale(cid));
        }
        match slot.entry.take() {
            Some(entry) => {
                self.free.push(index);
                Ok(entry)
            }
            None => Err(CompletionFault::Doubled(cid)),
        }
    }

    /// Every buffer that the device still has.
    pub(crate) fn take_buffers(&mut self) -> Vec<DmaBuffer> {
        self.slots
            .iter_mut()
            .filter_map(|slot| slot.entry.take()?.buffer)
            .collect()
    }
}

impl Outstanding for Slots {
    #[inline]
    fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        for entry in self.slots.iter().filter_map(|slot| slot.entry.as_ref()) {
            each(entry.class, entry.submitted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Direction;
    use proptest::prelude::*;

    fn entry(tag: u64) -> Entry {
        Entry {
            tag,
            buffer: None,
            submitted: Nanos::ZERO,
            class: Class::new(Direction::Other, 0),
        }
    }

    #[test]
    fn a_command_is_found_once() {
        let mut slots = Slots::new(2);
        let cid = slots.insert(entry(5)).unwrap();
        assert_eq!(slots.remove(cid).map(|e| e.tag), Ok(5));
        assert_eq!(
            slots.remove(cid).map(|e| e.tag),
            Err(CompletionFault::Doubled(cid))
        );
    }

    #[test]
    fn a_stale_completion_is_rejected_not_delivered() {
        let mut slots = Slots::new(1);
        let old = slots.insert(entry(1)).unwrap();
        slots.remove(old).map(drop).unwrap();
        slots.insert(entry(2)).unwrap();
        assert_eq!(
            slots.remove(old).map(|e| e.tag),
            Err(CompletionFault::Stale(old))
        );
        assert_eq!(slots.count(), 1);
    }

    #[test]
    fn an_unknown_completion_is_rejected() {
        let mut slots = Slots::new(4);
        for cid in [4, 0xfff, 0xffff] {
            let cid = CommandId(cid);
            assert_eq!(
                slots.remove(cid).map(|e| e.tag),
                Err(CompletionFault::Unknown(cid))
            );
        }
    }

    #[test]
    fn no_identifier_is_ever_ffff() {
        let mut slots = Slots::new(MOST);
        for _ in 0..17 {
            let cids: Vec<_> = (0..MOST)
                .map(|i| slots.insert(entry(i as u64)).unwrap())
                .collect();
            assert!(slots.insert(entry(0)).is_none());
            assert!(cids.iter().all(|cid| cid.0 != 0xffff));
            for cid in cids {
                slots.remove(cid).map(drop).unwrap();
            }
        }
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
                    match slots.insert(entry(tag as u64)) {
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
