//! Memory that a device, or another process, may read and write at any time.
//!
//! No reference points into it, because the other side does not know Rust's aliasing rules. Every access here is a
//! volatile or atomic one through a raw pointer, checked against the length. The exception is memory of a device that
//! is trusted to write during commands only: [`crate::trusted`].

use crate::bus::{self, Fill, Guard};
use crate::huge_pages::memory_pages;
use crate::{DeviceError, PageKind};
use joulio_cpu::{copy_shared, fence};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

impl PageKind {
    /// Returns the alignment in bytes of the memory's addresses, in this process and for a device.
    pub(crate) fn alignment(self) -> usize {
        match self {
            PageKind::Ordinary => crate::iova::PAGE,
            PageKind::Transparent | PageKind::Huge => HUGE,
        }
    }
}

/// Anonymous, zeroed, shareable host memory. Unmapped on drop.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    len: usize,
    pages: PageKind,
    /// Whether `reserve` made it.
    reserved: bool,
    /// Guard of the mapping of a file whose pages another process may take away.
    guard: Option<Guard>,
    /// Whether the pages can be reached through this value alone, and by the devices that it was mapped for.
    private: bool,
    /// Owner of pages that were mapped elsewhere, which unmaps them when it is dropped.
    owner: Option<Owner>,
}

/// Keeps pages mapped until it is dropped.
struct Owner(#[allow(dead_code, reason = "held for its drop")] Box<dyn Send + Sync>);

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner")
    }
}

// SAFETY: the memory is only touched through volatile and atomic accesses, which may race with
// the device's anyway; the mapping itself is immutable until drop.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

const HUGE: usize = 2 << 20;

impl SharedMemory {
    /// Allocates at least `len` bytes. From half a huge page on, they are huge pages of the hugetlb pool if it has
    /// room, else aligned to huge pages and transparent ones where the system permits those (Linux'
    /// Documentation/admin-guide/mm/transhuge.rst); otherwise ordinary pages. Never fails for want of huge pages.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] when the kernel has no memory.
    pub fn allocate(len: usize) -> Result<SharedMemory, DeviceError> {
        if len >= HUGE / 2 {
            let rounded = len.next_multiple_of(HUGE);
            if let Ok(memory) = Self::map(
                rounded,
                libc::MAP_HUGETLB | libc::MAP_HUGE_2MB,
                PageKind::Huge,
            ) {
                return Ok(memory);
            }
            if let Ok(memory) = Self::transparent(rounded) {
                return Ok(memory);
            }
        }
        let rounded = len.max(1).next_multiple_of(crate::iova::PAGE);
        Self::map(rounded, 0, PageKind::Ordinary).map_err(|source| DeviceError::Memory {
            wanted: rounded,
            source,
        })
    }

    /// Reserves memory that takes no room until it is touched: the store of a RAM namespace.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] when the kernel has no address space.
    pub fn reserve(len: usize) -> Result<SharedMemory, DeviceError> {
        let rounded = len.max(1).next_multiple_of(crate::iova::PAGE);
        let memory = Self::map(rounded, libc::MAP_NORESERVE, PageKind::Ordinary);
        let mut memory = memory.map_err(|source| DeviceError::Memory {
            wanted: rounded,
            source,
        })?;
        memory.reserved = true;
        Ok(memory)
    }

    /// Allocates `len` bytes, a multiple of a huge page and aligned to it, which the kernel is asked to back with
    /// transparent huge pages. The IOMMU uses large pages only where address and memory have the same alignment.
    fn transparent(len: usize) -> io::Result<SharedMemory> {
        let mut memory = Self::aligned(len, libc::PROT_READ | libc::PROT_WRITE, 0)?;
        let base = memory.at(0, len).cast::<libc::c_void>();
        // SAFETY: the range is ours.
        unsafe {
            if libc::madvise(base, len, libc::MADV_HUGEPAGE) == 0 {
                // Faulted in now: a device's first access must not find the pages missing, nor must the timed path.
                libc::madvise(base, len, libc::MADV_POPULATE_WRITE);
            }
        }
        memory.pages = memory_pages(memory.address());
        Ok(memory)
    }

