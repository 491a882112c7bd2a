//! The options of a served controller.

use crate::options::Options;
use joulio_units::Nanos;
use std::time::Duration;

/// Manner in which a host rings its doorbells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorbellMode {
    /// The page of doorbells is mapped into the host. A ring is a store, which wakes nobody: the
    /// device's thread polls the page, at most 1000 times a second when nothing has come for
    /// a while.
    Mapped,
    /// A ring is a message. With shadow doorbells (Base 5.8), which the controller then offers,
    /// most rings are stores to the host's own memory; an idle controller polls nothing.
    Trapped,
}

/// Limits on a host, and how it rings its doorbells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Manner in which a host rings its doorbells.
    pub doorbells: DoorbellMode,
    /// Permissions of the socket's file: who may write to it may connect.
    pub socket_mode: u32,
    /// Maximum number of DMA regions of a host.
    pub max_regions: usize,
    /// Maximum number of bytes of all its DMA regions together.
    pub max_bytes: u64,
    /// Longest time until a host has agreed on the version, after which it is cut off: it knows
    /// what to say.
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
/// Time for which doorbells are idle before the thread sleeps, or parks until a message: long
/// enough that a host which is at work finds the thread awake and need not send messages.
const LINGER: Nanos = Nanos::from_micros(5000);

impl ServeOptions {
    /// The controller's own options, as serving it this way wants them.
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
