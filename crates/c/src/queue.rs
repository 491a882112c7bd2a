//! Queues: commands, completions, and the descriptor of an event loop.

use crate::buffer::joulio_buffer;
use crate::controller::{joulio_controller, text};
use crate::error::{Failure, failed, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use crate::opened_queue::{AnyQueue, Calls, What, with_buffer};
use crate::slots::{DriverTag, Slots};
use joulio_job::{CompletionMode, parse_slo};
use joulio_nvme::{Completed, MAX_RANGES, SubmitError};
use joulio_nvme_spec::{Command, NvmOpcode};
use joulio_wait::{Adaptive, AnyPolicy, Goal, Promised, StepKind, WaitCosts, WaitCounters, Waiter};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_uint};
use std::os::fd::AsRawFd;

/// A queue pair of a namespace, with a completion mode.
pub struct joulio_queue {
    _private: [u8; 0],
}

impl Handle for joulio_queue {
    type Value = Queue;
    const NAME: &'static str = "queue";
    const MARK: u64 = u64::from_le_bytes(*b"jlQueue.");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// What a queue's handle stands for.
pub(crate) struct Queue {
    queue: Box<dyn AnyQueue>,
    /// Of `queue`.
    calls: Calls,
    backlog: Backlog,
    may_write: bool,
}

/// What a queue keeps between calls.
pub(crate) struct Backlog {
    /// Tags of commands without a buffer.
    slots: Slots,
    /// Completions that the caller's array had no room for.
    left: VecDeque<joulio_completion>,
}

/// A range of logical blocks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct joulio_range {
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u32,
}

/// A completed command.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct joulio_completion {
    /// Value that was given with the command.
    pub tag: u64,
    /// Buffer of the command, the caller's again; NULL: it had none.
    pub buffer: *mut joulio_buffer,
    /// Dword 0 of the completion.
    pub result: u32,
    /// Status field of the completion (NVM Express Base 2.0, 3.3.3.2) without the phase: 0 is success.
    pub status: u16,
}

/// Counts of a queue since it was made.
#[repr(C)]
pub struct joulio_counters {
    /// Polls of the completion queue, those that found nothing included.
    pub polls: u64,
    /// Polls that found nothing.
    pub empty_polls: u64,
    /// Interrupts of the queue.
    pub interrupts: u64,
    /// Waits in which the core was given away until an interrupt.
    pub blocks: u64,
    /// Blocks that an interrupt ended.
    pub wakes: u64,
    /// Timer sleeps.
    pub sleeps: u64,
    /// User-level waits (TPAUSE, UMWAIT, MWAITX).
    pub pauses: u64,
}

impl From<WaitCounters> for joulio_counters {
    fn from(counted: WaitCounters) -> joulio_counters {
        joulio_counters {
            polls: counted.polls,
            empty_polls: counted.empty_polls,
            interrupts: counted.interrupts,
            blocks: counted.blocks,
            wakes: counted.wakes,
            sleeps: counted.sleeps,
            pauses: counted.pauses,
        }
    }
}

/// A policy by the name of its completion mode.
///
/// # Safety
/// `completion` is NULL or a C string.
unsafe fn policy(completion: *const c_char) -> Result<AnyPolicy, Failure> {
    // SAFETY: by the caller.
    unsafe { policies(completion) }.map(|policy| policy())
}

/// What makes policies, each for a queue, by the name of their completion mode.
///
/// # Safety
/// `completion` is NULL or a C string.
pub(crate) unsafe fn policies(
    completion: *const c_char,
) -> Result<Box<dyn Fn() -> AnyPolicy + Send + Sync>, Failure> {
    // SAFETY: by the caller.
    let name = unsafe { text(completion, "completion") }?;
    let mode: CompletionMode = name
        .parse()
        .map_err(|error| Failure::new(Errno::INVAL, error))?;
    match mode.policy() {
        Some(_) => Ok(Box::new(move || mode.policy().unwrap_or(AnyPolicy::POLL))),
        None => {
            let text = format!("{name}: only the kernel's engines have this completion mode");
            Err(Failure::new(Errno::NOTSUP, text))
        }
    }
}

