//! Limit on the latency with which CPUs wake (Documentation/power/pm_qos_interface.rst).

use super::error::{Absence, KnobError};

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "dev/cpu_dma_latency";

/// Limit that keeps all CPUs out of idle states that take longer to leave, until it is dropped. However the process
/// ends, the kernel removes it then: nothing has to be restored.
#[derive(Debug)]
pub struct CpuLatency {
    _file: File,
    microseconds: i32,
}

impl CpuLatency {
    /// Holds the CPU latency limit at `microseconds`, in the system whose file tree begins at `root`. 0 lets CPUs only
    /// poll.
    ///
    /// # Errors
    /// The system does not have the file, or does not permit it.
    pub fn hold(root: impl Into<PathBuf>, microseconds: u32) -> Result<CpuLatency, KnobError> {
        let path = root.into().join(FILE);
        let microseconds = i32::try_from(microseconds).unwrap_or(i32::MAX);
        let opened = OpenOptions::new().write(true).open(&path);
        let written = opened.and_then(|mut file| {
            file.write_all(&microseconds.to_ne_bytes())?;
            Ok(file)
        });
        match written {
            Ok(file) => Ok(CpuLatency {
                _file: file,
                microseconds,
            }),
            Err(source) => Err(failed(&path, source, Some(microseconds))),
        }
    }

    /// Returns the limit in microseconds. Others may hold a lower one.
    pub fn microseconds(&self) -> i32 {
        self.microseconds
    }
}

/// Returns the lowest limit that anybody holds, in microseconds; 2,000,000,000 if nobody does.
///
/// # Errors
/// The system does not have the file, or does not permit it.
pub fn cpu_latency(root: impl Into<PathBuf>) -> Result<i32, KnobError> {
    let path = root.into().join(FILE);
    let mut bytes = [0; 4];
    let read = File::open(&path).and_then(|mut file| file.read_exact(&mut bytes));
    match read {
        Ok(()) => Ok(i32::from_ne_bytes(bytes)),
        Err(source) => Err(failed(&path, source, None)),
    }
}

fn failed(path: &Path, source: io::Error, value: Option<i32>) -> KnobError {
    let path = path.to_path_buf();
    match (source.kind(), value) {
        (ErrorKind::NotFound, _) => KnobError::NoLatency(Absence::NoLatencyDevice),
        (ErrorKind::PermissionDenied, _) => KnobError::Permission { path },
        (_, Some(value)) => KnobError::Write {
            path,
            value: value.to_string(),
            source,
        },
        (_, None) => KnobError::Read { path, source },
    }
}
