//! The short path for most I/Os: reads and writes of one page that succeed.
//!
//! It calls no function, so that it takes no registers from its caller, and leaves everything else unchanged to the
//! general path.

use super::slots::Entry;
use super::{Completed, CompletionFault, QueuePair, Transfer};
use crate::{Namespace, SubmitError};
use joulio_device::{Device, DmaBuffer};

/// Facts of the namespace that [`QueuePair::transfer_page`] reads and writes, checked once.
#[derive(Default)]
pub(super) struct Usual {
    /// Size in logical blocks; 0 while a command needs more than to be sent.
    blocks: u64,
    /// Size of a block in bytes.
    block_size: u64,
    /// NSID, shifted to its place in the first eight bytes of a command.
    nsid: u64,
    /// Size in logical blocks.
    size: u64,
}

/// Completions that [`QueuePair::take_usual`] has handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Number of completions, where it is no less than wanted: these were all, or the maximum.
    Enough(usize),
    /// Number of completions, where it is 0 or less than wanted: these were all.
    All(usize),
    /// Number of completions before one that is for [`QueuePair::reap_unusual`], or was refused.
    Some(usize),
}

impl<D: Device> QueuePair<D> {
    /// Sets the namespace that [`QueuePair::transfer_page`] reads and writes.
    ///
    /// # Errors
    /// The namespace belongs to another device ([`SubmitError::Foreign`]).
    pub fn serve(&mut self, namespace: &Namespace) -> Result<(), SubmitError> {
        if namespace.controller != self.controller {
            return Err(SubmitError::Foreign);
        }
        self.usual = Usual {
            blocks: 0,
            block_size: namespace.block_size().into(),
            nsid: u64::from(namespace.id().0) << 32,
            size: namespace.blocks(),
        };
        self.find_usual();
        Ok(())
    }

    /// Determines again whether commands need nothing but to be sent.
    pub(super) fn find_usual(&mut self) {
        self.usual.blocks = match self.extras || !self.noticed {
            true => 0,
            false => self.usual.size,
        };
    }

    /// Submits a read or write of the first bytes of `buffer` in the usual case only, as [`QueuePair::transfer`] does
    /// for the namespace of [`QueuePair::serve`]. The usual case: data of one page, a free slot, and nothing to do
    /// for a command beside sending it. Otherwise the buffer comes back, for `transfer`, which submits it or returns
    /// the error.
    ///
    /// # Errors
    /// The buffer; nothing was submitted.
    #[inline(always)]
    pub fn transfer_page(
        &mut self,
        kind: Transfer,
        (lba, blocks): (u64, u32),
        buffer: DmaBuffer,
        tag: u64,
    ) -> Result<(), DmaBuffer> {
        let count = u64::from(blocks);
        // A page is never more than the largest transfer.
        let bytes = count * self.usual.block_size;
        let inside = self
            .usual
            .blocks
            .checked_sub(count)
            .is_some_and(|last| lba <= last);
        let usual = inside
            & (bytes.wrapping_sub(1) < buffer.len_in_page() as u64)
            & (buffer.domain() == self.domain)
            & !kind.fua;
        if !usual {
            return Err(buffer);
        }
        let start = buffer.iova();
        let buffer = Some(buffer);
        let cid = match self.slots.insert(Entry { tag, buffer }) {
            Ok(cid) => cid,
            Err(entry) => return entry.buffer.map_or(Ok(()), Err),
        };
        // Base figure 87, NVM figures 73 to 75: opcode, CID and NSID, PRP1, SLBA, NLB.
        let first = self.usual.nsid | u64::from(cid.0) << 16 | u64::from(kind.opcode.0);
        let words = [first, 0, 0, start.0, 0, lba, count - 1, 0];
        self.submission
            .write(zerocopy::transmute!(words.map(u64::to_le)));
        Ok(())
    }

    /// Polls the completion queue once and hands out usual completions: those of commands that succeeded, while no
    /// policy and no trace needs times. `sink` gets the tag, the buffer and dword 0 of each, and takes the buffer; or
    /// refuses by `false`, and the completion stays. Returns how many there were, and whether these were all; if not,
    /// the next one is for [`QueuePair::reap_unusual`], or was refused.
    #[inline(always)]
    pub fn reap_usual(
        &mut self,
        sink: impl FnMut(u64, &mut Option<DmaBuffer>, u32) -> bool,
    ) -> (usize, bool) {
        match self.take_usual(|| 0, usize::MAX, sink) {
            Taken::Enough(count) | Taken::All(count) => (count, true),
            Taken::Some(count) => {
                if count > 0 {
                    self.release();
                }
                (count, false)
            }
        }
    }

    /// Hands out up to `max` completions (0: any number) as [`QueuePair::reap_usual`] does, but rings the doorbell only
    /// if they are [`Taken::Enough`], as its last step: otherwise [`QueuePair::release`] or a function that reaps has
    /// to follow. `min` returns how many are wanted; it is called if there are fewer than `max`, so that until then
    /// the number takes no register.
    #[inline(always)]
    pub fn take_usual(
        &mut self,
        min: impl FnOnce() -> usize,
        max: usize,
        mut sink: impl FnMut(u64, &mut Option<DmaBuffer>, u32) -> bool,
    ) -> Taken {
        let Some(mut posted) = self.peek() else {
            return Taken::All(0);
        };
        self.full_polls += 1;
        if self.timed {
            return Taken::Some(0);
        }
        let mut count = 0;
        loop {
            let (queue, result) = self.completion.rest();
            let dw0 = result as u32;
            let usual = posted.status().is_success()
                && queue == self.id
                && self
                    .slots
                    .remove_if(posted.command_id(), |tag, buffer| sink(tag, buffer, dw0));
            if !usual {
                self.interrupt.seen(count);
                return Taken::Some(count);
            }
            self.completion.pass();
            count += 1;
            if count == max {
                break;
            }
            match self.completion.peek() {
                Some(next) => posted = next,
                None if count < min() => {
                    self.interrupt.seen(count);
                    return Taken::All(count);
                }
                None => break,
            }
        }
        self.interrupt.seen(count);
        self.release();
        Taken::Enough(count)
    }

    /// Hands out up to `max` completions that [`QueuePair::reap_usual`] left, from the same poll.
    ///
    /// # Errors
    /// As [`QueuePair::reap`].
    pub fn reap_unusual(
        &mut self,
        max: usize,
        sink: impl FnMut(Completed),
    ) -> Result<usize, CompletionFault> {
        match self.posted() {
            Some(posted) if max > 0 => {
                self.drain_counted(posted, |delivered| delivered < max, sink)
            }
            _ => Ok(0),
        }
    }

    /// Tags of the commands outstanding.
    pub fn tags(&self) -> impl Iterator<Item = u64> {
        self.slots.tags()
    }
}