/// Makes a queue pair with room for `depth` commands (at least 1) that waits by `completion`, as the
/// command's --completion takes it: "poll", "interrupt", "adaptive", "hybrid=4us" ... NULL:
/// joulio_error() says why.
///
/// # Safety
/// `controller` is NULL or a controller, `completion` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_queue_create(
    controller: *mut joulio_controller,
    depth: c_uint,
    completion: *const c_char,
) -> *mut joulio_queue {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        // SAFETY: by the caller.
        let policy = unsafe { policy(completion) }?;
        let queue = controller.opened().queue(depth as usize, policy);
        let queue = queue.map_err(|error| Failure::new(Errno::NODEV, error))?;
        Ok(handle::make(Queue {
            calls: queue.calls(),
            queue,
            backlog: Backlog {
                slots: Slots::new(depth),
                left: VecDeque::with_capacity(depth as usize),
            },
            may_write: controller.may_write(),
        }))
    })
}

/// Destroys the queue; NULL is allowed. What is in flight is not waited for: the driver keeps its memory
/// until the device has let go of it, and its buffers have no data any more and are to be freed. 0, or a
/// negative errno: it is not a queue.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_queue_destroy(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        drop(unsafe { handle::end(queue) }?);
        Ok(0)
    })
}

impl Queue {
    /// Submits `what` with `buffer`, which stays the caller's where that fails; 0 or a negative errno.
    ///
    /// # Safety
    /// `buffer` is NULL or a buffer.
    unsafe fn transfer(&mut self, what: What<'_>, buffer: *mut joulio_buffer, tag: u64) -> c_int {
        let id = self.queue.id();
        // SAFETY: by the caller.
        unsafe {
            with_buffer(buffer, tag, id, |memory, tag| {
                self.queue.transfer(what, memory, tag)
            })
        }
    }

    /// Address of the queue, for its calls.
    #[inline]
    fn this(&mut self) -> *mut () {
        (&raw mut *self.queue).cast()
    }

    /// Submits a command without data by `submit`.
    fn without_buffer(
        &mut self,
        tag: u64,
        submit: impl FnOnce(&mut dyn AnyQueue, u64) -> Result<(), SubmitError>,
    ) -> Result<c_int, Failure> {
        let slot = self.backlog.slots.enter(tag)?;
        match submit(&mut *self.queue, slot) {
            Ok(()) => Ok(0),
            Err(reason) => {
                self.backlog.slots.leave((slot >> 1) as u32);
                Err(refused(&reason))
            }
        }
    }

    fn check_write(&self) -> Result<(), Failure> {
        match self.may_write {
            true => Ok(()),
            false => Err(no_leave()),
        }
    }
}

#[cold]
fn no_leave() -> Failure {
    Failure::new(
        Errno::PERM,
        "the device was opened without JOULIO_ALLOW_WRITE: nothing on it is changed",
    )
}

#[cold]
#[inline(never)]
extern "C" fn refuse_write() -> c_int {
    failed(&no_leave())
}

/// Completions on their way to the caller.
pub(crate) struct Sink<'a> {
    /// Next of the caller's array.
    next: *mut joulio_completion,
    end: *mut joulio_completion,
    backlog: &'a mut Backlog,
}

