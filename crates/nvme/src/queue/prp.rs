//! Data pointers of commands: physical region pages (Base 4.1.1), or one SGL descriptor (Base 4.1.2), since a buffer
//! is contiguous for the device. [`super::scatter`] describes lists of buffers.

use super::slots::Slots;
use joulio_device::{DmaArray, DmaMemory, Iova};
use joulio_nvme_spec::command::Cdw0;
use joulio_nvme_spec::{Command, CommandId, PAGE_SIZE, Psdt, SglDescriptor};
use std::sync::Arc;
use zerocopy::little_endian::{U32, U64};

pub(super) const PAGE: u64 = PAGE_SIZE as u64;

/// Maximum transfer of one command in bytes, so that a PRP list fits into its page.
pub(crate) const MAX_BYTES: u32 = 1 << 20;

/// Largest transfer in bytes that two PRPs describe, if the buffer begins on a page.
pub(super) const SHORT: u32 = 2 * PAGE_SIZE as u32;

/// PRP1 and PRP2 of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prps {
    pub(crate) prp1: u64,
    pub(crate) prp2: u64,
}

/// Describes `len` bytes (at least 1) from `start`, contiguous for the device. Entries beyond two go into the list at
/// `list()`, each through `write(index, entry)`.
#[inline]
pub(crate) fn build(
    start: Iova,
    len: u32,
    list: impl FnOnce() -> Iova,
    mut write: impl FnMut(usize, u64),
) -> Prps {
    let first = start.0;
    let last_page = (first + u64::from(len) - 1) & !(PAGE - 1);
    let second_page = (first & !(PAGE - 1)) + PAGE;
    let prp2 = if last_page < second_page {
        0
    } else if last_page == second_page {
        second_page
    } else {
        let pages = (last_page - second_page) / PAGE + 1;
        for index in 0..pages {
            write(index as usize, second_page + index * PAGE);
        }
        list().0
    };
    Prps { prp1: first, prp2 }
}

/// Size and places of the PRP lists of a queue.
#[derive(Clone, Copy)]
pub(crate) struct ListLayout {
    /// Largest transfer of one command in bytes.
    pub(crate) max_transfer: u32,
    /// No list ends with a page, for a drive that would take the last entry for the address of a further list.
    pub(crate) spaced: bool,
}

impl ListLayout {
    /// Entries of one list: a power of two, so that none crosses a page.
    fn entries(self) -> usize {
        // An unaligned transfer touches one page more; the first page is in PRP1.
        let pages = self.max_transfer.div_ceil(PAGE_SIZE as u32) as usize + 1;
        (pages - 1).next_power_of_two()
    }

    /// Entries from the beginning of a list to that of the next.
    fn stride(self) -> usize {
        match self.spaced {
            // Each list is the first half of its place; the largest has half a page.
            true => 2 * self.entries(),
            false => self.entries(),
        }
    }

    /// Bytes of DMA memory for `depth` lists.
    pub(crate) fn bytes(self, depth: usize) -> usize {
        depth * self.stride() * 8
    }
}

/// A PRP list for each slot of a queue.
pub(crate) struct Lists {
    pub(super) entries: DmaArray<u64>,
    pub(super) per_slot: usize,
    stride: usize,
    /// The controller accepts SGLs: one descriptor replaces a list of pages.
    pub(super) sgls: bool,
}

impl Lists {
    pub(crate) fn new(
        memory: &Arc<DmaMemory>,
        offset: usize,
        depth: usize,
        layout: ListLayout,
        sgls: bool,
    ) -> Lists {
        let stride = layout.stride();
        Lists {
            entries: memory.array(offset, depth * stride),
            per_slot: layout.entries(),
            stride,
            sgls,
        }
    }

    /// Returns the index of the first entry of the list of the command `cid`.
    #[inline]
    pub(super) fn base(&self, cid: CommandId) -> usize {
        Slots::index(cid) * self.stride
    }

    /// Describes `len` bytes from `start` for the command `cid`.
    #[inline]
    pub(crate) fn describe(&self, cid: CommandId, start: Iova, len: u32) -> DataPointer {
        // Most I/Os are of one page.
        if is_one_page(start, len.into()) {
            return DataPointer::page(start);
        }
        self.describe_pages(cid, start, len)
    }

    fn describe_pages(&self, cid: CommandId, start: Iova, len: u32) -> DataPointer {
        if len > SHORT && self.sgls {
            return DataPointer::data_block(start, len);
        }
        let base = self.base(cid);
        let list = || self.entries.iova().offset(base * 8);
        let prps = build(start, len, list, |i, entry| {
            self.entries.write(base + i, entry.to_le());
        });
        DataPointer {
            first: prps.prp1,
            second: prps.prp2,
            psdt: Psdt::PRP,
        }
    }
}

