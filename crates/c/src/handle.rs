//! Handles: pointers that C programs hold.
//!
//! The memory of a handle is reused for handles of its kind and never freed, so that a pointer whose handle has ended,
//! or that is of another kind, is reported as an error, and no freed memory is read. It is reused after many others have
//! ended, so that a pointer that is used after its end does not soon name another handle.

use crate::error::{Failure, failed};
use crate::inherited;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// A kind of handles.
pub(crate) trait Handle {
    /// Type of the state behind a handle of this kind.
    type Value: 'static;
    /// Name of the kind, as arguments are called.
    const NAME: &'static str;
    /// First word of a live handle of the kind: eight letters.
    const MARK: u64;
    /// Returns the memory of handles that have ended.
    fn spare() -> &'static Spare;
}

/// Number of ended handles of a kind whose memory is not used again yet.
const AT_REST: usize = 256;

/// Addresses of handles that have ended, in that order.
pub(crate) struct Spare(Mutex<VecDeque<usize>>);

impl Spare {
    pub(crate) const fn new() -> Spare {
        Spare(Mutex::new(VecDeque::new()))
    }

    fn with<T>(&self, run: impl FnOnce(&mut VecDeque<usize>) -> T) -> T {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns memory that has rested.
    fn rested(&self) -> Option<usize> {
        self.with(|spare| match spare.len() > AT_REST {
            true => spare.pop_front(),
            false => None,
        })
    }
}

#[repr(C)]
struct Memory<T> {
    /// The kind's mark; zero when the handle has ended and has no value.
    mark: u64,
    value: MaybeUninit<T>,
}

/// Makes a handle of `value`.
pub(crate) fn make<H: Handle>(value: H::Value) -> *mut H {
    let made = Memory {
        mark: H::MARK,
        value: MaybeUninit::new(value),
    };
    match H::spare().rested() {
        Some(address) => {
            let memory: *mut Memory<H::Value> = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: memory of a handle of this kind that nobody has: its value was taken.
            unsafe { memory.write(made) };
            memory.cast()
        }
        None => {
            let memory = Box::into_raw(Box::new(made));
            inherited::record(memory.cast());
            memory.cast()
        }
    }
}

/// Returns the memory of a live handle; `None` if it is NULL or not live.
///
/// # Safety
/// `handle` is NULL, or a handle of any kind that was live once, or points to eight bytes.
#[inline(always)]
unsafe fn live<H: Handle>(handle: *mut H) -> Option<*mut Memory<H::Value>> {
    // SAFETY: by the caller; the memory of handles is never freed. The pointer may not be a handle, and so not aligned.
    let live = !handle.is_null() && unsafe { handle.cast::<u64>().read_unaligned() } == H::MARK;
    live.then_some(handle.cast())
}

/// Makes the failure of a pointer that is NULL or no live handle.
///
/// # Safety
/// As for [`live`].
#[cold]
#[inline(never)]
unsafe fn not_live<H: Handle>(handle: *mut H) -> Failure {
    let name = H::NAME;
    if handle.is_null() {
        return Failure::null(name);
    }
    // SAFETY: not NULL, so that it points to eight bytes.
    let text = match unsafe { handle.cast::<u64>().read_unaligned() } {
        inherited::MARK => "is of the process that called fork(2): open another in this one",
        _ => "is not open: it was closed or freed, or the pointer is another's",
    };
    Failure::new(Errno::BADF, format_args!("{name} {text}"))
}

/// Keeps the text and returns the negative errno of a pointer for which [`find`] has no value. It does not unwind, so
/// that a caller that ends with it jumps to it, and needs no room on the stack.
///
/// # Safety
/// As for [`live`].
#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn refuse<H: Handle>(handle: *mut H) -> c_int {
    // SAFETY: by the caller.
    failed(&unsafe { not_live(handle) })
}

/// Returns the value of a live handle, for the functions of each I/O; if `None`, [`refuse`] gives the reason.
///
/// # Safety
/// As for [`live`]; nobody else uses the handle meanwhile.
#[inline(always)]
pub(crate) unsafe fn find<'a, H: Handle>(handle: *mut H) -> Option<&'a mut H::Value> {
    // SAFETY: by the caller; a marked handle has a value.
    unsafe { live(handle).map(|memory| (*memory).value.assume_init_mut()) }
}

/// Returns the value of a live handle.
///
/// # Safety
/// As for [`find`].
#[inline]
pub(crate) unsafe fn get<'a, H: Handle>(handle: *mut H) -> Result<&'a mut H::Value, Failure> {
    // SAFETY: by the caller.
    unsafe { find(handle) }.ok_or_else(|| unsafe { not_live(handle) })
}

/// Returns the value of a live handle that several threads may use at once.
///
/// # Safety
/// As for [`live`]; nobody ends the handle meanwhile.
pub(crate) unsafe fn share<'a, H: Handle>(handle: *const H) -> Result<&'a H::Value, Failure>
where
    H::Value: Sync,
{
    // SAFETY: by the caller.
    let memory =
        unsafe { live(handle.cast_mut()) }.ok_or_else(|| unsafe { not_live(handle.cast_mut()) })?;
    // SAFETY: a marked handle has a value.
    Ok(unsafe { (*memory).value.assume_init_ref() })
}

/// Returns the value of a handle that is certainly live.
///
/// # Safety
/// `handle` is live, and nobody else uses it meanwhile.
#[inline]
pub(crate) unsafe fn known<'a, H: Handle>(handle: *mut H) -> &'a mut H::Value {
    // SAFETY: by the caller; a live handle has a value.
    unsafe { (*handle.cast::<Memory<H::Value>>()).value.assume_init_mut() }
}

/// Ends a live handle and returns its value; `None` for NULL.
///
/// # Safety
/// As for [`get`].
pub(crate) unsafe fn end<H: Handle>(handle: *mut H) -> Result<Option<H::Value>, Failure> {
    if handle.is_null() {
        return Ok(None);
    }
    // SAFETY: by the caller.
    let memory = unsafe { live(handle) }.ok_or_else(|| unsafe { not_live(handle) })?;
    // SAFETY: a marked handle has a value, which is taken once: the mark goes with it.
    let value = unsafe {
        (*memory).mark = 0;
        (*memory).value.assume_init_read()
    };
    let address = memory.expose_provenance();
    H::spare().with(|spare| spare.push_back(address));
    Ok(Some(value))
}
