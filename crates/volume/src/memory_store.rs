//! A store in memory that can lose power.

use crate::store::{check_reads, check_writes};
use crate::{BlockStore, ReadPart, StoreError, WritePart};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Blocks in memory, with a write cache that a power cut empties: for tests of programs that use a volume.
#[derive(Debug)]
pub struct MemoryStore {
    block_size: u32,
    media: Mutex<Media>,
}

#[derive(Clone, Debug)]
struct Media {
    durable: Vec<u8>,
    /// Blocks written since the last flush, by their address.
    cache: BTreeMap<u64, Vec<u8>>,
    writes: u64,
    flushes: u64,
}

impl MemoryStore {
    /// Makes a store of `blocks` zeroed blocks of `block_size` bytes.
    pub fn new(block_size: u32, blocks: u64) -> MemoryStore {
        let bytes = blocks * u64::from(block_size);
        MemoryStore {
            block_size,
            media: Mutex::new(Media {
                durable: vec![0; bytes as usize],
                cache: BTreeMap::new(),
                writes: 0,
                flushes: 0,
            }),
        }
    }

    fn media(&self) -> MutexGuard<'_, Media> {
        self.media.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the store as after a power cut now: blocks that were not flushed have their new data only if `kept`
    /// returns true.
    pub fn after_power_cut(&self, mut kept: impl FnMut(u64) -> bool) -> MemoryStore {
        let mut media = self.media().clone();
        let cache = std::mem::take(&mut media.cache);
        for (lba, block) in cache {
            if kept(lba) {
                media.put(lba, &block);
            }
        }
        MemoryStore {
            block_size: self.block_size,
            media: Mutex::new(media),
        }
    }

    /// Returns the numbers of writes and flushes since the store was made.
    pub fn counts(&self) -> (u64, u64) {
        let media = self.media();
        (media.writes, media.flushes)
    }
}

impl Media {
    fn put(&mut self, lba: u64, block: &[u8]) {
        let start = lba as usize * block.len();
        self.durable[start..start + block.len()].copy_from_slice(block);
    }
}

impl BlockStore for MemoryStore {
    fn block_size(&self) -> u32 {
        self.block_size
    }

    fn blocks(&self) -> u64 {
        self.media().durable.len() as u64 / u64::from(self.block_size)
    }

    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError> {
        check_reads(self, parts.iter().map(ReadPart::range))?;
        let media = self.media();
        let size = self.block_size as usize;
        for part in parts {
            let mut offset = part.offset as usize;
            let mut into = &mut *part.into;
            while !into.is_empty() {
                let (lba, skip) = (offset / size, offset % size);
                let here = into.len().min(size - skip);
                let (now, later) = into.split_at_mut(here);
                match media.cache.get(&(lba as u64)) {
                    Some(block) => now.copy_from_slice(&block[skip..skip + here]),
                    None => now.copy_from_slice(&media.durable[offset..offset + here]),
                }
                offset += here;
                into = later;
            }
        }
        Ok(())
    }

    fn write(&self, parts: &[WritePart<'_>]) -> Result<(), StoreError> {
        check_writes(self, parts)?;
        let mut media = self.media();
        let size = self.block_size as usize;
        for part in parts {
            for (lba, block) in (part.lba..).zip(part.from.chunks_exact(size)) {
                media.cache.insert(lba, block.to_vec());
            }
            media.writes += 1;
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        let mut media = self.media();
        for (lba, block) in std::mem::take(&mut media.cache) {
            media.put(lba, &block);
        }
        media.flushes += 1;
        Ok(())
    }
}