impl<'a> Sink<'a> {
    /// A sink with the caller's array of `max`.
    ///
    /// # Safety
    /// `completions` has room for `max`.
    #[inline]
    pub(crate) unsafe fn new(
        completions: *mut joulio_completion,
        max: u32,
        backlog: &'a mut Backlog,
    ) -> Sink<'a> {
        Sink {
            next: completions,
            // SAFETY: by the caller.
            end: unsafe { completions.add(max as usize) },
            backlog,
        }
    }

    /// Number of completions in the caller's array, which begins at `completions`.
    #[inline]
    pub(crate) fn found(&self, completions: *mut joulio_completion) -> c_int {
        // SAFETY: of the same array.
        unsafe { self.next.offset_from(completions) as c_int }
    }

    /// Hands `done` out; its buffer is the caller's again. What is rare is elsewhere, so that this is small
    /// enough to become a part of the loop over the completions.
    #[inline(always)]
    pub(crate) fn put(&mut self, done: Completed) {
        let (tag, buffer) = match done.buffer {
            Some(memory) => {
                let buffer = DriverTag::buffer(done.tag);
                // SAFETY: who has memory has a buffer, and one in flight cannot be freed.
                let held = unsafe { handle::known(buffer) };
                held.put(memory);
                (held.tag, buffer)
            }
            None => self.without_memory(done.tag),
        };
        let (result, status) = (done.dw0, done.status.field());
        if self.next == self.end {
            return self.keep(tag, buffer, result, status);
        }
        // SAFETY: before the end, by the caller of joulio_reap().
        unsafe {
            self.next.write(joulio_completion {
                tag,
                buffer,
                result,
                status,
            });
            self.next = self.next.add(1);
        }
    }

    /// The caller's tag, and the buffer, of a command that brings no memory back: it had none, or the
    /// device keeps it.
    #[cold]
    #[inline(never)]
    fn without_memory(&mut self, tag: u64) -> (u64, *mut joulio_buffer) {
        match DriverTag::read(tag) {
            DriverTag::Slot(slot) => (self.backlog.slots.leave(slot), std::ptr::null_mut()),
            DriverTag::Buffer(buffer) => {
                // SAFETY: a buffer in flight cannot be freed.
                let held = unsafe { handle::known(buffer) };
                held.lose();
                (held.tag, buffer)
            }
        }
    }

    /// Keeps a completion that the caller's array has no room for.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, tag: u64, buffer: *mut joulio_buffer, result: u32, status: u16) {
        self.backlog.left.push_back(joulio_completion {
            tag,
            buffer,
            result,
            status,
        });
    }
}

#[cold]
pub(crate) fn refused(reason: &SubmitError) -> Failure {
    let errno = match reason {
        SubmitError::QueueFull => Errno::AGAIN,
        SubmitError::Unsupported { .. } => Errno::NOTSUP,
        _ => Errno::INVAL,
    };
    Failure::new(errno, reason)
}

/// Submits a read of `blocks` logical blocks from `lba` into `buffer`. 0, or a negative errno: -EAGAIN:
/// the queue is full; the buffer is the caller's still. The device sees it with joulio_ring().
///
/// # Safety
/// `queue` and `buffer` are NULL or handles; the buffer is not touched before it comes back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_read(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        return handle::refuse(queue);
    };
    // SAFETY: of this queue, and by the caller. Panics are caught there.
    unsafe { (queue.calls.read)(queue.this(), lba, blocks, buffer, tag) }
}

/// Submits a write of `blocks` logical blocks from `buffer` to `lba`, as joulio_read(). -EPERM: the
/// device was opened without JOULIO_ALLOW_WRITE.
///
/// # Safety
/// As joulio_read().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_write(
    queue: *mut joulio_queue,
    lba: u64,
    blocks: u32,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        return handle::refuse(queue);
    };
    if !queue.may_write {
        return refuse_write();
    }
    // SAFETY: of this queue, and by the caller. Panics are caught there.
    unsafe { (queue.calls.write)(queue.this(), lba, blocks, buffer, tag) }
}

/// Submits any I/O command: `command` points to its 64 bytes (Base figure 87) with CID, FUSE, PSDT, MPTR
/// and both PRPs zero. `buffer`: NULL for a command that moves no data. What it moves is read from its
/// own dwords, so that the device cannot reach past the buffer. 0, or a negative errno.
///
/// # Safety
/// `queue` and `buffer` are NULL or handles, `command` is NULL or points to 64 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_submit(
    queue: *mut joulio_queue,
    command: *const u8,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        if command.is_null() {
            return Err(Failure::null("command"));
        }
        // SAFETY: by the caller.
        let bytes = unsafe { command.cast::<[u8; size_of::<Command>()]>().read() };
        let command: Command = zerocopy::transmute!(bytes);
        if !only_reads(NvmOpcode(command.dword0().opc())) {
            queue.check_write()?;
        }
        if !buffer.is_null() {
            // SAFETY: by the caller.
            return Ok(unsafe { queue.transfer(What::Raw(&command), buffer, tag) });
        }
        queue.without_buffer(tag, |queue, tag| queue.submit(command, tag))
    })
}

