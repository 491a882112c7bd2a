//! Signals eventfds that another process shares, without ever blocking on it.
//!
//! Whether write(2) to an eventfd blocks depends on everybody who has it: O_NONBLOCK belongs to the open file, and a
//! process at the other end of a socket can clear it between a check of the flag and the write, and fill the counter.
//! The kernel itself never waits when it signals one, which it does at the end of a request for asynchronous I/O that
//! names it (`aio_resfd`, io_submit(2)). The request used here is a read of 0 bytes from an empty file of this process,
//! which is complete when io_submit returns.
//!
//! Sound because a request has no address: it reads no bytes.

use rustix::fs::{MemfdFlags, memfd_create};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Requests that the context has room for. Completed ones are removed when half of them are used.
const ROOM: u32 = 64;
/// Attempts to signal while there is no room.
const TRIES: u32 = 1000;
/// IOCB_CMD_PREAD and IOCB_FLAG_RESFD of linux/aio_abi.h.
const READ: u16 = 0;
const SIGNAL: u32 = 1;

/// `struct iocb`. The order of `key` and `rw_flags` is the machine's byte order; both stay zero.
#[repr(C)]
#[derive(Default)]
struct Request {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Done {
    words: [u64; 4],
}

/// Signals the eventfds of interrupts that another process has given.
#[derive(Debug)]
pub struct Signaller {
    context: libc::c_ulong,
    nothing: OwnedFd,
    /// Requests since completed ones were last removed.
    submitted: AtomicU32,
}

impl Signaller {
    /// Makes a signaller with its own context for asynchronous I/O.
    ///
    /// # Errors
    /// ENOSYS where the kernel has none (CONFIG_AIO), EAGAIN when fs.aio-max-nr requests are in use.
    pub fn new() -> io::Result<Signaller> {
        let nothing = memfd_create("joulio-nothing", MemfdFlags::CLOEXEC)?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: `context` is zero and valid, as io_setup(2) wants it.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, ROOM, &raw mut context) };
        if made != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Signaller {
            context,
            nothing,
            submitted: AtomicU32::new(0),
        })
    }

    /// Adds 1 to the counter of `event`, unless it is at its maximum. Does not block, whatever the flags of `event`
    /// are.
    ///
    /// # Errors
    /// EINVAL when it is no eventfd.
    pub fn signal(&self, event: BorrowedFd<'_>) -> io::Result<()> {
        if self.submitted.fetch_add(1, Ordering::Relaxed) >= ROOM / 2 {
            self.submitted.store(0, Ordering::Relaxed);
            self.take_out();
        }
        let mut request = Request {
            opcode: READ,
            file: self.nothing.as_raw_fd().cast_unsigned(),
            flags: SIGNAL,
            event: event.as_raw_fd().cast_unsigned(),
            ..Request::default()
        };
        let mut tries = TRIES;
        loop {
            let mut requests = [&raw mut request];
            // SAFETY: a list of one valid request, which the kernel copies; it names no memory.
            let taken = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context,
                    1 as libc::c_long,
                    requests.as_mut_ptr(),
                )
            };
            if taken == 1 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            tries -= 1;
            if error.kind() != io::ErrorKind::WouldBlock || tries == 0 {
                return Err(error);
            }
            // Full, when several threads signal at once.
            self.take_out();
        }
    }

    /// Removes completed requests from the context, so that there is room.
    fn take_out(&self) {
        let mut done = [Done::default(); ROOM as usize];
        let no_time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: there is room for as many events as are requested; the call does not wait.
        unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                0 as libc::c_long,
                ROOM as libc::c_long,
                done.as_mut_ptr(),
                &raw const no_time,
            );
        }
    }
}

impl Drop for Signaller {
    fn drop(&mut self) {
        // SAFETY: a context of ours, which nobody uses any more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

// Not under QEMU's user emulation, which has no io_setup(2).
#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::os::fd::AsFd;

    /// Makes an eventfd that blocks, with the given count.
    fn blocking(count: u64) -> OwnedFd {
        let event = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        if count > 0 {
            rustix::io::write(&event, &count.to_ne_bytes()).unwrap();
        }
        event
    }

    fn count(event: &OwnedFd) -> u64 {
        crate::vector::take(event.as_fd())
    }

    #[test]
    fn each_signal_counts_one() {
        let signaller = Signaller::new().unwrap();
        let event = blocking(0);
        for _ in 0..10 * ROOM {
            signaller.signal(event.as_fd()).unwrap();
        }
        assert_eq!(count(&event), u64::from(10 * ROOM));
        assert_eq!(count(&event), 0);
    }

    #[test]
    fn a_full_count_is_not_waited_for() {
        let signaller = Signaller::new().unwrap();
        let event = blocking(u64::MAX - 1);
        for _ in 0..3 {
            signaller.signal(event.as_fd()).unwrap();
        }
        assert_eq!(count(&event), u64::MAX);
    }

    #[test]
    fn what_is_no_eventfd_is_refused() {
        let signaller = Signaller::new().unwrap();
        let file = tempfile::tempfile().unwrap();
        let (end, _other) = std::io::pipe().unwrap();
        for other in [file.as_fd(), end.as_fd()] {
            let error = signaller.signal(other).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        }
    }

    #[test]
    fn threads_may_signal_at_once() {
        let signaller = Signaller::new().unwrap();
        let event = blocking(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        signaller.signal(event.as_fd()).unwrap();
                    }
                });
            }
        });
        assert_eq!(count(&event), 4000);
    }
}
