//! `joulio profiles`: profiles of machines and devices.

mod fit;
mod measure;

use crate::Outcome;
use crate::columns::columns;
use crate::failure::Failure;
use crate::output::{Format, Output, print, print_data, print_json};
use joulio_model::{AnyProfile, Census};
use joulio_units::proposal;
use serde::Serialize;

/// Lists the profiles of machines and devices that come with joulio, with what their figures rest
/// on; prints one, to begin one's own with; or says whether a file is one. docs/profiles.md has the
/// fields.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ProfilesArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Name of a profile to print, or path of a file to check
    #[arg(value_name = "NAME|FILE.toml")]
    profile: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make a device profile from measured rates
    Fit(fit::FitDeviceArgs),
    /// Measure a device's rates and make its profile
    Measure(measure::MeasureDeviceArgs),
}

/// A line of the list of profiles.
#[derive(Serialize)]
struct Listed<'a> {
    what: &'static str,
    name: &'a str,
    description: &'a str,
    figures: Census,
}

impl<'a> Listed<'a> {
    fn of(profile: &'a AnyProfile) -> Listed<'a> {
        Listed {
            what: profile.what(),
            name: profile.name(),
            description: profile.description(),
            figures: profile.census(),
        }
    }
}

/// Runs `joulio profiles`.
pub fn run(args: &ProfilesArgs) -> Outcome {
    match &args.command {
        Some(Command::Fit(args)) => return fit::run(args),
        Some(Command::Measure(args)) => return measure::run(args),
        None => {}
    }
    let json = args.output.format() == Format::Json;
    let all = AnyProfile::builtin().map_err(Failure::run)?;
    let Some(wanted) = &args.profile else {
        let list: Vec<_> = all.iter().map(|(profile, _)| Listed::of(profile)).collect();
        return if json {
            print_json(&list)
        } else {
            print(&listed(&list))
        };
    };
    if wanted.ends_with(".toml") {
        let profile = AnyProfile::read(wanted).map_err(Failure::input)?;
        return if json {
            print_json(&profile)
        } else {
            print(&checked(wanted, &Listed::of(&profile)))
        };
    }
    match all.iter().find(|(profile, _)| profile.name() == wanted) {
        Some((profile, _)) if json => print_json(profile),
        Some((_, text)) => print_data(text),
        None => {
            let names: Vec<_> = all.iter().map(|(profile, _)| profile.name()).collect();
            let near = proposal(wanted, &names);
            Err(Failure::input(format!(
                "unknown profile '{wanted}': {near}known are {} (or give a path to a .toml file)",
                names.join(", ")
            )))
        }
    }
}

const KINDS: [&str; 5] = ["published", "derived", "measured", "fitted", "guess"];

fn counts(census: Census) -> [usize; 5] {
    let Census {
        published,
        derived,
        measured,
        fitted,
        guess,
    } = census;
    [published, derived, measured, fitted, guess]
}

fn listed(list: &[Listed<'_>]) -> String {
    let tables = ["machine", "device"].map(|what| {
        let mut header = vec![what.to_owned(), String::new()];
        header.extend(KINDS.map(str::to_owned));
        let rows = list.iter().filter(|listed| listed.what == what);
        let rows = rows.map(|listed| {
            let mut row = vec![listed.name.to_owned(), listed.description.to_owned()];
            row.extend(counts(listed.figures).map(|count| count.to_string()));
            row
        });
        columns(header, rows, 2)
    });
    tables.join("\n")
}

fn checked(file: &str, listed: &Listed<'_>) -> String {
    let counts = counts(listed.figures).into_iter().zip(KINDS);
    let counts = counts.filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    format!(
        "{file}: a {}'s profile, '{}'; figures: {}\n",
        listed.what,
        listed.name,
        counts.join(", ")
    )
}
