//! Blocks that a volume is stored on.

use crate::{ReadMemory, StartedRead, StoreError};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Bytes to read, at any alignment.
#[derive(Debug)]
pub struct ReadPart<'a> {
    /// Bytes from the start of the store to the first byte.
    pub offset: u64,
    /// Memory for the bytes.
    pub into: &'a mut [u8],
}

impl ReadPart<'_> {
    /// Returns the offset and the number of bytes.
    pub(crate) fn range(&self) -> (u64, usize) {
        (self.offset, self.into.len())
    }
}

/// Whole blocks to write.
#[derive(Clone, Copy, Debug)]
pub struct WritePart<'a> {
    /// Address of the first logical block.
    pub lba: u64,
    /// Data, a multiple of the block size.
    pub from: &'a [u8],
}

/// Logical blocks that are read and written by many threads: a namespace, or memory in tests.
///
/// A block is written as a whole or not at all. Data is durable after a flush that began after its write.
pub trait BlockStore: Send + Sync {
    /// Returns the bytes of a logical block: a power of two, 512 to 65,536.
    fn block_size(&self) -> u32;

    /// Returns the size in logical blocks.
    fn blocks(&self) -> u64;

    /// Whether blocks may be written; if not, every write is refused ([`StoreError::ReadOnly`]).
    fn may_write(&self) -> bool {
        true
    }

    /// Reads all `parts`, side by side.
    ///
    /// # Errors
    /// A part is not on the store ([`StoreError::Range`]). Or the device failed; the content of the buffers is then
    /// undefined.
    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError>;

    /// Starts to read `parts`, each an offset and a number of bytes, one behind the other into `into`, and returns
    /// before the device has ended. Until then reads and writes of other threads go on.
    ///
    /// A store that has no such reads, as by default, reads before it returns.
    ///
    /// # Errors
    /// As for [`BlockStore::read`], or `into` is too small ([`StoreError::Memory`]).
    fn start_read(
        &self,
        parts: &[(u64, usize)],
        mut into: ReadMemory,
    ) -> Result<StartedRead, StoreError> {
        check_memory(parts, &mut into)?;
        let mut rest = (*into).as_mut();
        let mut reads = Vec::with_capacity(parts.len());
        for &(offset, len) in parts {
            let (into, later) = rest.split_at_mut_checked(len).unwrap_or_default();
            reads.push(ReadPart { offset, into });
            rest = later;
        }
        self.read(&mut reads)?;
        Ok(StartedRead::ended(into))
    }

    /// Waits until `read`, which was started on this store, has ended; returns its memory.
    ///
    /// # Errors
    /// The device failed.
    fn finish_read(&self, read: StartedRead) -> Result<ReadMemory, StoreError> {
        read.result()
    }

    /// Writes all `parts`, side by side; they do not overlap.
    ///
    /// # Errors
    /// A part is not on the store, or ends within a block ([`StoreError::Range`],
    /// [`StoreError::PartialBlock`]): nothing was written. Or the device failed; which blocks were written
    /// is then not known.
    fn write(&self, parts: &[WritePart<'_>]) -> Result<(), StoreError>;

    /// Makes all data written so far durable.
    ///
    /// # Errors
    /// The device failed.
    fn flush(&self) -> Result<(), StoreError>;

    /// Claims the store for a volume, as long as the claim is kept: two volumes on the same blocks would overwrite each
    /// other's files. A store that can only be used once need not do anything.
    ///
    /// # Errors
    /// Another volume of this process has the same blocks ([`StoreError::InUse`]).
    fn claim(&self) -> Result<StoreClaim, StoreError> {
        Ok(StoreClaim::default())
    }
}

/// Stores of this process that volumes have claimed: a controller's address in memory, and the namespace.
static CLAIMED: Mutex<BTreeSet<(usize, u32)>> = Mutex::new(BTreeSet::new());

/// A volume's claim of its store.
#[derive(Debug, Default)]
pub struct StoreClaim(Option<(usize, u32)>);

impl StoreClaim {
    /// Claims namespace `nsid` of the controller at `address`, which must not move as long as the claim is kept.
    pub(crate) fn new(address: usize, nsid: u32) -> Result<StoreClaim, StoreError> {
        let place = (address, nsid);
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        match claimed.insert(place) {
            true => Ok(StoreClaim(Some(place))),
            false => Err(StoreError::InUse(nsid)),
        }
    }
}

impl Drop for StoreClaim {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
            claimed.remove(&place);
        }
    }
}

/// A reference to a store, or a box of one, is a store too.
impl<P> BlockStore for P
where
    P: Deref<Target: BlockStore> + Send + Sync,
{
    fn block_size(&self) -> u32 {
        (**self).block_size()
    }

    fn blocks(&self) -> u64 {
        (**self).blocks()
    }

    fn may_write(&self) -> bool {
        (**self).may_write()
    }

    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError> {
        (**self).read(parts)
    }

    fn start_read(
        &self,
        parts: &[(u64, usize)],
        into: ReadMemory,
    ) -> Result<StartedRead, StoreError> {
        (**self).start_read(parts, into)
    }

    fn finish_read(&self, read: StartedRead) -> Result<ReadMemory, StoreError> {
        (**self).finish_read(read)
    }

    fn write(&self, parts: &[WritePart<'_>]) -> Result<(), StoreError> {
        (**self).write(parts)
    }

    fn flush(&self) -> Result<(), StoreError> {
        (**self).flush()
    }

    fn claim(&self) -> Result<StoreClaim, StoreError> {
        (**self).claim()
    }
}

/// Refuses parts, each an offset and a number of bytes, that are not on `store`.
pub(crate) fn check_reads(
    store: &impl BlockStore,
    parts: impl IntoIterator<Item = (u64, usize)>,
) -> Result<(), StoreError> {
    let size = size(store);
    let mut parts = parts.into_iter();
    parts.try_for_each(|(offset, len)| check_range(offset, len, size))
}

/// Refuses memory without room for `parts`.
pub(crate) fn check_memory(
    parts: &[(u64, usize)],
    into: &mut ReadMemory,
) -> Result<(), StoreError> {
    let room = (**into).as_mut().len();
    let len = parts
        .iter()
        .fold(0, |all: usize, &(_, len)| all.saturating_add(len));
    match len <= room {
        true => Ok(()),
        false => Err(StoreError::Memory { len, room }),
    }
}

/// Refuses parts that are not on `store`, or end within a block.
pub(crate) fn check_writes(
    store: &impl BlockStore,
    parts: &[WritePart<'_>],
) -> Result<(), StoreError> {
    let (size, block) = (size(store), store.block_size());
    for part in parts {
        let len = part.from.len();
        check_range(part.lba.saturating_mul(block.into()), len, size)?;
        if !len.is_multiple_of(block as usize) {
            return Err(StoreError::PartialBlock { len, block });
        }
    }
    Ok(())
}

fn size(store: &impl BlockStore) -> u64 {
    store.blocks().saturating_mul(store.block_size().into())
}

fn check_range(offset: u64, len: usize, size: u64) -> Result<(), StoreError> {
    match offset.checked_add(len as u64) {
        Some(end) if end <= size => Ok(()),
        _ => Err(StoreError::Range { offset, len, size }),
    }
}
