//! Data buffers for direct I/O.
//!
//! Why this is sound: an [`AlignedBuffer`] is the only access to its part of its region, the parts do not overlap,
//! and the region is unmapped when the last of its buffers is dropped. While the kernel may read or write a part,
//! its `AlignedBuffer` is inside an engine, which returns it with the completion or leaks it (`slots.rs`); so no
//! slice exists during that time, and the memory stays mapped.
#![allow(unsafe_code)]

use crate::KernelEngineError;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

/// Alignment of buffers in bytes; no device or file system requires more today.
const ALIGNMENT: usize = 4096;

/// Memory of several buffers.
#[derive(Debug)]
pub(crate) struct Region {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the region only owns the mapping; its bytes are reached by the buffers, each of which
// has a part of its own.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no buffer of it is left.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Memory for direct I/O, aligned to 4096 bytes. It belongs to the caller, or to an engine while a request uses it.
#[derive(Debug)]
pub struct AlignedBuffer {
    region: Arc<Region>,
    /// Index within its region.
    index: usize,
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a buffer is the only access to its bytes.
unsafe impl Send for AlignedBuffer {}
// SAFETY: through a shared reference a buffer can only be read.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Allocates `count` buffers of `len` zeroed bytes each, in memory that is present.
    pub(crate) fn allocate(
        count: usize,
        len: usize,
    ) -> Result<Vec<AlignedBuffer>, KernelEngineError> {
        let memory = |source| KernelEngineError::Memory { count, len, source };
        if count == 0 || len == 0 {
            return Err(memory(rustix::io::Errno::INVAL));
        }
        let stride = len.checked_next_multiple_of(ALIGNMENT);
        let total = stride.and_then(|stride| stride.checked_mul(count));
        let (Some(stride), Some(total)) = (stride, total) else {
            return Err(memory(rustix::io::Errno::NOMEM));
        };
        // SAFETY: a new anonymous mapping, placed by the kernel, aliases nothing.
        let mapped = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                total,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )
        };
        let base = NonNull::new(mapped.map_err(memory)?.cast())
            .ok_or_else(|| memory(rustix::io::Errno::NOMEM))?;
        let region = Arc::new(Region { base, len: total });
        Ok((0..count)
            .map(|index| AlignedBuffer {
                // SAFETY: index * stride < total.
                base: unsafe { base.add(index * stride) },
                region: Arc::clone(&region),
                index,
                len,
            })
            .collect())
    }

    /// Returns the address of the buffer, for the kernel.
    pub(crate) fn address(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Returns its index among the buffers of `region`, if it is one of them.
    pub(crate) fn index_in(&self, region: &Arc<Region>) -> Option<usize> {
        Arc::ptr_eq(&self.region, region).then_some(self.index)
    }

    /// Returns the memory of which the buffer is a part.
    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: its part of the mapping, initialised by the kernel, and only reached through
        // this buffer; the kernel writes it only while an engine has the buffer.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and the buffer is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl joulio_engine::Buffer for AlignedBuffer {
    fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    fn copy_to(&self, to: &mut [u8]) {
        let len = to.len().min(self.len);
        to[..len].copy_from_slice(&self[..len]);
    }

    fn copy_from(&mut self, from: &[u8]) {
        let len = from.len().min(self.len);
        self[..len].copy_from_slice(&from[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_do_not_overlap() {
        let mut buffers = AlignedBuffer::allocate(3, 5000).unwrap();
        for (n, buffer) in buffers.iter_mut().enumerate() {
            assert_eq!(buffer.address() as usize % ALIGNMENT, 0);
            buffer.fill(n as u8 + 1);
        }
        for (n, buffer) in buffers.iter().enumerate() {
            assert_eq!(**buffer, vec![n as u8 + 1; 5000]);
        }
    }

    #[test]
    fn a_buffer_outlives_the_others_of_its_region() {
        let mut last = AlignedBuffer::allocate(2, 4096).unwrap().pop().unwrap();
        last[4095] = 7;
        assert_eq!(last[4095], 7);
        assert_eq!(last.index_in(last.region()), Some(1));
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert!(AlignedBuffer::allocate(0, 4096).is_err());
        assert!(AlignedBuffer::allocate(1, 0).is_err());
        assert!(AlignedBuffer::allocate(usize::MAX, 4096).is_err());
        assert!(AlignedBuffer::allocate(1, usize::MAX).is_err());
    }
}
