//! What a meter is.

use crate::{Clock, Zone};
use joulio_units::{Joules, Nanos, Watts};
use serde::Serialize;
use std::fmt;
use std::io;

/// By which way a meter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// RAPL through the kernel's perf events: 64 bits, no wrap.
    Perf,
    /// RAPL through the powercap tree of the MSRs.
    Powercap,
    /// RAPL through the powercap tree of the memory-mapped registers.
    PowercapMmio,
    /// A hardware-monitoring driver.
    Hwmon,
    /// The BMC, asked over IPMI for DCMI's power reading.
    Ipmi,
    /// The BMC, asked over Redfish.
    Redfish,
    /// The storage device itself.
    Nvme,
    /// A logger's file.
    Logger,
}

impl Source {
    /// Every one, the preferred reader of a zone first.
    pub const ALL: [Source; 8] = [
        Source::Perf,
        Source::Powercap,
        Source::PowercapMmio,
        Source::Hwmon,
        Source::Ipmi,
        Source::Redfish,
        Source::Nvme,
        Source::Logger,
    ];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Perf => "perf",
            Source::Powercap => "powercap",
            Source::PowercapMmio => "powercap-mmio",
            Source::Hwmon => "hwmon",
            Source::Ipmi => "ipmi",
            Source::Redfish => "redfish",
            Source::Nvme => "nvme",
            Source::Logger => "logger",
        })
    }
}

/// What a meter gives, and how finely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A count of joules that only grows.
    Counter {
        /// What it counts in.
        step: Joules,
        /// How often the hardware brings it up to date; `Nanos::ZERO` if only now and then.
        update: Nanos,
        /// The shortest time in which the hardware's counter can go once round. It has to be read
        /// more often than that; None: it does not wrap.
        wraps_after: Option<Nanos>,
    },
    /// The present power, which is to be integrated.
    Power {
        /// What it is rounded to.
        step: Watts,
        /// How often it changes, or what it is the mean of.
        update: Nanos,
    },
}

/// A meter's description of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Its name, alone of its kind on the machine: `perf:package-0`.
    pub name: String,
    /// By which way it is read.
    pub source: Source,
    /// What it is about.
    pub zone: Zone,
    /// What it gives.
    pub kind: Kind,
    /// A reading takes milliseconds or more, so that it has a thread of its own.
    pub slow: bool,
    /// What it shows is computed, not measured: it is an emulated device's.
    pub modelled: bool,
    /// What a reader of its figures should know.
    pub notes: Vec<String>,
}

/// What a meter showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of a [`Kind::Counter`]: joules since some time before; never less than before.
    Total(Joules),
    /// Of a [`Kind::Power`].
    Power(Watts),
}

/// A reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// When, by the clock that [`Meter::read`] was given.
    pub at: Nanos,
    /// What.
    pub value: Value,
}

/// Why a meter could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeterError {
    /// The permission is missing.
    #[error("{what}: permission denied")]
    Denied {
        /// What was opened.
        what: String,
    },
    /// It was there, and is no more.
    #[error("{what}: gone")]
    Gone {
        /// What was opened.
        what: String,
    },
    /// It says something that makes no sense.
    #[error("{what}: not a reading: '{said}'")]
    Malformed {
        /// What was read.
        what: String,
        /// The beginning of what it says.
        said: String,
    },
    /// It counts backwards: it was reset.
    #[error("{what}: went back from {from} to {to}: it was reset")]
    WentBack {
        /// What was read.
        what: String,
        /// The last reading.
        from: u64,
        /// This one.
        to: u64,
    },
    /// It could not be read this time, and may be the next.
    #[error("{what}: {why}")]
    Failed {
        /// What was read.
        what: String,
        /// Why.
        why: String,
    },
}

impl MeterError {
    /// The error of an operation on `what`.
    pub fn io(what: impl Into<String>, error: &io::Error) -> MeterError {
        let what = what.into();
        match error.kind() {
            io::ErrorKind::PermissionDenied => MeterError::Denied { what },
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => MeterError::Gone { what },
            // A zone that was taken out while the file was open.
            _ if error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) => {
                MeterError::Gone { what }
            }
            _ => MeterError::Failed {
                what,
                why: error.to_string(),
            },
        }
    }

    /// `said` is not what `what` should hold.
    pub fn malformed(what: impl Into<String>, said: &str) -> MeterError {
        const ENOUGH: usize = 40;
        MeterError::Malformed {
            what: what.into(),
            // It is shown on terminals, and a server may have said it.
            said: said
                .trim()
                .replace(char::is_control, "?")
                .chars()
                .take(ENOUGH)
                .collect(),
        }
    }

    /// The next reading may succeed, and the one after it makes up for this one.
    pub fn is_passing(&self) -> bool {
        matches!(self, MeterError::Failed { .. })
    }
}

/// Something that measures power or energy.
///
/// Between the edges of a window a meter is read as seldom as its [`Kind`] allows; never more than
/// ten times a second.
pub trait Meter: Send + fmt::Debug {
    /// What it is. A [`Kind::Counter`]'s step may become finer as it is read.
    fn about(&self) -> &About;

    /// Reads it.
    ///
    /// # Errors
    /// [`MeterError`]. After one that is not [passing](MeterError::is_passing) the window has no
    /// figure of this meter.
    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError>;
}
