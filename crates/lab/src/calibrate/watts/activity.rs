//! Activities of cores during a measurement of their power.

use joulio_cpu::Depth;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Activity of some cores in a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreActivity {
    /// No thread of joulio runs on the core.
    Rest,
    /// Polls of a word of memory that never changes.
    Spin,
    /// Polls of such a word with a PAUSE instruction between them.
    SpinPause,
    /// Timed waits: TPAUSE, or MWAITX.
    Pause(#[serde(with = "DepthName")] Depth),
    /// Waits for a write to a cache line that is never written: UMWAIT, or MWAITX.
    Monitor(#[serde(with = "DepthName")] Depth),
    /// Timed sleeps in succession, each of this length.
    Sleeps(Nanos),
}

/// Names of [`Depth`] in files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Depth", rename_all = "kebab-case")]
enum DepthName {
    C01,
    C02,
}

/// Activity of the cores in one window: some carry it out, the others idle.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Activity of the first `cores` cores.
    pub activity: CoreActivity,
    /// Number of these cores.
    pub cores: usize,
    /// Name of the deepest idle state that the kernel may choose, on every CPU; `None`: no limit.
    pub limit: Option<String>,
    /// Highest clock that the kernel may choose, in kHz, on every CPU; `None`: no limit.
    pub max_khz: Option<u64>,
}

impl Arm {
    /// Returns an arm in which nothing runs and the kernel chooses the idle state.
    pub fn idle() -> Arm {
        Arm::on(CoreActivity::Rest, 0)
    }

    /// Returns an arm in which `cores` cores carry out `activity`.
    pub fn on(activity: CoreActivity, cores: usize) -> Arm {
        Arm {
            activity,
            cores,
            limit: None,
            max_khz: None,
        }
    }

    /// Returns the arm with its idle cores limited to idle states no deeper than `limit`.
    pub fn within(self, limit: Option<&str>) -> Arm {
        Arm {
            limit: limit.map(String::from),
            ..self
        }
    }
}

impl fmt::Display for CoreActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let depth = |depth: &Depth| match depth {
            Depth::C01 => "C0.1",
            Depth::C02 => "C0.2",
        };
        match self {
            CoreActivity::Rest => f.write_str("idle"),
            CoreActivity::Spin => f.write_str("spin"),
            CoreActivity::SpinPause => f.write_str("spin with PAUSE"),
            CoreActivity::Pause(of) => write!(f, "tpause {}", depth(of)),
            CoreActivity::Monitor(of) => write!(f, "umwait {}", depth(of)),
            CoreActivity::Sleeps(time) => write!(f, "sleeps of {} us", time.0 / 1_000),
        }
    }
}
