//! Merging the results of shards.

use super::folder::{FolderError, ResultsFolder};
use crate::output_file::{Existing, OutputFile, OutputFileError};
use crate::record::{RecordKey, RunRecord};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reason why results cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A folder cannot be read or made.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The folders have results of different campaigns.
    #[error("{} and {} are not of one campaign: {what} differs", one.display(), other.display())]
    Unlike {
        /// First folder.
        one: PathBuf,
        /// Second folder.
        other: PathBuf,
        /// Part that differs.
        what: &'static str,
    },
    /// The folders have different results of the same run.
    #[error("{} and {} both have {run}, with different results: merge one of them", one.display(), other.display())]
    Twice {
        /// First folder.
        one: PathBuf,
        /// Second folder.
        other: PathBuf,
        /// Name of the run.
        run: String,
    },
    /// The merged results cannot be written where they should be.
    #[error("--results: {0}")]
    Output(#[from] OutputFileError),
    /// Writing the merged results failed; one of the files may have been written.
    #[error("--results: {0}")]
    Write(OutputFileError),
}

impl MergeError {
    /// Returns true if nothing was written.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, MergeError::Write(_))
    }
}

/// Merges the records and manifests of `folders` into the folder `into`; returns the number of records. The result does
/// not depend on the order of `folders`. Machines with the same CPU are named with host and kernel.
///
/// # Errors
/// The folders belong to different campaigns, or have different results of one run, or writing fails.
pub fn merge(folders: &[PathBuf], into: &Path, existing: Existing) -> Result<usize, MergeError> {
    let mut merged: Option<ResultsFolder> = None;
    let mut from: BTreeMap<RecordKey, (PathBuf, RunRecord)> = BTreeMap::new();
    let mut manifests: Vec<Value> = Vec::new();
    for (path, folder) in folders.iter().zip(ResultsFolder::read_all(folders)?) {
        match &mut merged {
            None => merged = Some(folder.clone()),
            Some(first) => {
                check_alike(first, &folder)?;
                first.header.profiles.extend(folder.header.profiles.clone());
                if first.header.machine != folder.header.machine {
                    first.header.machine = None;
                }
            }
        }
        for record in folder.records {
            let key = record.key();
            if let Some((other, there)) = from.get(&key)
                && *there != record
            {
                return Err(MergeError::Twice {
                    one: other.clone(),
                    other: path.clone(),
                    run: key.to_string(),
                });
            }
            from.insert(key, (path.clone(), record));
        }
        manifests.extend(folder.manifests);
    }
    let Some(mut merged) = merged else {
        return Ok(0);
    };
    merged.records = from.into_values().map(|(_, record)| record).collect();
    manifests.sort_by_key(Value::to_string);
    manifests.dedup();
    merged.manifests = manifests;
    ResultsFolder::make(into)?;
    let texts = [merged.text()?, merged.manifests_text()];
    let files = ResultsFolder::FILES.map(|name| OutputFile::open(&into.join(name), existing));
    // Opens both files before either is written.
    let files = files.into_iter().collect::<Result<Vec<_>, _>>()?;
    for (file, text) in files.iter().zip(texts) {
        file.write(&text).map_err(MergeError::Write)?;
    }
    Ok(merged.records.len())
}

fn check_alike(one: &ResultsFolder, other: &ResultsFolder) -> Result<(), MergeError> {
    let (a, b) = (&one.header, &other.header);
    let mut profiles = a.profiles.iter();
    let same_profiles =
        profiles.all(|(path, profile)| b.profiles.get(path).is_none_or(|other| other == profile));
    let parts = [
        ("the experiment", a.experiment == b.experiment),
        ("what it was run on", a.platform == b.platform),
        ("the version of joulio", a.joulio == b.joulio),
        ("--quick", a.quick == b.quick),
        ("the experiment's file", a.file == b.file),
        ("what runs have in common", a.sweeps == b.sweeps),
        ("a profile behind one name", same_profiles),
    ];
    match parts.into_iter().find(|(_, alike)| !alike) {
        Some((what, _)) => Err(MergeError::Unlike {
            one: one.path.clone(),
            other: other.path.clone(),
            what,
        }),
        None => Ok(()),
    }
}
