//! Folders of results: `records.jsonl`, a header and a line a run, and `manifests.jsonl`, a line a
//! session; or one file that has the lines of both.

use crate::idle_interval::IdleInterval;
use crate::output_file::replace;
use crate::record::{Platform, RunRecord};
use crate::state_file::StateError;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Name of the file of records.
const RECORDS: &str = "records.jsonl";
/// Name of the file of manifests.
const MANIFESTS: &str = "manifests.jsonl";

/// First line of the records: what they are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultsHeader {
    /// Version of joulio.
    pub joulio: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Platform of the runs.
    pub platform: Platform,
    /// True for the short form.
    pub quick: bool,
    /// Text of the experiment's file.
    pub file: String,
    /// Everything that results depend on beside factors and machine, by sweep.
    pub sweeps: Value,
    /// Profiles of devices and machines that are files, by their paths.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub profiles: Map<String, Value>,
}

/// A line of a file of results that is no record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionLine {
    session: Value,
}

/// A folder of results that can be read.
#[derive(Clone, Debug)]
pub struct ResultsFolder {
    /// The folder.
    pub path: PathBuf,
    /// Header of the records.
    pub header: ResultsHeader,
    /// Records, of several of a run the last, by sweep, point, repetition, platform and machine.
    pub records: Vec<RunRecord>,
    /// Manifests, one a session, each a JSON object.
    pub manifests: Vec<Value>,
}

/// A folder of results that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A folder without records.
    #[error("{}: no results: it has no {RECORDS}, which joulio lab run writes", .0.display())]
    NoResults(PathBuf),
    /// A line that is no record.
    #[error("{}: line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Description of what is wrong.
        problem: String,
    },
    /// A file or folder that cannot be read or made.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A state file that cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
}

impl FolderError {
    /// True if nothing was done yet.
    pub fn is_refusal(&self) -> bool {
        match self {
            FolderError::State(error) => error.is_refusal(),
            _ => true,
        }
    }
}

impl ResultsFolder {
    /// Reads the folder `path`, or the one file that has all of it. A line that a kill cut off at the end is
    /// no record.
    ///
    /// # Errors
    /// It has no records, or a line is none.
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
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FolderError::NoResults(path.into()));
            }
            text => text.map_err(wrong)?,
        };
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

    /// Idle intervals of its sessions, in their order.
    pub fn idle(&self) -> Vec<IdleInterval> {
        let lines = self.manifests.iter();
        let lines = lines.filter_map(|line| line.get("idle"));
        let mut idle: Vec<IdleInterval> = lines
            .filter_map(|line| serde_json::from_value(line.clone()).ok())
            .collect();
        // Those of merged shards are in the order of their text.
        idle.sort_by(|a, b| a.unix_seconds.total_cmp(&b.unix_seconds));
        idle
    }

    /// Path of the records in the folder `path`.
    pub fn records_path(path: &Path) -> PathBuf {
        path.join(RECORDS)
    }

    /// Makes the folder `path`, if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(path: &Path) -> Result<(), FolderError> {
        fs::create_dir_all(path).map_err(|source| FolderError::Io {
            path: path.into(),
            source,
        })
    }

    /// Adds the manifest of a session to the folder `path`.
    ///
    /// # Errors
    /// It cannot be written.
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
            // The folder may be a stranger's, and a link in it lead anywhere.
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&path)
            .map_err(wrong)?;
        // After a line that a full disk cut off it would become part of that line.
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

    /// Text of the file of records.
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

    /// Writes all of it into one file beside the records, named after the experiment; returns its path.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_whole(&self) -> Result<PathBuf, FolderError> {
        let path = self
            .path
            .join(format!("{}.results.jsonl", self.header.experiment));
        let sessions = self.manifests.iter();
        let sessions: String = sessions
            .map(|session| format!("{}\n", serde_json::json!({ "session": session })))
            .collect();
        let text = self.text()? + &sessions;
        let written = replace(&path, &text);
        written.map_err(|source| FolderError::Io {
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// Text of the file of manifests.
    pub(super) fn manifests_text(&self) -> String {
        let lines = self
            .manifests
            .iter()
            .map(|manifest| format!("{manifest}\n"));
        lines.collect()
    }

    /// Names of the files of a folder.
    pub(super) const FILES: [&'static str; 2] = [RECORDS, MANIFESTS];
}

/// The last record of each run, in an order that depends on nothing but the runs.
fn latest(records: Vec<RunRecord>) -> Vec<RunRecord> {
    let mut last = std::collections::BTreeMap::new();
    for record in records {
        last.insert(record.key(), record);
    }
    last.into_values().collect()
}

fn manifests(path: &Path) -> Result<Vec<Value>, FolderError> {
    let path = path.join(MANIFESTS);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(FolderError::Io { path, source }),
        Ok(text) => text,
    };
    // A line that a kill cut off does not count.
    let whole = text
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'));
    Ok(whole
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}
