//! Groups: queues that one thread waits for together.

use crate::controller::joulio_controller;
use crate::each::{Each, joulio_each};
use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use crate::io::joulio_completion;
use crate::queue::joulio_counters;
use crate::queue_handle::{AnyGroup, joulio_queue};
use crate::sink::check_room;
use rustix::io::Errno;
use std::ffi::{c_int, c_uint, c_void};

/// Queues that one thread waits for together, with the completion modes of all. The group and its queues are used by
/// one thread at a time, except by joulio_group_wake().
pub struct joulio_group {
    _private: [u8; 0],
}

impl Handle for joulio_group {
    type Value = Group;
    const NAME: &'static str = "group";
    const MARK: u64 = u64::from_le_bytes(*b"jlGroup.");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// State behind a group's handle.
pub(crate) struct Group {
    opened: Box<dyn AnyGroup>,
}

/// Makes a group for queues of `controller` and of others of its back end (emulated, pcie, vfio-user). NULL:
/// joulio_error() says why.
///
/// # Safety
/// `controller` is NULL or a controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_create(
    controller: *mut joulio_controller,
) -> *mut joulio_group {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        let opened = controller.opened().group();
        let opened = opened.map_err(|error| Failure::new(Errno::MFILE, error))?;
        Ok(handle::make(Group { opened }))
    })
}

/// Destroys the group; NULL is allowed. 0, or a negative errno: -EBUSY: queues are in it.
///
/// # Safety
/// `group` is NULL or a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_destroy(group: *mut joulio_group) -> c_int {
    guarded(|| {
        if group.is_null() {
            return Ok(0);
        }
        // SAFETY: by the caller.
        let count = unsafe { handle::share(group) }?.opened.count();
        if count > 0 {
            let text = format!("the group has {count} queues, which have to leave it first");
            return Err(Failure::new(Errno::BUSY, text));
        }
        // SAFETY: by the caller.
        drop(unsafe { handle::end(group) }?);
        Ok(0)
    })
}

/// Adds a queue, with its commands in flight and its completion mode. Commands are submitted to it as
/// before; completions are the group's from now on. 0, or a negative errno: -EBUSY: it is in a group.
///
/// # Safety
/// `group` and `queue` are NULL or handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_join(
    group: *mut joulio_group,
    queue: *mut joulio_queue,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        // SAFETY: by the caller.
        let joining = unsafe { handle::get(queue) }?;
        joining.become_by(|opened| group.opened.join(opened, queue))?;
        Ok(0)
    })
}

/// Removes a queue from the group, with its commands in flight: it waits alone again. Returns 0, or a negative errno. A
/// queue that is destroyed leaves its group.
///
/// # Safety
/// `group` and `queue` are NULL or handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_leave(
    group: *mut joulio_group,
    queue: *mut joulio_queue,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        // SAFETY: by the caller.
        let leaving = unsafe { handle::get(queue) }?;
        leaving.become_by(|opened| group.opened.leave(opened))?;
        leaving.note_left();
        Ok(0)
    })
}

/// Returns completions of all queues of the group, as joulio_reap() does of one queue; the tags have to tell which
/// queue they are of. A group without queues returns 0 at once.
///
/// # Safety
/// `group` is NULL or a group; `completions` has room for `max`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_reap(
    group: *mut joulio_group,
    min: c_uint,
    max: c_uint,
    timeout_ns: i64,
    completions: *mut joulio_completion,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        check_room(min, max, completions)?;
        // SAFETY: by the caller.
        Ok(unsafe { group.opened.reap(min, max, timeout_ns, completions) })
    })
}

/// Waits as joulio_group_reap() does, and calls `each` with `context` for each completion, as joulio_reap_each() does of
/// one queue. `each` may use the group and its queues, and destroy queues. Returns the number of completions, or a
/// negative errno, and then `each` was not called.
///
/// # Safety
/// `group` is NULL or a group that nobody destroys meanwhile; `each` is NULL or a function for `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_reap_each(
    group: *mut joulio_group,
    min: c_uint,
    max: c_uint,
    timeout_ns: i64,
    each: joulio_each,
    context: *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        let each = Each::new(min, max, each, context)?;
        let opened = &group.opened;
        // SAFETY: there is room for `max`.
        let reap = |min, max, first| unsafe { opened.reap(min, max, timeout_ns, first) };
        // SAFETY: by the caller; the group is not locked while the function is called.
        Ok(unsafe { each.of(opened.outstanding(), reap) })
    })
}

/// Descriptor of the group, as joulio_fd() of a queue. Or a negative errno.
///
/// # Safety
/// `group` is NULL or a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_fd(group: *mut joulio_group) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        Ok(unsafe { handle::share(group) }?.opened.fd())
    })
}

/// Enables the interrupts of all queues with commands in flight, then polls, as joulio_arm() does. Returns 1 if nothing
/// was found: wait for joulio_group_fd(); 0: reap first; or a negative errno.
///
/// # Safety
/// `group` is NULL or a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_arm(group: *mut joulio_group) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        group.opened.arm().map(c_int::from)
    })
}

/// Makes the descriptor of the group readable at once, until the next joulio_group_arm(): for a thread that wants the
/// attention of the one that waits for the descriptor. Any thread may call it as long as the group is not destroyed;
/// while another is in a call of the group, it waits until that returns. joulio_group_arm() also ends a wake that came
/// before, so the loop looks for its work after that call, not before it. Returns 0, or a negative errno.
///
/// # Safety
/// `group` is NULL or a group that no other thread destroys meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_wake(group: *mut joulio_group) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        group.opened.wake()?;
        Ok(0)
    })
}

/// Number of commands in flight on all queues, completions that were not handed out included; or a negative
/// errno.
///
/// # Safety
/// `group` is NULL or a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_outstanding(group: *mut joulio_group) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        Ok(group.opened.outstanding() as c_int)
    })
}

/// Stores the counts of the group, which waits, and of its queues in `*counters`. Returns 0, or a negative errno.
///
/// # Safety
/// `group` is NULL or a group; `counters` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_group_counters(
    group: *mut joulio_group,
    counters: *mut joulio_counters,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let group = unsafe { handle::share(group) }?;
        if counters.is_null() {
            return Err(Failure::null("counters"));
        }
        let counted = group.opened.counters().into();
        // SAFETY: by the caller.
        unsafe { counters.write(counted) };
        Ok(0)
    })
}
