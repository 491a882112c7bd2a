//! Top of the page: the findings in five sentences.

use super::status::class;
use crate::report::assemble::LabReport;
use crate::report::finding::{Finding, findings};
use maud::{Markup, html};

pub fn section(report: &LabReport) -> Markup {
    html! {
        section #found aria-labelledby="found-title" {
            h2 #found-title { "What was found" }
            ol.findings {
                @for finding in findings(report) {
                    (one(&finding))
                }
            }
        }
    }
}

fn one(finding: &Finding) -> Markup {
    html! {
        li {
            @if let Some(outcome) = finding.outcome {
                span class=(class(outcome)) { (finding.verdict()) }
                " "
            }
            (finding.sentence)
            span.certainty { (finding.certainty) }
        }
    }
}
