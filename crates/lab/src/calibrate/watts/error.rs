//! Why watts were not measured.

use crate::power_log::PowerLogError;
use joulio_energy::SumError;
use joulio_host::ChangeError;
use joulio_workload::Spoiled;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// Why watts were not measured.
#[derive(Debug, thiserror::Error)]
pub enum WattsError {
    /// The machine has no meter of the package or the wall that can be read; each gives its reason.
    #[error(
        "--watts: no meter of the package or the wall can be read here, and nothing is measured"
    )]
    NoMeter(Vec<String>),
    /// The process may use one core only, whose watts cannot be separated from those of what cores share.
    #[error(
        "--watts: needs two cores of one package, to tell theirs from what they share: this process may use {0}"
    )]
    OneCore(usize),
    /// A single round does not give the error of its figures.
    #[error("--rounds: --watts needs at least 2: one round alone has no error bound")]
    OneRound,
    /// A name that no state has here.
    #[error(
        "--states: '{word}' is not one of {}{}",
        WORDS.join(", "),
        idle_names(idle)
    )]
    NoState {
        /// Name that was given.
        word: String,
        /// Names of the kernel's idle states.
        idle: Vec<String>,
    },
    /// Clocks that cannot be compared.
    #[error("--frequencies: {0}")]
    Clocks(String),
    /// The file of windows cannot be read or written, or is none.
    #[error("{}: {why}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The file of windows is of another machine or plan.
    #[error(
        "{}: belongs to other states, rounds, windows or cores: give the same flags to go on with it, or name another file",
        .0.display()
    )]
    AnotherPlan(PathBuf),
    /// Windows are left to do: go on with them.
    #[error(
        "{0} states were not done: go on by joulio calibrate --watts --record with the same file"
    )]
    RecordUnfinished(usize),
    /// A window is too short for a logger, whose first and last samples are of something else too.
    #[error(
        "--window: a logger takes a sample a second, and four of a window are left out: give at least 10 s"
    )]
    ShortWindow,
    /// The machine's clock was set within a window.
    #[error(
        "the machine's clock was changed by {0:.1} s during a window: go on with the same file"
    )]
    ClockSet(f64),
    /// The logger's record, or its clock, is not available.
    #[error(transparent)]
    Log(#[from] PowerLogError),
    /// The windows of some states were not measured.
    #[error("--watts: {0}")]
    NotDone(String),
    /// A meter failed in the middle.
    #[error("--watts: {name}: {why}")]
    Meter {
        /// Name of the meter.
        name: String,
        /// Why.
        why: String,
    },
    /// Meters whose figures cannot be added.
    #[error("--watts: {0}: choose one of them by --meter")]
    Sum(#[from] SumError),
    /// The system cannot start a thread.
    #[error("--watts: {0}")]
    Thread(#[from] io::Error),
    /// A thread cannot be kept on its CPU.
    #[error("--watts: CPU {cpu}: {errno}")]
    Pin {
        /// The CPU's number.
        cpu: usize,
        /// The system's reason.
        errno: Errno,
    },
    /// The idle states could not be limited, or not be put back.
    #[error("--watts: {0}")]
    Change(#[from] Box<ChangeError>),
    /// The measurement was spoiled: other programs ran, or the machine was disturbed otherwise.
    #[error("{}", .0.why)]
    Spoiled(Spoiled),
    /// The difference between spinning and idling is not significant: nor is that of anything which saves part of it.
    #[error(
        "by {meter} {cores} spinning cores cannot be told from idle ones (within {within:.2} W each): give more --rounds, a longer --window, or another --meter"
    )]
    Indistinguishable {
        /// Names of the meters.
        meter: String,
        /// Number of cores that spun.
        cores: usize,
        /// Half of the interval, in watts a core.
        within: f64,
    },
    /// Ended early.
    #[error("nothing is kept")]
    Interrupted,
    /// A thread panicked, and said why.
    #[error("--watts: a thread panicked")]
    Panicked,
}

/// Names of states that are not the kernel's idle states.
pub(super) const WORDS: [&str; 4] = ["pause", "tpause", "umwait", "wake"];

fn idle_names(idle: &[String]) -> String {
    match idle.is_empty() {
        true => "; the kernel shows no idle states here".to_owned(),
        false => format!(", {}", idle.join(", ")),
    }
}

impl WattsError {
    /// True if nothing was measured, since it cannot be here.
    pub fn is_refusal(&self) -> bool {
        match self {
            WattsError::NoMeter(_)
            | WattsError::OneCore(_)
            | WattsError::OneRound
            | WattsError::NoState { .. }
            | WattsError::Clocks(_)
            | WattsError::Record { .. }
            | WattsError::AnotherPlan(_)
            | WattsError::RecordUnfinished(_)
            | WattsError::ShortWindow => true,
            WattsError::Log(error) => error.is_refusal(),
            _ => false,
        }
    }
}
