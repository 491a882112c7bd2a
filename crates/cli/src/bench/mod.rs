//! `joulio bench`: workloads in each completion mode, with a row for each combination of the lists.

mod args;
mod figures;
mod group;
mod job_file;
mod legend;
mod means;
mod parts;
mod progress;
mod report;
mod settings;
mod sides;
mod table;

pub use args::BenchArgs;
pub use legend::legend;
pub use progress::BenchTerminal;

use self::group::{Group, Section};
use self::report::Report;
use crate::Outcome;
use crate::failure::Failure;
use crate::output::print;
use std::ffi::OsString;

/// Number of words before the arguments: the command's name and the subcommand's.
const WORDS_BEFORE: usize = 2;

/// Replaces fio's options among the `arguments` of `joulio bench` by the equivalent flags. Options that belong to
/// sections are removed.
///
/// # Errors
/// An option has a value that is not supported.
pub fn arguments(arguments: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let (before, typed) = arguments.split_at(WORDS_BEFORE.min(arguments.len()));
    if before.get(1).is_none_or(|subcommand| subcommand != "bench") {
        return Ok(arguments);
    }
    let line = job_file::command_line(typed)?;
    Ok(before.iter().cloned().chain(line.typed).collect())
}

/// Runs `joulio bench`.
pub fn run(args: &BenchArgs) -> Outcome {
    if args.legend {
        return print(&legend());
    }
    let typed: Vec<_> = std::env::args_os().skip(WORDS_BEFORE).collect();
    let line = job_file::command_line(&typed)?;
    let benches = match &args.job_file {
        Some(_) if line.has_sections() => {
            return Err(Failure::input(
                "--name beside a job file: its sections have names; --section NAME chooses one",
            ));
        }
        Some(path) => job_file::benches(path, &args.section, &line.typed)?,
        None if line.has_sections() => job_file::benches_of(line)?,
        None => {
            let alone = Section {
                name: "",
                args,
                reporting_group: 0,
            };
            return run_groups(args, &[Group::new(vec![alone])?]);
        }
    };
    let groups = benches.iter().map(|bench| {
        let sections = bench.iter().map(|section| Section {
            name: &section.name,
            args: &section.args,
            reporting_group: section.reporting_group,
        });
        Group::new(sections.collect())
    });
    let mut groups: Vec<_> = groups.collect::<Result<_, _>>()?;
    Group::number_jobs(&mut groups)?;
    let of_one = [
        ("--state", args.state.is_some()),
        ("--plot", args.plot.is_some()),
    ];
    if let (2.., Some((flag, _))) = (groups.len(), of_one.iter().find(|(_, given)| *given)) {
        return Err(Failure::input(format!(
            "{flag} is of one section, or of several that run beside each other: choose by --section NAME",
        )));
    }
    run_groups(args, &groups)
}

/// Runs `groups` one after the other, if all of them can be run.
fn run_groups(args: &BenchArgs, groups: &[Group<'_>]) -> Outcome {
    if groups.len() > 1 {
        groups.iter().try_for_each(Group::try_open)?;
    }
    let mut report = Report::default();
    let mut groups = groups.iter().enumerate();
    let ran = groups.try_for_each(|(nth, group)| {
        let above = if nth > 0 { "\n" } else { "" };
        group.run(above, &mut report)
    });
    // Results from before a failure are printed too.
    let printed = report.print(args.output.format());
    ran.and(printed)
}
