//! Benches of the sections of fio's job files and command lines.

mod typed;

use self::typed::{Refusal, beside, is_flag, parse, refusal};
use super::args::BenchArgs;
use crate::failure::Failure;
use joulio_lab::job_file::{CommandLine, JobFileError, JobSections, Section, TypedFlags};
use std::ffi::OsString;
use std::path::Path;

/// Sections that run at the same time, at least one.
pub type GroupBench = Vec<SectionBench>;

/// Bench of one section.
pub struct SectionBench {
    /// Name of the section.
    pub name: String,
    /// Flags of the command line, followed by those of the section.
    pub args: BenchArgs,
    /// Number of its reporting group.
    pub reporting_group: usize,
}

/// Sorts the `arguments` after `joulio bench` into sections and flags.
///
/// # Errors
/// An option of fio has a value that is not supported.
pub fn command_line(arguments: &[OsString]) -> Result<CommandLine, Failure> {
    let line = CommandLine::read(arguments, is_flag);
    line.map_err(|error| Failure::input(format!("--{error}")))
}

/// Reads the groups of the file at `path`, of the sections named in `only` or of all. `typed` are the arguments of
/// `joulio bench`, whose flags apply to every section.
pub fn benches(
    path: &Path,
    only: &[String],
    typed: &[OsString],
) -> Result<Vec<GroupBench>, Failure> {
    let file = path.display().to_string();
    let refused = |(line, why): Refusal| Failure::input(format!("{file}:{line}: {why}"));
    let mut sections = JobSections::read(path).map_err(|error| match error {
        JobFileError::Unreadable(error) => Failure::input(format!(
            "{file}: {error}: bench takes a job file of fio's, and flags begin with --"
        )),
        error => refused(refusal(error)),
    })?;
    let names = sections.names();
    if let Some(name) = only.iter().find(|name| !names.contains(name)) {
        return Err(Failure::input(format!(
            "--section {name}: {file} has {}",
            names.join(", ")
        )));
    }
    if !only.is_empty() {
        sections.choose(only);
    }
    of_sections(sections, &beside(typed, path)).map_err(refused)
}

/// Returns the groups of the sections on the command line.
pub fn benches_of(line: CommandLine) -> Result<Vec<GroupBench>, Failure> {
    let CommandLine { sections, typed } = line;
    let benches = of_sections(sections, &TypedFlags::new(typed));
    benches.map_err(|(_, why)| Failure::input(why))
}

/// Returns the groups of `sections`.
fn of_sections(sections: JobSections, typed: &TypedFlags) -> Result<Vec<GroupBench>, Refusal> {
    let groups = sections.groups().map_err(refusal)?.into_iter();
    groups.map(|group| bench(group, typed)).collect()
}

/// Returns the benches of a group's sections.
fn bench(group: Vec<Section>, typed: &TypedFlags) -> Result<GroupBench, Refusal> {
    let mut sections: Vec<SectionBench> = Vec::new();
    for section in group {
        let section = section.translate(typed).map_err(refusal)?;
        let args = parse(typed, &section.flags)?;
        // As in fio, a reporting group ends at the next section that is reported by itself or has new_group.
        let reporting_group = match sections.last() {
            None => 0,
            Some(before) => {
                let together = before.args.group_reporting && args.group_reporting;
                let goes_on = together && !section.new_group;
                before.reporting_group + usize::from(!goes_on)
            }
        };
        sections.push(SectionBench {
            name: section.name,
            args,
            reporting_group,
        });
    }
    Ok(sections)
}
