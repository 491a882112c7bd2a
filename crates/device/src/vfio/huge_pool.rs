//! Memory for a device without an IOMMU: huge pages, used by their physical addresses.
//!
//! An allocation is contiguous for the device, so that it lies within one huge page or in several with adjacent
//! physical addresses. They are pages of a file that nobody else has, mapped in the order of their addresses. Pages
//! that were once allocated stay in the pool until the device is closed: only its reset stops it from accessing them.

use super::physical::{HUGE, NoAddress, PageMap};
use crate::allocate::allocate;
use crate::huge_pages::is_huge;
use crate::iova::PAGE;
use crate::{DeviceError, Iova, IovaSpace, SharedMemory};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Size of the file in bytes, of which only allocated pages take memory.
const SIZE: u64 = 64 << 30;

pub(super) struct HugePool {
    /// Name of the device, for messages.
    name: String,
    file: OwnedFd,
    map: PageMap,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    chunks: Vec<Arc<Chunk>>,
    /// Offset of the first page of the file that was never allocated.
    end: u64,
    /// Offsets of pages below `end` that are free.
    holes: Vec<u64>,
}

/// Huge pages that are contiguous both in this process and in physical memory.
struct Chunk {
    memory: Arc<SharedMemory>,
    physical: u64,
    free: Mutex<IovaSpace>,
}

/// A page of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    physical: u64,
    offset: u64,
}

