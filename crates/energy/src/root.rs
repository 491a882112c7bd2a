//! The machine, as meters access it.

mod bmc;
mod files;
mod perf;

pub use bmc::{BmcTool, Fetch};
pub use files::{Files, SystemFiles};
pub use perf::{PerfCounter, PerfEvent, PerfEvents};

use crate::{Clock, MeterError, Monotonic};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Most bytes of a sysfs attribute: a page.
const PAGE: usize = 4096;

/// A machine: its file tree, and everything that is accessed otherwise. Each part can be replaced, so that a meter can
/// be tested on a tree captured elsewhere.
#[derive(Clone, Debug)]
pub struct Root {
    base: PathBuf,
    files: Arc<dyn Files>,
    pub(crate) perf: Arc<dyn PerfEvents>,
    pub(crate) bmc: Arc<dyn BmcTool>,
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Root {
    /// Makes the machine that the process runs on.
    pub fn system() -> Root {
        Root {
            perf: Arc::new(perf::Kernel),
            bmc: Arc::new(bmc::Ipmitool),
            ..Root::at("/")
        }
    }

    /// Makes a machine of the tree under `base`, without perf events and without a BMC: numbers that were captured on
    /// one machine must not open something on another.
    pub fn at(base: impl Into<PathBuf>) -> Root {
        Root {
            base: base.into(),
            files: Arc::new(SystemFiles),
            perf: Arc::new(perf::Elsewhere),
            bmc: Arc::new(bmc::Elsewhere),
            fetch: Arc::new(bmc::Https::default()),
            clock: Arc::new(Monotonic),
        }
    }

    /// Replaces the reader of files.
    #[must_use]
    pub fn with_files(self, files: Arc<dyn Files>) -> Root {
        Root { files, ..self }
    }

    /// Replaces the opener of perf events.
    #[must_use]
    pub fn with_perf(self, perf: Arc<dyn PerfEvents>) -> Root {
        Root { perf, ..self }
    }

    /// Replaces the tool that reads the BMC.
    #[must_use]
    pub fn with_bmc(self, bmc: Arc<dyn BmcTool>) -> Root {
        Root { bmc, ..self }
    }

    /// Replaces the client that fetches URLs.
    #[must_use]
    pub fn with_fetch(self, fetch: Arc<dyn Fetch>) -> Root {
        Root { fetch, ..self }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Root {
        Root { clock, ..self }
    }

    /// Returns the clock that meters of this root read.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns `path` of the machine below this root.
    fn path(&self, path: &str) -> PathBuf {
        self.base.join(path.trim_start_matches('/'))
    }

    /// Reads the text of a small file, without surrounding white space.
    pub(crate) fn text(&self, path: &str) -> Result<String, MeterError> {
        let bytes = self.bytes(path, 0, PAGE)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Reads up to `limit` bytes of a file, from `offset`.
    pub(crate) fn bytes(
        &self,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, MeterError> {
        let read = self.files.read(&self.path(path), offset, limit);
        read.map_err(|error| MeterError::io(path, &error))
    }

    /// Reads the number in a file.
    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Result<T, MeterError> {
        let text = self.text(path)?;
        text.parse().map_err(|_| MeterError::malformed(path, &text))
    }

    /// Lists the names in a directory, sorted; none if it does not exist.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let mut names = self.files.names(&self.path(path)).unwrap_or_default();
        names.sort_by(|one, two| by_number(one).cmp(&by_number(two)));
        names
    }

    /// Returns the last part of a link's target.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let target = self.files.link(&self.path(path)).ok()?;
        let name = Path::new(&target).file_name()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// Whether `path` exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.has(&self.path(path))
    }
}

/// Returns a sort key that puts hwmon10 after hwmon9.
fn by_number(name: &str) -> (usize, &str) {
    (name.len(), name)
}
