//! Blocks that a volume lies on.

use crate::StoreError;
use std::ops::Deref;

/// Bytes to read, at any alignment.
#[derive(Debug)]
pub struct ReadPart<'a> {
    /// Bytes from the start of the store to the first byte.
    pub offset: u64,
    /// Memory for the bytes.
    pub into: &'a mut [u8],
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
/// A block is written as a whole or not at all. What was written is durable after a flush that began
/// later.
pub trait BlockStore: Send + Sync {
    /// Bytes of a logical block: a power of two, 512 to 65,536.
    fn block_size(&self) -> u32;

    /// Size in logical blocks.
    fn blocks(&self) -> u64;

    /// Reads all `parts`, side by side.
    ///
    /// # Errors
    /// A part is not on the store ([`StoreError::Range`]). Or the device failed; what the parts hold is
    /// then not known.
    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError>;

    /// Writes all `parts`, side by side; they do not overlap.
    ///
    /// # Errors
    /// A part is not on the store, or ends within a block ([`StoreError::Range`],
    /// [`StoreError::PartialBlock`]): nothing was written. Or the device failed; which blocks were written
    /// is then not known.
    fn write(&self, parts: &[WritePart<'_>]) -> Result<(), StoreError>;

    /// Makes what was written durable.
    ///
    /// # Errors
    /// The device failed.
    fn flush(&self) -> Result<(), StoreError>;
}

/// A reference to a store, or a box of one, is a store.
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

    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError> {
        (**self).read(parts)
    }

    fn write(&self, parts: &[WritePart<'_>]) -> Result<(), StoreError> {
        (**self).write(parts)
    }

    fn flush(&self) -> Result<(), StoreError> {
        (**self).flush()
    }
}

/// Refuses parts that are not on `store`.
pub(crate) fn check_reads(
    store: &impl BlockStore,
    parts: &[ReadPart<'_>],
) -> Result<(), StoreError> {
    let size = size(store);
    let mut parts = parts.iter();
    parts.try_for_each(|part| check_range(part.offset, part.into.len(), size))
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
