//! io_uring_setup(2) with flags that the builder of the crate io_uring does not have.
//!
//! What makes this sound: the kernel reads and writes one `struct io_uring_params`, whose layout is asserted, and
//! the returned descriptor is passed on to the ring.
#![allow(unsafe_code)]

use io_uring::{IoUring, Parameters};
use rustix::io::Errno;
use std::io;
use std::mem::transmute;

/// `struct io_uring_params` (include/uapi/linux/io_uring.h). That of the crate io_uring is private, and its builder
/// cannot set every flag.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Params {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    features: u32,
    wq_fd: u32,
    resv: [u32; 3],
    sq_off: [u64; 5],
    cq_off: [u64; 5],
}

const _: () = assert!(size_of::<Params>() == 120 && size_of::<Parameters>() == 120);

/// Creates a ring with io_uring_setup(2).
pub(super) fn setup(entries: u32, flags: u32, cpu: u32, idle_ms: u32) -> Result<IoUring, Errno> {
    let mut params = Params {
        flags,
        sq_thread_cpu: cpu,
        sq_thread_idle: idle_ms,
        ..Params::default()
    };
    let address: *mut Params = &mut params;
    // SAFETY: the call reads and writes one io_uring_params, which this is.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, entries, address) };
    if fd < 0 {
        return Err(errno(&io::Error::last_os_error()));
    }
    // SAFETY: `Parameters` is a transparent wrapper of the same C structure, as its documentation promises, and
    // every bit pattern is valid.
    let parameters = unsafe { transmute::<Params, Parameters>(params) };
    // SAFETY: the descriptor is a new ring's, and is passed on; the parameters are those that the kernel filled in
    // for it.
    let ring = unsafe { IoUring::from_fd(fd as i32, parameters) };
    ring.map_err(|error| errno(&error))
}

/// Returns the error number of `error`; EIO if it has none.
pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
