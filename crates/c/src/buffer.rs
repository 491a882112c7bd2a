//! Buffers: DMA memory that C reads and writes in place.

use crate::buffer_handle::{Buffer, joulio_buffer};
use crate::controller::joulio_controller;
use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle;
use joulio_device::DmaBuffer;
use rustix::io::Errno;
use std::ffi::{c_int, c_uint, c_void};

/// Allocates a zeroed buffer of `length` bytes (at least 1) for commands to `controller`, on a page
/// boundary. NULL: joulio_error() says why.
///
/// # Safety
/// `controller` is NULL or a controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_alloc(
    controller: *mut joulio_controller,
    length: usize,
) -> *mut joulio_buffer {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let mut memory = unsafe { allocated(controller, 1, length) }?;
        Ok(handle::make(Buffer::new(memory.remove(0))))
    })
}

/// Allocates `count` zeroed buffers of `length` bytes in one memory, one after the other, each on a page boundary
/// (without gaps if `length` is a multiple of the page), into `buffers`. Each is freed separately. Returns 0, or a
/// negative errno, and then no buffer was allocated.
///
/// # Safety
/// `controller` is NULL or a controller; `buffers` is NULL or has room for `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_alloc_many(
    controller: *mut joulio_controller,
    count: c_uint,
    length: usize,
    buffers: *mut *mut joulio_buffer,
) -> c_int {
    guarded(|| {
        if buffers.is_null() {
            return Err(Failure::null("buffers"));
        }
        // SAFETY: by the caller.
        let memory = unsafe { allocated(controller, count as usize, length) }?;
        for (at, one) in memory.into_iter().enumerate() {
            // SAFETY: below `count`, by the caller.
            unsafe { buffers.add(at).write(handle::make(Buffer::new(one))) };
        }
        Ok(0)
    })
}

/// # Safety
/// `controller` is NULL or a controller.
unsafe fn allocated(
    controller: *mut joulio_controller,
    count: usize,
    length: usize,
) -> Result<Vec<DmaBuffer>, Failure> {
    // SAFETY: by the caller.
    let controller = unsafe { handle::get(controller) }?;
    if length == 0 || length > u32::MAX as usize {
        let text = format!("a buffer of {length} bytes is out of range: 1 to 4294967295");
        return Err(Failure::new(Errno::INVAL, text));
    }
    if count == 0 {
        return Err(Failure::new(Errno::INVAL, "count is 0: at least 1"));
    }
    let memory = controller.opened().buffers(count, length);
    memory.map_err(|error| Failure::new(Errno::NOMEM, error))
}

/// Address of the buffer's first byte, for as long as the buffer is not freed. NULL for NULL, and for a
/// buffer that its device keeps.
///
/// # Safety
/// `buffer` is NULL or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_data(buffer: *const joulio_buffer) -> *mut c_void {
    guarded_pointer(|| {
        if buffer.is_null() {
            return Ok(std::ptr::null_mut());
        }
        // SAFETY: by the caller.
        let buffer = unsafe { handle::get(buffer.cast_mut()) }?;
        Ok(match buffer.is_lost {
            true => std::ptr::null_mut(),
            false => buffer.data.cast(),
        })
    })
}

/// Length of the buffer in bytes; 0 for NULL.
///
/// # Safety
/// `buffer` is NULL or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_length(buffer: *const joulio_buffer) -> usize {
    // SAFETY: by the caller.
    unsafe { handle::get(buffer.cast_mut()) }.map_or(0, |buffer| buffer.len)
}

/// Splits the buffer in two: it keeps the bytes before `at`, a multiple of 4 inside the buffer, and the returned buffer
/// has the rest. Each is freed separately. Returns NULL on failure, see joulio_error().
///
/// # Safety
/// `buffer` is NULL or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_split(
    buffer: *mut joulio_buffer,
    at: usize,
) -> *mut joulio_buffer {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let held = unsafe { handle::get(buffer) }?;
        if at == 0 || at >= held.len || !at.is_multiple_of(4) {
            let text = format!(
                "a buffer of {} bytes is not split at {at}: a multiple of 4 inside it",
                held.len
            );
            return Err(Failure::new(Errno::INVAL, text));
        }
        let memory = match held.memory.as_mut() {
            Some(memory) => memory,
            None => return Err(held.absent()),
        };
        let rest = memory.split_off(at);
        held.len = at;
        Ok(handle::make(Buffer::new(rest)))
    })
}

/// Joins the buffer with `rest`, which begins where the buffer ends in the same memory; frees the handle `rest`.
/// Returns 0, or a negative errno, and then both are unchanged.
///
/// # Safety
/// `buffer` and `rest` are NULL or buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_join(
    buffer: *mut joulio_buffer,
    rest: *mut joulio_buffer,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let behind = unsafe { handle::get(rest) }?;
        let joined = behind.memory.take().ok_or_else(|| behind.absent())?;
        // SAFETY: by the caller; if both handles are the same, the memory is taken already.
        let result = unsafe { join(buffer, joined) };
        if let Err((memory, failure)) = result {
            // SAFETY: by the caller.
            unsafe { handle::get(rest) }?.put(memory);
            return Err(failure);
        }
        // SAFETY: by the caller.
        drop(unsafe { handle::end(rest) }?);
        Ok(0)
    })
}

/// Joins the buffer with memory, which is returned if that fails.
///
/// # Safety
/// `buffer` is NULL or a buffer.
unsafe fn join(buffer: *mut joulio_buffer, rest: DmaBuffer) -> Result<(), (DmaBuffer, Failure)> {
    // SAFETY: by the caller.
    let held = match unsafe { handle::get(buffer) } {
        Ok(held) => held,
        Err(failure) => return Err((rest, failure)),
    };
    let Some(memory) = held.memory.as_mut() else {
        return Err((rest, held.absent()));
    };
    match memory.join(rest) {
        Ok(()) => {
            held.len = memory.len();
            Ok(())
        }
        Err(rest) => {
            let text = "rest does not begin where the buffer ends, or is of another memory";
            Err((rest, Failure::new(Errno::INVAL, text)))
        }
    }
}

/// Frees the buffer; NULL is allowed. -EBUSY: it is in flight, and stays.
///
/// # Safety
/// `buffer` is NULL or a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_buffer_free(buffer: *mut joulio_buffer) -> c_int {
    guarded(|| {
        if buffer.is_null() {
            return Ok(0);
        }
        // SAFETY: by the caller.
        let held = unsafe { handle::get(buffer) }?;
        if held.memory.is_none() && !held.is_lost {
            return Err(held.absent());
        }
        // SAFETY: by the caller.
        drop(unsafe { handle::end(buffer) }?);
        Ok(0)
    })
}
