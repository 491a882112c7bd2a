//! Every knob with its value.

use super::{Knob, KnobError, Knobs, cpu_latency};
use serde::{Serialize, Serializer};
use serde_json::json;
use std::path::Path;

/// A knob with its current value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobListing {
    /// Name of the knob.
    pub name: String,
    /// Disk of the knob; `None` for one of the CPUs.
    pub disk: Option<String>,
    /// Value, and the values that it can have; or the reason why there is none.
    pub found: Result<(String, String), String>,
}

impl Serialize for KnobListing {
    /// Writes name and disk with the value and those that it can have, or with the reason why there is none.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let KnobListing { name, disk, found } = self;
        let value = match found {
            Ok((value, allowed)) => {
                json!({ "name": name, "disk": disk, "value": value, "allowed": allowed })
            }
            Err(why) => json!({ "name": name, "disk": disk, "value": null, "reason": why }),
        };
        value.serialize(serializer)
    }
}

/// Reads every knob of the system whose file tree begins at `root`, and of `disk`.
pub fn list(root: &Path, disk: Option<&str>) -> Vec<KnobListing> {
    let knobs = Knobs::at(root);
    let all = Knob::all(disk).into_iter();
    let settings = all.map(|knob| KnobListing {
        name: knob.name().into(),
        disk: knob.disk().map(Into::into),
        found: match knobs.read(&knob) {
            Ok(reading) => Ok((reading.value, reading.allowed.to_string())),
            Err(KnobError::Absent { why, .. }) => Err(why.to_string()),
            Err(error) => Err(error.to_string()),
        },
    });
    let latency = cpu_latency(root).map_err(|error| error.to_string());
    let latency = KnobListing {
        name: "cpu_dma_latency".into(),
        disk: None,
        found: latency.map(|us| {
            (
                us.to_string(),
                "microseconds; 2000000000 is that nobody holds it".into(),
            )
        }),
    };
    settings.chain([latency]).collect()
}
