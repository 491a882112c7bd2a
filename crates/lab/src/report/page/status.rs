//! Status of every table and figure of the experiments.

use super::badge;
use crate::report::assemble::{ItemStatus, LabReport};
use crate::report::outcome::ObservationOutcome;
use crate::report::words;
use maud::{Markup, html};

/// Returns the CSS class of an outcome.
pub fn class(outcome: ObservationOutcome) -> &'static str {
    match outcome {
        ObservationOutcome::Holds => "outcome holds",
        ObservationOutcome::Differs => "outcome differs",
        ObservationOutcome::Undecided => "outcome undecided",
        ObservationOutcome::NoData => "outcome none",
    }
}

pub fn section(report: &LabReport) -> Markup {
    html! {
        section #status aria-labelledby="status-title" {
            h2 #status-title { "Every table and figure" }
            @for experiment in &report.experiments {
                @for set in &experiment.sets {
                    h3 { (experiment.title) }
                    p { (badge(set.platform)) " " (set.machine) }
                    ul.status aria-label=(format!("Tables and figures of {}", experiment.title)) {
                        @for status in &set.status {
                            (row(&experiment.prefix(set), status))
                        }
                    }
                }
            }
        }
    }
}

fn row(prefix: &str, status: &ItemStatus) -> Markup {
    let target = format!("#{prefix}-{}", status.id);
    html! {
        li {
            a href=(target) { (status.id) }
            " " span.what { (status.title) }
            " " span class=(class(status.outcome)) { (words::status(status.data, status.outcome, status.fitted)) }
            " " span.why { (status.because) }
        }
    }
}
