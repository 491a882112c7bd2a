//! Completions that a function of the caller's is called for.

use crate::error::Failure;
use crate::io::joulio_completion;
use crate::sink::check_room;
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::dangling_mut;

/// A function that is called for each completion, with the caller's context. The completion is valid during the call.
pub type joulio_each =
    Option<unsafe extern "C" fn(context: *mut c_void, completion: *const joulio_completion)>;

/// A function of the caller's, and how many completions it is to be called for.
pub(crate) struct Each {
    min: c_uint,
    max: c_uint,
    run: unsafe extern "C" fn(*mut c_void, *const joulio_completion),
    context: *mut c_void,
}

thread_local! {
    /// Memory of a thread for completions on their way to a function of the caller's. It is no queue's, as the function
    /// may destroy the queue meanwhile.
    static COMPLETIONS: Cell<Vec<joulio_completion>> = const { Cell::new(Vec::new()) };
}

impl Each {
    /// Checks the arguments of a call.
    pub(crate) fn new(
        min: c_uint,
        max: c_uint,
        run: joulio_each,
        context: *mut c_void,
    ) -> Result<Each, Failure> {
        let run = run.ok_or_else(|| Failure::null("each"))?;
        // The array is the thread's own.
        check_room(min, max, dangling_mut())?;
        Ok(Each {
            min,
            max,
            run,
            context,
        })
    }

    /// Calls the function for the completions that `reap` returns, of the `in_flight` commands and no more. `reap` gets
    /// the least and the greatest number of completions and the array for them; it returns their number, or a negative
    /// errno, as this function does.
    ///
    /// # Safety
    /// The function may be called with its context for any completion, and whatever it uses is borrowed by nobody
    /// outside of `reap`. `reap` writes as many completions as it returns.
    pub(crate) unsafe fn of(
        self,
        in_flight: usize,
        reap: impl FnOnce(c_uint, c_uint, *mut joulio_completion) -> c_int,
    ) -> c_int {
        let room = in_flight.clamp(1, self.max as usize);
        // A call from within the function has memory of its own.
        let mut completions = taken();
        completions.reserve(room);
        let first = completions.as_mut_ptr();
        let room = room as c_uint;
        let found = reap(self.min.min(room), room, first);
        for at in 0..found.max(0) as usize {
            // SAFETY: so many were written; by the caller.
            unsafe { (self.run)(self.context, first.add(at)) };
        }
        // Lost where the thread is ending.
        let _ = COMPLETIONS.try_with(|kept| kept.set(completions));
        found
    }
}

/// Takes the thread's memory; none is kept where the thread is ending, as in an exit handler.
fn taken() -> Vec<joulio_completion> {
    COMPLETIONS.try_with(Cell::take).unwrap_or_default()
}
