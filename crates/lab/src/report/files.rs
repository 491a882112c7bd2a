//! Files of a report.

use super::assemble::{LabReport, in_a_name};
use super::csv::{figure_csv, observations_csv, table_csv};
use super::markdown::markdown;
use super::page::page;
use crate::output_file::replace;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder cannot be made, and nothing was written.
    #[error("{}: {source}: name another folder by --output", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl WriteError {
    /// Returns true if nothing was written.
    pub fn is_refusal(&self) -> bool {
        matches!(self, WriteError::Folder { .. })
    }
}

/// Writes `report` to the new or existing `folder`: `report.html`, which needs no other file, `report.json`,
/// `report.md`, and in `data/` a CSV file of each table and figure, and one of the observations. Existing files of these
/// names are replaced. Returns the path of the page.
///
/// # Errors
/// A file or folder cannot be written.
pub fn write(report: &LabReport, folder: &Path) -> Result<PathBuf, WriteError> {
    let data = folder.join("data");
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError::File { path, source }
    };
    fs::create_dir_all(&data).map_err(|source| WriteError::Folder {
        path: data.clone(),
        source,
    })?;
    let put = |path: PathBuf, text: &str| replace(&path, text).map_err(failed(&path));
    let json = serde_json::to_string_pretty(report);
    let json = json.map_err(io::Error::from).map_err(failed(folder))?;
    put(folder.join("report.json"), &json)?;
    put(folder.join("report.md"), &markdown(report))?;
    for experiment in &report.experiments {
        for set in &experiment.sets {
            let prefix = experiment.prefix(set);
            let name = |id: &str| data.join(format!("{prefix}-{}.csv", in_a_name(id)));
            for table in set.tables.iter().filter(|table| table.problem.is_none()) {
                put(name(&table.id), &table_csv(table))?;
            }
            for figure in set.figures.iter().filter(|figure| figure.problem.is_none()) {
                put(name(&figure.id), &figure_csv(figure))?;
            }
            if !set.observed.is_empty() {
                put(name("observations"), &observations_csv(set))?;
            }
        }
    }
    let html = folder.join("report.html");
    put(html.clone(), &page(report))?;
    Ok(html)
}
