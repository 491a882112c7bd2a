//! `joulio lab compare`: compares two folders of results point by point.

use crate::Outcome;
use crate::columns::columns;
use crate::failure::Failure;
use crate::output::print;
use joulio_lab::campaign::{ComparedPoint, ComparedRuns, Kinds, compare};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The flags.
#[derive(clap::Args)]
pub struct CompareArgs {
    /// Folder of results, or a single file that holds all of them
    one: PathBuf,
    /// Folder or file to compare it with
    other: PathBuf,
    /// Also show the figures that do not differ
    #[arg(long)]
    all: bool,
    /// Allow comparing a folder of virtual time with a measured one: shows where the profiles differ from the machine
    #[arg(long)]
    model: bool,
}

/// Runs `joulio lab compare`.
pub fn run(args: &CompareArgs) -> Outcome {
    let kinds = match args.model {
        true => Kinds::WithModel,
        false => Kinds::Alike,
    };
    let compared = compare(&args.one, &args.other, kinds).map_err(Failure::input)?;
    print(&text(&compared, args.all))
}

/// Formats the figures that differ, or with `all` every figure.
pub fn text(compared: &ComparedRuns, all: bool) -> String {
    let mut text = String::new();
    for note in &compared.notes {
        text += &format!("{note}\n");
    }
    let shown = compared.points.iter().filter(|one| all || one.differs());
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by(|a, b| b.percent.abs().total_cmp(&a.percent.abs()));
    let varied = varied(&compared.points);
    let header = ["sweep".to_owned()].into_iter();
    let header = header.chain(varied.iter().map(|name| (*name).to_owned()));
    let figures = ["figure", "one", "other", "%", "p"].map(String::from);
    let header: Vec<_> = header.chain(figures).collect();
    let rows = shown.iter().map(|point| row(point, &varied));
    if !shown.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &columns(header.clone(), rows, header.len() - 4);
    }
    let differ = compared.points.iter().filter(|one| one.differs()).count();
    text += &format!(
        "\n{differ} of {} figures differ, chance aside (Welch's test, corrected for their number by Holm's rule).\n",
        compared.points.len()
    );
    if compared.points.iter().any(|one| one.p.is_none()) {
        text += "-: too few repetitions to tell.\n";
    }
    if compared.alone > 0 {
        text += &format!("{} point(s) are in one alone.\n", compared.alone);
    }
    text
}

/// Returns the factors that are not the same in all points.
fn varied(points: &[ComparedPoint]) -> Vec<&str> {
    let names: BTreeSet<&str> = points
        .iter()
        .flat_map(|one| one.point.keys())
        .map(String::as_str)
        .collect();
    let first = points.first();
    let varies = |name: &&str| {
        let value = first.and_then(|one| one.point.get(*name));
        points.iter().any(|one| one.point.get(*name) != value)
    };
    names.into_iter().filter(varies).collect()
}

fn row(point: &ComparedPoint, varied: &[&str]) -> Vec<String> {
    let number = |value: f64| match value.abs() {
        large if large >= 1000.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    };
    let factors = varied.iter().map(|name| {
        point
            .point
            .get(*name)
            .cloned()
            .unwrap_or_else(|| "-".into())
    });
    let figures = [
        point.metric.to_string(),
        number(point.means.0),
        number(point.means.1),
        format!("{:+.1}", point.percent),
        point.p.map_or_else(|| "-".into(), |p| format!("{p:.3}")),
    ];
    [point.sweep.clone()]
        .into_iter()
        .chain(factors)
        .chain(figures)
        .collect()
}
