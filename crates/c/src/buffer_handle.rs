//! Handles of buffers, alone and in lists.

use crate::error::{Failure, failed};
use crate::handle::{self, Handle, Spare};
use joulio_device::{BufferList, DmaBuffer};
use rustix::io::Errno;
use std::ffi::c_int;

/// Memory that a device reaches. From the call that submits it until its completion it belongs to the device: the
/// program must not read, write or free it.
pub struct joulio_buffer {
    _private: [u8; 0],
}

impl Handle for joulio_buffer {
    type Value = Buffer;
    const NAME: &'static str = "buffer";
    const MARK: u64 = u64::from_le_bytes(*b"jlBuffer");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// State behind a buffer's handle.
pub(crate) struct Buffer {
    /// Memory of the buffer; `None` while the device has it.
    pub(crate) memory: Option<DmaBuffer>,
    /// Tag of the command in flight.
    pub(crate) tag: u64,
    /// Whether the device keeps the memory for good: its queue was destroyed with the buffer in flight, or its
    /// controller could not be made to let go of it.
    pub(crate) is_lost: bool,
    /// Next buffer of a list in flight; NULL if there is none.
    pub(crate) next: *mut joulio_buffer,
    pub(crate) data: *mut u8,
    /// Length in bytes.
    pub(crate) len: usize,
}

// SAFETY: the pointers are that of the memory, which is `Send`, and one to a handle, which like this one is used by one
// thread at a time.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(crate) fn new(mut memory: DmaBuffer) -> Buffer {
        Buffer {
            data: memory.as_mut_ptr(),
            len: memory.len(),
            memory: Some(memory),
            tag: 0,
            is_lost: false,
            next: std::ptr::null_mut(),
        }
    }

    /// Takes the memory out, for a command with `tag`; `None` if it is in flight.
    #[inline]
    pub(crate) fn take(&mut self, tag: u64) -> Option<DmaBuffer> {
        let memory = self.memory.take()?;
        self.tag = tag;
        Some(memory)
    }

    /// Returns the buffer to the caller.
    #[inline]
    pub(crate) fn put(&mut self, memory: DmaBuffer) {
        self.put_from(&mut Some(memory));
    }

    /// Returns the buffer to the caller, with the memory taken out of `memory`.
    #[inline(always)]
    pub(crate) fn put_from(&mut self, memory: &mut Option<DmaBuffer>) {
        // There is no memory to drop while the device has it.
        std::mem::forget(std::mem::replace(&mut self.memory, memory.take()));
    }

    /// Returns the buffer to the caller, without its memory if that is `None`.
    pub(crate) fn put_or_lose(&mut self, memory: Option<DmaBuffer>) {
        match memory {
            Some(memory) => self.put(memory),
            None => self.lose(),
        }
    }

    /// Returns the buffer to the caller without its memory, which the device keeps.
    pub(crate) fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Makes the failure of a call with a buffer whose memory is not there.
    #[cold]
    pub(crate) fn absent(&self) -> Failure {
        match self.is_lost {
            true => Failure::new(
                Errno::OWNERDEAD,
                "the buffer is the device's for good, as its queue was destroyed with it in flight: free it",
            ),
            false => Failure::new(
                Errno::BUSY,
                "the buffer is in flight, or given twice: it can be used again when its command has completed",
            ),
        }
    }

    /// Keeps the text and returns the negative errno of [`Buffer::absent`].
    #[cold]
    #[inline(never)]
    pub(crate) extern "C" fn refuse_absent(&self) -> c_int {
        failed(&self.absent())
    }
}

/// Returns the buffers of a list, whose handles begin at `first`, to the caller.
pub(crate) fn give_back(first: *mut joulio_buffer, list: BufferList) {
    let mut memory = list.into_iter();
    each(first, |held| held.put_or_lose(memory.next()));
}

/// Marks the buffers of a list, whose handles begin at `first`, as lost: the device keeps them.
pub(crate) fn lose_all(first: *mut joulio_buffer) {
    each(first, Buffer::lose);
}

/// Calls `run` for each handle of a list in flight, from `first` on.
fn each(mut buffer: *mut joulio_buffer, mut run: impl FnMut(&mut Buffer)) {
    while !buffer.is_null() {
        // SAFETY: a buffer in flight cannot be freed.
        let held = unsafe { handle::known(buffer) };
        buffer = std::mem::replace(&mut held.next, std::ptr::null_mut());
        run(held);
    }
}
