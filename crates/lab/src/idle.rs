//! Idle baseline: the power of the idle machine, measured, saved and read again.

use crate::cpu_time::CpuTime;
use crate::output_file::{Existing, OutputFile, OutputFileError};
use crate::pause::pause;
use crate::text_file::read_text;
use joulio_energy::{Baseline, BaselineError, Host, MeterError, MeterResult, Meters, Root};
use joulio_host::state_folder;
use joulio_units::Nanos;
use joulio_workload::Stop;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Size of the largest file that is read, in bytes: a baseline takes a few kilobytes, and some files never end.
const MAX_BYTES: u64 = 1 << 20;

/// Reason why an idle baseline cannot be measured, saved or read.
#[derive(Debug, thiserror::Error)]
pub enum IdleError {
    /// The machine has no meter that can be read.
    #[error("--idle: no meter can be read here: joulio power says why")]
    NoMeter,
    /// The machine has no machine-id.
    #[error("idle baseline: {0}: systemd-machine-id-setup gives this machine an identity")]
    Host(MeterError),
    /// The user has no directory for state.
    #[error("no place for the idle baseline: set HOME or XDG_STATE_HOME, or say --file")]
    NoPlace,
    /// The folder of the file cannot be created.
    #[error("--file: {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file cannot be written, or contains something else.
    #[error("--file: {0}")]
    File(OutputFileError),
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file contains no baseline of this machine.
    #[error("{}: {source}", path.display())]
    Baseline {
        /// The file.
        path: PathBuf,
        /// Reason why it does not.
        source: BaselineError,
    },
    /// The system cannot start a thread to read the meters.
    #[error(transparent)]
    Meters(io::Error),
    /// A signal ended the measurement.
    #[error("--idle: ended early: nothing is kept")]
    Interrupted,
    /// No meter gave a figure.
    #[error("--idle: no meter has a figure: {0}")]
    NoFigure(String),
}

impl IdleError {
    /// Returns true if nothing was measured.
    pub fn is_refusal(&self) -> bool {
        use IdleError::{Interrupted, Meters, NoFigure};
        !matches!(self, Meters(_) | Interrupted | NoFigure(_))
    }
}

/// A measurement of the idle machine, whose file can be written.
pub struct IdleMeasurement {
    host: Host,
    path: PathBuf,
    file: OutputFile,
}

/// Result of a measurement of the idle machine.
#[derive(Debug)]
pub struct IdleResult {
    /// Figures of each meter.
    pub measured: Vec<MeterResult>,
    /// Baseline with these figures.
    pub baseline: Baseline,
    /// Fraction of the time in which the CPUs were busy, 0 to 1; `None`: the kernel does not report it.
    pub busy: Option<f64>,
    /// File of the baseline, or the reason why it was not written.
    pub kept: Result<PathBuf, OutputFileError>,
}

impl IdleMeasurement {
    /// Checks that there are `meters`, and that `file`, or the default file, can be written.
    ///
    /// # Errors
    /// There is no meter, the machine `root` has no machine-id, or the file cannot be written.
    pub fn new(
        root: &Root,
        meters: &Meters,
        file: Option<&Path>,
    ) -> Result<IdleMeasurement, IdleError> {
        if meters.is_empty() {
            return Err(IdleError::NoMeter);
        }
        let host = Host::of(root).map_err(IdleError::Host)?;
        let path = file.map_or_else(usual_path, |path| Ok(path.into()))?;
        let file = open(&path)?;
        Ok(IdleMeasurement { host, path, file })
    }

    /// Measures for `time` and writes the baseline; `progress` receives the fraction of the time that has passed.
    ///
    /// # Errors
    /// A signal ended the measurement, or no meter gave a figure.
    pub fn run(
        self,
        meters: &mut Meters,
        time: Nanos,
        stop: &Stop,
        progress: impl Fn(f64),
    ) -> Result<IdleResult, IdleError> {
        let before = CpuTime::now();
        let window = meters.open().map_err(IdleError::Meters)?;
        let whole = pause(time, stop, progress);
        let measured = window.close(None);
        if !whole {
            return Err(IdleError::Interrupted);
        }
        let busy = CpuTime::now().busy_since(before);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let baseline = Baseline::new(self.host, now, &measured);
        if baseline.meters.is_empty() {
            let why = measured.iter().find_map(|m| m.figure.as_ref().err());
            let why = why.map(ToString::to_string).unwrap_or_default();
            return Err(IdleError::NoFigure(why));
        }
        let kept = self.file.write(&baseline.to_json());
        Ok(IdleResult {
            kept: kept.map(|()| self.path),
            measured,
            baseline,
            busy,
        })
    }
}

/// Returns the default path of the baseline.
fn usual_path() -> Result<PathBuf, IdleError> {
    let state = state_folder().ok_or(IdleError::NoPlace)?;
    Ok(state.join("idle-baseline.json"))
}

/// Opens the file `path`, which may contain an older baseline, of this machine or of another, but nothing else.
fn open(path: &Path) -> Result<OutputFile, IdleError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| IdleError::Folder {
            path: folder.into(),
            source,
        })?;
    }
    let file = OutputFile::open(path, Existing::Replace).map_err(IdleError::File)?;
    let is_one = |text: &String| text.is_empty() || Baseline::is_one(text);
    if path.is_file() && !fs::read_to_string(path).is_ok_and(|text| is_one(&text)) {
        return Err(IdleError::File(OutputFileError::Foreign {
            path: path.into(),
            what: "joulio power --idle",
        }));
    }
    Ok(file.for_all())
}

/// Reads the baseline of the machine `root` from `file`, or from the default file. Also returns how the machine differs
/// from its state when it was measured. `None`: no file was named, and the default file does not exist.
///
/// # Errors
/// The file cannot be read, or contains no baseline of this machine.
pub fn idle_baseline(
    root: &Root,
    file: Option<&Path>,
) -> Result<Option<(Baseline, Vec<String>)>, IdleError> {
    let path = file.map_or_else(usual_path, |path| Ok(path.into()))?;
    let text = match read(&path) {
        Ok(text) => text,
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                && file.is_none() =>
        {
            return Ok(None);
        }
        Err(source) => return Err(IdleError::Unreadable { path, source }),
    };
    let host = Host::of(root).map_err(IdleError::Host)?;
    let baseline = Baseline::from_json(&text, &host);
    let baseline = baseline.map_err(|source| IdleError::Baseline { path, source })?;
    let differences = baseline.differences(&host);
    Ok(Some((baseline, differences)))
}

/// Returns the idle baseline of the machine `root`, if there is one, and notes on it, one a line. A default file that
/// cannot be used is not an error but a note.
///
/// # Errors
/// The named `file` cannot be read, or contains no baseline of this machine.
pub fn idle_baseline_if_any(
    root: &Root,
    file: Option<&Path>,
) -> Result<(Option<Baseline>, Vec<String>), IdleError> {
    match (idle_baseline(root, file), file) {
        (Ok(Some((baseline, differences))), _) => {
            let notes = differences
                .iter()
                .map(|what| format!("idle baseline: {what}"));
            Ok((Some(baseline), notes.collect()))
        }
        (Ok(None), _) => Ok((None, Vec::new())),
        (Err(why), None) => Ok((None, vec![format!("idle baseline not used: {why}")])),
        (Err(error), Some(_)) => Err(error),
    }
}

fn read(path: &Path) -> io::Result<String> {
    // Opening a FIFO would block, and no signal would end that.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other(
            "not a regular file, so no idle baseline of joulio power --idle",
        ));
    }
    read_text(path, MAX_BYTES)
}
