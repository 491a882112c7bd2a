//! Folders of results: `records.jsonl` has a header and a line for each run, `manifests.jsonl` a line for each session.
//! A single file may have the lines of both.

use super::drives;
use crate::idle_interval::IdleInterval;
use crate::output_file::replace;
use crate::record::{Platform, RunRecord};
use crate::state_file::{StateError, text_of_lines};
use crate::sweep::SweepMachine;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Name of the file of records.
const RECORDS: &str = "records.jsonl";
/// Name of the file of manifests.
const MANIFESTS: &str = "manifests.jsonl";

/// First line of the records, which identifies the campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultsHeader {
    /// Version of joulio.
    pub joulio: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Platform of the runs.
    pub platform: Platform,
    /// True if the campaign was run with `--quick`.
    pub quick: bool,
    /// Text of the experiment's file.
    pub file: String,
    /// Options that results depend on beside factors and machine, by sweep.
    pub sweeps: Value,
    /// Contents of device and machine profiles that are files, by path.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub profiles: Map<String, Value>,
    /// Machine of the runs, on which alone they are continued. `None` in virtual time, and in merged results of several
    /// machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<SweepMachine>,
}

/// A line of a single file of results that is a manifest and not a record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionLine {
    session: Value,
}

/// A folder of results that was read.
#[derive(Clone, Debug)]
pub struct ResultsFolder {
    /// The folder.
    pub path: PathBuf,
    /// Header of the records.
    pub header: ResultsHeader,
    /// Records in order of sweep, point, repetition, platform and machine; the last one of each run.
    pub records: Vec<RunRecord>,
    /// Manifests, one for each session, as JSON objects.
    pub manifests: Vec<Value>,
}

/// Reason why a folder of results cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A folder without records.
    #[error("{}: no results: it has no {RECORDS}, which joulio lab run writes", .0.display())]
    NoResults(PathBuf),
    /// A path of something else than a folder.
    #[error("{}: not a folder: name another", .0.display())]
    NoFolder(PathBuf),
    /// A line that is not a valid record.
    #[error("{}: line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Description of what is wrong.
        problem: String,
    },
    /// A file or folder that cannot be read or created.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file of records cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
}

impl FolderError {
    /// Returns true if nothing was done yet.
    pub fn is_refusal(&self) -> bool {
        match self {
            FolderError::State(error) => error.is_refusal(),
            _ => true,
        }
    }
}

