//! A file of a volume.

use crate::change::FileId;
use crate::inner::Inner;
use crate::open_files::{FileLock, Tail};
use crate::{BlockStore, ReadMemory, ReadPart, StartedRead, VolumeError, WritePart};
use std::convert::Infallible;
use std::mem;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLockWriteGuard};

/// Zeroes that one write puts into a gap, in bytes.
const ZEROES: usize = 256 << 10;

/// One of several reads that are done side by side.
#[derive(Debug)]
pub struct FileRead<'a> {
    /// Bytes from the start of the file to the first byte.
    pub offset: u64,
    /// Memory for the bytes.
    pub into: &'a mut [u8],
    /// Bytes that were read: fewer than fit only at the end of the file.
    pub done: usize,
}

/// A read of a file that was started. To drop it cancels it: its memory is dropped, and nothing is written there any
/// more.
#[derive(Debug)]
#[must_use = "to drop a started read cancels it"]
pub struct StartedFileRead<S: BlockStore> {
    read: StartedRead,
    done: usize,
    /// Open until the read has ended, so that no other file gets its units.
    file: VolumeFile<S>,
}

impl<S: BlockStore> StartedFileRead<S> {
    /// Waits until the read has ended; returns its memory and the number of bytes read, fewer than fit only at the end
    /// of the file.
    ///
    /// # Errors
    /// The device failed.
    pub fn finish(self) -> Result<(ReadMemory, usize), VolumeError> {
        let into = self.file.volume.store.finish_read(self.read)?;
        Ok((into, self.done))
    }
}

/// An open file. Many threads read it side by side; writes are executed one after the other, and not during reads.
#[derive(Debug)]
pub struct VolumeFile<S: BlockStore> {
    volume: Arc<Inner<S>>,
    id: FileId,
    lock: FileLock,
}

impl<S: BlockStore> Drop for VolumeFile<S> {
    fn drop(&mut self) {
        self.volume.close(self.id);
    }
}

impl<S: BlockStore> VolumeFile<S> {
    pub(crate) fn new(volume: Arc<Inner<S>>, id: FileId, lock: FileLock) -> VolumeFile<S> {
        VolumeFile { volume, id, lock }
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.volume.catalog().size(self.id)
    }

