//! The file of a sweep's figures: a drawing or a page, by the ending of its name.

use super::{Plot, svg};
use crate::output_file::{Existing, OutputFile, OutputFileError};
use crate::report::page::plotted;
use std::path::{Path, PathBuf};

/// Why figures cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PlotFileError {
    /// Neither a drawing's name nor a page's.
    #[error("{}: figures are written as FILE.svg or FILE.html", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// The file itself.
    #[error(transparent)]
    File(#[from] OutputFileError),
}

/// A file that figures can be written to, by all checks that are possible beforehand.
#[derive(Debug)]
pub struct PlotFile {
    file: OutputFile,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Svg,
    Html,
}

impl PlotFile {
    /// The file `path`, of which nothing is changed or created before [`PlotFile::write`].
    ///
    /// # Errors
    /// Its ending is neither svg nor html, it cannot be written, or is there and to be kept.
    pub fn open(path: &Path, existing: Existing) -> Result<PlotFile, PlotFileError> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let kind = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Kind::Svg,
            Some("html" | "htm") => Kind::Html,
            _ => return Err(PlotFileError::Ending { path: path.into() }),
        };
        let file = OutputFile::open(path, existing)?;
        Ok(PlotFile { file, kind })
    }

    /// Writes the figures.
    ///
    /// # Errors
    /// For example a full disk. The old file is unchanged.
    pub fn write(&self, plot: &Plot) -> Result<(), PlotFileError> {
        let text = match self.kind {
            Kind::Svg => svg(plot),
            Kind::Html => plotted(plot),
        };
        Ok(self.file.write(&text)?)
    }
}