impl ResultsFolder {
    /// Reads the folder `path`, or a single file with all results. An incomplete last line, as a kill leaves it, is
    /// ignored.
    ///
    /// # Errors
    /// There are no records, or a line is not valid.
    pub fn read(path: &Path) -> Result<ResultsFolder, FolderError> {
        let whole = path.is_file();
        let file = match whole {
            true => path.into(),
            false => path.join(RECORDS),
        };
        let wrong = |source| FolderError::Io {
            path: file.clone(),
            source,
        };
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FolderError::NoResults(path.into()));
            }
            bytes => bytes.map_err(wrong)?,
        };
        let text = text_of_lines(bytes).map_err(wrong)?;
        let bad = |line: usize, problem: serde_json::Error| FolderError::Line {
            path: file.clone(),
            line,
            problem: problem.to_string(),
        };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let header = serde_json::from_str(first).map_err(|why| bad(1, why))?;
        let mut records: Vec<RunRecord> = Vec::new();
        let mut sessions = Vec::new();
        for (at, line) in rest.split_inclusive('\n').enumerate() {
            let Some(line) = line.strip_suffix('\n') else {
                break;
            };
            match serde_json::from_str::<SessionLine>(line) {
                Ok(line) if whole => sessions.push(line.session),
                _ => records.push(serde_json::from_str(line).map_err(|why| bad(at + 2, why))?),
            }
        }
        Ok(ResultsFolder {
            path: path.into(),
            header,
            records: latest(records),
            manifests: match whole {
                true => sessions,
                false => manifests(path)?,
            },
        })
    }

    /// Reads the folders `paths`, in which machines with the same CPU get names of their own.
    ///
    /// # Errors
    /// A folder has no records, or a line that is not valid.
    pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<ResultsFolder>, FolderError> {
        let read = paths.iter().map(|path| ResultsFolder::read(path));
        let mut read = read.collect::<Result<Vec<_>, _>>()?;
        ResultsFolder::tell_machines_apart(&mut read);
        Ok(read)
    }

    /// Gives machines with the same CPU names of their own in the records and idle intervals of `folders`. Names of a
    /// machine whose CPU no other machine has stay as they are.
    fn tell_machines_apart(folders: &mut [ResultsFolder]) {
        let shared = |folder: &ResultsFolder| {
            let machine = folder.header.machine.clone()?;
            let other = folders.iter().any(|one| one.is_taken_for(&machine));
            other.then_some(machine)
        };
        let shared: Vec<Option<SweepMachine>> = folders.iter().map(shared).collect();
        for (folder, machine) in folders.iter_mut().zip(shared) {
            if let Some(machine) = machine {
                folder.rename_machine(machine.cpu(), &machine.full_name());
            }
        }
    }

    /// Returns true if the records are another machine's than `machine`, but may have the name of its CPU.
    fn is_taken_for(&self, machine: &SweepMachine) -> bool {
        match &self.header.machine {
            Some(own) => own != machine && own.cpu() == machine.cpu(),
            // Merged results, in which such machines have full names.
            None => {
                let names = self.records.iter().map(|record| record.machine.as_str());
                let names: BTreeSet<&str> = names.collect();
                // A plain name among several is a host's that is not known any more.
                let several = names.len() > 1;
                let mut names = names.into_iter();
                names.any(|name| machine.has_cpu_of(name) || several && name == machine.cpu())
            }
        }
    }

    fn rename_machine(&mut self, from: &str, to: &str) {
        for record in &mut self.records {
            if record.machine == from {
                record.machine = to.into();
            }
        }
        for manifest in &mut self.manifests {
            if let Some(machine) = manifest.pointer_mut("/idle/machine")
                && *machine == from
            {
                *machine = to.into();
            }
        }
    }

    /// Returns the idle intervals of all sessions in order of time.
    pub fn idle(&self) -> Vec<IdleInterval> {
        let lines = self.manifests.iter();
        let lines = lines.filter_map(|line| line.get("idle"));
        let mut idle: Vec<IdleInterval> = lines
            .filter_map(|line| serde_json::from_value(line.clone()).ok())
            .collect();
        // The manifests of merged shards are sorted by their text.
        idle.sort_by(|a, b| a.unix_seconds.total_cmp(&b.unix_seconds));
        idle
    }

    /// Returns the path of the records in the folder `path`.
    pub fn records_path(path: &Path) -> PathBuf {
        path.join(RECORDS)
    }

    /// Creates the folder `path` if it does not exist.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn make(path: &Path) -> Result<(), FolderError> {
        fs::create_dir_all(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                FolderError::NoFolder(path.into())
            }
            _ => FolderError::Io {
                path: path.into(),
                source,
            },
        })
    }

    /// Appends the manifest of a session to the folder `path`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_manifest(path: &Path, manifest: &Value) -> Result<(), FolderError> {
        let path = path.join(MANIFESTS);
        let wrong = |source| FolderError::Io {
            path: path.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .read(true)
            .append(true)
            // Does not follow a symbolic link: the folder may be another user's.
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&path)
            .map_err(wrong)?;
        // A full disk may have left the last line incomplete; a new line must not become part of it.
        let mut last = [b'\n'];
        if file.metadata().map_err(wrong)?.len() > 0 {
            let end = file.seek(SeekFrom::End(-1));
            end.and_then(|_| file.read_exact(&mut last))
                .map_err(wrong)?;
        }
        let begin = if last == *b"\n" { "" } else { "\n" };
        file.write_all(format!("{begin}{manifest}\n").as_bytes())
            .map_err(wrong)?;
        file.sync_data().map_err(wrong)
    }

    /// Returns the text of the file of records.
    pub(super) fn text(&self) -> Result<String, FolderError> {
        let path = self.path.join(RECORDS);
        let bad = |problem: serde_json::Error| FolderError::Line {
            path: path.clone(),
            line: 1,
            problem: problem.to_string(),
        };
        let mut text = serde_json::to_string(&self.header).map_err(bad)?;
        text.push('\n');
        for record in &self.records {
            text += &serde_json::to_string(record).map_err(bad)?;
            text.push('\n');
        }
        Ok(text)
    }

    /// Writes all results to one file beside the records, named after the experiment; returns its path.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_whole(&self) -> Result<PathBuf, FolderError> {
        let path = self
            .path
            .join(format!("{}.results.jsonl", self.header.experiment));
        let sessions = self.manifests.iter().cloned();
        let sessions: String = sessions
            .map(|mut session| {
                if let Some(session) = session.as_object_mut() {
                    session.remove(drives::KEY);
                }
                format!("{}\n", serde_json::json!({ "session": session }))
            })
            .collect();
        // This file is passed on, and not continued: the names of the host and its drives stay here.
        let mut whole = self.clone();
        whole.header.machine = None;
        let text = whole.text()? + &sessions;
        let written = replace(&path, &text);
        written.map_err(|source| FolderError::Io {
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// Returns the text of the file of manifests.
    pub(super) fn manifests_text(&self) -> String {
        let lines = self
            .manifests
            .iter()
            .map(|manifest| format!("{manifest}\n"));
        lines.collect()
    }

    /// Names of the files in a folder of results.
    pub(super) const FILES: [&'static str; 2] = [RECORDS, MANIFESTS];
}

/// Returns the last record of each run, in an order that depends only on the runs.
fn latest(records: Vec<RunRecord>) -> Vec<RunRecord> {
    let mut last = std::collections::BTreeMap::new();
    for record in records {
        last.insert(record.key(), record);
    }
    last.into_values().collect()
}

/// Returns the manifests of the folder `path`, without incomplete lines.
pub(super) fn manifests(path: &Path) -> Result<Vec<Value>, FolderError> {
    let path = path.join(MANIFESTS);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(FolderError::Io { path, source }),
        Ok(bytes) => bytes,
    };
    // Skips incomplete lines, which may end within a character.
    let whole = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"));
    Ok(whole
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}