/// Submits a flush: writes that completed before are on non-volatile media when it has completed. 0, or a
/// negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_flush(queue: *mut joulio_queue, tag: u64) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        queue.without_buffer(tag, |queue, tag| queue.flush(tag))
    })
}

/// Submits a deallocation (trim) of `count` ranges, 1 to 256, which `buffer` carries to the device, 16
/// bytes each. 0, or a negative errno: -EPERM: the device was opened without JOULIO_ALLOW_WRITE;
/// -EOPNOTSUPP: the controller has no deallocation.
///
/// # Safety
/// `queue` and `buffer` are NULL or handles; `ranges` is NULL or has `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_deallocate(
    queue: *mut joulio_queue,
    ranges: *const joulio_range,
    count: c_uint,
    buffer: *mut joulio_buffer,
    tag: u64,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        queue.check_write()?;
        if ranges.is_null() {
            return Err(Failure::null("ranges"));
        }
        let count = count as usize;
        if count == 0 || count > MAX_RANGES {
            let text = format!("{count} ranges: 1 to {MAX_RANGES} in one command");
            return Err(Failure::new(Errno::INVAL, text));
        }
        // On the stack: nothing on this path allocates.
        let mut list = [const { 0..0 }; MAX_RANGES];
        for (at, range) in list[..count].iter_mut().enumerate() {
            // SAFETY: below `count`, by the caller.
            let one = unsafe { ranges.add(at).read() };
            *range = one.lba..one.lba.saturating_add(one.blocks.into());
        }
        // SAFETY: by the caller.
        Ok(unsafe { queue.transfer(What::Deallocate(&list[..count]), buffer, tag) })
    })
}

/// Whether a command certainly changes nothing on the namespace.
fn only_reads(opcode: NvmOpcode) -> bool {
    matches!(
        opcode,
        NvmOpcode::FLUSH
            | NvmOpcode::READ
            | NvmOpcode::COMPARE
            | NvmOpcode::VERIFY
            | NvmOpcode::RESERVATION_REPORT
            | NvmOpcode::IO_MANAGEMENT_RECEIVE
            | NvmOpcode::ZONE_MANAGEMENT_RECEIVE
    )
}

/// Rings the doorbell for all commands submitted since the last time. 0, or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_ring(queue: *mut joulio_queue) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        return handle::refuse(queue);
    };
    // SAFETY: of this queue. Panics are caught there.
    unsafe { (queue.calls.ring)(queue.this()) }
}

/// Hands out up to `max` completions in `completions`, and waits, by the queue's completion mode, until at
/// least `min` are there or `timeout_ns` have passed; a negative timeout is none. `min` = 0 is one poll.
/// How many there are, or a negative errno: -EIO: the device did not do its part; the queue goes on, or
/// says the same again when its controller is gone.
///
/// # Safety
/// `queue` is NULL or a queue; `completions` has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_reap(
    queue: *mut joulio_queue,
    min: c_uint,
    max: c_uint,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    // SAFETY: by the caller.
    let Some(queue) = (unsafe { handle::find(queue) }) else {
        return handle::refuse(queue);
    };
    if completions.is_null() || min > max || max == 0 || max > c_int::MAX as c_uint {
        return refuse_room(min, max, completions.is_null());
    }
    if !queue.backlog.left.is_empty() {
        // SAFETY: by the caller.
        return unsafe { hand_out_left(queue, min, max, timeout_ns, completions) };
    }
    let this = queue.this();
    // SAFETY: of this queue, and by the caller. Panics are caught there.
    unsafe {
        (queue.calls.reap)(
            this,
            min,
            max,
            timeout_ns,
            completions,
            &raw mut queue.backlog,
        )
    }
}

