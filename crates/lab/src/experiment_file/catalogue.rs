//! Built-in experiments, and loading of others.

use super::sweep_spec::LEFT_OUT;
use super::{ExperimentFile, SweepSpec};
use crate::report::{SpecError, Where};
use crate::sweep::Factor;
use crate::text_file::read_text;
use joulio_units::proposal;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Size of the largest file that is read, in bytes: many times that of any experiment.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Texts of the built-in experiments, by name.
pub const CATALOGUE: &[(&str, &str)] = &[
    (
        "hotstorage20",
        include_str!("../../experiments/hotstorage20.toml"),
    ),
    (
        "hotstorage22",
        include_str!("../../experiments/hotstorage22.toml"),
    ),
    (
        "hotstorage23",
        include_str!("../../experiments/hotstorage23.toml"),
    ),
    (
        "hotstorage25",
        include_str!("../../experiments/hotstorage25.toml"),
    ),
    (
        "interfaces",
        include_str!("../../experiments/interfaces.toml"),
    ),
    (
        "shared-core",
        include_str!("../../experiments/shared-core.toml"),
    ),
    (
        "first-hour",
        include_str!("../../experiments/first-hour.toml"),
    ),
    ("tiering", include_str!("../../experiments/tiering.toml")),
];

/// Reason why an experiment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentFileError {
    /// No experiment has this name, and it is no file.
    #[error("no experiment '{name}': {near}there are {known}, or give the path of a .toml file")]
    Unknown {
        /// Name that was given.
        name: String,
        /// Text that proposes a similar name, or empty.
        near: String,
        /// Text that lists the known names.
        known: String,
    },
    /// A file that cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A text that is not a valid experiment.
    #[error("{file}: line {line}: {problem}")]
    Line {
        /// The file, or the experiment's name.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// Description of what is wrong.
        problem: String,
    },
    /// A value that is not valid in its place.
    #[error("{file}: {what}: {problem}")]
    Item {
        /// The file, or the experiment's name.
        file: String,
        /// Place of the problem: `sweep 'main'`.
        what: String,
        /// Description of what is wrong.
        problem: String,
    },
}

impl ExperimentFile {
    /// Removes all sweeps except those of these names; keeps all if there is no name.
    ///
    /// # Errors
    /// The experiment has no sweep of one of the names.
    pub fn keep_sweeps(&mut self, names: &[String]) -> Result<(), ExperimentFileError> {
        let has = |name: &&String| self.sweep.iter().any(|sweep| sweep.name == **name);
        if let Some(unknown) = names.iter().find(|name| !has(name)) {
            let known: Vec<_> = self.sweep.iter().map(|sweep| sweep.name.as_str()).collect();
            return Err(ExperimentFileError::Item {
                file: self.name.clone(),
                what: format!("--sweep {unknown}"),
                problem: format!("its sweeps are {}", known.join(", ")),
            });
        }
        if !names.is_empty() {
            self.sweep.retain(|sweep| names.contains(&sweep.name));
        }
        Ok(())
    }

    /// Loads the experiment `name`: a built-in one, or the path of a file.
    ///
    /// # Errors
    /// There is no such experiment, or the file is not valid.
    pub fn load(name: &str) -> Result<ExperimentFile, ExperimentFileError> {
        let built_in = CATALOGUE.iter().find(|(known, _)| *known == name);
        if let Some((name, text)) = built_in {
            return ExperimentFile::parse(name, text);
        }
        if !name.ends_with(".toml") && !name.contains('/') {
            let known: Vec<_> = CATALOGUE.iter().map(|(name, _)| *name).collect();
            return Err(ExperimentFileError::Unknown {
                name: name.into(),
                near: proposal(name, &known),
                known: known.join(", "),
            });
        }
        let path = Path::new(name);
        let text =
            read_text(path, MAX_FILE_BYTES).map_err(|source| ExperimentFileError::Unreadable {
                path: path.into(),
                source,
            })?;
        ExperimentFile::parse(name, &text)
    }

