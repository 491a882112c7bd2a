//! Forced end of a command that does not end by itself.

use super::cancel;
use crate::failure::say;
use crate::signal::Signal;
use joulio_host::changes::{ForcedRestore, force_restore};
use signal_hook::low_level::exit;
use std::sync::{Mutex, PoisonError};

type Last = Box<dyn FnOnce() + Send>;

static LAST: Mutex<Vec<Last>> = Mutex::new(Vec::new());

/// Registers `what`, which must not block, to be called if this command has to be ended by force.
pub fn at_last(what: impl FnOnce() + Send + 'static) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.push(Box::new(what));
}

/// Restores settings in place of the thread that changed them, or prints how to restore them, and ends the process.
pub(super) fn end(signal: Signal) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    for what in last.drain(..) {
        what();
    }
    match force_restore(cancel()) {
        ForcedRestore::Restored(lines) => lines.iter().for_each(|line| say(line)),
        ForcedRestore::Kept(why) => say(&format!(
            "ended by a second {signal} before settings were restored ({why}): \
             `joulio restore` restores them"
        )),
    }
    exit(signal.status().into());
}
