//! The options of a served controller.

use crate::options::Options;
use joulio_units::Nanos;
use std::time::Duration;

/// Way in which a host rings its doorbells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorbellMode {
    /// The page of doorbells is mapped into the host. A ring is a store, which wakes nobody: the device's thread polls
    /// the page, at most 1000 times a second when it was idle for a while.
    Mapped,
    /// A ring is a message. With shadow doorbells (Base 5.8), which the controller then offers, most rings are stores
    /// to the host's own memory; an idle controller does not poll.
    Trapped,
}

/// Limits of a host, and the way in which it rings its doorbells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Way in which a host rings its doorbells.
    pub doorbells: DoorbellMode,
    /// Permissions of the socket's file: users who may write to it may connect.
    pub socket_mode: u32,
    /// Maximum number of DMA regions of a host.
    pub max_regions: usize,
    /// Maximum number of bytes of all DMA regions of a host together.
    pub max_bytes: u64,
    /// Longest time until a host has negotiated the version, after which it is disconnected.
    pub first_word: Duration,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            doorbells: DoorbellMode::Trapped,
            socket_mode: 0o600,
            max_regions: 1024,
            max_bytes: 64 << 30,
            first_word: Duration::from_secs(5),
        }
    }
}

/// Interval at which the device's thread polls idle mapped doorbells: a little over a
/// thousandth of a second, so that it polls at most 1000 times in one.
const NAP: Nanos = Nanos::from_micros(1010);
/// Time for which doorbells are idle before the thread sleeps, or parks until a message: long enough that a host at
/// work finds the thread awake and need not send messages.
const LINGER: Nanos = Nanos::from_micros(5000);

impl ServeOptions {
    /// Returns the controller's options, changed as serving it requires.
    pub(super) fn adapt(&self, options: &Options) -> Options {
        let mut options = options.clone();
        options.linger = options.linger.max(LINGER);
        match self.doorbells {
            DoorbellMode::Mapped => options.nap = Some(NAP),
            DoorbellMode::Trapped => options.shadow_doorbells = true,
        }
        options
    }
}
