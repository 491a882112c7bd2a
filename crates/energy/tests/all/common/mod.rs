//! Machines made of files.
#![allow(dead_code, unused_imports, reason = "each test file uses some of it")]

mod live;
mod meters;
mod trees;
mod windows;

pub use live::{Live, Rate};
pub use meters::{Scripted, Step};
pub use trees::{
    FakePerf, Tree, Wire, amd, client, denied_perf, guest, server, server_with_perf, spr,
};

pub use windows::{
    Machine, PACKAGE_0, PACKAGE_1, alone, counter, error, figures, machine, now, passing, power,
    total, totals, watts,
};

use joulio_energy::{Clock, Discovery, FindingState, MeterKind};
use joulio_units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const SECOND: Nanos = Nanos(1_000_000_000);

/// A clock that the test sets; reading it takes a microsecond.
#[derive(Debug, Default)]
pub struct TestClock {
    now: AtomicU64,
    suspended: AtomicU64,
}

impl TestClock {
    pub fn at(now: Nanos) -> Arc<TestClock> {
        let clock = TestClock::default();
        clock.set(now);
        Arc::new(clock)
    }

    pub fn set(&self, now: Nanos) {
        self.now.store(now.0, Ordering::Relaxed);
    }

    pub fn advance(&self, time: Nanos) {
        self.now.fetch_add(time.0, Ordering::Relaxed);
    }

    pub fn peek(&self) -> Nanos {
        Nanos(self.now.load(Ordering::Relaxed))
    }

    pub fn suspend(&self, time: Nanos) {
        self.suspended.fetch_add(time.0, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Nanos {
        Nanos(self.now.fetch_add(1_000, Ordering::Relaxed) + 1_000)
    }

    fn suspended(&self) -> Nanos {
        Nanos(self.suspended.load(Ordering::Relaxed))
    }
}

/// Returns the names of the meters that were found to be readable.
pub fn readable(discovery: &Discovery) -> Vec<String> {
    let about = discovery.meters.about();
    about.into_iter().map(|about| about.name).collect()
}

/// Returns the reason why the meter `name` is not one of them.
pub fn state<'a>(discovery: &'a Discovery, name: &str) -> &'a FindingState {
    let found = discovery.others.iter().find(|other| other.name == name);
    let names: Vec<_> = discovery.others.iter().map(|other| &other.name).collect();
    &found
        .unwrap_or_else(|| panic!("no {name} in {names:?}"))
        .state
}

/// Returns the kind of the meter `name`.
pub fn kind(discovery: &Discovery, name: &str) -> MeterKind {
    let about = discovery.meters.about();
    about
        .iter()
        .find(|about| about.name == name)
        .expect(name)
        .kind
}
