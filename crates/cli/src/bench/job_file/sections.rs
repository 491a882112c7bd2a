//! Sections of a job file, as text has them.

use super::refusal::Refusal;
use joulio_workload::{parse_count, parse_size};

/// A section of a job file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) line: usize,
    /// Options, those of the `[global]` sections above it first.
    pub(super) options: Vec<Given>,
}

/// An option as the file has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Option<String>,
}

/// Sections as they are read, each with the options of the global ones before it.
#[derive(Default)]
pub(super) struct SectionReader {
    global: Vec<Given>,
    sections: Vec<Section>,
    in_section: bool,
}

impl SectionReader {
    /// Begins the section `name`, or goes on with the options of all that follow where that is `global`.
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

    /// Adds an option to what was begun last; before anything was, to all that follow.
    pub(super) fn add(&mut self, given: Given) {
        match self.sections.last_mut() {
            Some(section) if self.in_section => section.options.push(given),
            _ => self.global.push(given),
        }
    }

    /// The sections, in their order.
    pub(super) fn sections(self) -> Vec<Section> {
        self.sections
    }
}

impl Section {
    /// The option `key`, the last where it is given twice.
    pub(super) fn find(&self, key: &str) -> Option<&Given> {
        self.options.iter().rev().find(|given| given.key == key)
    }

    /// True if the option `key` is on.
    pub(super) fn is_on(&self, key: &str) -> bool {
        self.find(key).is_some_and(Given::is_on)
    }

    /// Puts values of the environment in the place of `${NAME}`; one that is not set stays.
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

    /// True if it begins after all those before it have ended.
    pub(super) fn is_after_all(&self) -> bool {
        self.is_on("stonewall") || self.is_on("wait_for_previous")
    }
}

/// Text before the first `${NAME}` of `value`, the name, and the text after it.
pub(super) fn variable(value: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = value.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Sections of `text`, each with the options of the `[global]` ones before it; or a line, and what is wrong
/// there.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, Refusal> {
    let mut reader = SectionReader::default();
    let mut begun = false;
    for (number, line) in (1..).zip(text.lines()) {
        // As in fio, the rest of a line is a comment too.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').map(str::trim);
            let name = name.filter(|name| !name.is_empty());
            let name = name.ok_or((number, format!("'{line}' is not a section: write [name]")))?;
            reader.begin(number, name);
            begun = true;
        } else if begun {
            reader.add(Given::read(number, line));
        } else {
            let why = format!("'{line}' is in no section: write [global] or [name] above it");
            return Err((number, why));
        }
    }
    let sections = reader.sections();
    match sections.is_empty() {
        true => Err((1, "no section: [global] alone is no job".into())),
        false => Ok(sections),
    }
}

impl Given {
    /// The option that `text` is, `key=value` or a key alone, in a line.
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

    /// True for an option that is given without a value, or as 1.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.value.as_deref(), None | Some("1" | "true"))
    }

    /// True for an option that is given as 0.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.value.as_deref(), Some("0" | "false"))
    }

    pub(super) fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key),
            None => self.key.clone(),
        }
    }

    /// Value of the option in bytes.
    pub(super) fn bytes(&self) -> Result<u64, Refusal> {
        let bytes = parse_size(self.value.as_deref().unwrap_or(""));
        bytes.map_err(|why| self.refused(&why))
    }

    /// Value of the option as a number.
    pub(super) fn count(&self) -> Result<u64, Refusal> {
        let count = parse_count(self.value.as_deref().unwrap_or(""));
        count.map_err(|why| self.refused(&why))
    }

    pub(super) fn refused(&self, why: &str) -> Refusal {
        (self.line, format!("{}: {why}", self.text()))
    }
}

/// The option `key` among `options`.
pub(super) fn find<'a>(options: &[&'a Given], key: &str) -> Option<&'a Given> {
    options.iter().copied().find(|given| given.key == key)
}
