//! The ring that is shared with the kernel, and the requests in it.
//!
//! What makes this sound: an entry is only pushed with the buffer of a slot, which keeps the buffer until the
//! kernel's completion of that request, or leaks it; the file stays open as long as the ring; `fixed` keeps
//! registered memory mapped.
#![allow(unsafe_code)]

use super::raw_ring::{RegisteredRing, errno};
use super::requests::{RawRing, Requests};
use crate::buffer::Region;
use crate::slots::Slots;
use crate::{AlignedBuffer, KernelCompletion, KernelEngineError};
use io_uring::squeue::{EntryMarker as _, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, cqueue};
use joulio_engine::Request;
use joulio_units::Nanos;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// A ring, its outstanding requests, and the file they are for.
pub(super) struct Ring<R: Requests> {
    ring: RawRing<R>,
    /// Requests that are not in the ring yet, since the kernel's thread would take them at once.
    staged: Vec<R::Entry>,
    slots: Slots,
    requests: R,
    registered_file: bool,
    fixed: Option<Arc<Region>>,
    /// Place of the ring in the table of the thread that registered it.
    registered: Option<RegisteredRing>,
}

/// Bytes of the kernel's set of signals (_NSIG / 8).
const SIGNALS_SIZE: usize = 8;

impl<R: Requests> Ring<R> {
    pub(super) fn new(
        ring: RawRing<R>,
        requests: R,
        slots: Slots,
        register_file: bool,
    ) -> Result<Ring<R>, Errno> {
        let nonfixed = ring.params().is_feature_sqpoll_nonfixed();
        // Before Linux 5.11 the kernel's thread supports only registered files.
        let registered_file = register_file || ring.params().is_setup_sqpoll() && !nonfixed;
        if registered_file {
            let files = [requests.fd().as_raw_fd()];
            let registered = ring.submitter().register_files(&files);
            registered.map_err(|error| errno(&error))?;
        }
        Ok(Ring {
            ring,
            staged: Vec::with_capacity(slots.depth()),
            slots,
            requests,
            registered_file,
            fixed: None,
            registered: None,
        })
    }

    /// Registers the memory of `buffers`, which are all of one region; once per ring.
    pub(super) fn register(&mut self, buffers: &[AlignedBuffer]) -> Result<(), Errno> {
        let parts: Vec<_> = buffers
            .iter()
            .map(|buffer| libc::iovec {
                iov_base: buffer.address().cast(),
                iov_len: buffer.len(),
            })
            .collect();
        // SAFETY: the memory stays mapped while the ring uses it: `fixed` holds its region.
        let registered = unsafe { self.ring.submitter().register_buffers(&parts) };
        registered.map_err(|error| errno(&error))?;
        self.fixed = buffers.first().map(|buffer| Arc::clone(buffer.region()));
        Ok(())
    }

    /// Returns true if memory is registered.
    pub(super) fn has_registered(&self) -> bool {
        self.fixed.is_some()
    }

    /// Enables a ring that was created disabled, for use by this thread.
    pub(super) fn enable(&mut self) -> Result<(), Errno> {
        let enabled = self.ring.submitter().register_enable_rings();
        enabled.map_err(|error| errno(&error))
    }

    /// Registers the ring's descriptor in this thread, which enters by that from now on. A kernel that cannot do it
    /// is entered by the descriptor.
    pub(super) fn register_descriptor(&mut self) {
        self.registered = RegisteredRing::register(self.as_fd());
    }

    /// Returns the number by which this thread enters the ring, if it registered the descriptor.
    #[inline]
    pub(super) fn registered_index(&self) -> Option<u32> {
        self.registered.and_then(RegisteredRing::index)
    }

    /// Accepts a request, without adding it to the ring.
    #[inline]
    pub(super) fn prepare(
        &mut self,
        request: &Request,
        buffer: AlignedBuffer,
    ) -> Result<(), KernelEngineError> {
        let address = buffer.address();
        let fixed = self.fixed.as_ref();
        let index = fixed.and_then(|region| buffer.index_in(region));
        self.requests.check(request)?;
        let id = self.slots.hold(request, buffer)?;
        // A registered file is number 0 of the ring's table.
        let fd = match self.registered_file {
            true => (Fd(0), Flags::FIXED_FILE),
            false => (Fd(self.requests.fd().as_raw_fd()), Flags::empty()),
        };
        let index = index.map(|index| index as u16);
        let mut entry = self.requests.entry(request, fd, address, index);
        entry.set_user_data(id);
        self.staged.push(entry);
        Ok(())
    }

