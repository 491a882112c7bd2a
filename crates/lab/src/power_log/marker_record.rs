//! Markers as they are saved in files.

use joulio_energy::alignment::{Marker, MarkerEdge};
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// A marker in a logger's record, as it is saved in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkerRecord {
    edges: Vec<EdgeRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeRecord {
    unix_ns: u64,
    monotonic_ns: u64,
    rising: bool,
}

impl From<&Marker> for MarkerRecord {
    fn from(marker: &Marker) -> MarkerRecord {
        let edges = marker.edges.iter().map(|edge| EdgeRecord {
            unix_ns: edge.realtime.0,
            monotonic_ns: edge.monotonic.0,
            rising: edge.rising,
        });
        MarkerRecord {
            edges: edges.collect(),
        }
    }
}

impl From<&MarkerRecord> for Marker {
    fn from(record: &MarkerRecord) -> Marker {
        let edges = record.edges.iter().map(|edge| MarkerEdge {
            realtime: Nanos(edge.unix_ns),
            monotonic: Nanos(edge.monotonic_ns),
            rising: edge.rising,
        });
        Marker {
            edges: edges.collect(),
        }
    }
}
