//! Queues: making and destroying them, their completion modes and counters.

use crate::buffer_handle::lose_all;
use crate::controller::{joulio_controller, text};
use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle;
use crate::queue_handle::{Backlog, CALLS, Call, Queue, joulio_queue};
use crate::slots::{DriverTag, Slots};
use joulio_device::DeviceError;
use joulio_job::{CompletionMode, parse_slo};
use joulio_nvme::NvmeError;
use joulio_wait::{Adaptive, AnyPolicy, Goal, Promised, StepKind, WaitCosts, WaitCounters, Waiter};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_uint};

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
            call: Call::NONE,
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

/// Directs the interrupts that the queue's completion mode blocks for to `cpu`, the CPU of the thread that waits, and
/// writes the CPUs that then take them to `cpus`, at most `max`; NULL if `max` is 0. The setting lasts until the
/// controller is closed, also in other completion modes. Returns the number of those CPUs, also if it is above `max`;
/// 0: the mode has no interrupts that the kernel takes, or no CPU takes them, as of an emulated device; or a negative
/// errno of the system: -EACCES or -EPERM: it takes root; -EINVAL: the CPU is not online.
///
/// # Safety
/// `queue` is NULL or a queue; `cpus` is NULL or has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_direct_interrupts(
    queue: *mut joulio_queue,
    cpu: c_uint,
    cpus: *mut c_uint,
    max: c_uint,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        if cpus.is_null() && max != 0 {
            return Err(Failure::null("cpus"));
        }
        let directed = queue.opened.direct_interrupts(cpu as usize);
        let directed = directed.map_err(not_directed)?.unwrap_or_default();
        for (at, one) in directed.iter().take(max as usize).enumerate() {
            // SAFETY: below `max`, by the caller.
            unsafe { cpus.add(at).write(one) };
        }
        Ok(directed.iter().count() as c_int)
    })
}

/// Makes the failure of interrupts that were not directed, with the system's errno.
fn not_directed(error: NvmeError) -> Failure {
    let errno = match &error {
        NvmeError::Device(DeviceError::Os { source, .. }) => Errno::from_io_error(source),
        _ => None,
    };
    Failure::new(errno.unwrap_or(Errno::IO), error)
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
