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
    /// The device failed; what the parts hold is then not known.
    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError>;

    /// Writes all `parts`, side by side; they do not overlap.
    ///
    /// # Errors
    /// The device failed; which blocks were written is then not known.
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
