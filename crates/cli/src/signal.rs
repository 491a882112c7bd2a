//! The signal that ends a command.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// A signal that ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(u8);

impl Signal {
    /// Returns the signal with this `number`.
    pub fn new(number: i32) -> Signal {
        Signal(u8::try_from(number).unwrap_or(0))
    }

    /// Returns true for signals that a terminal sends at a key: Ctrl-C, Ctrl-\.
    pub fn is_of_keyboard(self) -> bool {
        matches!(i32::from(self.0), SIGINT | SIGQUIT)
    }

    /// Returns the exit status that shells use for it: 130 for SIGINT, 143 for SIGTERM.
    pub fn status(self) -> u8 {
        128 + self.0
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match i32::from(self.0) {
            SIGHUP => "SIGHUP",
            SIGINT => "SIGINT",
            SIGQUIT => "SIGQUIT",
            _ => "SIGTERM",
        })
    }
}

/// Returns the number of the latest signal that came; zero for none.
pub fn number() -> &'static Arc<AtomicUsize> {
    static NUMBER: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
    &NUMBER
}

/// Returns the signal that ends this command, if one came.
pub fn signal() -> Option<Signal> {
    let number = number().load(Ordering::Relaxed);
    u8::try_from(number)
        .ok()
        .filter(|number| *number != 0)
        .map(Signal)
}
