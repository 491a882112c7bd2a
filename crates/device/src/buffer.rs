//! Data buffers: pieces of DMA memory that move into a queue with their command and come back with its completion.
//!
//! Sound because a byte belongs to one buffer at a time: buffers are cut from a memory that they keep alive and to
//! which nobody else has a reference, they are split without overlap, and joining two ends one of them.
//! [`crate::trusted`] decides whether a reference may point into a buffer; everything else here copies.

use crate::arena::Home;
use crate::{DmaDomain, DmaMemory, Iova};
use joulio_cpu::copy_shared;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Multiple in bytes that a buffer can be split at: data pointers name whole dwords (Base 4.1.1).
const DWORD: usize = 4;

/// A data buffer: a piece of DMA memory that is either the caller's or, inside a queue, the device's. It is moved into
/// the queue with the command and comes back with the completion, so that a use in between does not compile. A buffer
/// is one word, so that moving it costs nothing.
///
/// The bytes are copied in and out. Where the device is trusted they can be used as a slice too
/// ([`DmaBuffer::as_slice`], [`TrustedBuffer`](crate::TrustedBuffer)).
pub struct DmaBuffer(pub(crate) Box<Piece>);

pub(crate) struct Piece {
    at: NonNull<u8>,
    iova: Iova,
    len: u32,
    /// Bytes of the buffer in its first page.
    in_page: usize,
    domain: DmaDomain,
    /// Whether the device writes these bytes during commands only, and nobody else has a reference to them.
    trusted: bool,
    /// Offset and length in bytes of the part that a list transfers.
    pub(crate) part: (u32, u32),
    /// The next buffer of a list.
    pub(crate) next: Option<DmaBuffer>,
    /// The arena that the bytes return to.
    home: Option<Arc<Home>>,
    /// The memory, kept alive, and compared to find out whether two buffers are of the same one.
    owner: Arc<DmaMemory>,
}

// SAFETY: the bytes belong to this buffer alone; accesses are volatile, or through slices of trusted memory, which
// borrow the buffer; the memory lives as long as the owner.
unsafe impl Send for DmaBuffer {}
// SAFETY: through `&self` the memory is only read.
unsafe impl Sync for DmaBuffer {}

impl Piece {
    fn set_len(&mut self, len: u32) {
        self.len = len;
        self.in_page = in_page(self.iova, len);
        // The bytes of a list's part behind the new end are another buffer's now.
        let start = self.part.0.min(len);
        self.part = (start, self.part.1.min(len - start));
    }
}

/// Returns how many of `len` bytes from `iova` on are in the page of the first.
fn in_page(iova: Iova, len: u32) -> usize {
    let page = crate::iova::PAGE;
    (len as usize).min(page - iova.0 as usize % page)
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            home.take_back(self.iova, self.len as usize);
        }
    }
}

impl DmaBuffer {
    /// Cuts `memory` into `count` buffers of `len` bytes, each starting on a page.
    ///
    /// # Panics
    /// When they do not fit.
    pub fn carve(memory: DmaMemory, count: usize, len: usize) -> Vec<DmaBuffer> {
        Self::carve_of(memory, count, len, false)
    }

    pub(crate) fn carve_of(
        memory: DmaMemory,
        count: usize,
        len: usize,
        trusted: bool,
    ) -> Vec<DmaBuffer> {
        let owner = Arc::new(memory);
        let stride = Self::stride(len);
        let piece = |index| DmaBuffer::cut(&owner, index * stride, len, trusted, None);
        (0..count).map(piece).collect()
    }

    /// Makes the buffer of `len` bytes at `offset` of `owner`, which no other buffer overlaps.
    pub(crate) fn cut(
        owner: &Arc<DmaMemory>,
        offset: usize,
        len: usize,
        trusted: bool,
        home: Option<Arc<Home>>,
    ) -> DmaBuffer {
        let iova = owner.iova().offset(offset);
        let bytes = u32::try_from(len).expect("a buffer is below 4 GiB");
        DmaBuffer(Box::new(Piece {
            at: NonNull::new(owner.memory().at(offset, len)).expect("inside a mapping"),
            iova,
            len: bytes,
            in_page: in_page(iova, bytes),
            domain: owner.domain(),
            trusted,
            part: (0, 0),
            next: None,
            home,
            owner: Arc::clone(owner),
        }))
    }

    /// Returns the distance in bytes between buffers of `len` bytes that [`DmaBuffer::carve`] makes.
    pub fn stride(len: usize) -> usize {
        len.max(1).next_multiple_of(crate::iova::PAGE)
    }

