//! Files whose counters count, and files that cannot be read.

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
    /// A step of the hardware's.
    pub unit_nj: u64,
    /// Update interval of the register.
    pub update: Nanos,
    /// Steps at the clock's zero.
    pub start: u64,
}

impl Rate {
    /// The usual unit and update.
    pub fn watts(watts: f64) -> Rate {
        Rate {
            watts,
            unit_nj: 61_035,
            update: Nanos::from_millis(1),
            start: 0,
        }
    }

    /// The file at `now`: 32 bits of steps as of the last update, in microjoules.
    fn shown(&self, now: Nanos) -> u64 {
        let updated = now.0 - now.0 % self.update.0;
        let steps = self.watts * updated as f64 / self.unit_nj as f64;
        ((self.start + steps as u64) % (1 << 32)) * self.unit_nj / 1000
    }
}

/// The disk's files, but for some.
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

    /// `path` counts at `rate`.
    pub fn counts(self, path: PathBuf, rate: Rate) -> Live {
        self.counts_on(path, rate);
        self
    }

    /// `path` counts at `rate` from now on.
    pub fn counts_on(&self, path: PathBuf, rate: Rate) {
        self.rates.lock().unwrap().insert(path, rate);
    }

    /// Reading `path` fails from now on.
    pub fn fails(&self, path: PathBuf, kind: io::ErrorKind) {
        self.failures.lock().unwrap().insert(path, kind);
    }

    /// Reading `path` takes `time` from now on, before it is read.
    pub fn takes(&self, path: PathBuf, time: Nanos) {
        self.delays.lock().unwrap().insert(path, time);
    }

    /// And no more.
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
