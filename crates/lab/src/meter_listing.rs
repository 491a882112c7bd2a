//! List of a machine's meters with their figures, or the reasons why they have none.

use joulio_energy::{Filtering, FindingState, How, MeterFinding, MeterKind, MeterResult};
use serde::Serialize;

/// List of a machine's meters, as `joulio power --output json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct MeterListing {
    /// Version of the format.
    pub version: u32,
    /// Noise that the processor adds to its counters.
    pub energy_filtering: String,
    /// Meters that are read, then the others.
    pub meters: Vec<ListedMeter>,
}

/// A meter with its figure over a window, or the reason why it has none.
#[derive(Clone, Debug, Serialize)]
pub struct ListedMeter {
    /// Name, as `--meter` takes it.
    pub name: String,
    /// Source: perf, powercap, hwmon, ipmi, redfish, nvme.
    pub source: String,
    /// Boundary: the part of the machine that the meter includes.
    pub boundary: Option<String>,
    /// Zone of the boundary.
    pub zone: Option<String>,
    /// `readable`, `failed`, `unreadable`, `absent` or `unused`.
    pub state: &'static str,
    /// True if the figure is computed, false if it is measured.
    pub modelled: bool,
    /// True if the energy that the idle machine would have used is subtracted.
    pub idle_subtracted: bool,
    /// Mean watts of the window.
    pub watts: Option<f64>,
    /// Watts by which `watts` may differ from what the meter's hardware counted.
    pub error_watts: Option<f64>,
    /// Joules in the window.
    pub joules: Option<f64>,
    /// Joules by which `joules` may differ from what the meter's hardware counted.
    pub error_joules: Option<f64>,
    /// Seconds of the window.
    pub window_seconds: Option<f64>,
    /// Origin of the figure.
    pub how: Option<String>,
    /// Reason why there is no figure.
    pub why: Option<String>,
    /// Command that would allow the meter to be read.
    pub allow: Option<String>,
    /// Remarks on the meter.
    pub notes: Vec<String>,
}

impl MeterListing {
    /// Creates the list of the meters that were `measured`, followed by the `others`.
    pub fn new(
        measured: &[MeterResult],
        others: &[MeterFinding],
        filtering: &Filtering,
    ) -> MeterListing {
        let read = measured.iter().map(ListedMeter::measured);
        MeterListing {
            version: 1,
            energy_filtering: filtering.to_string(),
            meters: read.chain(others.iter().map(ListedMeter::other)).collect(),
        }
    }
}

impl ListedMeter {
    /// Creates the row of a meter that was read.
    pub fn measured(measured: &MeterResult) -> ListedMeter {
        let about = &measured.about;
        let mut row = ListedMeter {
            name: about.name.clone(),
            source: about.source.to_string(),
            boundary: Some(about.zone.boundary.to_string()),
            zone: Some(about.zone.to_string()),
            state: "readable",
            modelled: about.modelled,
            notes: about.notes.clone(),
            ..ListedMeter::empty()
        };
        match &measured.figure {
            Ok(figure) => {
                let total = &figure.total;
                row.watts = Some(total.watts().0);
                row.joules = Some(total.joules.0);
                row.error_joules = total.error.map(|error| error.0);
                row.error_watts = total.error.map(|error| (error / total.window).0);
                row.window_seconds = Some(total.window.seconds());
                row.how = Some(how(&total.how, about.kind));
            }
            Err(error) => {
                row.state = "failed";
                row.why = Some(error.to_string());
            }
        }
        row
    }

    /// Creates the row of a meter that was not read.
    fn other(finding: &MeterFinding) -> ListedMeter {
        let (state, why, allow) = match &finding.state {
            FindingState::Unreadable { why, allow } => ("unreadable", why, allow.clone()),
            FindingState::Absent { why, allow } => ("absent", why, allow.clone()),
            FindingState::Unused { why } => ("unused", why, None),
        };
        ListedMeter {
            name: finding.name.clone(),
            source: finding.source.to_string(),
            boundary: finding.zone.as_ref().map(|zone| zone.boundary.to_string()),
            zone: finding.zone.as_ref().map(|zone| zone.to_string()),
            state,
            why: Some(why.clone()),
            allow,
            ..ListedMeter::empty()
        }
    }

    fn empty() -> ListedMeter {
        ListedMeter {
            name: String::new(),
            source: String::new(),
            boundary: None,
            zone: None,
            state: "",
            modelled: false,
            idle_subtracted: false,
            watts: None,
            error_watts: None,
            joules: None,
            error_joules: None,
            window_seconds: None,
            how: None,
            why: None,
            allow: None,
            notes: Vec::new(),
        }
    }
}

/// Describes in words how a meter gets its figures.
fn how(how: &How, kind: MeterKind) -> String {
    match how {
        How::Modelled => "modelled".into(),
        How::Summed => "sum".into(),
        How::Counted { aligned, step } => {
            let edges = if *aligned {
                "edges on updates"
            } else {
                "edges not on updates"
            };
            format!("counter, steps of {}, {edges}", joules(step.0))
        }
        How::Sampled {
            samples,
            missed,
            longest_gap,
        } => {
            let update = match kind {
                MeterKind::Power { update, .. } => format!(", updates of {} s", update.seconds()),
                MeterKind::Counter { .. } => String::new(),
            };
            let missed = match missed {
                0 => String::new(),
                missed => format!(", {missed} missed"),
            };
            format!(
                "{samples} samples{missed}, at most {:.2} s apart{update}",
                longest_gap.seconds()
            )
        }
    }
}

fn joules(joules: f64) -> String {
    match joules {
        j if j >= 0.5 => format!("{j:.0} J"),
        j => format!("{:.1} uJ", j * 1e6),
    }
}
