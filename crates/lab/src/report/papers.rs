//! List of the published papers' tables and figures, with the commands that reproduce them and the outcomes.

use super::assemble::{ItemStatus, LabReport, SetReport};
use super::outcome::ObservationOutcome;
use super::verdict::FittedParts;
use super::words;
use crate::record::Platform;
use std::fmt::Write;

/// A table or figure of a paper.
#[derive(Clone, Debug)]
pub struct PaperItem {
    /// Short name of the paper.
    pub paper: String,
    /// Name in the paper.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Findings by platform, in the order of the sets.
    pub found: Vec<PaperFinding>,
}

/// Outcome of a paper's table or figure on one platform.
#[derive(Clone, Debug)]
pub struct PaperFinding {
    /// Platform of the runs.
    pub platform: Platform,
    /// Commands that make its records.
    pub commands: Vec<String>,
    /// True if all of it has data.
    pub data: bool,
    /// Outcome of the table or figure.
    pub outcome: ObservationOutcome,
    /// Comparisons of the observation that decides which a profile's figure was fitted to.
    pub fitted: FittedParts,
    /// Reason in a sentence.
    pub because: String,
}

impl PaperItem {
    /// Returns all tables and figures of the papers in `report`.
    pub fn all(report: &LabReport) -> Vec<PaperItem> {
        let mut items: Vec<PaperItem> = Vec::new();
        for experiment in &report.experiments {
            let Some(paper) = &experiment.published else {
                continue;
            };
            for set in &experiment.sets {
                for item in PaperItem::of_set(paper, set) {
                    let same = |one: &&mut PaperItem| one.paper == item.paper && one.id == item.id;
                    match items.iter_mut().find(same) {
                        Some(whole) => whole.unite(item),
                        None => items.push(item),
                    }
                }
            }
        }
        items
    }

    /// Returns the tables and figures of `paper` in `set`, each with all of its parts.
    fn of_set(paper: &str, set: &SetReport) -> Vec<PaperItem> {
        let mut items: Vec<PaperItem> = Vec::new();
        for status in &set.status {
            let Some(id) = &status.in_source else {
                continue;
            };
            let at = items.iter().position(|one| one.id == *id);
            let at = at.unwrap_or_else(|| {
                items.push(PaperItem {
                    paper: paper.to_owned(),
                    id: id.clone(),
                    title: status.title.clone(),
                    found: Vec::new(),
                });
                items.len() - 1
            });
            items[at].add(set.platform, status);
        }
        items
    }

    /// Adds the findings of another set.
    fn unite(&mut self, other: PaperItem) {
        self.entitle(&other.title);
        for found in other.found {
            self.add_finding(found);
        }
    }

    /// Adds `title`, unless it is known.
    fn entitle(&mut self, title: &str) {
        if !self.title.contains(title) {
            self.title = format!("{}; {title}", self.title);
        }
    }

    /// Adds the finding of another set. Of several sets of a platform, those without data do not count.
    fn add_finding(&mut self, other: PaperFinding) {
        let mut found = self.found.iter_mut();
        let Some(whole) = found.find(|one| one.platform == other.platform) else {
            self.found.push(other);
            return;
        };
        match (whole.data, other.data) {
            (true, false) => {}
            (false, true) => *whole = other,
            _ => {
                for command in other.commands {
                    if !whole.commands.contains(&command) {
                        whole.commands.push(command);
                    }
                }
                whole.worsen(other.outcome, other.fitted, &other.because);
            }
        }
    }

    /// Returns true if it has data and a verdict on some platform.
    pub fn is_judged(&self) -> bool {
        let mut found = self.found.iter();
        found.any(|one| one.data && one.outcome != ObservationOutcome::NoData)
    }

    /// Returns the findings to show: those with data, or all if none has data.
    pub fn shown(&self) -> Vec<&PaperFinding> {
        let with_data: Vec<_> = self.found.iter().filter(|one| one.data).collect();
        match with_data.is_empty() {
            true => self.found.iter().collect(),
            false => with_data,
        }
    }

    /// Adds the status of a table or figure that is this one or a part of it.
    fn add(&mut self, platform: Platform, status: &ItemStatus) {
        let whole = self.found.iter_mut().find(|one| one.platform == platform);
        let Some(whole) = whole else {
            self.found.push(PaperFinding {
                platform,
                commands: vec![status.command.clone()],
                data: status.data,
                outcome: status.outcome,
                fitted: status.fitted,
                because: status.because.clone(),
            });
            return;
        };
        whole.data &= status.data;
        if !whole.commands.contains(&status.command) {
            whole.commands.push(status.command.clone());
        }
        whole.worsen(status.outcome, status.fitted, &status.because);
        self.entitle(&status.title);
    }
}

/// Returns `items` as a page of Markdown, with a table for each paper.
pub fn papers(items: &[PaperItem]) -> String {
    let judged = items.iter().filter(|item| item.is_judged()).count();
    let mut text = format!(
        "{judged} of {} tables and figures have data and a verdict in these results.\n",
        items.len()
    );
    let mut last = "";
    for item in items {
        if item.paper != last {
            last = &item.paper;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "\n## {last}\n\n| | what it shows | command | here |\n|---|---|---|---|"
            );
        }
        let shown = item.shown();
        let commands = shown.iter().flat_map(|one| &one.commands);
        let mut commands: Vec<String> = commands.map(|one| format!("`{one}`")).collect();
        commands.dedup();
        let found: Vec<String> = shown.iter().map(|one| one.text()).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            item.id,
            cell(&item.title),
            commands.join("<br>"),
            found.join("<br>")
        );
    }
    text
}

impl PaperFinding {
    /// Takes over the outcome of another part, with its reason, if it is worse.
    fn worsen(&mut self, outcome: ObservationOutcome, fitted: FittedParts, because: &str) {
        if outcome < self.outcome {
            (self.outcome, self.fitted) = (outcome, fitted);
            because.clone_into(&mut self.because);
        }
    }

    fn text(&self) -> String {
        let outcome = words::status(self.data, self.outcome, self.fitted);
        let platform = self.platform.name();
        format!("{platform}: **{outcome}** {}", cell(&self.because))
    }
}

/// Escapes characters of a table's cell: a bar would end it, a star begin emphasis.
fn cell(words: &str) -> String {
    words.replace('|', "\\|").replace('*', "\\*")
}