    /// Adds the staged requests to the ring; returns their number. The ring has an entry for every slot, but the
    /// kernel's thread may have ended requests whose entries it has not freed yet: then the result is 0.
    #[inline]
    pub(super) fn publish(&mut self) -> usize {
        let count = self.staged.len();
        // SAFETY: each entry's buffer is in a slot until the request's completion, and the file is
        // open as long as the ring.
        let pushed = unsafe { self.ring.submission().push_multiple(&self.staged) };
        if pushed.is_err() {
            return 0;
        }
        self.staged.clear();
        count
    }

    /// Returns the number of entries in the ring that the kernel has not taken.
    #[inline]
    pub(super) fn untaken(&mut self) -> usize {
        self.ring.submission().len()
    }

    /// Returns true if the kernel's thread sleeps and must be woken.
    #[inline]
    pub(super) fn needs_wakeup(&mut self) -> bool {
        self.ring.submission().need_wakeup()
    }

    /// Returns true if a completion is ready that the next call adds to the ring; only for rings with that notice.
    #[inline]
    pub(super) fn announces(&mut self) -> bool {
        self.ring.submission().taskrun()
    }

    /// Calls io_uring_enter(2). A `timeout` requires [`Ring::has_timeouts`].
    #[inline]
    pub(super) fn enter(
        &mut self,
        submit: usize,
        min: usize,
        flags: EnterFlags,
        timeout: Option<Nanos>,
    ) -> Result<usize, Errno> {
        let (submit, min) = (submit as u32, min as u32);
        let (fd, flags) = match self.registered_index() {
            Some(index) => (index as i32, flags | EnterFlags::REGISTERED_RING),
            None => (self.ring.as_raw_fd(), flags),
        };
        let call = libc::SYS_io_uring_enter;
        let done = if let Some(timeout) = timeout {
            let limit = Timespec::from(Duration::from_nanos(timeout.0));
            let args = SubmitArgs::new().timespec(&limit);
            let (address, len) = (ptr::from_ref(&args), size_of_val(&args));
            let bits = (flags | EnterFlags::EXT_ARG).bits();
            // SAFETY: with EXT_ARG the argument is an io_uring_getevents_arg, which `SubmitArgs`
            // wraps; it and its timespec live through the call.
            unsafe { libc::syscall(call, fd, submit, min, bits, address, len) }
        } else {
            let none = ptr::null::<libc::sigset_t>();
            // SAFETY: without EXT_ARG the argument is a signal mask, and none is given.
            unsafe { libc::syscall(call, fd, submit, min, flags.bits(), none, SIGNALS_SIZE) }
        };
        // A negative number is an error.
        usize::try_from(done).map_err(|_| errno(&io::Error::last_os_error()))
    }

    /// Returns true if a wait can have a timeout (Linux 5.11).
    pub(super) fn has_timeouts(&self) -> bool {
        self.ring.params().is_feature_ext_arg()
    }

    /// Returns true if the ring has no completion.
    #[inline]
    pub(super) fn is_empty(&mut self) -> bool {
        self.ring.completion().is_empty()
    }

    /// Delivers the completions in the ring, `max` at most; returns their number.
    #[inline]
    pub(super) fn take(&mut self, max: usize, mut sink: impl FnMut(KernelCompletion)) -> usize {
        let mut delivered = 0;
        let mut entries = self.ring.completion();
        while delivered < max
            && let Some(entry) = entries.next()
        {
            let entry: cqueue::Entry = entry.into();
            let outcome = |moved| R::outcome(entry.result(), moved);
            let ended = self.slots.end_by(entry.user_data(), outcome);
            if let Some(completion) = ended {
                delivered += 1;
                sink(completion);
            }
        }
        delivered
    }

    /// Accepts a request that the kernel never gets, as if its device never completed it.
    #[cfg(test)]
    pub(super) fn lose(&mut self, request: &Request, buffer: AlignedBuffer) {
        self.slots.hold(request, buffer).expect("room for it");
    }

    /// Ends a request that is in the ring, although the kernel has not taken it.
    #[cfg(test)]
    pub(super) fn end_early(&mut self, id: u64) -> Option<KernelCompletion> {
        self.slots.end(id, 0)
    }

    /// Drops the requests that were never added to the ring.
    pub(super) fn unstage(&mut self) {
        for entry in self.staged.drain(..) {
            drop(self.slots.end(entry.get_user_data(), 0));
        }
    }

    /// Returns the number of requests that were accepted and have not ended.
    pub(super) fn outstanding(&self) -> usize {
        self.slots.outstanding()
    }

    /// Returns the number of requests that were accepted and are not in the ring.
    pub(super) fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Returns the number of completions that belonged to no request.
    pub(super) fn strange(&self) -> u64 {
        self.slots.strange()
    }
}

impl<R: Requests> Drop for Ring<R> {
    fn drop(&mut self) {
        if let Some(registered) = self.registered.take() {
            registered.unregister(self.as_fd());
        }
    }
}

impl<R: Requests> AsFd for Ring<R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring's descriptor is open as long as the ring, which is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}
