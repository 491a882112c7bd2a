//! The host memory buffer (Base 5.27.1.11): memory that the host lends the controller for exclusive use, and in which a
//! drive without memory of its own keeps part of its map.
//!
//! The emulated drive maps each block to itself, so that it needs no map. But each I/O looks up its block there as a
//! drive does, which finds out whether somebody else has written to the memory.

use super::checked_io::Io;
use crate::activity::Activity;
use crate::guest::{GuestMemory, PAGE, Unmapped};
use crate::options::HostMemoryDemand;
use joulio_nvme_spec::feature::{HostMemoryAttributes, HostMemoryBuffer, HostMemoryDescriptor};
use joulio_nvme_spec::{Command, Status};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromZeros, IntoBytes};

const INVALID: Status = Status::INVALID_FIELD.do_not_retry();
/// Command Sequence Error (Base figure 94).
const SEQUENCE_ERROR: Status = Status::from_field(0x0c).do_not_retry();

/// Bytes of a map entry.
const ENTRY: u64 = 8;

/// Bytes of the namespace that a map entry covers.
const MAPPED: u64 = 4096;

/// The memory that the host has lent: the list, and the ranges that it names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Loan {
    pages: u32,
    list: u64,
    ranges: Vec<HostMemoryDescriptor>,
}

/// The host memory buffer of a controller that wants one.
#[derive(Debug)]
pub(super) struct HostMemory {
    demand: HostMemoryDemand,
    seed: u64,
    enabled: bool,
    /// The latest memory lent, which a host may return after a reset.
    loan: Loan,
}

impl HostMemory {
    /// Maximum number of ranges (HMMAXD).
    pub(super) const MAX_DESCRIPTORS: u16 = 64;

    pub(super) fn new(demand: HostMemoryDemand, seed: u64) -> HostMemory {
        HostMemory {
            demand,
            seed,
            enabled: false,
            loan: Loan::default(),
        }
    }

    /// Returns HMPRE in pages.
    pub(super) fn preferred(&self) -> u32 {
        pages(self.demand.preferred)
    }

    /// Returns HMMIN in pages.
    pub(super) fn minimum(&self) -> u32 {
        pages(self.demand.minimum).min(self.preferred())
    }

    /// Returns the data of Get Features: dword 0, and the attributes.
    pub(super) fn status(&self) -> (HostMemoryBuffer, HostMemoryAttributes) {
        let mut attributes = HostMemoryAttributes::new_zeroed();
        if self.enabled {
            attributes.hsize = U32::new(self.loan.pages);
            attributes.list = U64::new(self.loan.list);
            attributes.hmdlec = U32::new(self.loan.ranges.len() as u32);
        }
        (HostMemoryBuffer::new().with_ehm(self.enabled), attributes)
    }

    /// Stops using the memory, which is the host's again.
    pub(super) fn disable(&mut self) {
        self.enabled = false;
    }

    /// Executes Set Features: begins to use the memory, or returns it.
    pub(super) fn set(&mut self, command: &Command, guest: &GuestMemory) -> Result<(), Status> {
        let control = HostMemoryBuffer::from(command.cdw10[1].get());
        if !control.ehm() {
            self.disable();
            return Ok(());
        }
        if self.enabled {
            return Err(SEQUENCE_ERROR);
        }
        let loan = self.read(command, guest)?;
        if control.mr() {
            if loan != self.loan {
                return Err(INVALID);
            }
        } else {
            clear(&loan, guest).map_err(|Unmapped| INVALID)?;
            self.loan = loan;
        }
        self.enabled = true;
        Ok(())
    }

    /// Reads the ranges that a command names, and checks each.
    fn read(&self, command: &Command, guest: &GuestMemory) -> Result<Loan, Status> {
        let [pages, low, high, entries] = [2, 3, 4, 5].map(|index| command.cdw10[index].get());
        let list = u64::from(low) | u64::from(high) << 32;
        let few = (1..=u32::from(Self::MAX_DESCRIPTORS)).contains(&entries);
        if pages < self.minimum() || pages == 0 || !few || !list.is_multiple_of(16) {
            return Err(INVALID);
        }
        let mut ranges = vec![HostMemoryDescriptor::default(); entries as usize];
        guest
            .read(list, ranges.as_mut_slice().as_mut_bytes())
            .map_err(|Unmapped| INVALID)?;
        let sound = |range: &HostMemoryDescriptor| {
            let bytes = u64::from(range.bsize.get()) * PAGE;
            range.badd.get().is_multiple_of(PAGE) && guest.covers(range.badd.get(), bytes)
        };
        let lent: u64 = ranges
            .iter()
            .map(|range| u64::from(range.bsize.get()))
            .sum();
        // No more than it wants, since it writes to all of it.
        let fits = u64::from(pages) <= lent && lent <= u64::from(self.preferred());
        if !fits || !ranges.iter().all(sound) {
            return Err(INVALID);
        }
        Ok(Loan {
            pages,
            list,
            ranges,
        })
    }

    /// Reads the map entry of an I/O's first block from the lent memory, where that is enabled.
    pub(super) fn look_up(
        &self,
        io: &Io,
        guest: &GuestMemory,
        activity: &mut Activity,
    ) -> Result<(), Status> {
        if !self.enabled {
            return Ok(());
        }
        let block = (io.position / MAPPED) as u32;
        let address = self.loan.entry(block.into());
        let mut entry = [0; ENTRY as usize];
        guest
            .read(address, &mut entry)
            .map_err(|Unmapped| Status::INTERNAL_ERROR)?;
        let entry = u64::from_le_bytes(entry);
        let found = entry as u32;
        if entry == self.entry_of(block) {
            activity.host_memory_hits += 1;
            return Ok(());
        }
        activity.host_memory_misses += 1;
        guest
            .write(address, &self.entry_of(block).to_le_bytes())
            .map_err(|Unmapped| Status::INTERNAL_ERROR)?;
        // The entry is empty, or another block's; the controller has written no other value.
        if entry == 0 || entry == self.entry_of(found) {
            Ok(())
        } else {
            Err(Status::INTERNAL_ERROR)
        }
    }

    /// Returns the entry of a block: its number, and in the upper half a check value that is never 0.
    fn entry_of(&self, block: u32) -> u64 {
        let mixed = (u64::from(block) ^ self.seed.rotate_left(17))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        u64::from(block) | (mixed | 1 << 63) & !u64::from(u32::MAX)
    }
}

impl Loan {
    /// Returns the address of the entry for `block`: several blocks share one if there are too few.
    fn entry(&self, block: u64) -> u64 {
        let bytes = u64::from(self.pages) * PAGE;
        let mut offset = block * ENTRY % bytes;
        for range in &self.ranges {
            let len = u64::from(range.bsize.get()) * PAGE;
            if offset < len {
                return range.badd.get() + offset;
            }
            offset -= len;
        }
        unreachable!("ranges are as long as they were when they were checked")
    }
}

/// Zeroes the lent ranges, which may have any content.
fn clear(loan: &Loan, guest: &GuestMemory) -> Result<(), Unmapped> {
    let zeroes = [0; PAGE as usize];
    for range in &loan.ranges {
        for page in 0..u64::from(range.bsize.get()) {
            guest.write(range.badd.get() + page * PAGE, &zeroes)?;
        }
    }
    Ok(())
}

fn pages(bytes: u64) -> u32 {
    u32::try_from(bytes / PAGE).unwrap_or(u32::MAX)
}
