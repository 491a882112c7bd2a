//! Real runs on the emulator beside the twin's, with this machine's times.

use super::driver::{self, BS, Cpus};
use crate::columns::columns;
use crate::failure::Failure;
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::{Path, TwinJob, run as play};
use joulio_units::Nanos;
use joulio_workload::{Stop, Way};
use serde::Serialize;

/// How far the medians may be from each other.
const MOST: f64 = 0.2;

/// One way of waiting, real and played: counts an I/O, and the median latency.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The way.
    pub completion: String,
    /// On the emulated device, in real time.
    pub real: Figures,
    /// In virtual time, with the times that were measured.
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

impl Compared {
    /// Each I/O does the same in both, but for one in twenty: other programs preempt a real job now
    /// and then, and what it finds after that it need not wait for.
    fn same_counts(&self) -> bool {
        let counts = |f: &Figures| [f.interrupts, f.sleeps, f.wakes];
        let mut pairs = counts(&self.real).into_iter().zip(counts(&self.twin));
        pairs.all(|(real, twin)| (real - twin).abs() <= 0.05)
    }

    /// The twin's median less the real one, over the real one.
    fn error(&self) -> f64 {
        let real = self.real.median_ns.max(1) as f64;
        self.twin.median_ns as f64 / real - 1.0
    }

    /// As the issue promises.
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
    let compared = ways.into_iter().map(|way| {
        let counts = driver::quietest(profile, way, ios, cpus, stop)?;
        let each = |count: u64| count as f64 / counts.all.ios.max(1) as f64;
        let real = Figures {
            interrupts: each(counts.wait.interrupts),
            sleeps: each(counts.wait.sleeps),
            wakes: each(counts.wait.wakes),
            median_ns: counts.all.latency_ns.p50,
        };
        Ok(Compared {
            completion: way.to_string(),
            real,
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
        "p50 us",
        "error",
        "",
    ];
    let rows = all.iter().flat_map(|one| {
        let row = |name: &str, of: &Figures, more: [String; 2]| {
            let counts = [of.interrupts, of.sleeps, of.wakes].map(|n| format!("{n:.4}"));
            let median = format!("{:.2}", of.median_ns as f64 / 1e3);
            let words = [one.completion.clone(), name.into()].into_iter();
            words
                .chain(counts)
                .chain([median])
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
            row("real", &one.real, none),
            row("twin*", &one.twin, [error, verdict.into()]),
        ]
    });
    let header = header.map(String::from).to_vec();
    columns(header, rows.collect::<Vec<_>>(), 2)
}
