//! Failures in C: a negative errno, and a line of text kept for the thread.

use joulio_nvme::SubmitError;
use rustix::io::Errno;
use std::any::Any;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Size in bytes of a text, with the NUL at its end.
const TEXT: usize = 1024;

thread_local! {
    /// Message of this thread's last call that failed. It has no destructor: exit handlers fail too, and the main
    /// thread's values are destroyed before they run.
    static LAST: Cell<[u8; TEXT]> = const { Cell::new([0; TEXT]) };
}

/// Failure of a call.
pub(crate) struct Failure {
    errno: Errno,
    text: String,
}

impl Failure {
    /// Makes a failure with `errno` and `text`.
    pub(crate) fn new(errno: Errno, text: impl Display) -> Failure {
        Failure {
            errno,
            text: text.to_string(),
        }
    }

    /// Makes the failure of a pointer that must not be NULL.
    pub(crate) fn null(argument: &str) -> Failure {
        Failure::new(Errno::INVAL, format_args!("{argument} is NULL"))
    }
}

/// Runs `call` and returns its value, or a negative errno whose text is kept. A panic, which is a bug of this library,
/// is a failure too.
#[inline]
pub(crate) fn guarded(call: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => value,
        Ok(Err(failure)) => failed(&failure),
        Err(_) => failed(&panicked()),
    }
}

/// Runs `call` as [`guarded`] does, for the functions of each I/O: `call` keeps its failure's text itself, with
/// [`failed`].
#[inline]
pub(crate) fn guarded_io(call: impl FnOnce() -> c_int) -> c_int {
    caught(call).unwrap_or_else(|Panicked| refuse_panicked())
}

/// Error of a call that panicked.
pub(crate) struct Panicked;

/// Runs `call`, and catches its panic.
#[inline(always)]
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(call)).map_err(forget)
}

/// Drops what a panic carried. It is no part of its caller, which would need registers for it.
#[cold]
#[inline(never)]
fn forget(payload: Box<dyn Any + Send>) -> Panicked {
    drop(payload);
    Panicked
}

/// Keeps a text, and returns the negative errno of a call that panicked.
#[cold]
#[inline(never)]
pub(crate) extern "C" fn refuse_panicked() -> c_int {
    failed(&panicked())
}

/// Runs `call` and returns its pointer, or NULL with the failure's text kept and its errno set.
pub(crate) fn guarded_pointer<T>(call: impl FnOnce() -> Result<*mut T, Failure>) -> *mut T {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(pointer)) => return pointer,
        Ok(Err(failure)) => failure,
        Err(_) => panicked(),
    };
    // The text is kept first: nothing is allocated after errno is set.
    let errno = -failed(&failure);
    drop(failure);
    // SAFETY: the address of the thread's errno.
    unsafe { *libc::__errno_location() = errno };
    std::ptr::null_mut()
}

fn panicked() -> Failure {
    Failure::new(
        Errno::NOTRECOVERABLE,
        "a fault of joulio itself: its text is on standard error; please report it",
    )
}

/// Keeps the failure's text, and returns its negative errno.
#[cold]
pub(crate) fn failed(failure: &Failure) -> c_int {
    let mut end = failure.text.len().min(TEXT - 1);
    while !failure.text.is_char_boundary(end) {
        end -= 1;
    }
    let mut text = [0; TEXT];
    for (to, from) in text.iter_mut().zip(failure.text[..end].bytes()) {
        // A NUL would end the text early for C.
        *to = if from == 0 { b' ' } else { from };
    }
    LAST.set(text);
    -failure.errno.raw_os_error()
}

/// Makes the failure of a command that was not submitted.
#[cold]
pub(crate) fn refused(reason: &SubmitError) -> Failure {
    let errno = match reason {
        SubmitError::QueueFull => Errno::AGAIN,
        SubmitError::Unsupported { .. } => Errno::NOTSUP,
        _ => Errno::INVAL,
    };
    Failure::new(errno, reason)
}

/// Text of the last failure of the calling thread, one line in English of at most 1023 bytes; empty before
/// the first. It is valid until the thread's next failure. A function that returns NULL for a failure sets errno(3) too.
#[unsafe(no_mangle)]
pub extern "C" fn joulio_error() -> *const c_char {
    LAST.with(|text| text.as_ptr().cast())
}

/// Version of the interface that this header describes, for joulio_check_interface().
pub const JOULIO_INTERFACE: c_uint = 1;

/// Checks that the library has the interface that the program was compiled for: call it with JOULIO_INTERFACE. Returns
/// 0, or -EPROTONOSUPPORT with a text that names both.
#[unsafe(no_mangle)]
pub extern "C" fn joulio_check_interface(interface: c_uint) -> c_int {
    guarded(|| match interface {
        JOULIO_INTERFACE => Ok(0),
        other => {
            let text = format!(
                "the program was compiled for interface {other} of libjoulio, and this one, {}, has \
                 {JOULIO_INTERFACE}: compile it with this one's joulio.h",
                env!("CARGO_PKG_VERSION")
            );
            Err(Failure::new(Errno::PROTONOSUPPORT, text))
        }
    })
}

/// Version of the library, as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn joulio_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
