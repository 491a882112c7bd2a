//! Activities of cores while their power is measured.

use joulio_cpu::Depth;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Activity of some cores in a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreActivity {
    /// No thread of joulio runs.
    Rest,
    /// Polls of a word of memory that find nothing.
    Spin,
    /// Polls of a word of memory with the PAUSE instruction between them.
    SpinPause,
    /// Waits for a time: TPAUSE, or MWAITX.
    Pause(#[serde(with = "DepthName")] Depth),
    /// Waits for a write to a cache line that does not come: UMWAIT, or MWAITX.
    Monitor(#[serde(with = "DepthName")] Depth),
    /// Sleeps by a timer, one after another, of this length each.
    Sleeps(Nanos),
}

/// Names of [`Depth`] in files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Depth", rename_all = "kebab-case")]
enum DepthName {
    C01,
    C02,
}

/// The cores of a window: what some of them do, while the others idle.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Activity of the first `cores` cores.
    pub activity: CoreActivity,
    /// Number of these cores.
    pub cores: usize,
    /// Name of the deepest idle state that the kernel may choose, on every CPU; none: its own choice.
    pub limit: Option<String>,
    /// Highest clock that the kernel may choose in kHz, on every CPU; none: its own choice.
    pub max_khz: Option<u64>,
}

impl Arm {
    /// An arm in which nothing runs, and the kernel chooses the idle state.
    pub fn idle() -> Arm {
        Arm::on(CoreActivity::Rest, 0)
    }

    /// `cores` cores do `activity`.
    pub fn on(activity: CoreActivity, cores: usize) -> Arm {
        Arm {
            activity,
            cores,
            limit: None,
            max_khz: None,
        }
    }

    /// The arm, its idle cores in no deeper idle state than `limit`.
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
