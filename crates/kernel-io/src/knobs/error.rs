//! What can go wrong with a setting.

use super::Knob;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A setting that cannot be read, set or put back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnobError {
    /// This machine does not have it.
    #[error("{knob}: {why}")]
    Absent {
        /// Which.
        knob: Knob,
        /// Why.
        why: Absence,
    },
    /// This machine does not have /dev/cpu_dma_latency.
    #[error(transparent)]
    NoLatency(Absence),
    /// Its file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel refused a value.
    #[error("{}: the kernel refuses {value}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The value.
        value: String,
        /// Why.
        source: io::Error,
    },
    /// Others than root may not set it.
    #[error("{}: not permitted: run this as root, outside of a container", path.display())]
    Permission {
        /// The file.
        path: PathBuf,
    },
    /// It cannot have that value.
    #[error("{knob} cannot be {value}: it can be {allowed}")]
    NotAllowed {
        /// Which.
        knob: Knob,
        /// What it was to be.
        value: String,
        /// What it can be.
        allowed: Allowed,
    },
    /// The kernel took the value and has another.
    #[error("{}: {asked} was written and {now} is there: this kernel or device does not take it", path.display())]
    NotTaken {
        /// The file.
        path: PathBuf,
        /// What was written.
        asked: String,
        /// What is there.
        now: String,
    },
    /// One of these, and what is known of it.
    #[error("{source}; {hint}")]
    Hinted {
        /// What went wrong.
        source: Box<KnobError>,
        /// Why that may be.
        hint: &'static str,
    },
    /// A change that was written down names a file that is not its setting's.
    #[error("{knob}: {file} is not a file of it")]
    Stranger {
        /// Which.
        knob: Knob,
        /// The file.
        file: String,
    },
}

/// Why a machine does not have a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Absence {
    /// No such disk.
    #[error("no such disk in /sys/block")]
    NoDisk,
    /// The disk's queue has no such file.
    #[error(
        "its queue has no such file: this kernel, or a device without request queue (md, device mapper, zram), does not have it"
    )]
    NoFile,
    /// The file is there and cannot be read: EINVAL.
    #[error("the kernel has not set it up for this disk")]
    NotSetUp,
    /// No cpufreq policies.
    #[error(
        "no cpufreq driver: /sys/devices/system/cpu/cpufreq has no policies, as in most virtual machines"
    )]
    NoCpufreq,
    /// No idle states.
    #[error(transparent)]
    NoCpuIdle(#[from] crate::NoCpuIdle),
    /// Idle states that cannot be switched off.
    #[error("idle states have no switch on this kernel")]
    NoSwitch,
    /// No umwait_control.
    #[error("the CPU has no TPAUSE and UMWAIT (WAITPKG), or Linux is older than 5.3")]
    NoWaitPkg,
    /// No /dev/cpu_dma_latency.
    #[error("no /dev/cpu_dma_latency: a container without it, or a kernel without CPU_IDLE")]
    NoLatencyDevice,
}

/// What a setting can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// One of these.
    OneOf(Vec<String>),
    /// A number.
    Number {
        /// From this,
        min: i64,
        /// to this,
        max: i64,
        /// a multiple of this.
        step: i64,
    },
}

impl Allowed {
    pub(crate) fn words(words: &[&str]) -> Allowed {
        Allowed::OneOf(words.iter().map(|&word| word.into()).collect())
    }

    pub(crate) const fn number(min: i64, max: i64) -> Allowed {
        Allowed::Number { min, max, step: 1 }
    }

    /// Whether `value` is among them, in the form in which the kernel gives it.
    pub fn has(&self, value: &str) -> bool {
        match self {
            Allowed::OneOf(words) => words.iter().any(|word| word == value),
            Allowed::Number { min, max, step } => value.parse().is_ok_and(|number: i64| {
                (*min..=*max).contains(&number) && number % step == 0 && number.to_string() == value
            }),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::OneOf(words) => f.write_str(&words.join(", ")),
            Allowed::Number { min, max, step: 1 } => write!(f, "{min} to {max}"),
            Allowed::Number { min, max, step } => write!(f, "{min} to {max} in steps of {step}"),
        }
    }
}