impl HugePool {
    pub(super) fn new(name: &str) -> Result<HugePool, DeviceError> {
        let os = |what: &str, source| DeviceError::Os {
            what: what.into(),
            source,
        };
        let make = || -> io::Result<OwnedFd> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let huge = MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
            let file = memfd_create("joulio-dma", flags | huge)?;
            ftruncate(&file, SIZE)?;
            fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            Ok(file)
        };
        Ok(HugePool {
            name: name.into(),
            file: make()
                .map_err(|error| os("create a file of huge pages (memfd_create)", error))?,
            map: PageMap::open().map_err(|error| os("open /proc/self/pagemap", error))?,
            state: Mutex::default(),
        })
    }

    /// Allocates at least `len` zeroed bytes at adjacent physical addresses; returns them with their address.
    pub(super) fn allocate(&self, len: usize) -> Result<(SharedMemory, Iova), DeviceError> {
        let too_long = || DeviceError::IovaSpace { wanted: len };
        // As elsewhere: an allocation of half a huge page or more gets whole ones.
        let page = if len >= HUGE / 2 { HUGE } else { PAGE };
        let len = len.max(1).checked_next_multiple_of(page);
        let len = len.filter(|len| *len as u64 <= SIZE).ok_or_else(too_long)?;
        let mut state = self.lock();
        let chunks = state.chunks.iter();
        if let Some(piece) = chunks
            .filter_map(|chunk| Chunk::take(chunk, len, page))
            .next()
        {
            return Ok(piece);
        }
        let chunk = Arc::new(self.grow(&mut state, len.div_ceil(HUGE))?);
        let piece = Chunk::take(&chunk, len, page).ok_or_else(too_long)?;
        state.chunks.push(chunk);
        Ok(piece)
    }

    /// Returns the physical address of the caller's memory, if its pages stay in place.
    pub(super) fn reach(&self, memory: &SharedMemory) -> Result<Iova, DeviceError> {
        let refused = |why: &str| DeviceError::Unsupported {
            device: self.name.clone(),
            reason: format!("without an IOMMU it cannot reach memory {why}"),
        };
        if !memory.is_private() {
            return Err(refused("of a file, whose pages others can take away"));
        }
        if !is_huge(memory.address(), memory.len()) {
            return Err(refused(
                "of ordinary pages, which the kernel may move: map huge ones (MAP_HUGETLB)",
            ));
        }
        for offset in (0..memory.len()).step_by(PAGE) {
            memory.touch(offset);
        }
        match self.address(memory) {
            Err(DeviceError::HugePages { .. }) => Err(refused(
                "of huge pages that do not follow each other: register each by itself",
            )),
            found => found.map(Iova),
        }
    }

    fn address(&self, memory: &SharedMemory) -> Result<u64, DeviceError> {
        let found = self.map.range(memory.address(), memory.len());
        found.map_err(|why| match why {
            NoAddress::Hidden => DeviceError::NoIommuRights {
                device: self.name.clone(),
            },
            NoAddress::Apart => DeviceError::HugePages {
                wanted: memory.len(),
                pages: memory.len().div_ceil(HUGE),
                found: 1,
            },
            NoAddress::NotPresent => DeviceError::Memory {
                wanted: memory.len(),
                source: io::ErrorKind::OutOfMemory.into(),
            },
            NoAddress::Os(source) => DeviceError::Os {
                what: "read /proc/self/pagemap".into(),
                source,
            },
        })
    }

    /// Allocates `pages` huge pages with adjacent physical addresses, if need be out of all that the pool has.
    fn grow(&self, state: &mut State, pages: usize) -> Result<Chunk, DeviceError> {
        let mut found: Vec<Page> = Vec::new();
        let result = loop {
            match self.page(state) {
                Ok(Some(page)) => {
                    let at = found.partition_point(|other| *other < page);
                    found.insert(at, page);
                }
                Ok(None) => {
                    break Err(DeviceError::HugePages {
                        wanted: pages * HUGE,
                        pages,
                        found: longest(&found),
                    });
                }
                Err(error) => break Err(error),
            }
            if let Some(at) = run(&found, pages) {
                break Ok(found.drain(at..at + pages).collect::<Vec<Page>>());
            }
        };
        for page in found {
            self.give_back(state, page.offset);
        }
        let run = result?;
        let chunk = self.chunk(&run);
        if chunk.is_err() {
            for page in run {
                self.give_back(state, page.offset);
            }
        }
        chunk
    }

    fn chunk(&self, run: &[Page]) -> Result<Chunk, DeviceError> {
        let offsets: Vec<u64> = run.iter().map(|page| page.offset).collect();
        let memory = self.mapped(&offsets)?;
        let physical = self.address(&memory)?;
        let last = physical + memory.len() as u64 - 1;
        Ok(Chunk {
            memory: Arc::new(memory),
            physical,
            free: Mutex::new(IovaSpace::new([physical..=last])),
        })
    }

    /// Allocates one more page of the file; `None` if the machine has none left.
    fn page(&self, state: &mut State) -> Result<Option<Page>, DeviceError> {
        let offset = state.holes.pop().unwrap_or(state.end);
        if offset >= SIZE {
            return Ok(None);
        }
        if let Err(error) = allocate(self.file.as_fd(), offset, HUGE as u64) {
            if offset < state.end {
                state.holes.push(offset);
            }
            return match error {
                Errno::NOSPC | Errno::NOMEM => Ok(None),
                _ => Err(DeviceError::Os {
                    what: "allocate a huge page (fallocate)".into(),
                    source: error.into(),
                }),
            };
        }
        state.end = state.end.max(offset + HUGE as u64);
        match self.mapped(&[offset]).and_then(|page| self.address(&page)) {
            Ok(physical) => Ok(Some(Page { physical, offset })),
            Err(error) => {
                self.give_back(state, offset);
                Err(error)
            }
        }
    }

    fn mapped(&self, offsets: &[u64]) -> Result<SharedMemory, DeviceError> {
        let memory = SharedMemory::map_huge_pages(self.file.as_fd(), offsets);
        memory.map_err(|source| DeviceError::Memory {
            wanted: offsets.len() * HUGE,
            source,
        })
    }

    /// Returns a page to the system that was never mapped for a device.
    fn give_back(&self, state: &mut State, offset: u64) {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, hole, offset, HUGE as u64).is_ok() {
            state.holes.push(offset);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chunk {
    fn take(this: &Arc<Chunk>, len: usize, align: usize) -> Option<(SharedMemory, Iova)> {
        let iova = this.free().allocate(len, align)?;
        let owner = Taken {
            chunk: Arc::clone(this),
            iova,
            len,
        };
        let offset = (iova.0 - this.physical) as usize;
        this.memory.zero(offset, len);
        Some((this.memory.part(offset, len, owner), iova))
    }

    fn free(&self) -> MutexGuard<'_, IovaSpace> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An allocated part of a chunk; returned to the chunk when dropped.
struct Taken {
    chunk: Arc<Chunk>,
    iova: Iova,
    len: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.chunk.free().free(self.iova, self.len);
    }
}

/// Returns the index of the first of `wanted` adjacent pages; `pages` are sorted by address.
fn run(pages: &[Page], wanted: usize) -> Option<usize> {
    pages
        .windows(wanted)
        .position(|run| run[wanted - 1].physical - run[0].physical == ((wanted - 1) * HUGE) as u64)
}

/// Returns the length of the longest run of adjacent pages.
fn longest(pages: &[Page]) -> usize {
    let follows = |a: &Page, b: &Page| b.physical - a.physical == HUGE as u64;
    pages
        .chunk_by(follows)
        .map(<[Page]>::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(numbers: &[u64]) -> Vec<Page> {
        let page = |(offset, number): (usize, &u64)| Page {
            physical: number * HUGE as u64,
            offset: (offset * HUGE) as u64,
        };
        numbers.iter().enumerate().map(page).collect()
    }

    #[test]
    fn a_run_is_of_pages_that_follow_each_other() {
        let all = pages(&[1, 3, 4, 7, 8, 9, 12]);
        assert_eq!(run(&all, 1), Some(0));
        assert_eq!(run(&all, 2), Some(1));
        assert_eq!(run(&all, 3), Some(3));
        assert_eq!(run(&all, 4), None);
        assert_eq!((longest(&all), longest(&[])), (3, 0));
    }

    /// Makes a chunk of arbitrary pages, at an invented address.
    fn chunk() -> Arc<Chunk> {
        let memory = SharedMemory::allocate(2 * HUGE).unwrap();
        let physical = 3 << 30;
        let last = physical + memory.len() as u64 - 1;
        Arc::new(Chunk {
            memory: Arc::new(memory),
            physical,
            free: Mutex::new(IovaSpace::new([physical..=last])),
        })
    }

    #[test]
    fn parts_lie_apart_and_are_zero_again_when_they_were_given_back() {
        let chunk = chunk();
        let (large, at) = Chunk::take(&chunk, HUGE, HUGE).unwrap();
        let (small, other) = Chunk::take(&chunk, PAGE, PAGE).unwrap();
        assert_eq!((at.0, other.0), (3 << 30, (3 << 30) + HUGE as u64));
        assert_eq!((large.len(), small.len()), (HUGE, PAGE));
        assert_eq!(small.address() - large.address(), HUGE as u64);
        assert!(small.is_private() && Chunk::take(&chunk, HUGE, HUGE).is_none());
        large.write(HUGE - 6, b"joules");
        drop(large);
        let (again, same) = Chunk::take(&chunk, HUGE, HUGE).unwrap();
        assert_eq!(same, at);
        let mut back = [1; 6];
        again.read(HUGE - 6, &mut back);
        assert_eq!(back, [0; 6]);
    }

    #[test]
    fn a_part_keeps_its_chunk() {
        let chunk = chunk();
        let (part, _) = Chunk::take(&chunk, PAGE, PAGE).unwrap();
        drop(chunk);
        part.write(0, b"joules");
        let mut back = [0; 6];
        part.read(0, &mut back);
        assert_eq!(&back, b"joules");
    }

    #[test]
    fn what_a_machine_lacks_is_said_and_memory_that_may_move_is_refused() {
        // A kernel without huge pages has no such file.
        let Ok(pool) = HugePool::new("pcie:none") else {
            return;
        };
        // More than the size of the file: none of the machine's pages is used for it.
        let error = pool.allocate(SIZE as usize + 1).err();
        assert!(matches!(error, Some(DeviceError::IovaSpace { .. })));
        match pool.allocate(1) {
            Ok((memory, at)) => assert_eq!(pool.reach(&memory).unwrap(), at),
            Err(error) => assert!(matches!(
                error,
                DeviceError::HugePages { found: 0, .. } | DeviceError::NoIommuRights { .. }
            )),
        }
        let refused = |memory: &SharedMemory| pool.reach(memory).unwrap_err().to_string();
        let ordinary = refused(&SharedMemory::allocate(PAGE).unwrap());
        assert!(ordinary.contains("MAP_HUGETLB"), "{ordinary}");
        let (shared, _file) = SharedMemory::shareable(PAGE).unwrap();
        assert!(refused(&shared).contains("of a file"));
    }
}