#[cold]
#[inline(never)]
extern "C" fn refuse_room(min: c_uint, max: c_uint, null: bool) -> c_int {
    failed(&match null {
        true => Failure::null("completions"),
        false => Failure::new(
            Errno::INVAL,
            format!("min {min}, max {max}: max is at least 1 and at least min"),
        ),
    })
}

/// Hands out what there was no room for, and then as joulio_reap().
///
/// # Safety
/// `completions` has room for `max`.
#[cold]
unsafe fn hand_out_left(
    queue: &mut Queue,
    min: c_uint,
    max: c_uint,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    let mut found: c_uint = 0;
    while found < max
        && let Some(completion) = queue.backlog.left.pop_front()
    {
        // SAFETY: below `max`, by the caller.
        unsafe { completions.add(found as usize).write(completion) };
        found += 1;
    }
    if found == max {
        return found as c_int;
    }
    let (this, min) = (queue.this(), min.saturating_sub(found));
    // SAFETY: of this queue; the array has so much room left.
    let more = unsafe {
        (queue.calls.reap)(
            this,
            min,
            max - found,
            timeout_ns,
            completions.add(found as usize),
            &raw mut queue.backlog,
        )
    };
    // A failure comes again if it lasts.
    found as c_int + more.max(0)
}

/// The descriptor that becomes readable, after joulio_arm() said 1, when there is something to reap: for
/// poll(2), epoll(7) or any event loop. It stays the same, and the queue closes it. Or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_fd(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        Ok(unsafe { handle::get(queue) }?.queue.fd().as_raw_fd())
    })
}

/// Lets the queue's interrupt through, and polls after that. 1: nothing is there, wait for joulio_fd();
/// 0: reap first; or a negative errno: the completion mode of a queue with commands in flight has to
/// block, as "interrupt" does.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arm(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        if !queue.backlog.left.is_empty() {
            return Ok(0);
        }
        let armed = queue.queue.arm();
        let armed = armed.map_err(|error| Failure::new(Errno::INVAL, error))?;
        Ok(armed.into())
    })
}

/// Number of commands in flight, completions that were not handed out included; or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_outstanding(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        Ok((queue.queue.outstanding() + queue.backlog.left.len()) as c_int)
    })
}

/// Changes the completion mode, at any time, with commands in flight or not. 0, or a negative errno: the
/// mode is unknown or unavailable on this machine, and the queue keeps the one it has.
///
/// # Safety
/// `queue` is NULL or a queue, `completion` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_set_completion(
    queue: *mut joulio_queue,
    completion: *const c_char,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        // SAFETY: by the caller.
        let policy = unsafe { policy(completion) }?;
        let set = queue.queue.set_policy(policy);
        set.map_err(|error| Failure::new(Errno::NOTSUP, error))?;
        Ok(0)
    })
}

/// Changes the completion mode to "adaptive" with a promise, as the command's --slo takes it: "15us",
/// "p99=15us,p99.9=40us". It waits with the least energy that keeps it. 0, or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue, `slo` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_set_slo(queue: *mut joulio_queue, slo: *const c_char) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        // SAFETY: by the caller.
        let slo = parse_slo(unsafe { text(slo, "slo") }?);
        let slo = slo.map_err(|error| Failure::new(Errno::INVAL, error))?;
        let goal = Goal {
            promised: Promised::Slo(slo),
            ..Goal::default()
        };
        // The thread that waits may not be this one, which has to be registered for user interrupts.
        let steps = Waiter::new().can().without(StepKind::UserInterrupt);
        let policy = Adaptive::new(WaitCosts::generic(), goal, 1, steps);
        let set = queue.queue.set_policy(AnyPolicy::Adaptive(policy));
        set.map_err(|error| Failure::new(Errno::NOTSUP, error))?;
        Ok(0)
    })
}

/// Writes what the queue has counted to `*counters`. 0, or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue; `counters` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_queue_counters(
    queue: *mut joulio_queue,
    counters: *mut joulio_counters,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        if counters.is_null() {
            return Err(Failure::null("counters"));
        }
        let counted = queue.queue.counters().into();
        // SAFETY: by the caller.
        unsafe { counters.write(counted) };
        Ok(0)
    })
}
