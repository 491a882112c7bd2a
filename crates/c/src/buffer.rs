//! Buffers: DMA memory that C reads and writes in place.

use crate::controller::joulio_controller;
use crate::error::{Failure, guarded, guarded_pointer};
use joulio_device::DmaBuffer;
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// Memory that a device reaches. Between the call that submits it and its completion it is the device's:
/// not read, not written, not freed.
pub struct joulio_buffer {
    /// None while it is the device's.
    buffer: Option<DmaBuffer>,
    data: *mut u8,
    len: usize,
    /// True if the device keeps the memory: the queue was destroyed with the buffer in flight.
    lost: bool,
}

impl joulio_buffer {
    /// The buffer, for a command.
    #[inline]
    pub(crate) fn take(&mut self) -> Result<DmaBuffer, Failure> {
        self.buffer.take().ok_or_else(in_flight)
    }

    /// The buffer is the caller's again.
    #[inline]
    pub(crate) fn put(&mut self, buffer: Option<DmaBuffer>) {
        self.lost = buffer.is_none();
        self.buffer = buffer;
    }
}

#[cold]
fn in_flight() -> Failure {
    Failure::new(
        Errno::BUSY,
        "the buffer is in flight: it can be used again when its command has completed",
    )
}

/// Allocates a zeroed buffer of `length` bytes (at least 1) for commands to `controller`, on a page
/// boundary. NULL: joulio_error() says why.
///
/// # Safety
/// `controller` is NULL or a controller that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_alloc(
    controller: *mut joulio_controller,
    length: usize,
) -> *mut joulio_buffer {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller =
            unsafe { controller.as_ref() }.ok_or_else(|| Failure::null("controller"))?;
        if length == 0 || length > u32::MAX as usize {
            let text = format!("a buffer of {length} bytes is out of range: 1 to 4294967295");
            return Err(Failure::new(Errno::INVAL, text));
        }
        let buffer = controller.opened().buffer(length);
        let mut buffer = buffer.map_err(|error| Failure::new(Errno::NOMEM, error))?;
        let data = buffer.as_mut_ptr();
        Ok(Box::into_raw(Box::new(joulio_buffer {
            len: length,
            data,
            buffer: Some(buffer),
            lost: false,
        })))
    })
}

/// Address of the buffer's first byte, for as long as the buffer is not freed. NULL for NULL.
///
/// # Safety
/// `buffer` is NULL or a buffer that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_data(buffer: *const joulio_buffer) -> *mut c_void {
    // SAFETY: by the caller.
    match unsafe { buffer.as_ref() } {
        Some(buffer) if !buffer.lost => buffer.data.cast(),
        _ => std::ptr::null_mut(),
    }
}

/// Length of the buffer in bytes; 0 for NULL.
///
/// # Safety
/// `buffer` is NULL or a buffer that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_length(buffer: *const joulio_buffer) -> usize {
    // SAFETY: by the caller.
    unsafe { buffer.as_ref() }.map_or(0, |buffer| buffer.len)
}

/// Frees the buffer; NULL is allowed. -EBUSY: it is in flight, and stays.
///
/// # Safety
/// `buffer` is NULL or a buffer that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_free(buffer: *mut joulio_buffer) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let Some(handle) = (unsafe { buffer.as_ref() }) else {
            return Ok(0);
        };
        if handle.buffer.is_none() && !handle.lost {
            return Err(in_flight());
        }
        // SAFETY: it came from `Box::into_raw`, and is freed once by the caller's word.
        drop(unsafe { Box::from_raw(buffer) });
        Ok(0)
    })
}
