//! Surveys: properties and capabilities of a machine and its devices, recorded with the runs of an experiment. Nothing
//! is written to a device, and nothing is left changed.

mod devices;
mod interrupts;
mod machine;

pub use interrupts::InterruptsBefore;

use crate::target_name::TargetName;
use joulio_nvme::Cancel;
use joulio_workload::Stop;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// Options of a survey.
#[derive(Clone, Debug)]
pub struct SurveyRequest {
    /// Devices of the runs.
    pub devices: Vec<TargetName>,
    /// Words that select meters; empty: every meter that can be read.
    pub meters: Vec<String>,
    /// Folder of a captured file tree that meters are read from; `None`: this machine's.
    pub root: Option<PathBuf>,
    /// True for fewer rounds of each test.
    pub quick: bool,
    /// Flag that ends waits for a controller.
    pub cancel: Cancel,
}

/// Results of a survey.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Survey {
    /// Parts in the order in which they were done.
    pub parts: Vec<SurveyPart>,
}

/// Part of a survey.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyPart {
    /// Name of the part: `identify`, `selftest umwait`.
    pub part: String,
    /// Device of the part; `None`: the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Results; `None` for the reason in `missing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    /// Reason why there are no results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Survey {
    /// Surveys machine and devices, until `stop`; `before` has the counts from before the runs. `report` receives the
    /// name of each part that takes a while.
    pub fn take(
        request: &SurveyRequest,
        before: &InterruptsBefore,
        stop: &Stop,
        report: &dyn Fn(&str),
    ) -> Survey {
        let mut survey = Survey::default();
        survey.add("interrupts", None, before.since_then());
        devices::survey_devices(request, &mut survey);
        machine::test(request, stop, report, &mut survey);
        survey
    }

    fn add(&mut self, part: &str, device: Option<String>, found: Result<Value, String>) {
        let (found, missing) = match found {
            Ok(found) => (Some(found), None),
            Err(why) => (None, Some(why)),
        };
        self.parts.push(SurveyPart {
            part: part.into(),
            device,
            found,
            missing,
        });
    }
}

/// Converts `value` to JSON, or returns the reason why it cannot be.
fn json<T: Serialize>(value: T) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|why| why.to_string())
}
