//! The memory that the peer may reach: pieces of files that are sent to it.
//!
//! There are two files, neither of which takes memory before a piece of it is allocated: one of ordinary pages, one of
//! huge pages where the machine has them. An address in the device's space encodes the offset in the file. Both are
//! sealed, so that a peer cannot shrink them; a hole that it punches reads as zeroes.

use super::session::Session;
use crate::allocate::allocate;
use crate::{
    DeviceError, DmaDomain, DmaMapping, DmaMemory, Iova, IovaSpace, PageKind, SharedMemory,
};
use joulio_vfio_user_wire::DmaMap;
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Size of each file in bytes: more than a client ever uses, and addresses of 37 bits.
const SIZE: u64 = 64 << 30;
const HUGE: usize = 2 << 20;
const ORDINARY: usize = 4096;

pub(super) struct Memory {
    session: Arc<Session>,
    domain: DmaDomain,
    ordinary: Arc<Store>,
    huge: Option<Arc<Store>>,
}

struct Store {
    file: OwnedFd,
    pages: PageKind,
    /// Device address of the file's first byte.
    first: u64,
    space: Mutex<IovaSpace>,
}

impl Memory {
    pub(super) fn new(session: Arc<Session>) -> Result<Memory, DeviceError> {
        let ordinary = Store::new(PageKind::Ordinary, 0).map_err(|source| DeviceError::Os {
            what: "create a file in memory (memfd_create)".into(),
            source,
        })?;
        Ok(Memory {
            session,
            domain: DmaDomain::unique(),
            ordinary: Arc::new(ordinary),
            // A kernel without huge pages has no such file either.
            huge: Store::new(PageKind::Huge, SIZE).ok().map(Arc::new),
        })
    }

    /// Allocates at least `len` bytes: huge pages when there are some and `len` fills half of one.
    pub(super) fn allocate(this: &Arc<Memory>, len: usize) -> Result<DmaMemory, DeviceError> {
        if len >= HUGE / 2
            && let Some(huge) = &this.huge
            && let Ok(piece) = Store::take(huge, len)
        {
            return Memory::map(this, piece);
        }
        let piece = Store::take(&this.ordinary, len)?;
        Memory::map(this, piece)
    }

    fn map(this: &Arc<Memory>, piece: Piece) -> Result<DmaMemory, DeviceError> {
        let Piece { memory, range } = piece;
        let map = DmaMap {
            argsz: DmaMap::BYTES as u32,
            flags: DmaMap::READ | DmaMap::WRITE,
            offset: range.offset(),
            address: range.iova.0,
            size: range.len as u64,
        };
        this.session.dma_map(&map, range.store.file.as_fd())?;
        range.mapped.store(true, Ordering::Relaxed);
        let iova = range.iova;
        let mapping = Mapping {
            range,
            owner: Arc::clone(this),
        };
        Ok(DmaMemory::new(Arc::new(memory), iova, mapping))
    }
}

/// A part of a store, mapped in this process and not yet for the peer.
struct Piece {
    memory: SharedMemory,
    range: Arc<Range>,
}

/// A range of a store's file, given back to the store when neither this process nor the peer has it mapped any more.
struct Range {
    store: Arc<Store>,
    iova: Iova,
    len: usize,
    /// Whether the peer may have it mapped.
    mapped: AtomicBool,
}

impl Range {
    /// Returns the offset in the file in bytes.
    fn offset(&self) -> u64 {
        self.iova.0 - self.store.first
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // Memory that a peer may still have mapped is never handed out again.
        if !*self.mapped.get_mut() {
            self.store.put_back(self.iova, self.len);
        }
    }
}

impl Store {
    fn new(pages: PageKind, first: u64) -> io::Result<Store> {
        let kind = match pages {
            PageKind::Ordinary | PageKind::Transparent => MemfdFlags::empty(),
            PageKind::Huge => MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB,
        };
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | kind;
        let file = memfd_create("joulio-dma", flags)?;
        ftruncate(&file, SIZE)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Store {
            file,
            pages,
            first,
            space: Mutex::new(IovaSpace::new([first..=first + SIZE - 1])),
        })
    }

    fn take(this: &Arc<Store>, len: usize) -> Result<Piece, DeviceError> {
        let page = match this.pages {
            PageKind::Ordinary | PageKind::Transparent => ORDINARY,
            PageKind::Huge => HUGE,
        };
        let len = len.max(1).next_multiple_of(page);
        let iova = this
            .lock()
            .allocate(len, page)
            .ok_or(DeviceError::IovaSpace { wanted: len })?;
        let range = Arc::new(Range {
            store: Arc::clone(this),
            iova,
            len,
            mapped: AtomicBool::new(false),
        });
        let offset = range.offset();
        // Faulted in now rather than at the first touch, where a lack of memory would raise a signal.
        let memory = allocate(this.file.as_fd(), offset, len as u64)
            .map_err(io::Error::from)
            .and_then(|()| {
                let file = this.file.as_fd();
                let flags = libc::MAP_SHARED;
                SharedMemory::map_file(file, offset, len, flags, this.pages, page)
            });
        let memory = memory.map_err(|source| DeviceError::Memory {
            wanted: len,
            source,
        })?;
        // Whoever shares the memory keeps the range.
        let memory = Arc::new(memory).part(0, len, Arc::clone(&range));
        Ok(Piece { memory, range })
    }

    /// Returns a range that nobody has mapped to its store; the next allocation of it reads as zeroes.
    fn put_back(&self, iova: Iova, len: usize) {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // A range that could not be emptied is not handed out again.
        if fallocate(&self.file, hole, iova.0 - self.first, len as u64).is_ok() {
            self.lock().free(iova, len);
        }
    }

    fn lock(&self) -> MutexGuard<'_, IovaSpace> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory mapped for the peer; unmapped there when dropped.
struct Mapping {
    range: Arc<Range>,
    owner: Arc<Memory>,
}

impl DmaMapping for Mapping {
    fn domain(&self) -> DmaDomain {
        self.owner.domain
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let range = &self.range;
        let gone = self.owner.session.dma_unmap(range.iova.0, range.len as u64);
        range.mapped.store(gone.is_err(), Ordering::Relaxed);
    }
}
