//! io_uring_setup(2) with flags that the builder of the crate io_uring does not have, and a ring's number in the
//! table of its thread.
//!
//! What makes this sound: the kernel reads and writes one `struct io_uring_params` or one `struct
//! io_uring_rsrc_update`, whose layouts are asserted, and the returned descriptor is passed on to the ring.
#![allow(unsafe_code)]

use io_uring::{IoUring, Parameters};
use rustix::io::Errno;
use std::cell::Cell;
use std::io;
use std::mem::transmute;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

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

/// `struct io_uring_rsrc_update` (include/uapi/linux/io_uring.h).
#[repr(C)]
struct Update {
    offset: u32,
    resv: u32,
    data: u64,
}

const _: () = assert!(size_of::<Update>() == 16);

// Operations of io_uring_register(2), since Linux 5.18 (include/uapi/linux/io_uring.h).
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// A ring's place in the table of a thread, by which that thread enters the ring without a look-up of its descriptor.
/// The table holds the ring until it is unregistered or the thread ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisteredRing {
    index: u32,
    /// Number of the thread that has the table.
    thread: u64,
}

impl RegisteredRing {
    /// Registers `ring` in the table of this thread; `None` if the kernel has no such table, before Linux 5.18, or no
    /// room in it: it has 16 places.
    pub(super) fn register(ring: BorrowedFd<'_>) -> Option<RegisteredRing> {
        let mut update = Update {
            // The kernel chooses the place, and writes it here.
            offset: u32::MAX,
            resv: 0,
            data: ring.as_raw_fd() as u64,
        };
        let done = update_table(ring, REGISTER_RING_FDS, &mut update);
        (done == 1).then(|| RegisteredRing {
            index: update.offset,
            thread: this_thread(),
        })
    }

    /// Returns the place, if this thread has the table.
    #[inline]
    pub(super) fn index(self) -> Option<u32> {
        (self.thread == this_thread()).then_some(self.index)
    }

    /// Frees the place of `ring`, if this thread has the table; otherwise the kernel does so when the other thread
    /// ends.
    pub(super) fn unregister(self, ring: BorrowedFd<'_>) {
        if let Some(offset) = self.index() {
            let mut update = Update {
                offset,
                resv: 0,
                data: 0,
            };
            update_table(ring, UNREGISTER_RING_FDS, &mut update);
        }
    }
}

/// Changes one place of this thread's table; returns 1 if it was changed.
fn update_table(ring: BorrowedFd<'_>, operation: u32, update: &mut Update) -> libc::c_long {
    let fd = ring.as_raw_fd();
    let address: *mut Update = update;
    // SAFETY: the call reads and writes one io_uring_rsrc_update, which this is.
    unsafe { libc::syscall(libc::SYS_io_uring_register, fd, operation, address, 1u32) }
}

/// Returns the number of this thread, which no other thread of the process ever has.
#[inline]
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    match NUMBER.get() {
        0 => {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            NUMBER.set(number);
            number
        }
        number => number,
    }
}

/// Returns the error number of `error`; EIO if it has none.
pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
