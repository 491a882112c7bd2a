//! Completions: reaping them, and the descriptor of an event loop.

use crate::each::{Each, joulio_each};
use crate::error::{failed, guarded};
use crate::handle;
use crate::io::joulio_completion;
use crate::queue_handle::joulio_queue;
use crate::sink::{has_room, no_room};
use std::ffi::{c_int, c_uint, c_void};

/// Returns up to `max` completions in `completions`. Waits, with the queue's completion mode, until at least `min` are
/// there or `timeout_ns` have passed; a negative timeout means none, and then nothing in flight returns 0 at once. `min`
/// = 0 polls once. Returns their number, or a negative errno: -EIO: the device failed; the queue can still be used, or,
/// if its controller is gone, fails again after each command that it ends with status 371h.
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
        // SAFETY: by the caller.
        return unsafe { handle::refuse(queue) };
    };
    if !has_room(min, max, completions) {
        return refuse_room(min, max, completions);
    }
    // SAFETY: of this queue, and by the caller. Panics are caught there.
    unsafe { (queue.calls.reap)(queue, min, max, timeout_ns, completions) }
}

#[cold]
#[inline(never)]
extern "C" fn refuse_room(min: c_uint, max: c_uint, completions: *mut joulio_completion) -> c_int {
    failed(&no_room(min, max, completions))
}

/// Waits as joulio_reap() does, and calls `each` with `context` for each completion, up to `max`, of the commands that
/// are in flight now. A completion is valid during its call. `each` may use the queue as any code may: submit on it (a
/// later call returns those completions), reap, or destroy it. It has to return: neither longjmp(3) nor an exception
/// leaves it. joulio_outstanding() does not count completions for which it is about to be called. Returns the number of
/// completions, or a negative errno as joulio_reap(), and then `each` was not called.
///
/// # Safety
/// `queue` is NULL or a queue; `each` is NULL or a function for `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_reap_each(
    queue: *mut joulio_queue,
    min: c_uint,
    max: c_uint,
    timeout_ns: i64,
    each: joulio_each,
    context: *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let this = unsafe { handle::get(queue) }?;
        let each = Each::new(min, max, each, context)?;
        let in_flight = this.opened().outstanding() + this.backlog.left.len();
        // SAFETY: of this queue, and there is room for `max`. Panics are caught there.
        let reap =
            |min, max, first| unsafe { (this.calls.reap)(this, min, max, timeout_ns, first) };
        // SAFETY: by the caller.
        Ok(unsafe { each.of(in_flight, reap) })
    })
}

/// Returns the descriptor that becomes readable, after joulio_arm() returned 1, when there are completions to reap: for
/// poll(2), epoll(7) or any event loop. It stays the same until the queue joins a group; the queue closes it, also when
/// it joins one. Or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_fd(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        unsafe { handle::get(queue) }?.opened().fd()
    })
}

/// Enables the queue's interrupt, then polls. Returns 1 if nothing was found: wait for joulio_fd(); 0: reap first; or a
/// negative errno: the completion mode of a queue with commands in flight has to be one that blocks, as "interrupt"
/// does.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arm(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        if queue.backlog.has_some() {
            return Ok(0);
        }
        let armed = queue.opened().arm()?;
        if !armed {
            // The queue may be due for a check, which the usual calls make only rarely.
            queue.calls_left = 1;
        }
        Ok(armed.into())
    })
}

/// Returns the number of commands in flight, including completions that were not returned yet; or a negative errno.
///
/// # Safety
/// `queue` is NULL or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_outstanding(queue: *mut joulio_queue) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        let queue = unsafe { handle::get(queue) }?;
        Ok((queue.opened().outstanding() + queue.backlog.left.len()) as c_int)
    })
}
