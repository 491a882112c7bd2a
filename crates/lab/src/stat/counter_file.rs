//! File with which counters continue after a restart: replaced completely at every interval, synced and locked.

use super::labels::{OfDevice, OfMeter};
use crate::state_file::StateError;
use joulio_kernel_io::LockHolder;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::Builder;

/// Version of the format.
const FORM: u32 = 1;

/// Saved counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptCounters {
    joulio_stat_counters: u32,
    /// Joules.
    pub energy: Vec<KeptEnergy>,
    /// I/Os and bytes.
    pub devices: Vec<KeptDevice>,
}

/// Joules of a meter, with its labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptEnergy {
    pub labels: OfMeter,
    pub joules: f64,
}

/// I/Os and bytes of a device in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptDevice {
    pub labels: OfDevice,
    pub ios: u64,
    pub bytes: u64,
}

impl KeptCounters {
    /// Returns counters with these values in the current format.
    pub fn new(energy: Vec<KeptEnergy>, devices: Vec<KeptDevice>) -> KeptCounters {
        KeptCounters {
            joulio_stat_counters: FORM,
            energy,
            devices,
        }
    }

    fn parse(text: &[u8]) -> Result<KeptCounters, String> {
        if text.is_empty() {
            return Ok(KeptCounters::new(Vec::new(), Vec::new()));
        }
        let kept: KeptCounters = serde_json::from_slice(text).map_err(|why| why.to_string())?;
        if kept.joulio_stat_counters != FORM {
            return Err(format!("of form {}, not {FORM}", kept.joulio_stat_counters));
        }
        let is_sound = |energy: &KeptEnergy| energy.joules.is_finite() && energy.joules >= 0.0;
        match kept.energy.iter().find(|energy| !is_sound(energy)) {
            Some(energy) => Err(format!(
                "{} joules of {}",
                energy.joules, energy.labels.meter
            )),
            None => Ok(kept),
        }
    }
}

/// A file of counters that only this process writes.
pub struct CounterFile {
    path: PathBuf,
    /// Current file, which holds the lock.
    lock: File,
}

impl CounterFile {
    /// Opens and locks `path`, which is new or contains counters, and reads them. A damaged file is refused and stays
    /// unchanged.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(path: &Path) -> Result<(CounterFile, KeptCounters), StateError> {
        let wrong = |source| StateError::Io {
            path: path.into(),
            source,
        };
        if path.exists() && !path.is_file() {
            return Err(StateError::NotAFile(path.into()));
        }
        let mut file = loop {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false);
            let file = options.open(path).map_err(wrong)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
                StateError::Locked {
                    path: path.into(),
                    holder: LockHolder::of(&file),
                }
            })?;
            // Another process may have replaced the file before the lock was acquired.
            let (named, opened) = (fs::metadata(path), file.metadata().map_err(wrong)?);
            if named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
                break file;
            }
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(wrong)?;
        let kept = KeptCounters::parse(&text).map_err(|problem| StateError::Damaged {
            path: path.into(),
            problem,
        })?;
        // If the path is a symbolic link, the file that it points to is replaced.
        let path = fs::canonicalize(path).map_err(wrong)?;
        Ok((CounterFile { path, lock: file }, kept))
    }

    /// Replaces the file with `counters` and waits until it is on the disk.
    ///
    /// # Errors
    /// Writing fails, for example because the disk is full. The old file is unchanged.
    pub fn write(&mut self, counters: &KeptCounters) -> Result<(), StateError> {
        let text = serde_json::to_string(counters)?;
        self.replace(&text).map_err(|source| StateError::Write {
            path: self.path.clone(),
            source,
        })
    }

    fn replace(&mut self, text: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let mut new = Builder::new().prefix(".joulio").tempfile_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.write_all(b"\n")?;
        let rights = self.lock.metadata()?.permissions();
        new.as_file().set_permissions(rights)?;
        // The file is locked before it gets its name, so that no other process finds it unlocked.
        flock(new.as_file(), FlockOperation::NonBlockingLockExclusive)?;
        new.as_file().sync_all()?;
        self.lock = new.persist(&self.path)?;
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joules(joules: f64) -> KeptCounters {
        let labels = OfMeter {
            domain: "wall".into(),
            place: "machine".into(),
            meter: "plug".into(),
            source: "hwmon".into(),
            modelled: false,
        };
        let energy = KeptEnergy { labels, joules };
        KeptCounters::new(vec![energy], Vec::new())
    }

    #[test]
    fn counters_are_read_as_they_were_written_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let (mut file, kept) = CounterFile::open(&path).unwrap();
        assert_eq!(kept, KeptCounters::new(Vec::new(), Vec::new()));
        for written in [0.1, 1.0 / 3.0, 1e15] {
            file.write(&joules(written)).unwrap();
            // The path stays locked although each write creates a new file.
            let error = CounterFile::open(&path).err().expect("locked").to_string();
            assert!(error.contains("writes it"), "{error}");
        }
        drop(file);
        assert_eq!(CounterFile::open(&path).unwrap().1, joules(1e15));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_file_is_refused_and_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let whole = serde_json::to_string(&joules(5.0)).unwrap();
        for text in [
            &whole[..whole.len() - 3],
            &whole.replace("5.0", "-5.0"),
            &whole.replace("counters\":1", "counters\":2"),
            "\n",
            "a letter",
        ] {
            fs::write(&path, text).unwrap();
            let error = CounterFile::open(&path).err().expect("refused");
            assert!(error.is_refusal(), "{text}");
            assert!(error.to_string().contains("damaged"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert!(CounterFile::open(folder.path()).is_err());
    }
}
