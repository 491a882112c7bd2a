//! Tests that the page of the papers' tables and figures matches the experiments in virtual time.

use super::*;
use crate::experiment::{ExperimentOptions, Silent};
use crate::experiment_file::{Number, RunKeys};
use crate::report::{PaperItem, papers};
use joulio_workload::Stop;
use std::path::PathBuf;
use tempfile::TempDir;

const PAGE: &str = include_str!("../../docs/papers.md");

/// Tables and figures of the papers, in the papers' order.
const ITEMS: [(&str, &str); 4] = [
    ("HS20", "T1 T3 F1 F2 F3 F4a F4b F4c F4d F4e F5 F6"),
    ("HS22", "T1 T2 F1ab F1cd F2ab F2c F3"),
    ("HS23", "T1 F1 F2 F3 F4 F5"),
    ("HS25", "F2 F3a F3b F5 F6 F7"),
];

/// Items that virtual time cannot show: the kernel's own instructions, and RocksDB.
const ELSEWHERE: [(&str, &str); 3] = [("HS22", "T2"), ("HS22", "F2c"), ("HS23", "F5")];

/// Names of the tables and figures, with their papers.
fn names() -> Vec<(String, String)> {
    let of = |(paper, ids): &(&str, &str)| {
        let ids: Vec<_> = ids.split(' ').map(str::to_owned).collect();
        let paper = (*paper).to_owned();
        ids.into_iter().map(move |id| (paper.clone(), id))
    };
    ITEMS.iter().flat_map(of).collect()
}

/// A row of the page: paper, name, title, commands, result.
type Line = (String, String, String, String, String);

fn lines(page: &str) -> Vec<Line> {
    let (mut paper, mut found) = ("", Vec::new());
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            paper = name;
        }
        let Some(cells) = line
            .strip_prefix("| ")
            .and_then(|row| row.strip_suffix(" |"))
        else {
            continue;
        };
        let cells: Vec<_> = cells.split(" | ").map(str::to_owned).collect();
        if let [id, title, command, here] = &cells[..]
            && !id.is_empty()
        {
            let all = [id, title, command, here].map(String::clone);
            let [id, title, command, here] = all;
            found.push((paper.to_owned(), id, title, command, here));
        }
    }
    found
}

/// Runs the papers' experiments in virtual time, with few I/Os each.
fn simulated() -> Vec<PaperItem> {
    let room = TempDir::new().unwrap();
    let short = |keys: &mut RunKeys| {
        keys.number_ios = Some(Number::Whole(60));
    };
    let mut folders: Vec<PathBuf> = Vec::new();
    for (paper, _) in ITEMS {
        let name = paper.replace("HS", "hotstorage");
        let mut file = ExperimentFile::load(&name).unwrap();
        short(&mut file.twin);
        file.twin.quick.as_deref_mut().map(short);
        for sweep in &mut file.sweep {
            sweep.run.quick.as_deref_mut().map(short);
        }
        let on = OnPlatform {
            platform: Platform::Twin,
            quick: true,
            devices: Vec::new(),
            replicates: Some(2),
            base: ExperimentOptions::default(),
        };
        let folder = room.path().join(name);
        let campaign = Campaign::new(file, on).unwrap();
        let end = campaign.run(&folder, Shard::ALL, 2, &Stop::default(), &Silent);
        assert_eq!(end.unwrap().trouble(), None, "{paper}");
        folders.push(folder);
    }
    PaperItem::all(&report(&folders, None).unwrap())
}

#[test]
fn every_table_and_figure_of_the_papers_has_a_command_and_almost_all_a_verdict() {
    if !crate::thorough() {
        return;
    }
    let items = simulated();
    let of = |item: &PaperItem| (item.paper.clone(), item.id.clone());
    assert_eq!(items.iter().map(of).collect::<Vec<_>>(), names());
    let unjudged = items.iter().filter(|item| !item.is_judged()).map(of);
    let elsewhere = ELSEWHERE.map(|(paper, id)| (paper.to_owned(), id.to_owned()));
    assert_eq!(unjudged.collect::<Vec<_>>(), elsewhere);
    // The page has the same rows. Its results differ: they come from more I/Os and from other platforms.
    let page = lines(PAGE);
    let here = lines(&papers(&items));
    let row = |line: &Line| {
        (
            line.0.clone(),
            line.1.clone(),
            line.2.clone(),
            line.3.clone(),
        )
    };
    assert_eq!(
        page.iter().map(row).collect::<Vec<_>>(),
        here.iter().map(row).collect::<Vec<_>>()
    );
    for (paper, id, _, command, _) in &page {
        assert!(
            command.starts_with('`') && command.ends_with('`'),
            "{paper} {id}: {command}"
        );
    }
    let judged = |line: &&Line| {
        ["✓", "✗", "?"]
            .iter()
            .any(|sign| line.4.contains(&format!("**{sign} ")))
    };
    let judged = page.iter().filter(judged).count();
    assert!(judged >= 28, "{judged}");
    let count = format!("{judged} of 31 tables and figures have data and a verdict");
    assert!(PAGE.contains(&count), "{count}");
}
