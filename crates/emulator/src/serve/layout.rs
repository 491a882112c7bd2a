//! The layout of BAR 0: registers, the page of doorbells, the MSI-X table and its pending bits.

/// Offset of the page of doorbells, the only one that can be mapped.
pub(super) const DOORBELLS: u64 = 0x1000;
/// Length of the page of doorbells in bytes.
pub(super) const DOORBELL_BYTES: u64 = 0x1000;
const TABLE: u64 = 0x2000;
const PAGE: u64 = 0x1000;
const ENTRY: u64 = 16;

/// Layout of a controller's BAR 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    vectors: u16,
}

/// The part of BAR 0 that a dword belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A controller register.
    Register(u32),
    /// A doorbell, by its offset.
    Doorbell(u32),
    /// A dword of the MSI-X table.
    Table(usize),
    /// A dword of the pending bits.
    Pending(usize),
    /// An offset without a register.
    Hole,
}

impl Layout {
    pub(super) fn new(vectors: u16) -> Layout {
        Layout { vectors }
    }

    pub(super) fn vectors(&self) -> u16 {
        self.vectors
    }

    /// Returns the offset of the MSI-X table in the BAR.
    pub(super) fn table(&self) -> u64 {
        TABLE
    }

    /// Returns the offset of the pending bits in the BAR: a page of their own.
    pub(super) fn pending(&self) -> u64 {
        TABLE + (u64::from(self.vectors) * ENTRY).next_multiple_of(PAGE)
    }

    /// Returns the length of the BAR in bytes.
    pub(super) fn size(&self) -> u64 {
        (self.pending() + PAGE).next_power_of_two()
    }

    /// Finds the part that the dword at `offset`, a multiple of 4 inside the BAR, belongs to.
    pub(super) fn place(&self, offset: u64) -> Place {
        let table = self.table()..self.table() + u64::from(self.vectors) * ENTRY;
        let pending_bytes = u64::from(self.vectors).div_ceil(64) * 8;
        let pending = self.pending()..self.pending() + pending_bytes;
        let index = |start: u64| ((offset - start) / 4) as usize;
        if offset < DOORBELLS {
            Place::Register(offset as u32)
        } else if offset < DOORBELLS + DOORBELL_BYTES {
            Place::Doorbell(offset as u32)
        } else if table.contains(&offset) {
            Place::Table(index(table.start))
        } else if pending.contains(&offset) {
            Place::Pending(index(pending.start))
        } else {
            Place::Hole
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn table_and_pending_bits_of_any_size_fit_and_do_not_meet() {
        for vectors in [1, 65, 256, 257, 2048] {
            let layout = Layout::new(vectors);
            assert!(layout.size().is_power_of_two());
            let last = layout.pending() - 4;
            assert_ne!(layout.place(last), Place::Pending(0));
            assert_eq!(layout.place(layout.pending()), Place::Pending(0));
            let dwords = usize::from(vectors) * 4;
            let end = layout.table() + dwords as u64 * 4;
            assert_eq!(layout.place(end - 4), Place::Table(dwords - 1));
            assert_ne!(layout.place(end), Place::Table(dwords));
            assert_eq!(layout.place(layout.size() - 4), Place::Hole);
        }
    }
}
