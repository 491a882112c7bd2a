//! `joulio lab plan`: shows what an experiment would run.

use super::args::CampaignArgs;
use crate::Outcome;
use crate::columns::columns;
use crate::output::print;
use crate::signals::stop_on_signals;
use joulio_lab::campaign::{CampaignPlan, PlannedItem};
use std::fmt::Write;

/// The flags.
#[derive(clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    campaign: CampaignArgs,
}

/// Runs `joulio lab plan`.
pub fn run(args: &PlanArgs) -> Outcome {
    let campaign = args.campaign.campaign()?;
    let stop = stop_on_signals()?;
    let plan = campaign.plan(args.campaign.shard, &stop);
    print(&text(&plan))
}

fn text(plan: &CampaignPlan) -> String {
    let header = ["sweep", "points", "runs", "time"].map(String::from);
    let rows = plan.sweeps.iter().map(|sweep| {
        [
            sweep.name.clone(),
            sweep.points.to_string(),
            sweep.runs.to_string(),
            duration(sweep.seconds),
        ]
    });
    let mut text = columns(header, rows, 1);
    let more = if plan.at_least {
        " and more: some runs are as long as their I/Os take"
    } else {
        ""
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\nIn all {}{more}.", duration(plan.seconds));
    for sweep in &plan.sweeps {
        if let Some(device) = &sweep.stand_in {
            let name = &sweep.name;
            let _ = writeln!(
                text,
                "{name}: on {device}, which stands in: its engine does not drive what was named."
            );
        }
    }
    let lacking = plan.sweeps.iter().flat_map(|sweep| {
        let lacking = sweep.unavailable.iter();
        lacking.map(move |one| format!("{}: {}: {}", sweep.name, one.what, one.why))
    });
    let lacking: Vec<_> = lacking.collect();
    if !lacking.is_empty() {
        text.push_str("\nUnavailable here:\n");
        for line in lacking {
            let _ = writeln!(text, "  {line}");
        }
    }
    if !plan.items.is_empty() {
        let header = ["", "what it shows", "points", "available"];
        let rows = plan.items.iter().map(row);
        text.push('\n');
        text.push_str(&columns(header, rows, 2));
        for item in plan
            .items
            .iter()
            .filter(|item| item.available < item.points.max(1))
        {
            if let Some(why) = &item.why {
                let _ = writeln!(text, "{}: {why}", item.id);
            }
        }
    }
    text
}

fn row(item: &PlannedItem) -> [String; 4] {
    [
        item.id.clone(),
        item.title.clone(),
        item.points.to_string(),
        item.available.to_string(),
    ]
}

/// Formats a duration: `2 h 5 min`, `3 min`, `12 s`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole % 3600 / 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) if minutes < 5 => format!("{minutes} min {seconds} s"),
        (0, minutes, _) => format!("{minutes} min"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
