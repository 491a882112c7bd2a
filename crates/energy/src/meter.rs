//! The trait of a meter, its description and its errors.

use crate::{Clock, Zone};
use joulio_units::{Joules, Nanos, Watts};
use serde::Serialize;
use std::fmt;
use std::io;

/// Interface through which a meter is read.
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
    /// The BMC, read over IPMI for DCMI's power reading.
    Ipmi,
    /// The BMC, read over Redfish.
    Redfish,
    /// The storage device itself.
    Nvme,
    /// A logger's file.
    Logger,
}

impl Source {
    /// All sources; of two that read one zone, the preferred one comes first.
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

/// Quantity that a meter measures, and its resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeterKind {
    /// A count of joules that never decreases.
    Counter {
        /// Unit of the counter.
        step: Joules,
        /// Update interval of the hardware; `Nanos::ZERO` if only now and then.
        update: Nanos,
        /// Shortest time in which the hardware's counter can wrap, so that it has to be read more often; `None` if it
        /// does not wrap.
        wraps_after: Option<Nanos>,
    },
    /// The present power, which has to be integrated.
    Power {
        /// Step that readings are rounded to.
        step: Watts,
        /// Update interval of the hardware, or the time that a reading averages over.
        update: Nanos,
    },
}

/// Description of a meter.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Name of the meter, unique on the machine: `perf:package-0`.
    pub name: String,
    /// Interface through which it is read.
    pub source: Source,
    /// Zone that the meter measures.
    pub zone: Zone,
    /// Quantity that the meter measures.
    pub kind: MeterKind,
    /// Whether a reading takes milliseconds or more, so that the meter is read by a thread of its own.
    pub slow: bool,
    /// Whether readings are computed, not measured: those of an emulated device.
    pub modelled: bool,
    /// Notes for readers of the meter's figures.
    pub notes: Vec<String>,
}

/// The value of a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeterValue {
    /// Value of a [`MeterKind::Counter`]: joules since some earlier time; never less than before.
    Total(Joules),
    /// Value of a [`MeterKind::Power`], in watts.
    Power(Watts),
}

/// A reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Time of the reading, by the clock passed to [`Meter::read`].
    pub at: Nanos,
    /// The value.
    pub value: MeterValue,
}

/// Reason why a meter could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeterError {
    /// The permission is missing.
    #[error("{what}: permission denied")]
    Denied {
        /// The file or service that was opened.
        what: String,
    },
    /// The meter was present and is gone.
    #[error("{what}: removed, or switched off")]
    Removed {
        /// The file or service that was opened.
        what: String,
    },
    /// The reading is not valid.
    #[error("{what}: not a reading: '{said}'")]
    Malformed {
        /// The file or service that was read.
        what: String,
        /// Beginning of its text.
        said: String,
    },
    /// The counter went backwards: it was reset.
    #[error("{what}: went back from {from} to {to}: it was reset")]
    WentBack {
        /// The file or service that was read.
        what: String,
        /// Value of the reading before.
        from: u64,
        /// Value of this reading.
        to: u64,
    },
    /// The reading failed this time, and may succeed the next.
    #[error("{what}: {why}")]
    Failed {
        /// The file or service that was read.
        what: String,
        /// Reason in words.
        why: String,
    },
}

impl MeterError {
    /// Makes the error of an operation on `what`.
    pub fn io(what: impl Into<String>, error: &io::Error) -> MeterError {
        let what = what.into();
        match error.kind() {
            io::ErrorKind::PermissionDenied => MeterError::Denied { what },
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => MeterError::Removed { what },
            // A zone that was removed while the file was open.
            _ if error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) => {
                MeterError::Removed { what }
            }
            _ => MeterError::Failed {
                what,
                why: error.to_string(),
            },
        }
    }

    /// Makes the error of `what`, whose content `said` is not valid.
    pub fn malformed(what: impl Into<String>, said: &str) -> MeterError {
        const ENOUGH: usize = 40;
        MeterError::Malformed {
            what: what.into(),
            // The text is shown on terminals, and may come from a server.
            said: said
                .trim()
                .replace(char::is_control, "?")
                .chars()
                .take(ENOUGH)
                .collect(),
        }
    }

    /// Whether the error is temporary: the next reading may succeed and make up for this one.
    pub fn is_passing(&self) -> bool {
        matches!(self, MeterError::Failed { .. })
    }
}

/// A meter of power or energy.
///
/// Between the edges of a window a meter is read as seldom as its [`MeterKind`] allows; never more than
/// ten times a second.
pub trait Meter: Send + fmt::Debug {
    /// Returns the meter's description. A [`MeterKind::Counter`]'s step may become finer as it is read.
    fn about(&self) -> &About;

    /// Reads the meter.
    ///
    /// # Errors
    /// [`MeterError`]. After one that is not [passing](MeterError::is_passing) the window has no
    /// figure of this meter.
    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError>;
}
