//! fio's job files: groups of sections, each of which has the flags of a bench.

mod checks;
mod command_line;
mod flag;
mod flags;
mod groups;
#[cfg(test)]
mod listed;
mod percent;
mod refusal;
mod sections;
mod typed;
mod words;

pub use self::command_line::CommandLine;

use self::flags::{defaults, flags};
use self::groups::groups;
use self::percent::in_bytes;
use self::refusal::Refusal;
use self::sections::{Section, sections};
use self::typed::Typed;
use super::args::BenchArgs;
use crate::failure::Failure;
use joulio_lab::read_text;
use std::ffi::OsString;
use std::path::Path;

/// Size of the largest file that is read, in bytes: many times that of any job file.
const MAX_FILE_BYTES: u64 = 4 << 20;

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

/// Reads the groups of the file at `path`, of the sections named in `only` or of all. `typed` are the arguments of
/// `joulio bench`, whose flags apply to every section.
pub fn benches(
    path: &Path,
    only: &[String],
    typed: &[OsString],
) -> Result<Vec<GroupBench>, Failure> {
    let file = path.display().to_string();
    let text = read_text(path, MAX_FILE_BYTES).map_err(|error| {
        Failure::input(format!(
            "{file}: {error}: bench takes a job file of fio's, and flags begin with --"
        ))
    })?;
    let refused = |(line, why): Refusal| Failure::input(format!("{file}:{line}: {why}"));
    let mut sections = sections(&text).map_err(refused)?;
    let names: Vec<_> = sections
        .iter()
        .map(|section| section.name.clone())
        .collect();
    if let Some(name) = only.iter().find(|name| !names.contains(name)) {
        return Err(Failure::input(format!(
            "--section {name}: {file} has {}",
            names.join(", ")
        )));
    }
    if !only.is_empty() {
        sections.retain(|section| only.contains(&section.name));
    }
    let typed = Typed::new(typed, path);
    of_sections(sections, &names, &typed).map_err(refused)
}

/// Returns the groups of the sections on the command line.
pub fn benches_of(line: CommandLine) -> Result<Vec<GroupBench>, Failure> {
    let CommandLine { sections, typed } = line;
    let names = sections.iter().map(|section| section.name.clone());
    let names: Vec<_> = names.collect();
    let benches = of_sections(sections, &names, &Typed::of(typed));
    benches.map_err(|(_, why)| Failure::input(why))
}

/// Returns the groups of `sections`; `names` are those of all sections in their file.
fn of_sections(
    sections: Vec<Section>,
    names: &[String],
    typed: &Typed,
) -> Result<Vec<GroupBench>, Refusal> {
    let groups = groups(sections, names)?.into_iter();
    groups.map(|group| bench(group, typed)).collect()
}

/// Returns the benches of a group's sections.
fn bench(mut group: Vec<Section>, typed: &Typed) -> Result<GroupBench, Refusal> {
    let mut sections: Vec<SectionBench> = Vec::new();
    for section in &mut group {
        section.expand(|name| std::env::var(name).ok());
        in_bytes(section)?;
        typed.count_in(section);
        let mut flags = flags(section, typed)?;
        flags.extend(defaults(section, typed)?);
        let args = typed.parse(flags)?;
        // As in fio, a reporting group ends at the next section that is reported by itself or has new_group.
        let reporting_group = match sections.last() {
            None => 0,
            Some(before) => {
                let together = before.args.group_reporting && args.group_reporting;
                let goes_on = together && !section.is_on("new_group");
                before.reporting_group + usize::from(!goes_on)
            }
        };
        sections.push(SectionBench {
            name: section.name.clone(),
            args,
            reporting_group,
        });
    }
    Ok(sections)
}

#[cfg(test)]
mod tests;
