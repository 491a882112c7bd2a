//! Flags beside a job file, which apply to every section.

use super::sections::{Given, Section};
use std::ffi::OsString;

/// Options from which other values are computed.
const RECKONED: [&str; 3] = ["size", "bs", "numjobs"];

/// Flags of `joulio bench` that are typed beside the sections, and replace the sections' own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedFlags {
    arguments: Vec<OsString>,
}

impl TypedFlags {
    /// Creates the flags of `arguments`, which have two hyphens; a value follows its flag, or is joined to it by `=`.
    pub fn new(arguments: Vec<OsString>) -> TypedFlags {
        TypedFlags { arguments }
    }

    /// Returns the arguments as they were typed.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// Returns true if `flag` is typed, under any of its names; a value after `=` is ignored.
    pub fn has(&self, flag: &str) -> bool {
        let mut arguments = self.arguments.iter().filter_map(|one| one.to_str());
        arguments.any(|argument| is_named(argument, flag))
    }

    /// Returns the value of `flag` if it is typed; the values are joined to a list if it is typed several times.
    pub fn value(&self, flag: &str) -> Option<String> {
        let mut values = Vec::new();
        let mut arguments = self.arguments.iter().map(|one| one.to_str());
        while let Some(argument) = arguments.next() {
            let Some(argument) = argument.filter(|one| is_named(one, flag)) else {
                continue;
            };
            let value = argument.split_once('=').map(|(_, value)| value);
            values.extend(value.or_else(|| arguments.next().flatten()));
        }
        (!values.is_empty()).then(|| values.join(","))
    }

    /// Replaces the section's values by typed ones, for options from which other values are computed.
    pub(super) fn count_in(&self, section: &mut Section) {
        for key in RECKONED {
            if let Some(value) = self.value(&format!("--{key}")) {
                let others: &[&str] = if key == "bs" {
                    &["bssplit", "bsrange", "blocksize_range"]
                } else {
                    &[]
                };
                section
                    .options
                    .retain(|given| !others.contains(&given.key.as_str()));
                section.options.push(Given {
                    line: section.line,
                    key: key.into(),
                    value: Some(value),
                });
            }
        }
    }
}

/// Returns true if `argument` is the flag `flag` under one of its names.
fn is_named(argument: &str, flag: &str) -> bool {
    let name = |argument: &str| {
        let name = argument.split('=').next().unwrap_or(argument);
        name.replace("readwrite", "rw")
            .replace("blocksize", "bs")
            .replace("bssplit", "bs")
            .replace("bsrange", "bs")
            .replace("randseed", "seed")
            .replace('-', "_")
    };
    argument.starts_with("--") && name(argument) == name(flag)
}