/// The data pointer of a command, as two words: PRPs, or a descriptor.
#[derive(Clone, Copy)]
pub(crate) struct DataPointer {
    pub(super) first: u64,
    pub(super) second: u64,
    pub(super) psdt: u8,
}

/// Returns whether `bytes` from `start` on lie within one page.
#[inline]
pub(super) fn is_one_page(start: Iova, bytes: u64) -> bool {
    (start.0 & (PAGE - 1)) + bytes <= PAGE
}

impl DataPointer {
    /// PRP entry for data within one page, from `start` on.
    #[inline]
    pub(super) fn page(start: Iova) -> DataPointer {
        DataPointer {
            first: start.0,
            second: 0,
            psdt: Psdt::PRP,
        }
    }

    fn data_block(start: Iova, len: u32) -> DataPointer {
        DataPointer::sgl(SglDescriptor::data_block(start.0, len))
    }

    /// An SGL that begins with `descriptor`.
    pub(super) fn sgl(descriptor: SglDescriptor) -> DataPointer {
        let words: [U64; 2] = zerocopy::transmute!(descriptor);
        DataPointer {
            first: words[0].get(),
            second: words[1].get(),
            psdt: Psdt::SGL,
        }
    }

    /// Writes the pointer into a command that has none.
    #[inline]
    pub(crate) fn put_into(self, command: &mut Command) {
        command.prp1 = U64::new(self.first);
        command.prp2 = U64::new(self.second);
        let psdt = u32::from(Cdw0::new().with_psdt(self.psdt));
        command.cdw0 = U32::new(command.cdw0.get() | psdt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: Iova = Iova(0x9_0000);

    /// Reads PRPs as a controller does: the pieces of memory of `len` bytes.
    fn walk(prps: Prps, list: &[u64], len: u64) -> Vec<(u64, u64)> {
        let first = (PAGE - prps.prp1 % PAGE).min(len);
        let mut pieces = vec![(prps.prp1, first)];
        let mut left = len - first;
        if left > 0 && left <= PAGE {
            pieces.push((prps.prp2, left));
        } else if left > PAGE {
            assert_eq!(prps.prp2, LIST.0);
            for &entry in list {
                assert_eq!(entry % PAGE, 0);
                pieces.push((entry, left.min(PAGE)));
                left = left.saturating_sub(PAGE);
            }
            assert_eq!(left, 0);
        }
        pieces
    }

    proptest! {
        #[test]
        fn a_controller_finds_every_byte_in_order(
            start in (1u64..1 << 40).prop_map(|s| s * 4),
            len in 1u32..=MAX_BYTES,
        ) {
            let mut list = Vec::new();
            let prps = build(Iova(start), len, || LIST, |i, entry| {
                assert_eq!(i, list.len());
                list.push(entry);
            });
            let mut at = start;
            for (address, bytes) in walk(prps, &list, len.into()) {
                prop_assert_eq!(address, at);
                at += bytes;
            }
            prop_assert_eq!(at, start + u64::from(len));
            let layout = ListLayout { max_transfer: len, spaced: false };
            prop_assert!(list.len() <= layout.entries());
            prop_assert!(list.len() * 8 <= PAGE_SIZE);
        }
    }

    #[test]
    fn a_spaced_list_neither_crosses_a_page_nor_ends_with_one() {
        for shift in 12..=20 {
            for spaced in [false, true] {
                let layout = ListLayout {
                    max_transfer: 1 << shift,
                    spaced,
                };
                let bytes = layout.entries() * 8;
                let starts = (0..=PAGE_SIZE).map(|slot| layout.bytes(slot) % PAGE_SIZE);
                let ends: Vec<_> = starts.map(|start| start + bytes).collect();
                assert!(ends.iter().all(|end| *end <= PAGE_SIZE), "{shift}");
                assert_eq!(ends.contains(&PAGE_SIZE), !spaced, "{shift}");
            }
        }
    }

    #[test]
    fn one_page_two_pages_and_a_list() {
        let none = |_: usize, _: u64| panic!("no list needed");
        let build_plain = |start, len| build(Iova(start), len, || LIST, none);
        assert_eq!(
            build_plain(0x1000, 4096),
            Prps {
                prp1: 0x1000,
                prp2: 0
            }
        );
        assert_eq!(
            build_plain(0x1000, 4097),
            Prps {
                prp1: 0x1000,
                prp2: 0x2000
            }
        );
        assert_eq!(
            build_plain(0x1800, 4096),
            Prps {
                prp1: 0x1800,
                prp2: 0x2000
            }
        );
        let mut list = Vec::new();
        let prps = build(Iova(0x1000), 12_288, || LIST, |_, entry| list.push(entry));
        assert_eq!(
            prps,
            Prps {
                prp1: 0x1000,
                prp2: LIST.0
            }
        );
        assert_eq!(list, [0x2000, 0x3000]);
    }
}
