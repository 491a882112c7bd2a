//! Ending a command that does not end by itself.

use super::Signal;
use crate::changes::{LastResort, Live};
use crate::failure::say;
use signal_hook::low_level::exit;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// How long a change that is just being made or put back may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long putting back may take in all: a device may not answer.
const LIMIT: Duration = Duration::from_secs(5);

type Last = Box<dyn FnOnce() + Send>;

static LAST: Mutex<Vec<Last>> = Mutex::new(Vec::new());

/// Has `what` done should this command have to be ended by force: it must not wait.
pub fn at_last(what: impl FnOnce() + Send + 'static) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.push(Box::new(what));
}

/// Puts settings back in the place of the thread that has changed them, or says what does, and
/// ends the process.
pub(super) fn end(signal: Signal) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    for what in last.drain(..) {
        what();
    }
    match put_back() {
        LastResort::Back(lines) => lines.iter().for_each(|line| say(line)),
        LastResort::Kept(why) => say(&format!(
            "ended by a second {signal} before settings were put back ({why}): \
             `joulio restore` puts them back"
        )),
    }
    exit(signal.status().into());
}

fn put_back() -> LastResort {
    let (done, result) = channel();
    let thread = Builder::new().name("joulio-restore".into());
    let spawned = thread.spawn(move || {
        // Nobody waits any more: this process ends.
        let _ = done.send(Live::of_this_process().put_back_for_good(PATIENCE));
    });
    match spawned.map(|_| result.recv_timeout(LIMIT)) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => LastResort::Kept("a device does not answer".into()),
        Err(error) => LastResort::Kept(error.to_string()),
    }
}
