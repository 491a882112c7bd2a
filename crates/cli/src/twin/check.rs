//! `joulio twin check`.

use super::{papers, profiles};
use crate::Outcome;
use crate::columns::{columns, distinct_columns};
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_json};
use joulio_twin::check::{CheckReport, CheckedClaim, IOS, NumberCheck, Rule, SavingCheck, check};
use joulio_twin::published::Basis;
use std::fmt::Write;
use std::path::PathBuf;

/// Simulates what papers measured on modelled machines, and compares. Every number on the twin's side
/// is modelled. Status 1 if a number is further off than its promise allows, unless it is declared,
/// with the reason, not to reproduce.
#[derive(clap::Args)]
pub struct CheckArgs {
    /// Sources of published numbers, such as HS22 or DPAS. Default: all
    sources: Vec<String>,
    /// I/Os of each run
    #[arg(long, value_name = "N", default_value_t = IOS, value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    number_ios: u64,
    /// Folder of your own profiles: DIR/machines/NAME.toml and DIR/devices/NAME.toml replace built-in profiles of the
    /// same name
    #[arg(long, value_name = "DIR")]
    profiles: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs `joulio twin check`.
pub fn run(args: &CheckArgs) -> Outcome {
    let papers = papers(&args.sources)?;
    let profiles = profiles(args.profiles.as_deref())?;
    let report = check(&papers, profiles, args.number_ios).map_err(Failure::run)?;
    match args.output.format() {
        Format::Normal => print(&text(&report))?,
        Format::Json => print_json(&report)?,
    }
    match report.broken().len() {
        0 => Ok(()),
        1 => Err(Failure::run("1 promise is broken")),
        many => Err(Failure::run(format!("{many} promises are broken"))),
    }
}

fn text(report: &CheckReport) -> String {
    let mut text = String::from("All numbers of the twin are modelled.\n");
    let sections = [
        (
            Basis::Fitted,
            "Fitted: a profile's figure was chosen to meet it",
        ),
        (
            Basis::Implied,
            "Implied: it follows from what was fitted, or is a profile's figure itself",
        ),
        (Basis::Free, "Not fitted"),
    ];
    for (basis, title) in sections {
        let rows = report.numbers.iter().filter(|row| row.basis == basis);
        numbers(&mut text, title, &rows.collect::<Vec<_>>());
    }
    orders(&mut text, report);
    let mut claims = String::new();
    for observation in &report.observations {
        observed(&mut claims, observation);
    }
    section_of(&mut text, "In words", &claims);
    let mut rules = String::new();
    for rule in &report.rules {
        ruled(&mut rules, rule);
    }
    section_of(
        &mut text,
        "The break-even rule: the method with more CPU time takes less energy, if a busy core draws less than",
        &rules,
    );
    savings(&mut text, &report.savings);
    as_printed(&mut text, report);
    let set = report.by_hand.iter().map(|set| {
        let to = set.to.join("; ");
        format!(
            "{}: {} = {}: {} ({to})\n",
            set.paper, set.field, set.value, set.why
        )
    });
    let title = "Set by hand, to what makes printed numbers come out";
    section_of(&mut text, title, &set.collect::<String>());
    let conflicts = report.conflicts.iter().map(|conflict| {
        let [modelled, limit] = [conflict.modelled, conflict.limit].map(figure);
        format!(
            "{}: {}: {modelled} is past {limit}\n",
            conflict.paper, conflict.what
        )
    });
    let title = "Contradictions in what was printed";
    section_of(&mut text, title, &conflicts.collect::<String>());
    let silent = report.silent.iter();
    let silent = silent.map(|one| format!("{}: {}: {}\n", one.paper, one.what, one.why));
    let title = "What the twin cannot speak of";
    section_of(&mut text, title, &silent.collect::<String>());
    summary(&mut text, report);
    broken(&mut text, report);
    text
}

/// Formats published figures that are inputs of a profile, one a line.
fn as_printed(text: &mut String, report: &CheckReport) {
    if report.inputs.is_empty() {
        return;
    }
    section(text, "Printed, and in the profiles as it was");
    let held = report.inputs.iter().map(|held| {
        let verdict = if held.broken() { "BROKEN" } else { "kept" };
        let figures = [figure(held.published), figure(held.held), verdict.into()];
        [
            vec![held.paper.clone(), held.what.clone()],
            figures.to_vec(),
        ]
        .concat()
    });
    let header = ["source", "what", "published", "profile", "verdict"];
    text.push_str(&distinct_columns(&header, &held.collect::<Vec<_>>(), 2));
}

/// Formats gains, one a line: the gain at each saving, and the saving at which it equals the published one.
fn savings(text: &mut String, savings: &[SavingCheck]) {
    for row in savings {
        let what = format!("{}: {}, where {}", row.paper, row.number, row.what);
        section(text, &what);
        let cells = |name: &str, figures: Vec<String>| -> Vec<String> {
            std::iter::once(name.to_owned()).chain(figures).collect()
        };
        let gains = row.gains.iter();
        let tried = gains.clone().map(|gain| format!("{:.0}", gain.0)).collect();
        let gains = gains.map(|gain| format!("{:+.1}", gain.1)).collect();
        let header = cells("saving %", tried);
        let line = cells("gain %*", gains);
        text.push_str(&columns(header, [line], 1));
        let published = match row.published_to {
            Some(to) => format!("{:+.1} to {to:+.1}", row.published),
            None => format!("{:+.1}", row.published),
        };
        let at = match row.true_at_percent {
            Some(percent) => format!("comes out at a saving of {percent:.1} %"),
            None => "comes out at no saving".into(),
        };
        let _ = writeln!(
            text,
            "printed {published} %: {at}; the profile's is {:.1} %",
            row.held_percent
        );
    }
}

/// Formats a line for each source: how many of its numbers and observations were predicted, and how many only
/// reproduce the input of a fit.
fn summary(text: &mut String, report: &CheckReport) {
    section(text, "Numbers and observations by what became of them");
    let rows = report.summary().into_iter().map(|of| {
        let counts = [
            of.predicted,
            of.fitted,
            of.restated,
            of.not_reproduced,
            of.unpromised,
        ];
        let counts = counts.iter().map(usize::to_string);
        std::iter::once(of.paper).chain(counts).collect::<Vec<_>>()
    });
    let titles = [
        "source",
        "predicted",
        "fitted",
        "restated",
        "not reproduced",
        "nothing promised",
    ];
    text.push_str(&columns(titles, rows, 1));
}

fn section(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{title}");
}

/// Adds a section, unless its content is empty.
fn section_of(text: &mut String, title: &str, content: &str) {
    if !content.is_empty() {
        section(text, title);
        text.push_str(content);
    }
}

fn numbers(text: &mut String, title: &str, rows: &[&NumberCheck]) {
    if rows.is_empty() {
        return;
    }
    section(text, title);
    let cells = rows.iter().map(|row| {
        let plus = if row.increment { "+" } else { "" };
        let published = match row.published_to {
            Some(to) => format!("{}..{}", figure(row.published), figure(to)),
            None => figure(row.published),
        };
        let modelled = match row.band {
            Some([a, b]) => format!(
                "{} ({}..{})",
                figure(row.modelled),
                figure(a.min(b)),
                figure(a.max(b))
            ),
            None => figure(row.modelled),
        };
        let allowed = row
            .allowed
            .map_or("-".into(), |most| format!("{:.0} %", most * 100.0));
        let verdict = match row.allowed {
            None => "no promise",
            Some(_) if row.broken() => "BROKEN",
            Some(_) if row.missed() => "does not reproduce",
            Some(_) => "kept",
        };
        let past = row.past_tdp.map_or("", |_| ", past TDP");
        vec![
            row.paper.clone(),
            row.what.clone(),
            format!("{plus}{published}"),
            format!("{plus}{modelled}"),
            format!("{:+.1} %", row.error * 100.0),
            allowed,
            format!("{verdict}{past}"),
        ]
    });
    let header = [
        "source",
        "what",
        "published",
        "modelled",
        "error",
        "allowed",
        "verdict",
    ];
    text.push_str(&distinct_columns(&header, &cells.collect::<Vec<_>>(), 2));
    for row in rows {
        if let Some(past) = row.past_tdp {
            let _ = writeln!(text, "past TDP: {}: {}: {past}", row.paper, row.what);
        }
    }
}

fn orders(text: &mut String, report: &CheckReport) {
    let wrong: Vec<_> = report.orders.iter().filter(|order| !order.kept).collect();
    let _ = writeln!(
        text,
        "\nOrder of methods, where what was printed differs by over 3 %: {} of {} right",
        report.orders.len() - wrong.len(),
        report.orders.len()
    );
    for order in wrong {
        let _ = writeln!(
            text,
            "  BROKEN  {}: {} above {}: {:+.1} % published, {:+.1} % modelled",
            order.paper,
            order.more,
            order.less,
            order.published * 100.0,
            order.modelled * 100.0
        );
    }
}

fn observed(text: &mut String, observation: &CheckedClaim) {
    let verdict = match (observation.holds, observation.broken()) {
        (true, _) => format!("holds{}", observation.basis.mark()),
        (_, true) => "BROKEN".to_owned(),
        _ => "does not reproduce".to_owned(),
    };
    let _ = writeln!(
        text,
        "  {verdict:<18} {}: {}",
        observation.paper, observation.what
    );
    if observation.holds {
        return;
    }
    for chain in &observation.chains {
        let chain: Vec<_> = chain
            .iter()
            .map(|(run, is)| format!("{run} {}", figure(*is)))
            .collect();
        let _ = writeln!(text, "                     {}", chain.join(", "));
    }
    if let Some(miss) = observation.miss {
        let percent = miss * 100.0;
        let _ = writeln!(
            text,
            "                     {percent:+.1} %, where it should rise"
        );
    }
}

fn ruled(text: &mut String, rule: &Rule) {
    let verdict = match (rule.predicted == rule.modelled, rule.broken()) {
        (true, _) => "holds",
        (_, true) => "BROKEN",
        _ => "does not hold",
    };
    let says = |less: bool| if less { "less" } else { "more" };
    let [a, b] = rule.joules_per_io.map(|joules| joules * 1e6);
    let watts = match rule.break_even_watts {
        Some(watts) => format!("{watts:.2} W"),
        None => "whatever it draws, as it takes no more CPU".into(),
    };
    let _ = writeln!(
        text,
        "  {verdict:<13} {}: {watts}, it draws {:.2}: {}; modelled {} ({a:.1} and {b:.1} uJ an I/O)",
        rule.what,
        rule.busy_watts,
        says(rule.predicted),
        says(rule.modelled),
    );
}

fn broken(text: &mut String, report: &CheckReport) {
    let declared = report.declared();
    if !declared.is_empty() {
        section(text, "Does not reproduce, for a reason that is known");
    }
    for line in &declared {
        let _ = writeln!(text, "  {line}");
    }
    let broken = report.broken();
    if broken.is_empty() {
        let but = match declared.len() {
            0 => String::new(),
            1 => " but 1 that is known not to reproduce".into(),
            many => format!(" but {many} that are known not to reproduce"),
        };
        let _ = writeln!(text, "\nEvery promise is kept{but}.");
        return;
    }
    section(text, "Broken");
    for line in broken {
        let _ = writeln!(text, "  {line}");
    }
}

/// Formats `value` with four significant digits.
pub(super) fn figure(value: f64) -> String {
    let places = match value.abs() {
        0.0 => 0,
        size => (3 - size.log10().floor() as i32).clamp(0, 3) as usize,
    };
    format!("{value:.places$}")
}
