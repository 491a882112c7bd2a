//! Queues: making and destroying them, their completion modes and counters.

use crate::any_queue::{AnyQueue, Backlog, Calls, What};
use crate::buffer::joulio_buffer;
use crate::commands::only_reads;
use crate::controller::{joulio_controller, text};
use crate::error::{Failure, failed, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use crate::list::lose_all;
use crate::seat::{Seat, with_buffer};
use crate::slots::{DriverTag, Slots};
use joulio_job::{CompletionMode, parse_slo};
use joulio_nvme::SubmitError;
use joulio_nvme_spec::{Command, NvmOpcode};
use joulio_wait::{Adaptive, AnyPolicy, Goal, Promised, StepKind, WaitCosts, WaitCounters, Waiter};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_uint};

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

/// State behind a queue's handle.
pub(crate) struct Queue {
    opened: Box<dyn AnyQueue>,
    /// Functions of `opened` for each I/O.
    pub(crate) calls: Calls,
    pub(crate) backlog: Backlog,
    pub(crate) may_write: bool,
    /// Number of calls that reap before one takes the slow path.
    pub(crate) calls_left: u32,
}

/// Calls after which the group of a queue checks it, as it also does when it waits: commands that take too long, a
/// controller that failed.
pub(crate) const CALLS: u32 = 4096;

/// Counts of a queue since it was made.
#[repr(C)]
pub struct joulio_counters {
    /// Polls of the completion queue, those that found nothing included.
    pub polls: u64,
    /// Polls that found nothing.
    pub empty_polls: u64,
    /// Interrupts of the queue.
    pub interrupts: u64,
    /// Waits in which the thread blocked until an interrupt.
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

/// Makes a policy by the name of its completion mode.
///
/// # Safety
/// `completion` is NULL or a C string.
unsafe fn policy(completion: *const c_char) -> Result<AnyPolicy, Failure> {
    // SAFETY: by the caller.
    unsafe { policies(completion) }.map(|policy| policy())
}

/// Returns a function that makes policies, one for each queue, from the name of their completion mode.
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

/// Makes a queue pair with room for `depth` commands (at least 1) that waits with the mode `completion`, as the
/// command's --completion takes it: "poll", "interrupt", "adaptive", "hybrid=4us" ... NULL: joulio_error() says why.
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
        let opened = controller.opened().queue(depth as usize, policy);
        let opened = opened.map_err(|error| Failure::new(Errno::NODEV, error))?;
        Ok(handle::make(Queue {
            calls: opened.calls(),
            opened,
            backlog: Backlog {
                slots: Slots::new(depth),
                left: VecDeque::with_capacity(depth as usize),
                ended: None,
            },
            may_write: controller.may_write(),
            calls_left: CALLS,
        }))
    })
}

/// Destroys the queue; NULL is allowed. Commands in flight are not waited for: the driver keeps their memory until the
/// device has stopped using it; their buffers lose their data and still have to be freed. Returns 0, or a negative
/// errno: it is not a queue.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_queue_destroy(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let ended = unsafe { handle::end(queue) }?;
        if let Some(mut queue) = ended {
            queue.opened.each_tag(&mut lose);
        }
        Ok(0)
    })
}

/// Marks the buffers of the command in flight with this driver's tag as lost: the device keeps them.
fn lose(tag: u64) {
    match DriverTag::read(tag) {
        // SAFETY: a buffer in flight cannot be freed.
        DriverTag::Buffer(buffer) => unsafe { handle::known(buffer) }.lose(),
        DriverTag::List(first) => lose_all(first),
        DriverTag::Slot(_) => (),
    }
}

impl Queue {
    /// Submits `what` with `buffer`, which remains the caller's if that fails; returns 0 or a negative errno.
    ///
    /// # Safety
    /// `buffer` is NULL or a buffer.
    pub(crate) unsafe fn transfer(
        &mut self,
        what: What<'_>,
        buffer: *mut joulio_buffer,
        tag: u64,
    ) -> c_int {
        // SAFETY: by the caller.
        unsafe {
            with_buffer(buffer, tag, |memory, tag| {
                self.opened.transfer(what, memory, tag)
            })
        }
    }

    pub(crate) fn opened(&mut self) -> &mut dyn AnyQueue {
        &mut *self.opened
    }

    /// Returns the queue's seat and its backlog.
    ///
    /// # Safety
    /// The queue's seat is an `S`.
    #[inline(always)]
    pub(crate) unsafe fn parts<S: Seat>(&mut self) -> (&mut S, &mut Backlog) {
        let seat: *mut S = (&raw mut *self.opened).cast();
        // SAFETY: by the caller; borrowed with the queue.
        (unsafe { &mut *seat }, &mut self.backlog)
    }

    /// Replaces the queue by the one that `change` makes of it, in a group or alone.
    pub(crate) fn become_by(
        &mut self,
        change: impl FnOnce(&mut dyn AnyQueue) -> Result<Box<dyn AnyQueue>, Failure>,
    ) -> Result<(), Failure> {
        self.opened = change(&mut *self.opened)?;
        self.calls = self.opened.calls();
        Ok(())
    }

    /// Makes the next call that reaps take the slow path, where completions are left over or the controller is used no
    /// more.
    pub(crate) fn note_left(&mut self) {
        if self.backlog.has_some() {
            self.calls_left = 1;
        }
    }

    /// Submits a command without data through `submit`.
    pub(crate) fn without_buffer(
        &mut self,
        tag: u64,
        submit: impl FnOnce(&mut dyn AnyQueue, u64) -> Result<(), SubmitError>,
    ) -> Result<c_int, Failure> {
        let slot = self.backlog.slots.enter(tag)?;
        match submit(&mut *self.opened, slot) {
            Ok(()) => Ok(0),
            Err(reason) => {
                self.backlog.slots.leave((slot >> 1) as u32);
                Err(refused(&reason))
            }
        }
    }

    pub(crate) fn check_write(&self) -> Result<(), Failure> {
        match self.may_write {
            true => Ok(()),
            false => Err(no_leave()),
        }
    }

    /// Refuses a command that may change the namespace, if that is not permitted.
    pub(crate) fn check_leave(&self, command: &Command) -> Result<(), Failure> {
        match only_reads(NvmOpcode(command.dword0().opc())) {
            true => Ok(()),
            false => self.check_write(),
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
pub(crate) extern "C" fn refuse_write() -> c_int {
    failed(&no_leave())
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
        let set = queue.opened.set_policy(policy);
        set.map_err(|error| Failure::new(Errno::NOTSUP, error))?;
        Ok(0)
    })
}

/// Changes the completion mode to "adaptive" with a promise, as the command's --slo takes it: "15us",
/// "p99=15us,p99.9=40us". It waits with the least energy that keeps the promise. Returns 0, or a negative errno.
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
        let set = queue.opened.set_policy(AnyPolicy::Adaptive(policy));
        set.map_err(|error| Failure::new(Errno::NOTSUP, error))?;
        Ok(0)
    })
}

/// Stores the counts of the queue in `*counters`. Returns 0, or a negative errno.
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
        let counted = queue.opened.counters().into();
        // SAFETY: by the caller.
        unsafe { counters.write(counted) };
        Ok(0)
    })
}
