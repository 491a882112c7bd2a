//! Report as a single HTML page, which needs no network.

mod data_table;
mod experiment;
mod found;
mod plotted;
mod status;

use super::assemble::LabReport;
use super::{chart, wait, words};
use crate::record::Platform;
pub use plotted::plotted;

use joulio_model::MachineProfile;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Style sheet: the page's own rules come last and take precedence over those of drawings.
const STYLE: &str = concat!(
    include_str!("../chart/chart.css"),
    include_str!("style.css")
);

/// Content security policy: the browser loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// Returns the page of `report`.
pub fn page(report: &LabReport) -> String {
    let title = match report.experiments.as_slice() {
        [one] => one.title.clone(),
        many => format!("{} experiments", many.len()),
    };
    let modelled = report.experiments.iter().flat_map(|e| &e.sets);
    let modelled =
        modelled.clone().count() > 0 && modelled.clone().all(|s| s.platform == Platform::Twin);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{title} · joulio lab"), &report.joulio))
            body {
                a.skip href="#main" { "Skip to the report" }
                (chart::definitions())
                header {
                    p.kicker { "joulio lab · joules per I/O" }
                    h1 { (title) }
                    (sources(report))
                    @if modelled { (modelled_banner("report")) }
                    (contents(report))
                }
                main #main {
                    (found::section(report))
                    (status::section(report))
                    @for experiment in &report.experiments {
                        (experiment::section(experiment))
                    }
                    @if let Some(machine) = wait_machine(report) { (wait::section(&machine)) }
                    (method(report))
                }
                footer {
                    p { "Made by joulio " (report.joulio) ". This file is whole: it opens without a network, \
                         and loads nothing." }
                }
            }
        }
    };
    page.into_string()
}

/// Returns the head of a page with this title, made by this version of joulio; nothing is loaded.
fn head(title: &str, joulio: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="color-scheme" content="light dark";
            meta name="generator" content=(format!("joulio {joulio}"));
            title { (title) }
            link rel="icon" href="data:,";
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// Returns the banner of a page on which nothing was measured; `page` names the page.
fn modelled_banner(page: &str) -> Markup {
    html! {
        p.banner { strong { "Everything here is modelled." }
            " No figure of this " (page) " was measured: it is computed from profiles of a machine \
              and its devices, and is as good as they are." }
    }
}

/// Returns the machine for the picture of a single wait: that of the report's virtual time, if its profile has all
/// figures that are shown, or a generic server.
fn wait_machine(report: &LabReport) -> Option<MachineProfile> {
    let sets = report
        .experiments
        .iter()
        .flat_map(|experiment| &experiment.sets);
    let mut profiles = sets.filter_map(|set| MachineProfile::builtin(&set.machine).ok());
    let whole = profiles.find(wait::shows);
    whole.or_else(|| MachineProfile::builtin("generic-server").ok())
}

fn contents(report: &LabReport) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul {
                li { a href="#found" { "What was found" } }
                li { a href="#status" { "Every table and figure" } }
                @for experiment in &report.experiments {
                    li { a href=(format!("#{}", experiment.name)) { (experiment.name) } }
                }
                li { a href="#wait" { "A single wait" } }
                li { a href="#method" { "How it was done" } }
            }
        }
    }
}

/// Returns the machine and devices of the runs, one line for each set.
fn sources(report: &LabReport) -> Markup {
    let sets = report.experiments.iter().flat_map(|e| &e.sets);
    let mut lines: Vec<(Platform, String, usize)> = Vec::new();
    for set in sets {
        let found = lines
            .iter_mut()
            .find(|l| l.0 == set.platform && l.1 == set.machine);
        match found {
            Some(line) => line.2 += set.runs,
            None => lines.push((set.platform, set.machine.clone(), set.runs)),
        }
    }
    html! {
        ul.sources {
            @for (platform, machine, runs) in lines {
                li { (badge(platform)) " " strong { (machine) } ", " (runs) " runs" }
            }
        }
    }
}

/// Returns the badge for the platform of a set's runs, hatched if it is a model.
pub fn badge(platform: Platform) -> Markup {
    let class = match platform {
        Platform::Real => "badge real",
        Platform::Emulated | Platform::Guest => "badge emulated",
        Platform::Twin => "badge modelled",
    };
    html! { span class=(class) { (words::platform(platform)) } }
}

fn method(report: &LabReport) -> Markup {
    html! {
        section #method aria-labelledby="method-title" {
            h2 #method-title { "How it was done" }
            p { "A value is the mean of its repetitions, with Student's 95 % interval. Two are compared by \
                 Welch's t-test (by Student's where a figure says so), corrected by Holm for the number of \
                 comparisons that stand together. A ratio has both ends of the interval that the same test has. A "
                em { "tie by noise" } " is a difference that chance makes as \
                 large; a " em { "tie by the model's band" } " is one where the model's bands overlap, however \
                 often it is simulated. Values at unlike boundaries of energy are never compared." }
            p { "A published number counts as reproduced if ours is within its tolerance: 10 % where \
                 nothing else is said. A claim in words holds if every comparison that it makes does, at 95 %." }
            @for experiment in &report.experiments {
                @for set in &experiment.sets {
                    @if !set.apart.is_empty() {
                        h3 { "Kept apart or unavailable: " (experiment.title) }
                        p { "These runs are in no mean. " (badge(set.platform)) }
                        div.scroll tabindex="0" role="region" aria-label="Runs kept apart or unavailable" {
                            table {
                                thead { tr { th scope="col" { "run" } th scope="col" { "times" } th.words scope="col" { "why" } } }
                                tbody {
                                    @for apart in set.apart.iter().take(200) {
                                        tr { th scope="row" { (apart.at) } td { (apart.runs) } td.words { (apart.why) } }
                                    }
                                }
                            }
                        }
                        @if set.apart.len() > 200 {
                            p { "And " (set.apart.len() - 200) " more: report.json has them." }
                        }
                    }
                }
            }
        }
    }
}
