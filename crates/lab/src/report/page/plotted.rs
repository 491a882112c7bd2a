//! Page of a sweep's figures, which needs no network.

use super::{badge, experiment, head, modelled_banner};
use crate::report::chart;
use crate::report::plot::Plot;
use maud::{DOCTYPE, html};

/// Returns the page of `plot`.
pub fn plotted(plot: &Plot) -> String {
    let joulio = env!("CARGO_PKG_VERSION");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&plot.title, joulio))
            body {
                a.skip href="#main" { "Skip to the figures" }
                (chart::definitions())
                header {
                    p.kicker { "joulio · joules per I/O" }
                    h1 { (plot.title) }
                    @for line in &plot.about { p.source { (line) } }
                    @if plot.is_modelled() { (modelled_banner("page")) }
                }
                main #main {
                    @for (nth, group) in plot.groups.iter().enumerate() {
                        section.experiment aria-label=(group.machine) {
                            p.set { (badge(group.platform)) " " strong { (group.machine) } }
                            @if let Some(apart) = &group.apart { p.source { (apart) } }
                            div.figures {
                                @for figure in group.figures.iter().filter(|figure| figure.problem.is_none()) {
                                    (experiment::drawn(&format!("g{nth}"), figure))
                                }
                            }
                            @for figure in &group.figures {
                                @if let Some(problem) = &figure.problem {
                                    p { strong { (figure.id) } " " (figure.title) " " span.problem { (problem) } }
                                }
                            }
                        }
                    }
                }
                footer {
                    p { "Made by joulio " (joulio) ". A value is the mean of its repetitions, with Student's 95 % \
                         interval. This file is whole: it opens without a network, and loads nothing." }
                }
            }
        }
    };
    page.into_string()
}
