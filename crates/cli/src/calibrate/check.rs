//! Real runs on the emulator beside the twin's, with this machine's times.

use super::driver::{BS, Cpus};
use super::reads::{Read, Reads, median, reads};
use crate::columns::columns;
use crate::failure::Failure;
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::{Path, TwinJob, run as play};
use joulio_units::Nanos;
use joulio_workload::{Stop, Way};
use serde::Serialize;
use std::collections::BTreeMap;

/// How far the medians may be from each other.
const MOST: f64 = 0.2;

/// The least share of the real I/Os that have to count the same. Other programs preempt a job now and
/// then, and what has completed by then it need not wait for.
const ALIKE: f64 = 0.95;

/// One way of waiting, real and played: counts an I/O, and the median latency.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The way.
    pub completion: String,
    /// On the emulated device, in real time: what most of its I/Os counted.
    pub real: Figures,
    /// The share of the real I/Os that counted that, exactly.
    pub alike: f64,
    /// In virtual time, with the times that were measured: the mean of the counts.
    pub twin: Figures,
}

/// What an I/O took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Interrupts an I/O.
    pub interrupts: f64,
    /// Timer sleeps an I/O.
    pub sleeps: f64,
    /// Blocks an I/O that an interrupt ended. The driver looks after its queues some times a second,
    /// which ends a block too, and has nothing to do with the I/O.
    pub wakes: f64,
    /// Median latency in nanoseconds.
    pub median_ns: u64,
}

impl Figures {
    /// What most of `reads` counted, their median latency, and the share that counted it.
    fn of(reads: &[Read]) -> (Figures, f64) {
        let mut counts: BTreeMap<[u64; 3], usize> = BTreeMap::new();
        for read in reads {
            let c = &read.counters;
            *counts.entry([c.interrupts, c.sleeps, c.wakes]).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, ios)| *ios);
        let ([interrupts, sleeps, wakes], ios) = most.unwrap_or_default();
        let figures = Figures {
            interrupts: interrupts as f64,
            sleeps: sleeps as f64,
            wakes: wakes as f64,
            median_ns: median(reads) as u64,
        };
        (figures, ios as f64 / reads.len().max(1) as f64)
    }

    fn counts(&self) -> [f64; 3] {
        [self.interrupts, self.sleeps, self.wakes]
    }
}

impl Compared {
    /// All of the twin's I/Os do what nearly all of the real ones do.
    fn same_counts(&self) -> bool {
        self.real.counts() == self.twin.counts() && self.alike >= ALIKE
    }

    /// The twin's median less the real one, over the real one.
    fn error(&self) -> f64 {
        let real = self.real.median_ns.max(1) as f64;
        self.twin.median_ns as f64 / real - 1.0
    }

    /// Counts are the same, and medians near each other.
    pub fn agrees(&self) -> bool {
        self.same_counts() && self.error().abs() <= MOST
    }
}

/// Runs `profile` in each way, really and in virtual time. `beside`: what the emulated device takes
/// more than the profile says, in nanoseconds.
pub fn compare(
    machine: &MachineProfile,
    profile: &DeviceProfile,
    beside: f64,
    (ios, cpus): (u64, Cpus),
    stop: &Stop,
) -> Result<Vec<Compared>, Failure> {
    let mut slower = profile.clone();
    for point in &mut slower.service.read {
        point.us.value += beside / 1e3;
        point.us.band = None;
    }
    let sleep = slower
        .service
        .read
        .first()
        .map_or(1.0, |point| point.us.value);
    let half = Nanos((sleep * 500.0) as u64);
    let ways = [Way::Poll, Way::Interrupt, Way::HybridFixed(half)];
    let kinds = ways.map(|way| Reads {
        profile: profile.clone(),
        way,
        ios,
    });
    let done = reads(&kinds, cpus, stop)?;
    let compared = ways.into_iter().zip(done).map(|(way, reads)| {
        let (real, alike) = Figures::of(&reads);
        Ok(Compared {
            completion: way.to_string(),
            real,
            alike,
            twin: played(machine, &slower, way, ios)?,
        })
    });
    compared.collect()
}

fn played(
    machine: &MachineProfile,
    device: &DeviceProfile,
    way: Way,
    ios: u64,
) -> Result<Figures, Failure> {
    let job = TwinJob {
        bs: BS,
        path: Path::User,
        ramp_time: Nanos::from_millis(50),
        ..TwinJob::reads(ios)
    };
    let policy = || way.policy().ok_or_else(|| Failure::run(way));
    policy()?;
    let done = play(
        machine,
        std::slice::from_ref(device),
        &job,
        |_| policy().unwrap_or(joulio_nvme::wait::AnyPolicy::POLL),
        1,
    );
    let done = done.map_err(Failure::run)?;
    let each = |count: u64| count as f64 / done.ios().max(1) as f64;
    Ok(Figures {
        interrupts: each(done.counters.interrupts),
        sleeps: each(done.counters.sleeps),
        wakes: each(done.counters.wakes),
        median_ns: done.read.latency.value_at_quantile(0.5),
    })
}

/// For people.
pub fn table(all: &[Compared]) -> String {
    let header = [
        "completion",
        "",
        "intr/IO",
        "sleeps/IO",
        "wakes/IO",
        "alike %",
        "p50 us",
        "error",
        "",
    ];
    let rows = all.iter().flat_map(|one| {
        let row = |name: &str, of: &Figures, alike: String, more: [String; 2]| {
            let counts = of.counts().map(|n| n.to_string());
            let median = format!("{:.2}", of.median_ns as f64 / 1e3);
            let words = [one.completion.clone(), name.into()].into_iter();
            words
                .chain(counts)
                .chain([alike, median])
                .chain(more)
                .collect::<Vec<_>>()
        };
        let error = format!("{:+.1} %", 100.0 * one.error());
        let verdict = match (one.same_counts(), one.agrees()) {
            (_, true) => "agrees",
            (false, _) => "counts differ",
            (true, false) => "latency differs",
        };
        let none = [String::new(), String::new()];
        [
            row("real", &one.real, format!("{:.2}", 100.0 * one.alike), none),
            row("twin*", &one.twin, String::new(), [error, verdict.into()]),
        ]
    });
    let header = header.map(String::from).to_vec();
    columns(header, rows.collect::<Vec<_>>(), 2)
}
