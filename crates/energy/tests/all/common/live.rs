//! Files with counters that increase, and files that cannot be read.

use super::TestClock;
use joulio_energy::{Clock, Files, SystemFiles};
use joulio_units::Nanos;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The rate of a counter.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub watts: f64,
    /// Nanojoules of a step of the hardware's counter.
    pub unit_nj: u64,
    /// Update interval of the register.
    pub update: Nanos,
    /// Number of steps at time zero of the clock.
    pub start: u64,
}

impl Rate {
    /// Returns a rate of `watts` with the usual unit and update interval.
    pub fn watts(watts: f64) -> Rate {
        Rate {
            watts,
            unit_nj: 61_035,
            update: Nanos::from_millis(1),
            start: 0,
        }
    }

    /// Returns the content of the file at `now`: 32 bits of steps as of the last update, in microjoules.
    fn shown(&self, now: Nanos) -> u64 {
        let updated = now.0 - now.0 % self.update.0;
        let steps = self.watts * updated as f64 / self.unit_nj as f64;
        ((self.start + steps as u64) % (1 << 32)) * self.unit_nj / 1000
    }
}

/// The files on disk, with changes to some of them.
#[derive(Debug, Default)]
pub struct Live {
    rates: Mutex<BTreeMap<PathBuf, Rate>>,
    failures: Mutex<BTreeMap<PathBuf, io::ErrorKind>>,
    delays: Mutex<BTreeMap<PathBuf, Nanos>>,
    clock: Arc<TestClock>,
}

impl Live {
    pub fn new(clock: &Arc<TestClock>) -> Live {
        Live {
            clock: Arc::clone(clock),
            ..Live::default()
        }
    }

    /// Makes `path` count at `rate`.
    pub fn counts(self, path: PathBuf, rate: Rate) -> Live {
        self.counts_on(path, rate);
        self
    }

    /// Makes `path` count at `rate` from now on.
    pub fn counts_on(&self, path: PathBuf, rate: Rate) {
        self.rates.lock().unwrap().insert(path, rate);
    }

    /// Makes reading `path` fail from now on.
    pub fn fails(&self, path: PathBuf, kind: io::ErrorKind) {
        self.failures.lock().unwrap().insert(path, kind);
    }

    /// Makes reading `path` take `time` from now on, before its content is determined.
    pub fn takes(&self, path: PathBuf, time: Nanos) {
        self.delays.lock().unwrap().insert(path, time);
    }

    /// Ends the failures of `path`.
    pub fn recovers(&self, path: &Path) {
        self.failures.lock().unwrap().remove(path);
    }
}

impl Files for Live {
    fn read(&self, path: &Path, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        if let Some(kind) = self.failures.lock().unwrap().get(path) {
            return Err((*kind).into());
        }
        if let Some(time) = self.delays.lock().unwrap().get(path) {
            self.clock.advance(*time);
        }
        match self.rates.lock().unwrap().get(path) {
            Some(rate) => Ok(format!("{}\n", rate.shown(self.clock.now())).into_bytes()),
            None => SystemFiles.read(path, offset, limit),
        }
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        SystemFiles.names(path)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        SystemFiles.link(path)
    }

    fn has(&self, path: &Path) -> bool {
        SystemFiles.has(path)
    }
}
