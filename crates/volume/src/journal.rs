//! The journal: changes as records in one of two regions, each whole or not at all.

use crate::change::Change;
use crate::layout::Layout;
use crate::{BlockStore, ReadPart, VolumeError, WritePart};
use crc32c::{crc32c, crc32c_append};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First bytes of every record.
const MAGIC: [u8; 4] = *b"joul";

/// Header of a record; its changes follow it.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    /// Length of the changes in bytes.
    len: U32,
    /// Generation of the region, which each snapshot increments.
    generation: U64,
    /// Number of the record in its region; 0 is the snapshot.
    sequence: U64,
    /// Identifier of the volume: records of another volume that was here before are not read.
    volume: U64,
    reserved: U32,
    /// CRC-32C of the header before this field, and of the changes.
    checksum: U32,
}

const HEADER: usize = size_of::<Header>();

impl Header {
    fn sum(&self, changes: &[u8]) -> u32 {
        let bytes = self.as_bytes();
        crc32c_append(crc32c(&bytes[..HEADER - size_of::<U32>()]), changes)
    }
}

/// The journal, ready for the next record.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Number of the region in use, 0 or 1.
    region: usize,
    generation: u64,
    sequence: u64,
    /// Bytes of the region that records occupy.
    used: u64,
}

/// A region's journal, and the changes of its records.
struct Region {
    journal: Journal,
    records: Vec<Vec<u8>>,
    /// Generation and number of the last record that is not a snapshot, whose header is there.
    last: Option<(u64, u64)>,
}

impl Journal {
    /// Writes an empty journal in region 0 to `store`.
    ///
    /// # Errors
    /// The store could not be written.
    pub fn format(store: &impl BlockStore, layout: &Layout) -> Result<(), VolumeError> {
        let empty = vec![0; layout.block as usize];
        store.write(&[WritePart {
            lba: layout.regions[1] / layout.block,
            from: &empty,
        }])?;
        let mut journal = Journal {
            region: 0,
            generation: 1,
            sequence: 0,
            used: 0,
        };
        journal.append(store, layout, &encode(&[])?)
    }

    /// Reads the journal of `store`, and all changes in it.
    ///
    /// # Errors
    /// No region has a snapshot, a record's changes cannot be read, or a record before the last is incomplete: a power
    /// cut tears only the last.
    pub fn open(
        store: &impl BlockStore,
        layout: &Layout,
    ) -> Result<(Journal, Vec<Change>), VolumeError> {
        let mut regions = Vec::new();
        for region in 0..layout.regions.len() {
            regions.push(Region::read(store, layout, region)?);
        }
        let last = regions.iter().filter_map(|region| region.last).max();
        let newest = regions
            .into_iter()
            .filter(|region| !region.records.is_empty())
            .max_by_key(|region| region.journal.generation);
        let Some(Region {
            journal, records, ..
        }) = newest
        else {
            return Err(VolumeError::Damaged("its journal has no snapshot".into()));
        };
        if last > Some((journal.generation, journal.sequence)) {
            let what = "a record of its journal is not whole, and others follow it";
            return Err(VolumeError::Damaged(what.into()));
        }
        let mut changes = Vec::new();
        for record in records {
            let more: Vec<Change> = postcard::from_bytes(&record).map_err(|error| {
                VolumeError::Damaged(format!("a record of the journal: {error}"))
            })?;
            changes.extend(more);
        }
        Ok((journal, changes))
    }

    /// Whether `changes`, encoded, fit the region.
    pub fn has_room(&self, layout: &Layout, changes: &[u8]) -> bool {
        self.used + layout.record(changes.len()) <= layout.region
    }

    /// Switches to the other region, which then begins with `snapshot`.
    ///
    /// # Errors
    /// The snapshot does not fit, there is no next generation, or the store could not be written; the
    /// journal is then as it was.
    pub fn switch(
        &mut self,
        store: &impl BlockStore,
        layout: &Layout,
        snapshot: &[u8],
    ) -> Result<(), VolumeError> {
        let (bytes, room) = (snapshot.len() as u64, layout.snapshot());
        if bytes > room {
            return Err(VolumeError::DirectoryTooLarge { bytes, room });
        }
        let next = self.generation.checked_add(1);
        let last = || VolumeError::Damaged("its journal has the last generation".into());
        let mut other = Journal {
            region: 1 - self.region,
            generation: next.ok_or_else(last)?,
            sequence: 0,
            used: 0,
        };
        other.append(store, layout, snapshot)?;
        *self = other;
        Ok(())
    }

