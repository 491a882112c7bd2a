//! Findings of a search for meters.

use crate::Zone;
use crate::meter::{Meter, Source};

/// Reason why a meter is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingState {
    /// A meter that is present, but not readable.
    Unreadable {
        /// Reason in words.
        why: String,
        /// Command that would permit it.
        allow: Option<String>,
    },
    /// No meter of this kind was found.
    Absent {
        /// Places that were searched, and the reason.
        why: String,
        /// Command that may add a meter.
        allow: Option<String>,
    },
    /// A readable meter that is left out.
    Unused {
        /// Reason in words.
        why: String,
    },
}

/// A meter that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterFinding {
    /// The name of the meter, or of its source.
    pub name: String,
    /// Interface by which it would be read.
    pub source: Source,
    /// The zone of the meter, as far as that is known.
    pub zone: Option<Zone>,
    /// Reason why it is not read.
    pub state: FindingState,
}

impl MeterFinding {
    pub(crate) fn new(
        name: impl Into<String>,
        source: Source,
        zone: Option<Zone>,
        state: FindingState,
    ) -> MeterFinding {
        MeterFinding {
            name: name.into(),
            source,
            zone,
            state,
        }
    }
}

/// Result of a step of the search.
#[derive(Debug)]
pub(crate) enum Found {
    Meter(Box<dyn Meter>),
    Not(MeterFinding),
}