    /// Makes an anonymous mapping of `len` bytes, a multiple of a huge page, aligned to one.
    fn aligned(len: usize, access: i32, flags: i32) -> io::Result<SharedMemory> {
        let more = len.checked_add(HUGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut memory = Self::map_for(access, more, flags, PageKind::Ordinary)?;
        let start = memory.base.as_ptr() as usize;
        let before = start.next_multiple_of(HUGE) - start;
        // SAFETY: both ends lie inside the mapping, whole pages of it that nobody has a pointer to; it is
        // shortened by them before it can be dropped.
        unsafe {
            let base = memory.base.as_ptr().add(before);
            let ends = [
                (memory.base.as_ptr(), before),
                (base.add(len), HUGE - before),
            ];
            memory.base = NonNull::new_unchecked(base);
            memory.len = len;
            for (end, bytes) in ends {
                if bytes > 0 {
                    libc::munmap(end.cast(), bytes);
                }
            }
        }
        Ok(memory)
    }

    fn map(len: usize, flags: i32, pages: PageKind) -> io::Result<SharedMemory> {
        Self::map_for(libc::PROT_READ | libc::PROT_WRITE, len, flags, pages)
    }

    fn map_for(access: i32, len: usize, flags: i32, pages: PageKind) -> io::Result<SharedMemory> {
        // SAFETY: a new anonymous mapping, placed by the kernel, aliases nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                access,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // After fork(2) a child that writes first would get the pages that the device has mapped: exclude the child.
        // SAFETY: the range was just mapped and is ours.
        unsafe { libc::madvise(base, len, libc::MADV_DONTFORK) };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedMemory {
            base,
            len,
            pages,
            reserved: false,
            guard: None,
            private: true,
            owner: None,
        })
    }

    /// Wraps memory of the caller: `len` bytes at `base`, whole pages of that kind, which `owner` keeps mapped and
    /// unmaps when it is dropped. One memory serves many buffers ([`DmaBuffer::carve`](crate::DmaBuffer::carve),
    /// [`Arena`](crate::Arena)).
    ///
    /// # Safety
    /// Until `owner` is dropped the bytes are initialised, readable and writable, the mapping stays unchanged, and it
    /// is accessed only through this value: by no other process, no other pointer, no child (`MADV_DONTFORK`).
    ///
    /// # Errors
    /// [`DeviceError::Pages`] when the range is not of whole pages, or empty.
    pub unsafe fn from_raw(
        base: NonNull<u8>,
        len: usize,
        pages: PageKind,
        owner: impl Send + Sync + 'static,
    ) -> Result<SharedMemory, DeviceError> {
        let page = pages.alignment();
        let address = base.as_ptr() as usize;
        if len == 0 || !len.is_multiple_of(page) || !address.is_multiple_of(page) {
            return Err(DeviceError::Pages { address, len, page });
        }
        Ok(SharedMemory::owned(base, len, pages, owner))
    }

    fn owned(
        base: NonNull<u8>,
        len: usize,
        pages: PageKind,
        owner: impl Send + Sync + 'static,
    ) -> SharedMemory {
        SharedMemory {
            base,
            len,
            pages,
            reserved: false,
            guard: None,
            private: true,
            owner: Some(Owner(Box::new(owner))),
        }
    }

    /// Returns a part of this memory, which is accessed only through the part until `taken` is dropped with it.
    ///
    /// # Panics
    /// When the range is not inside.
    pub(crate) fn part(
        self: &Arc<Self>,
        offset: usize,
        len: usize,
        taken: impl Send + Sync + 'static,
    ) -> SharedMemory {
        let base = NonNull::new(self.at(offset, len)).expect("inside a mapping");
        let mut part = SharedMemory::owned(base, len, self.pages, (taken, Arc::clone(self)));
        part.private = self.private;
        part
    }

