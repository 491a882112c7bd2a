//! Sections of a job file, as they are written.

use super::error::JobFileError;
use joulio_workload::parse_size;

/// Suffixes of powers of 1000 in fio, in which `k` to `t` are powers of 1024.
const OF_1000: [&str; 4] = ["kib", "mib", "gib", "tib"];

/// Section of a job file or of a command line, with its options as they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub(super) name: String,
    pub(super) line: usize,
    /// Options, after those of the `[global]` sections before it.
    pub(super) options: Vec<Given>,
}

/// An option as it is written in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Option<String>,
}

/// Reader of sections, which adds the options of earlier global ones to each.
#[derive(Default)]
pub(super) struct SectionReader {
    global: Vec<Given>,
    sections: Vec<Section>,
    in_section: bool,
}

impl SectionReader {
    /// Begins the section `name`; `global` begins options for all later sections.
    pub(super) fn begin(&mut self, line: usize, name: &str) {
        self.in_section = name != "global";
        if self.in_section {
            self.sections.push(Section {
                name: name.into(),
                line,
                options: self.global.clone(),
            });
        }
    }

    /// Adds an option to the section that was begun last; before any section, to all that follow.
    pub(super) fn add(&mut self, given: Given) {
        match self.sections.last_mut() {
            Some(section) if self.in_section => section.options.push(given),
            _ => self.global.push(given),
        }
    }

    /// Returns the sections in their order.
    pub(super) fn sections(self) -> Vec<Section> {
        self.sections
    }
}

impl Section {
    /// Returns the section's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the option `key`, the last one if it is given several times.
    pub(super) fn find(&self, key: &str) -> Option<&Given> {
        self.options.iter().rev().find(|given| given.key == key)
    }

    /// Returns true if the option `key` is on.
    pub(super) fn is_on(&self, key: &str) -> bool {
        self.find(key).is_some_and(Given::is_on)
    }

    /// Replaces `${NAME}` by values of the environment; unset variables stay as they are.
    pub(super) fn expand(&mut self, environment: impl Fn(&str) -> Option<String>) {
        for given in &mut self.options {
            let mut expanded = String::new();
            let mut rest = given.value.as_deref().unwrap_or_default();
            while let Some((before, name, after)) = variable(rest) {
                expanded += before;
                expanded += &environment(name).unwrap_or_else(|| format!("${{{name}}}"));
                rest = after;
            }
            expanded += rest;
            given.value = given.value.is_some().then_some(expanded);
        }
    }

    /// Returns true if the section begins after all earlier ones have ended.
    pub(super) fn is_after_all(&self) -> bool {
        self.is_on("stonewall") || self.is_on("wait_for_previous")
    }
}

/// Splits `value` at the first `${NAME}` into the text before it, the name, and the text after it.
pub(super) fn variable(value: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = value.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Parses the sections of `text`, each with the options of the `[global]` ones before it; the error has a line and its
/// problem.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, JobFileError> {
    let mut reader = SectionReader::default();
    let mut begun = false;
    for (number, line) in (1..).zip(text.lines()) {
        // As in fio, a comment may also follow other text in a line.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').map(str::trim);
            let name = name.filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| JobFileError::Heading {
                line: number,
                text: line.to_owned(),
            })?;
            reader.begin(number, name);
            begun = true;
        } else if begun {
            reader.add(Given::read(number, line));
        } else {
            return Err(JobFileError::Outside {
                line: number,
                text: line.to_owned(),
            });
        }
    }
    let sections = reader.sections();
    match sections.is_empty() {
        true => Err(JobFileError::NoSection),
        false => Ok(sections),
    }
}

impl Given {
    /// Parses an option from `text`: `key=value` or only a key.
    pub(super) fn read(line: usize, text: &str) -> Given {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.trim().to_owned())),
            None => (text, None),
        };
        Given {
            line,
            key: key.trim().to_lowercase().replace('-', "_"),
            value,
        }
    }

    /// Returns true for an option without a value, or with 1.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.value.as_deref(), None | Some("1" | "true"))
    }

    /// Returns true for an option with 0.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.value.as_deref(), Some("0" | "false"))
    }

    pub(super) fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key),
            None => self.key.clone(),
        }
    }

    /// Parses the option's value in bytes.
    pub(super) fn bytes(&self) -> Result<u64, JobFileError> {
        let bytes = parse_size(self.value.as_deref().unwrap_or(""));
        bytes.map_err(|error| self.refused(&error.to_string()))
    }

    /// Parses the option's value as a number.
    pub(super) fn count(&self) -> Result<u64, JobFileError> {
        let count = count(self.value.as_deref().unwrap_or(""));
        count.map_err(|why| self.refused(&why))
    }

    /// Checks that no number in the option's value has a suffix such as KiB, which is 1000 in fio and 1024 elsewhere.
    pub(super) fn check_suffixes(&self) -> Result<(), JobFileError> {
        let value = self.value.as_deref().unwrap_or_default();
        for number in value.split([',', ':', '/', '-']).map(str::trim) {
            let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let suffix = &number[digits.len()..];
            let place = OF_1000
                .iter()
                .position(|one| suffix.eq_ignore_ascii_case(one));
            if let Some(power) = place.map(|place| place + 1) {
                let letter = &suffix[..1];
                return Err(self.refused(&format!(
                    "fio's {suffix} is 1000^{power}: write {digits}{letter} for 1024^{power}, or a number without a suffix"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn refused(&self, why: &str) -> JobFileError {
        JobFileError::Option {
            line: self.line,
            option: self.text(),
            problem: why.to_owned(),
        }
    }
}

/// Parses a count as fio does: with the suffixes of a size.
pub(super) fn count(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|_| {
        format!("'{text}' is not a count: write a whole number, or one with k or m (1k = 1024)")
    })
}

/// Returns the option `key` among `options`.
pub(super) fn find<'a>(options: &[&'a Given], key: &str) -> Option<&'a Given> {
    options.iter().copied().find(|given| given.key == key)
}