    /// Appends a record and makes it durable.
    ///
    /// # Errors
    /// The store could not be written. The caller has checked that there is room.
    pub fn append(
        &mut self,
        store: &impl BlockStore,
        layout: &Layout,
        changes: &[u8],
    ) -> Result<(), VolumeError> {
        let mut header = Header {
            magic: MAGIC,
            len: u32::try_from(changes.len()).unwrap_or(u32::MAX).into(),
            generation: self.generation.into(),
            sequence: self.sequence.into(),
            volume: layout.id.into(),
            reserved: 0.into(),
            checksum: 0.into(),
        };
        header.checksum = header.sum(changes).into();
        let bytes = layout.record(changes.len());
        let mut record = vec![0; bytes as usize];
        record[..HEADER].copy_from_slice(header.as_bytes());
        record[HEADER..HEADER + changes.len()].copy_from_slice(changes);
        store.write(&[WritePart {
            lba: (layout.regions[self.region] + self.used) / layout.block,
            from: &record,
        }])?;
        store.flush()?;
        self.used += bytes;
        self.sequence += 1;
        Ok(())
    }
}

impl Region {
    /// Reads the region of that number; without a complete snapshot, it has no records.
    fn read(
        store: &impl BlockStore,
        layout: &Layout,
        region: usize,
    ) -> Result<Region, VolumeError> {
        let mut bytes = vec![0; layout.region as usize];
        store.read(&mut [ReadPart {
            offset: layout.regions[region],
            into: &mut bytes,
        }])?;
        let mut journal = Journal {
            region,
            generation: 0,
            sequence: 0,
            used: 0,
        };
        let mut records = Vec::new();
        while let Some((header, changes)) = record(&bytes[journal.used as usize..], layout.id) {
            if journal.sequence == 0 {
                journal.generation = header.generation.get();
            }
            let follows = header.generation.get() == journal.generation
                && header.sequence.get() == journal.sequence;
            if !follows {
                break;
            }
            journal.used += layout.record(changes.len());
            journal.sequence += 1;
            records.push(changes.to_vec());
        }
        let blocks = bytes.chunks_exact(layout.block as usize);
        let headers = blocks.filter_map(|block| header(block, layout.id));
        let numbers = headers.map(|(header, _)| (header.generation.get(), header.sequence.get()));
        let last = numbers.filter(|&(_, sequence)| sequence > 0).max();
        Ok(Region {
            journal,
            records,
            last,
        })
    }
}

impl Layout {
    /// Returns the bytes of a record with `len` bytes of changes, in whole blocks.
    fn record(&self, len: usize) -> u64 {
        ((HEADER + len) as u64).next_multiple_of(self.block)
    }

    /// Returns the most bytes of a snapshot.
    pub fn snapshot(&self) -> u64 {
        self.region - HEADER as u64
    }
}

/// Encodes `changes` for a record.
///
/// # Errors
/// They are too many for a record.
pub(crate) fn encode(changes: &[Change]) -> Result<Vec<u8>, VolumeError> {
    let bytes = postcard::to_allocvec(changes);
    bytes.map_err(|error| VolumeError::Damaged(format!("changes of the directory: {error}")))
}

/// Reads the header of a record of `volume` at the start of `bytes`; returns it with the bytes after it.
fn header(bytes: &[u8], volume: u64) -> Option<(Header, &[u8])> {
    let (header, rest) = Header::read_from_prefix(bytes).ok()?;
    let is_one = header.magic == MAGIC && header.volume.get() == volume;
    is_one.then_some((header, rest))
}

/// Reads the record of `volume` at the start of `bytes`, if it is complete.
fn record(bytes: &[u8], volume: u64) -> Option<(Header, &[u8])> {
    let (header, rest) = header(bytes, volume)?;
    let changes = rest.get(..header.len.get() as usize)?;
    (header.checksum.get() == header.sum(changes)).then_some((header, changes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FormatOptions, MemoryStore};

    #[test]
    fn no_generation_follows_the_last() -> Result<(), VolumeError> {
        let store = MemoryStore::new(512, 2048);
        let layout = Layout::new(512, 2048, FormatOptions::default(), 7)?;
        let mut last = Journal {
            region: 0,
            generation: u64::MAX,
            sequence: 0,
            used: 0,
        };
        let snapshot = encode(&[])?;
        last.append(&store, &layout, &snapshot)?;
        let (mut journal, changes) = Journal::open(&store, &layout)?;
        assert_eq!((journal.generation, changes), (u64::MAX, vec![]));
        let before = store.counts();
        let refused = journal.switch(&store, &layout, &snapshot);
        assert!(matches!(refused, Err(VolumeError::Damaged(_))));
        assert_eq!((store.counts(), journal.region), (before, 0));
        Ok(())
    }
}