    /// Reads from `offset`; returns the number of bytes, fewer than fit only at the end of the file.
    ///
    /// # Errors
    /// The device failed.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, VolumeError> {
        let mut reads = [FileRead {
            offset,
            into,
            done: 0,
        }];
        self.read_many(&mut reads)?;
        Ok(reads[0].done)
    }

    /// Executes all `reads` side by side.
    ///
    /// # Errors
    /// The device failed; the content of the buffers is then undefined.
    pub fn read_many(&self, reads: &mut [FileRead<'_>]) -> Result<(), VolumeError> {
        let _reading = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        let size = self.size();
        let mut parts = Vec::with_capacity(reads.len());
        for read in reads.iter_mut() {
            let left = usize::try_from(size.saturating_sub(read.offset)).unwrap_or(usize::MAX);
            read.done = read.into.len().min(left);
            let into = &mut read.into[..read.done];
            parts.extend(self.read_parts(read.offset, into));
        }
        Ok(self.volume.store.read(&mut parts)?)
    }

    /// Starts to read from `offset`, and returns before the device has ended: more reads may be started meanwhile. Bytes
    /// that are written or truncated before the read has ended are undefined. The file may be closed before that.
    ///
    /// # Errors
    /// The device failed.
    pub fn start_read(
        &self,
        offset: u64,
        mut into: ReadMemory,
    ) -> Result<StartedFileRead<S>, VolumeError> {
        let file = self.again();
        let _reading = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        let left = usize::try_from(self.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let done = (*into).as_mut().len().min(left);
        let (unit, start) = (self.volume.layout.unit, self.volume.layout.units_start);
        let runs = self
            .volume
            .catalog()
            .runs(self.id, offset, done as u64, unit);
        let parts: Vec<(u64, usize)> = runs
            .into_iter()
            .map(|(at, len)| (start + at, len as usize))
            .collect();
        let read = self.volume.store.start_read(&parts, into)?;
        Ok(StartedFileRead { read, done, file })
    }

    /// Opens the same file once more.
    fn again(&self) -> VolumeFile<S> {
        let Ok((id, lock)) = self.volume.open.open(|| Ok::<_, Infallible>(self.id));
        VolumeFile::new(Arc::clone(&self.volume), id, lock)
    }

    /// Writes all of `from` at `offset`. A gap before it becomes zeroes.
    ///
    /// # Errors
    /// The volume is full, or the end is beyond the largest possible file: nothing was written except, maybe, the gap.
    /// Or the device failed.
    pub fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), VolumeError> {
        self.volume.check_write()?;
        let mut tail = self.writing();
        self.fill(&mut tail, offset)?;
        self.put(&mut tail, offset, from)
    }

    /// Writes all of `from` at the end; returns the offset.
    ///
    /// # Errors
    /// As [`VolumeFile::write_at`].
    pub fn append(&self, from: &[u8]) -> Result<u64, VolumeError> {
        self.volume.check_write()?;
        let mut tail = self.writing();
        let offset = self.size();
        self.put(&mut tail, offset, from)?;
        Ok(offset)
    }

    /// Sets the file's size to `size` bytes: data beyond it is lost, new bytes are zeroes.
    ///
    /// # Errors
    /// As [`VolumeFile::write_at`].
    pub fn truncate(&self, size: u64) -> Result<(), VolumeError> {
        self.volume.check_write()?;
        let mut tail = self.writing();
        self.fill(&mut tail, size)?;
        if size < self.size() {
            *tail = Tail::default();
            let units = size.div_ceil(self.volume.layout.unit);
            self.volume.catalog().truncate(self.id, size, units)?;
        }
        Ok(())
    }

    /// Makes the file's data, name and size durable, and with them every change of the directory until now.
    ///
    /// # Errors
    /// The device failed, now or earlier.
    pub fn sync(&self) -> Result<(), VolumeError> {
        self.volume.commit()
    }

    fn writing(&self) -> RwLockWriteGuard<'_, Tail> {
        self.lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Splits `bytes`, which belong at `offset` of the file, at the borders of the file's extents; each part has its
    /// offset on the store.
    fn split<B: Default + Deref<Target = [u8]>>(
        &self,
        offset: u64,
        bytes: B,
        split_at: impl Fn(B, usize) -> (B, B),
    ) -> impl Iterator<Item = (u64, B)> {
        let (unit, start) = (self.volume.layout.unit, self.volume.layout.units_start);
        let len = bytes.len() as u64;
        let runs = self.volume.catalog().runs(self.id, offset, len, unit);
        let mut rest = bytes;
        runs.into_iter().map(move |(at, len)| {
            let (now, later) = split_at(mem::take(&mut rest), len as usize);
            rest = later;
            (start + at, now)
        })
    }

    /// Splits a read into `into` from `offset` of the file into the parts to be read.
    fn read_parts<'a>(
        &self,
        offset: u64,
        into: &'a mut [u8],
    ) -> impl Iterator<Item = ReadPart<'a>> {
        let split = self.split(offset, into, <[u8]>::split_at_mut);
        split.map(|(offset, into)| ReadPart { offset, into })
    }

    /// Writes zeroes from the end of the file to `offset`, if that is beyond.
    fn fill(&self, tail: &mut Tail, offset: u64) -> Result<(), VolumeError> {
        let mut size = self.size();
        if size >= offset {
            return Ok(());
        }
        self.reserve(offset)?;
        let zeroes = vec![0; ZEROES.min(usize::try_from(offset - size).unwrap_or(ZEROES))];
        while size < offset {
            let len = zeroes.len().min((offset - size) as usize);
            self.put(tail, size, &zeroes[..len])?;
            size += len as u64;
        }
        Ok(())
    }

    /// Allocates units to the file for `end` bytes.
    fn reserve(&self, end: u64) -> Result<(), VolumeError> {
        let layout = &self.volume.layout;
        let max = layout.max_file();
        if end > max {
            return Err(VolumeError::TooLarge { end, max });
        }
        let units = end.div_ceil(layout.unit);
        let extend = || self.volume.catalog().extend(self.id, units, layout.unit);
        match extend() {
            // Units of removed or truncated files become free once that is durable: by this commit, or by another
            // thread's that is under way.
            Err(VolumeError::NoSpace { .. }) => {
                self.volume.commit()?;
                extend()
            }
            extended => extended,
        }
    }

    /// Writes `from` at `offset`, which is at most the size.
    fn put(&self, tail: &mut Tail, offset: u64, from: &[u8]) -> Result<(), VolumeError> {
        if from.is_empty() {
            return Ok(());
        }
        let end = offset.saturating_add(from.len() as u64);
        self.reserve(end)?;
        let block = self.volume.layout.block;
        let size = self.size();
        let blocks = (offset / block, end.div_ceil(block));
        // Whole blocks; the first and last are filled up with the file's bytes.
        let start = blocks.0 * block;
        let whole_end = end.is_multiple_of(block);
        let aligned = offset == start && whole_end;
        let mut filled = Vec::new();
        if !aligned {
            filled = vec![0; ((blocks.1 - blocks.0) * block) as usize];
            if offset != start {
                self.old_block(tail, blocks.0, size, &mut filled[..block as usize])?;
            }
            let last = blocks.1 - 1;
            if !whole_end && end < size && (last != blocks.0 || offset == start) {
                let at = filled.len() - block as usize;
                self.old_block(tail, last, size, &mut filled[at..])?;
            }
            let skip = (offset - start) as usize;
            filled[skip..skip + from.len()].copy_from_slice(from);
        }
        let bytes = if aligned { from } else { &filled };
        let split = self.split(start, bytes, <[u8]>::split_at);
        let parts = split.map(|(at, from)| WritePart {
            lba: at / block,
            from,
        });
        let written = self.volume.store.write(&parts.collect::<Vec<_>>());
        *tail = Tail::default();
        written?;
        if end >= size && !whole_end {
            *tail = Tail {
                index: blocks.1 - 1,
                bytes: filled.split_off(filled.len() - block as usize),
            };
        }
        if end > size {
            self.volume.catalog().grow(self.id, end)?;
        }
        Ok(())
    }

    /// Reads block `index` of the file into `into`, with zeroes beyond its end.
    fn old_block(
        &self,
        tail: &Tail,
        index: u64,
        size: u64,
        into: &mut [u8],
    ) -> Result<(), VolumeError> {
        if tail.index == index && tail.bytes.len() == into.len() {
            into.copy_from_slice(&tail.bytes);
            return Ok(());
        }
        let start = index * into.len() as u64;
        let there = size.saturating_sub(start).min(into.len() as u64);
        let parts = self.read_parts(start, &mut into[..there as usize]);
        Ok(self.volume.store.read(&mut parts.collect::<Vec<_>>())?)
    }
}
