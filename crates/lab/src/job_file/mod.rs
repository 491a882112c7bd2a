//! fio's job files and command lines: groups of sections, each of which becomes flags of `joulio bench`.
//!
//! [`JobSections`] has the sections of a file, a text or a [`CommandLine`], and divides them into groups as fio runs
//! them. [`Section::translate`] returns the flags of one, each with its value and the line that it comes from. Flags
//! of the caller's own command line, which replace those of sections, are [`TypedFlags`]. Values are checked here as
//! far as fio's options go; whether a flag takes its value is known to whoever parses the flags.
//!
//! ```
//! use joulio_lab::job_file::{JobSections, TypedFlags};
//!
//! let text = "[global]\nfilename=disk.img\n[reads]\nrw=randread\nsize=1m\n";
//! let groups = JobSections::parse(text)?.groups()?;
//! let section = groups[0][0].clone().translate(&TypedFlags::default())?;
//! let flags: Vec<_> = section.flags.iter().map(|flag| flag.argument.as_str()).collect();
//! assert!(flags.contains(&"--rw=randread") && flags.contains(&"--number_ios=256"));
//! # Ok::<(), joulio_lab::job_file::JobFileError>(())
//! ```

mod checks;
mod command_line;
mod error;
mod flag;
mod flags;
mod groups;
#[cfg(test)]
mod listed;
mod percent;
mod sections;
mod typed_flags;
mod words;

pub use self::command_line::CommandLine;
pub use self::error::JobFileError;
pub use self::flag::Flag;
pub use self::sections::Section;
pub use self::typed_flags::TypedFlags;

use self::flags::{defaults, flags};
use self::groups::groups;
use self::percent::in_bytes;
use self::sections::sections;
use crate::text_file::read_text;
use std::path::Path;

/// Size of the largest file that is read, in bytes: many times that of any job file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Sections of a job file or of a command line, with their options as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobSections {
    /// Sections that were chosen.
    chosen: Vec<Section>,
    /// Names of all sections, chosen or not.
    names: Vec<String>,
}

impl JobSections {
    /// Reads the sections of the job file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, has no section, or has a line that belongs to none.
    pub fn read(path: &Path) -> Result<JobSections, JobFileError> {
        JobSections::parse(&read_text(path, MAX_FILE_BYTES)?)
    }

    /// Parses the sections of `text`, each with the options of the `[global]` ones above it.
    ///
    /// # Errors
    /// There is no section, or a line belongs to none.
    pub fn parse(text: &str) -> Result<JobSections, JobFileError> {
        sections(text).map(JobSections::of)
    }

    fn of(sections: Vec<Section>) -> JobSections {
        let names = sections.iter().map(|section| section.name.clone());
        JobSections {
            names: names.collect(),
            chosen: sections,
        }
    }

    /// Returns true if there is no section.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// Returns the names of all sections in their order, including those that were not chosen.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Leaves out sections that are not named in `names`.
    pub fn choose(&mut self, names: &[String]) {
        self.chosen.retain(|section| names.contains(&section.name));
    }

    /// Divides the sections into groups as fio runs them: those of a group begin together, and the next group begins
    /// when all of them have ended. Every group has a section.
    ///
    /// # Errors
    /// A section waits for another in a way that joulio does not support.
    pub fn groups(self) -> Result<Vec<Vec<Section>>, JobFileError> {
        groups(self.chosen, &self.names)
    }
}

/// Section of a job file, translated to flags of `joulio bench`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionFlags {
    /// Name of the section.
    pub name: String,
    /// Number of the line at which it begins, from 1; 0 on a command line.
    pub line: usize,
    /// Flags of the section's options, followed by those of fio's defaults that differ from joulio's.
    pub flags: Vec<Flag>,
    /// True if the section begins another reporting group, as by fio's `new_group`.
    pub new_group: bool,
}

impl Section {
    /// Translates the section to flags, beside those that are `typed`. Variables in its values are those of this
    /// process' environment, and percentages are of the file that it names.
    ///
    /// # Errors
    /// An option or its value has no equivalent, or the section lacks a device or a length.
    pub fn translate(mut self, typed: &TypedFlags) -> Result<SectionFlags, JobFileError> {
        self.expand(|name| std::env::var(name).ok());
        in_bytes(&mut self)?;
        typed.count_in(&mut self);
        let mut flags = flags(&self, typed)?;
        flags.extend(defaults(&self, typed)?);
        Ok(SectionFlags {
            new_group: self.is_on("new_group"),
            name: self.name,
            line: self.line,
            flags,
        })
    }
}

#[cfg(test)]
mod tests;