    /// Maps the huge pages at `offsets` of `file`, one after the other in the order given, and faults all of them in.
    /// `file` is a memfd of huge pages that nobody else has.
    pub(crate) fn map_huge_pages(
        file: BorrowedFd<'_>,
        offsets: &[u64],
    ) -> io::Result<SharedMemory> {
        let len = offsets
            .len()
            .checked_mul(HUGE)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let mut memory = SharedMemory::aligned(len, libc::PROT_NONE, libc::MAP_NORESERVE)?;
        memory.pages = PageKind::Huge;
        for (index, &offset) in offsets.iter().enumerate() {
            let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
            let at = memory.at(index * HUGE, HUGE);
            // SAFETY: it replaces a part of the mapping that was just made, to which nobody has a pointer.
            let mapped = unsafe {
                libc::mmap(
                    at.cast(),
                    HUGE,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_POPULATE,
                    file.as_raw_fd(),
                    offset,
                )
            };
            if mapped == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: the range is ours. After fork(2) a child must neither keep the pages nor write them.
        unsafe { libc::madvise(memory.at(0, len).cast(), len, libc::MADV_DONTFORK) };
        Ok(memory)
    }

    /// Faults in the page at `offset` for this mapping, without changing its content.
    pub(crate) fn touch(&self, offset: usize) {
        let at = self.at(offset, 4);
        assert!(offset.is_multiple_of(4));
        // SAFETY: as in `load_u32`.
        let word = unsafe { AtomicU32::from_ptr(at.cast()) };
        let value = word.load(Ordering::Relaxed);
        // A write, so that the page becomes this mapping's own; it changes nothing, even if others write there.
        let _ = word.compare_exchange(value, value, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Maps `len` bytes of `file` from `offset`, with `flags` of mmap(2); both are multiples of the file's pages, which
    /// have `page` bytes. Accesses continue where the file loses pages ([`crate::bus`]).
    pub(crate) fn map_file(
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
        flags: i32,
        pages: PageKind,
        page: usize,
    ) -> io::Result<SharedMemory> {
        crate::iova::check_pages()?;
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping, placed by the kernel, aliases nothing of ours. The head of this module says why others
        // may change the file; `foreign` says the rest.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                file.as_raw_fd(),
                offset,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = base as usize;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut memory = SharedMemory {
            base,
            len,
            pages,
            reserved: false,
            guard: None,
            private: false,
            owner: None,
        };
        memory.guard = Some(bus::guard(start..start + len, page, Fill::Zeroes)?);
        Ok(memory)
    }

    /// Returns the length in bytes, a multiple of the page.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `false`: a mapping has at least one page.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the kind of the pages.
    pub fn pages(&self) -> PageKind {
        self.pages
    }

    /// Whether the memory is a store made by [`SharedMemory::reserve`], whose pages no device has mapped.
    pub(crate) fn is_reserved(&self) -> bool {
        self.reserved
    }

    /// Whether the pages can be reached through this value alone, and by the devices that it was mapped for: not true
    /// of a file's.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Returns the address of the first byte, for system calls that take it.
    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Returns the pointer to `offset`, after checking that `len` bytes follow.
    ///
    /// # Panics
    /// When the range is not inside.
    #[inline]
    pub(crate) fn at(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(
            offset <= self.len && len <= self.len - offset,
            "{len} bytes at {offset} of {}",
            self.len
        );
        // SAFETY: inside the mapping, as just checked.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// Copies from `offset` into `to`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        let src = self.at(offset, to.len());
        // SAFETY: `src` has the length by `at`; `to` is ours alone, so they do not overlap.
        unsafe { copy_shared(src, to.as_mut_ptr(), to.len()) }
    }

    /// Copies `from` to `offset`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn write(&self, offset: usize, from: &[u8]) {
        let dst = self.at(offset, from.len());
        // SAFETY: as in `read`.
        unsafe { copy_shared(from.as_ptr(), dst, from.len()) }
    }

    /// Copies `len` bytes from `offset` to `to_offset` of `to`, another memory.
    ///
    /// # Panics
    /// When a range is not inside, or `to` is this very memory.
    pub fn copy_to(&self, offset: usize, to: &SharedMemory, to_offset: usize, len: usize) {
        assert!(self.base != to.base, "a copy within one memory");
        let (src, dst) = (self.at(offset, len), to.at(to_offset, len));
        // SAFETY: both have the length by `at`; two mappings do not overlap.
        unsafe { copy_shared(src, dst, len) }
    }

    /// Loads the 32-bit word at `offset` with acquire ordering: writes of the other side before the word are visible
    /// after it.
    ///
    /// # Panics
    /// When the word is not inside or not aligned.
    pub fn load_u32(&self, offset: usize) -> u32 {
        let at = self.at(offset, 4);
        assert!(offset.is_multiple_of(4));
        // SAFETY: inside, aligned, and only accessed atomically from this side.
        let value = unsafe { AtomicU32::from_ptr(at.cast()) }.load(Ordering::Relaxed);
        fence::dma_read();
        value
    }

    /// Stores the 32-bit word at `offset` with release ordering.
    ///
    /// # Panics
    /// When the word is not inside or not aligned.
    pub fn store_u32(&self, offset: usize, value: u32) {
        let at = self.at(offset, 4);
        assert!(offset.is_multiple_of(4));
        fence::dma_release();
        // SAFETY: as in `load_u32`.
        unsafe { AtomicU32::from_ptr(at.cast()) }.store(value, Ordering::Relaxed);
    }

    /// Reads `len` bytes of `file` at `position` into `offset`; bytes past the end of the file
    /// read as zero.
    ///
    /// # Errors
    /// The kernel's error of the read.
    pub fn read_file(
        &self,
        file: &File,
        position: u64,
        offset: usize,
        len: usize,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let at = self.at(offset + done, len - done);
            let position = (position + done as u64) as libc::off_t;
            // SAFETY: the kernel writes at most the length that `at` checked.
            let n = uninterrupted(|| unsafe {
                libc::pread(file.as_raw_fd(), at.cast(), len - done, position)
            })?;
            if n == 0 {
                self.clear(offset + done, len - done);
                break;
            }
            done += n;
        }
        Ok(())
    }

    /// Writes `len` bytes from `offset` to `file` at `position`.
    ///
    /// # Errors
    /// The kernel's error of the write; `WriteZero` when the file accepts no more bytes.
    pub fn write_file(
        &self,
        file: &File,
        position: u64,
        offset: usize,
        len: usize,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let at = self.at(offset + done, len - done);
            let position = (position + done as u64) as libc::off_t;
            // SAFETY: the kernel reads at most the length that `at` checked.
            let n = uninterrupted(|| unsafe {
                libc::pwrite(file.as_raw_fd(), at.cast(), len - done, position)
            })?;
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            done += n;
        }
        Ok(())
    }
}

