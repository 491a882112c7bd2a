//! The system calls of a context of io_setup(2), and its requests in the kernel.
//!
//! What makes this sound: a control block is only submitted with the buffer of a slot, which keeps the buffer until
//! the kernel's event of that request, or leaks it. The kernel copies a control block when it is submitted.
//! io_destroy(2) returns when no request is left.
#![allow(unsafe_code)]

use crate::slots::Slots;
use crate::{AlignedBuffer, DirectFile, KernelCompletion, KernelEngineError};
use joulio_engine::Request;
use joulio_units::{Nanos, Operation};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::Arc;

// include/uapi/linux/aio_abi.h
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// `struct iocb`. The order of `key` and `rw_flags` is the machine's byte order; both stay zero.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    address: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<ControlBlock>() == 64 && size_of::<Event>() == 32);

/// A context of the kernel, its outstanding requests, and the file they are for.
pub(super) struct Context {
    id: libc::c_ulong,
    /// Requests that are not submitted yet, the oldest first.
    staged: Vec<ControlBlock>,
    /// Trims, which the kernel cannot do as requests: identifier, offset and length.
    trims: VecDeque<(u64, u64, u32)>,
    pointers: Vec<*mut ControlBlock>,
    events: Vec<Event>,
    slots: Slots,
    file: Arc<DirectFile>,
    /// True if the requests in the kernel are not waited for.
    abandoned: bool,
}

// SAFETY: the pointers are set anew for each call, from `staged`.
unsafe impl Send for Context {}

impl Context {
    /// Creates a context with io_setup(2).
    pub(super) fn new(file: Arc<DirectFile>, slots: Slots) -> Result<Context, Errno> {
        let depth = slots.depth();
        let mut id: libc::c_ulong = 0;
        // SAFETY: the call writes one aio_context_t, which is an unsigned long.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, depth as u32, &raw mut id) };
        result(made)?;
        Ok(Context {
            id,
            staged: Vec::with_capacity(depth),
            trims: VecDeque::with_capacity(depth),
            pointers: Vec::with_capacity(depth),
            events: vec![Event::default(); depth],
            slots,
            file,
            abandoned: false,
        })
    }

    /// Accepts a request, without submitting it.
    pub(super) fn prepare(
        &mut self,
        request: &Request,
        buffer: AlignedBuffer,
    ) -> Result<(), KernelEngineError> {
        let address = buffer.address();
        let data = self.slots.hold(request, buffer)?;
        let block = |opcode| ControlBlock {
            data,
            opcode,
            fd: self.file.as_fd().as_raw_fd() as u32,
            ..ControlBlock::default()
        };
        let transfer = |opcode| ControlBlock {
            address: address as u64,
            bytes: u64::from(request.len),
            offset: request.offset as i64,
            ..block(opcode)
        };
        let block = match request.operation {
            Operation::Read => transfer(PREAD),
            Operation::Write => transfer(PWRITE),
            Operation::Sync => block(FSYNC),
            Operation::DataSync => block(FDSYNC),
            Operation::Trim => {
                self.trims.push_back((data, request.offset, request.len));
                return Ok(());
            }
        };
        self.staged.push(block);
        Ok(())
    }

    /// Executes the next staged trim with a call that blocks until its end; `None`: no trim is staged.
    pub(super) fn trim(&mut self) -> Option<KernelCompletion> {
        let (id, offset, len) = self.trims.pop_front()?;
        let result = match self.file.trim(offset, len) {
            Ok(()) => 0,
            Err(errno) => -i64::from(errno.raw_os_error()),
        };
        self.slots.end(id, result)
    }

    /// Calls io_submit(2). Returns how many of the staged requests the kernel accepted, or why it refused the
    /// first.
    pub(super) fn submit(&mut self) -> Result<usize, Errno> {
        let Context {
            staged, pointers, ..
        } = self;
        pointers.clear();
        pointers.extend(staged.iter_mut().map(ptr::from_mut));
        let (count, blocks) = (pointers.len(), pointers.as_mut_ptr());
        // SAFETY: `blocks` are `count` pointers to control blocks, whose buffers are in slots
        // until their requests' events; the file is open as long as the context.
        let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.id, count, blocks) };
        let taken = result(taken)?;
        self.staged.drain(..taken.min(count));
        Ok(taken)
    }

    /// Removes and returns the first staged request, which the kernel refused with `errno`.
    pub(super) fn refuse_first(&mut self, errno: Errno) -> Option<KernelCompletion> {
        if self.staged.is_empty() {
            return None;
        }
        let block = self.staged.remove(0);
        let result = -i64::from(errno.raw_os_error());
        self.slots.end(block.data, result)
    }

    /// Calls io_getevents(2): waits for `min` completions, for `timeout` at most, and delivers those that came, `max`
    /// at most. Returns their number.
    pub(super) fn events(
        &mut self,
        (min, max): (usize, usize),
        timeout: Option<Nanos>,
        mut sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, Errno> {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout.0 % 1_000_000_000) as libc::c_long,
        });
        let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        let room = self.events.len().min(max);
        let events = self.events.as_mut_ptr();
        // SAFETY: `events` has room for `room` events or more; the time lives through the call.
        let count =
            unsafe { libc::syscall(libc::SYS_io_getevents, self.id, min, room, events, limit) };
        let count = result(count)?;
        let mut delivered = 0;
        for event in self.events.iter().take(count) {
            if let Some(completion) = self.slots.end(event.data, event.result) {
                delivered += 1;
                sink(completion);
            }
        }
        Ok(delivered)
    }

    /// Returns the number of requests that were accepted and have not ended.
    pub(super) fn outstanding(&self) -> usize {
        self.slots.outstanding()
    }

    /// Returns the number of requests that were accepted and are not submitted.
    pub(super) fn staged(&self) -> usize {
        self.staged.len() + self.trims.len()
    }

    /// Returns the number of requests for io_submit(2) that are not submitted.
    pub(super) fn unsubmitted(&self) -> usize {
        self.staged.len()
    }

    /// Leaves the context to the end of the process if it is dropped with requests outstanding: io_destroy(2) would
    /// wait for them.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Returns the number of completions that belonged to no request.
    pub(super) fn strange(&self) -> u64 {
        self.slots.strange()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.abandoned && self.outstanding() > self.staged() {
            return;
        }
        // SAFETY: the context is ours, and the memory that its requests use is in `slots`.
        let destroyed = unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
        if destroyed == 0 {
            self.slots.clear();
        }
    }
}

fn result(returned: libc::c_long) -> Result<usize, Errno> {
    usize::try_from(returned)
        .map_err(|_| Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests;