    /// Parses the experiment `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// The text is not a valid experiment.
    pub fn parse(file: &str, text: &str) -> Result<ExperimentFile, ExperimentFileError> {
        let parsed = toml_edit::de::from_str::<ExperimentFile>(text);
        let mut experiment = parsed.map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            ExperimentFileError::Line {
                file: file.into(),
                line: text[..at.min(text.len())].matches('\n').count() + 1,
                problem: error.message().replace('\n', ", "),
            }
        })?;
        experiment.text = text.into();
        experiment.check(file)?;
        Ok(experiment)
    }

    fn check(&self, file: &str) -> Result<(), ExperimentFileError> {
        let wrong = |what: String, problem: String| ExperimentFileError::Item {
            file: file.into(),
            what,
            problem,
        };
        let spec = |error: SpecError| {
            let what = format!("{} '{}'", error.kind, error.id);
            wrong(what, error.problem)
        };
        let mut names = BTreeSet::new();
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(good) {
            let problem = "an experiment's name has letters, digits and - alone";
            return Err(wrong(format!("name '{}'", self.name), problem.into()));
        }
        for sweep in &self.sweep {
            let what = || format!("sweep '{}'", sweep.name);
            if sweep.name.is_empty() || !sweep.name.chars().all(good) {
                let problem = "a sweep's name has letters, digits and - alone";
                return Err(wrong(what(), problem.into()));
            }
            if !names.insert(sweep.name.as_str()) {
                return Err(wrong(what(), "the name is given twice".into()));
            }
            self.check_platforms(sweep)
                .map_err(|why| wrong(what(), why))?;
        }
        let mut ids = BTreeSet::new();
        let tables = self.table.iter().map(|table| &table.id);
        let figures = self.figure.iter().map(|figure| &figure.id);
        for id in tables.chain(figures) {
            if !ids.insert(id) {
                return Err(wrong(format!("'{id}'"), "the id is given twice".into()));
            }
        }
        for table in &self.table {
            table.check().map_err(spec)?;
            let what = || format!("table '{}'", table.id);
            let refers = self.refers(table.sweep.as_deref(), &table.filter);
            let refers = refers.and_then(|()| exist(table.factors()));
            refers.map_err(|why| wrong(what(), why))?;
        }
        for figure in &self.figure {
            figure.check().map_err(spec)?;
            let what = || format!("figure '{}'", figure.id);
            let refers = self.refers(figure.sweep.as_deref(), &figure.filter);
            let refers = refers.and_then(|()| exist(figure.factors()));
            refers.map_err(|why| wrong(what(), why))?;
            for layer in &figure.layer {
                let sweep = layer.sweep.as_deref().or(figure.sweep.as_deref());
                let refers = self.refers(sweep, &layer.filter);
                refers.map_err(|why| wrong(what(), why))?;
            }
        }
        for observation in &self.observation {
            observation.check().map_err(spec)?;
            let what = || format!("observation '{}'", observation.id);
            let along = observation.rising.iter().map(|one| &one.along);
            exist(along).map_err(|why| wrong(what(), why))?;
            let rising = observation
                .rising
                .iter()
                .map(|one| (&one.sweep, &one.filter));
            let within = observation
                .within
                .iter()
                .map(|one| (&one.sweep, &one.filter));
            for (sweep, filter) in rising.chain(within) {
                let refers = self.refers(Some(sweep), filter);
                refers.map_err(|why| wrong(what(), why))?;
            }
        }
        Ok(())
    }

    /// Returns an error if the sweep does not exist, or a factor of `filter` does not.
    fn refers(&self, sweep: Option<&str>, filter: &Where) -> Result<(), String> {
        if let Some(name) = sweep
            && !self.sweep.iter().any(|sweep| sweep.name == name)
        {
            return Err(format!("no sweep '{name}'"));
        }
        for (name, values) in filter {
            let factor: Factor = name.parse().map_err(|why| format!("where: {why}"))?;
            for value in values.values() {
                let canonical = factor.canonical(value);
                let canonical = canonical.map_err(|why| format!("where: {why}"))?;
                if canonical != *value {
                    return Err(format!("where: {name}: write {canonical} for {value}"));
                }
            }
        }
        Ok(())
    }

    fn check_platforms(&self, sweep: &SweepSpec) -> Result<(), String> {
        let known = ["real", "emulated", "twin", "guest"];
        let strange = sweep
            .on
            .values()
            .iter()
            .find(|name| !known.contains(&name.as_str()));
        match strange {
            Some(name) => Err(format!("on: '{name}' is not one of {}", known.join(", "))),
            None => self.check_lists(sweep),
        }
    }

    /// Checks every list of the sweep, whether or not the platform uses it.
    fn check_lists(&self, sweep: &SweepSpec) -> Result<(), String> {
        if let Some(device) = &sweep.stand_in {
            let canonical = Factor::Device.canonical(device);
            canonical.map_err(|why| format!("stand_in: {why}"))?;
        }
        let own = sweep.lists();
        let others = [&sweep.quick, &sweep.twin, &sweep.emulated];
        let others = others.into_iter().flat_map(|lists| lists.lists());
        for (factor, list) in own.chain(others) {
            for value in list.values().iter().filter(|value| *value != LEFT_OUT) {
                factor.canonical(value).map_err(|why| why.to_string())?;
            }
        }
        Ok(())
    }
}

/// Returns an error if a name is not a factor's.
fn exist<'a>(mut names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let wrong = names.find_map(|name| name.parse::<Factor>().err());
    wrong.map_or(Ok(()), |why| Err(why.to_string()))
}
