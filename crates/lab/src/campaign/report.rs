//! A report of folders of results.

use super::folder::{FolderError, ResultsFolder};
use crate::experiment_file::{ExperimentFile, ExperimentFileError};
use crate::idle_interval::IdleInterval;
use crate::record::{RecordKey, RunRecord};
use crate::report::{LabReport, Runs, Shown};
use joulio_twin::published::{Paper, PaperError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Reason why a report cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A folder that cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The experiment in a folder cannot be read by this version.
    #[error("{}: its experiment cannot be read: {source}; name one with --experiment", path.display())]
    Experiment {
        /// The folder.
        path: PathBuf,
        /// Reason why it cannot be read.
        source: ExperimentFileError,
    },
    /// The published numbers that are built into joulio cannot be read.
    #[error(transparent)]
    Published(#[from] PaperError),
    /// Two folders were run with different files of an experiment of the same name.
    #[error(
        "{} and {} were run by unlike files of {experiment}: name the one to show by --experiment",
        one.display(), other.display()
    )]
    UnlikeFiles {
        /// Name of the experiment.
        experiment: String,
        /// A folder.
        one: PathBuf,
        /// Second folder.
        other: PathBuf,
    },
    /// A folder has results of another experiment than the one given in place of the folders' own.
    #[error("--experiment {given}: {} is of {of}", path.display())]
    Unlike {
        /// Name of the experiment that was given.
        given: String,
        /// A folder.
        path: PathBuf,
        /// Name of the folder's experiment.
        of: String,
    },
    /// Two folders have the same run, which would count twice.
    #[error("{} and {} both have {run}: make a report of each", one.display(), other.display())]
    Twice {
        /// The run.
        run: Box<RecordKey>,
        /// A folder.
        one: PathBuf,
        /// Second folder.
        other: PathBuf,
    },
}

/// An experiment with the records of all of its folders.
struct Gathered {
    file: ExperimentFile,
    path: PathBuf,
    records: Vec<RunRecord>,
    idle: Vec<IdleInterval>,
    had: HashMap<RecordKey, PathBuf>,
}

/// Makes the report of `folders`: folders of one experiment are shown together, in the order of their first folder.
/// Each experiment is shown as its file was when it was run, unless `in_place` is a current version of it.
///
/// # Errors
/// A folder has no results, folders do not belong together, or an experiment cannot be read.
pub fn report(
    folders: &[PathBuf],
    in_place: Option<&ExperimentFile>,
) -> Result<LabReport, ReportError> {
    let mut all: Vec<Gathered> = Vec::new();
    for (path, folder) in folders.iter().zip(ResultsFolder::read_all(folders)?) {
        let file = match in_place {
            Some(file) if file.name == folder.header.experiment => file.clone(),
            Some(file) => {
                return Err(ReportError::Unlike {
                    given: file.name.clone(),
                    path: path.clone(),
                    of: folder.header.experiment,
                });
            }
            None => own_file(&folder)?,
        };
        let place = match all.iter().position(|one| one.file.name == file.name) {
            Some(place) if all[place].file.text == file.text => place,
            Some(place) => {
                return Err(ReportError::UnlikeFiles {
                    experiment: file.name,
                    one: all[place].path.clone(),
                    other: path.clone(),
                });
            }
            None => {
                all.push(Gathered {
                    file,
                    path: path.clone(),
                    records: Vec::new(),
                    idle: Vec::new(),
                    had: HashMap::new(),
                });
                all.len() - 1
            }
        };
        all[place].idle.extend(folder.idle());
        all[place].add(path, folder.records)?;
    }
    let runs = |one: Gathered| {
        let (records, idle) = (one.records, one.idle);
        (one.file, Runs { records, idle })
    };
    let (files, runs): (Vec<_>, Vec<_>) = all.into_iter().map(runs).unzip();
    let sources: Vec<_> = files.iter().map(ExperimentFile::sources).collect();
    let shown = files.iter().zip(&sources).map(|(file, sources)| Shown {
        name: &file.name,
        title: &file.title,
        published: file.published.as_deref(),
        sweeps: sources,
        tables: &file.table,
        figures: &file.figure,
        observations: &file.observation,
    });
    Ok(LabReport::new(
        &Paper::named(&[])?,
        shown.zip(runs).collect(),
    ))
}

/// Returns the experiment as its file was when `folder` was run.
fn own_file(folder: &ResultsFolder) -> Result<ExperimentFile, ReportError> {
    let file = ExperimentFile::parse(&folder.header.experiment, &folder.header.file);
    file.map_err(|source| ReportError::Experiment {
        path: folder.path.clone(),
        source,
    })
}

impl Gathered {
    fn add(&mut self, path: &Path, records: Vec<RunRecord>) -> Result<(), ReportError> {
        for record in records {
            let key = record.key();
            if let Some(one) = self.had.get(&key) {
                return Err(ReportError::Twice {
                    run: Box::new(key),
                    one: one.clone(),
                    other: path.into(),
                });
            }
            self.had.insert(key, path.into());
            self.records.push(record);
        }
        Ok(())
    }
}
