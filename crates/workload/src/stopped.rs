//! Detection of stops of the process by SIGSTOP, Ctrl-Z or a debugger. Only SIGCONT reveals them.

use signal_hook::consts::SIGCONT;
use signal_hook::flag::register;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Flag that SIGCONT sets; never set if the handler could not be installed.
static CONTINUED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let flag = Arc::new(AtomicBool::new(false));
    let _ = register(SIGCONT, Arc::clone(&flag));
    flag
});

static TIMES: Mutex<u64> = Mutex::new(0);

/// Returns how often this process was found to be continued, by any caller, since the first call. If two results
/// differ, the process was stopped between them.
pub(crate) fn times() -> u64 {
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    *times += u64::from(CONTINUED.swap(false, Ordering::Relaxed));
    *times
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, raise};

    #[test]
    fn who_asks_before_and_after_a_stop_has_two_answers() {
        let before = times();
        raise(Signal::SIGCONT).unwrap();
        assert_eq!(times(), before + 1);
        assert_eq!(times(), before + 1);
    }
}