    /// Returns the length in bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len as usize
    }

    /// Returns the device address of the first byte.
    #[inline]
    pub fn iova(&self) -> Iova {
        self.0.iova
    }

    /// Returns how many bytes of the buffer are in its first page.
    #[inline]
    pub fn len_in_page(&self) -> usize {
        self.0.in_page
    }

    /// Returns the address space that [`DmaBuffer::iova`] belongs to.
    #[inline]
    pub fn domain(&self) -> DmaDomain {
        self.0.domain
    }

    /// Returns the address of the first byte in this process, which stays the same while the device has the buffer. For
    /// callers that read and write in place. The bytes may change while a command has the buffer, and at any time if
    /// the device is not trusted: then no reference to them may be made.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.at.as_ptr()
    }

    /// Whether the device is trusted to write the bytes during commands only
    /// ([`TrustedDevice`](crate::TrustedDevice)).
    #[inline]
    pub fn is_trusted(&self) -> bool {
        self.0.trusted
    }

    /// Returns the bytes as a slice if the device is trusted, else `None`.
    #[inline]
    pub fn as_slice(&self) -> Option<&[u8]> {
        // SAFETY: initialised since they were mapped. A trusted device writes them only while a command has this
        // buffer, and then the caller does not have it; nobody else has a reference to them. `trusted` gives the whole
        // argument.
        (self.0.trusted)
            .then(|| unsafe { std::slice::from_raw_parts(self.0.at.as_ptr(), self.len()) })
    }

    /// Returns the bytes as a mutable slice if the device is trusted, else `None`.
    #[inline]
    pub fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        // SAFETY: as in `as_slice`; `&mut self` is the only access to them.
        (self.0.trusted)
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.0.at.as_ptr(), self.len()) })
    }

    /// Returns the address of the first byte in this process: to ask the system about its page, not to access it.
    pub fn address(&self) -> u64 {
        self.0.at.as_ptr() as u64
    }

    /// Copies the bytes from `offset` into `to`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        let from = self.at(offset, to.len());
        // SAFETY: inside as checked; `to` is ours alone.
        unsafe { copy_shared(from, to.as_mut_ptr(), to.len()) }
    }

    /// Copies `from` to `offset`.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn write(&mut self, offset: usize, from: &[u8]) {
        let to = self.at(offset, from.len());
        // SAFETY: as in `read`.
        unsafe { copy_shared(from.as_ptr(), to, from.len()) }
    }

    /// Splits the buffer in two: keeps the bytes before `at`, and returns the rest. Both are the caller's and can be
    /// used by different commands.
    ///
    /// # Panics
    /// When `at` is past the end, or no multiple of 4: a data pointer names whole dwords.
    #[must_use = "dropped, the rest is nobody's"]
    pub fn split_off(&mut self, at: usize) -> DmaBuffer {
        assert!(
            at <= self.len() && at.is_multiple_of(DWORD),
            "a buffer of {} bytes is not split at {at}",
            self.len()
        );
        let piece = &mut *self.0;
        let (iova, len) = (piece.iova.offset(at), piece.len - at as u32);
        let rest = Piece {
            // SAFETY: inside the piece, or its end.
            at: unsafe { piece.at.add(at) },
            iova,
            len,
            in_page: in_page(iova, len),
            domain: piece.domain,
            trusted: piece.trusted,
            part: (0, 0),
            next: None,
            home: piece.home.clone(),
            owner: Arc::clone(&piece.owner),
        };
        piece.set_len(at as u32);
        DmaBuffer(Box::new(rest))
    }

    /// Joins the buffer with `rest`, which begins where it ends.
    ///
    /// # Errors
    /// Returns `rest` when it is not of the same memory, or does not begin where this buffer ends.
    pub fn join(&mut self, mut rest: DmaBuffer) -> Result<(), DmaBuffer> {
        let (piece, behind) = (&mut *self.0, &mut *rest.0);
        let adjacent = piece.at.as_ptr().wrapping_add(piece.len as usize) == behind.at.as_ptr();
        let same = Arc::ptr_eq(&piece.owner, &behind.owner);
        let len = piece.len.checked_add(behind.len);
        let (Some(len), true) = (len, adjacent && same) else {
            return Err(rest);
        };
        // Its bytes belong to this buffer now, and return to the arena with it.
        behind.home = None;
        piece.set_len(len);
        Ok(())
    }

    /// Returns the pointer to `offset`, checked to be followed by `len` bytes of this buffer.
    fn at(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(
            offset <= self.len() && len <= self.len() - offset,
            "{len} bytes at {offset} of a buffer of {}",
            self.len()
        );
        // SAFETY: inside as checked.
        unsafe { self.0.at.as_ptr().add(offset) }
    }
}

impl fmt::Debug for DmaBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DmaBuffer")
            .field("iova", &format_args!("{:#x}", self.iova()))
            .field("len", &self.len())
            .field("trusted", &self.is_trusted())
            .finish_non_exhaustive()
    }
}
