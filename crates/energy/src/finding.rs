//! Findings of a search for meters.

use crate::Zone;
use crate::meter::{Meter, Source};

/// Why a meter is not among those that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingState {
    /// Present, but not readable.
    Unreadable {
        /// Why.
        why: String,
        /// The command that would allow it.
        allow: Option<String>,
    },
    /// There is no meter of this kind.
    Absent {
        /// The places that were searched, and the reason.
        why: String,
        /// The command that may bring it.
        allow: Option<String>,
    },
    /// Readable, but left out.
    Unused {
        /// Why.
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
    /// Why it is not.
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

/// A step of a discovery.
#[derive(Debug)]
pub(crate) enum Found {
    Meter(Box<dyn Meter>),
    Not(MeterFinding),
}
