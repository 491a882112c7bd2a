//! File of a sweep's figures: an SVG drawing or an HTML page, depending on its extension.

use super::{Plot, svg};
use crate::output_file::{Existing, OutputFile, OutputFileError};
use crate::report::page::plotted;
use std::path::{Path, PathBuf};

/// Reason why figures cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PlotFileError {
    /// The extension is neither svg nor html.
    #[error("{}: figures are written as FILE.svg or FILE.html", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] OutputFileError),
}

/// A file for figures that passed all checks that are possible before writing.
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
    /// Checks the file `path`; nothing is changed or created before [`PlotFile::write`].
    ///
    /// # Errors
    /// The extension is neither svg nor html, the file cannot be written, or it exists and has to be kept.
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

    /// Writes the figures of `plot`.
    ///
    /// # Errors
    /// Writing fails, for example because the disk is full. The old file is unchanged.
    pub fn write(&self, plot: &Plot) -> Result<(), PlotFileError> {
        let text = match self.kind {
            Kind::Svg => svg(plot),
            Kind::Html => plotted(plot),
        };
        Ok(self.file.write(&text)?)
    }
}