/// Repeats `call` until no signal interrupts it, and returns the bytes that it moved.
fn uninterrupted(call: impl Fn() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(n) = usize::try_from(call()) {
            return Ok(n);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.guard = None;
        if self.owner.is_some() {
            return;
        }
        // SAFETY: the mapping is ours, and no pointer into it leaves this crate without a borrow
        // or an owner of it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_aligned_as_huge_pages_are_and_says_what_it_is_of() {
        for len in [HUGE / 2, HUGE, 3 * HUGE - 1] {
            let memory = SharedMemory::allocate(len).unwrap();
            assert_eq!(memory.address() % HUGE as u64, 0);
            assert_eq!(memory.len(), len.next_multiple_of(HUGE));
            let thp = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
            if thp.is_ok_and(|thp| thp.contains("[never]")) {
                assert_ne!(memory.pages(), PageKind::Transparent);
            }
            // All the memory can be written, and it overlaps no other.
            memory.write(memory.len() - 6, b"joules");
            let mut back = [0; 6];
            memory.read(memory.len() - 6, &mut back);
            assert_eq!(&back, b"joules");
        }
        let small = SharedMemory::allocate(HUGE / 2 - 1).unwrap();
        assert_eq!((small.pages(), small.len()), (PageKind::Ordinary, HUGE / 2));
    }

    #[test]
    fn fresh_memory_is_zero_and_holds_what_is_written() {
        let memory = SharedMemory::allocate(5000).unwrap();
        assert_eq!(memory.len(), 8192);
        let mut back = [1u8; 7];
        memory.read(4093, &mut back);
        assert_eq!(back, [0; 7]);
        memory.write(4093, b"joules!");
        memory.read(4093, &mut back);
        assert_eq!(&back, b"joules!");
    }

    #[test]
    #[should_panic(expected = "bytes at")]
    fn a_range_past_the_end_panics_before_it_touches() {
        SharedMemory::allocate(4096).unwrap().write(4095, &[0, 0]);
    }

    #[test]
    fn huge_pages_are_used_where_there_are_any_and_ordinary_ones_where_not() {
        // Free 2 MiB pages that are not reserved (Documentation/admin-guide/mm/hugetlbpage.rst).
        let pool = |file| {
            let path = format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{file}");
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.trim().parse::<u64>().unwrap_or(0)
        };
        let free = pool("free_hugepages").saturating_sub(pool("resv_hugepages"));
        let large = SharedMemory::allocate(2 << 20).unwrap();
        // Transparent huge pages or ordinary ones, as the system is configured.
        assert_eq!(large.pages() == PageKind::Huge, free > 0);
        large.write((2 << 20) - 6, b"joules");
        // A queue of a few kilobytes does not take a huge page.
        let small = SharedMemory::allocate(24 << 10).unwrap();
        assert_eq!((small.pages(), small.len()), (PageKind::Ordinary, 24 << 10));
    }

    #[test]
    fn a_file_ends_in_zeroes() {
        let file = tempfile::tempfile().unwrap();
        let memory = SharedMemory::allocate(4096).unwrap();
        memory.write(0, &[7; 100]);
        memory.write_file(&file, 50, 0, 100).unwrap();
        memory.write(0, &[9; 4096]);
        memory.read_file(&file, 100, 0, 4096).unwrap();
        let mut back = [0; 4096];
        memory.read(0, &mut back);
        assert!(back[..50].iter().all(|&b| b == 7) && back[50..].iter().all(|&b| b == 0));
    }
}
