//! Power of each kind of wait, and the residency of the core in sleep states.

use super::error::SelftestError;
use joulio_cpu::{Depth, Tsc};
use joulio_energy::{self as energy, Discovery};
use joulio_units::Nanos;
use joulio_workload::ThreadCounting;
use serde::Serialize;
use std::collections::BTreeMap;

/// Length of a wait that nothing ends: short, so that a window ends on time.
pub const SLICE: Nanos = Nanos::from_millis(1);

/// A kind of wait to measure over a window: without an event, or for a read.
pub struct MeasuredWait {
    /// Name of the wait.
    pub name: String,
    /// Depth to which the core should sleep; `None`: it need not.
    pub depth: Option<Depth>,
    /// Waits once: for [`SLICE`] or less, or until a read is complete.
    pub wait: Box<dyn FnMut() -> Result<(), SelftestError>>,
}

/// Results of the waits, or the reason why they were not measured.
#[derive(Default, Serialize)]
pub struct Waits {
    /// Result of each wait.
    pub waits: Vec<WaitResult>,
    /// Reason why there are no results.
    pub waits_reason: Option<String>,
}

/// Counters and power of one wait over a window.
#[derive(Serialize)]
pub struct WaitResult {
    /// Name of the wait.
    pub name: String,
    /// Depth of the sleep; `None`: the core does not sleep.
    #[serde(skip)]
    pub depth: Option<Depth>,
    /// Unhalted cycles of the thread.
    pub cycles: Option<u64>,
    /// Cycles in C0.1 (CPU_CLK_UNHALTED.C01).
    pub c01_cycles: Option<u64>,
    /// Cycles in C0.2 (CPU_CLK_UNHALTED.C02).
    pub c02_cycles: Option<u64>,
    /// Reasons why counters are null, by their names.
    pub missing: BTreeMap<&'static str, String>,
    /// Power by each meter.
    pub power: Vec<PowerReading>,
}

/// Power by one meter.
#[derive(Serialize)]
pub struct PowerReading {
    /// Name of the meter.
    pub meter: String,
    /// Boundary of the meter.
    pub boundary: String,
    /// Watts; null for the reason in `reason`.
    pub watts: Option<f64>,
    /// Error bound in watts.
    pub error_watts: Option<f64>,
    /// Length of the window in seconds.
    pub window_seconds: Option<f64>,
    /// Reason why there are no watts.
    pub reason: Option<String>,
}

impl MeasuredWait {
    /// Creates a kind of wait that cannot fail.
    pub fn new(
        name: impl Into<String>,
        depth: Option<Depth>,
        mut wait: impl FnMut() + 'static,
    ) -> MeasuredWait {
        MeasuredWait {
            name: name.into(),
            depth,
            wait: Box::new(move || {
                wait();
                Ok(())
            }),
        }
    }

    /// Creates spinning as a wait, with which the others are compared.
    pub fn spin() -> MeasuredWait {
        MeasuredWait::new("spin", None, || {
            let end = Tsc::get().after(SLICE);
            while Tsc::now() < end {
                std::hint::spin_loop();
            }
        })
    }
}

/// Returns the depth's name as part of a wait's name.
pub fn state(depth: Depth) -> &'static str {
    match depth {
        Depth::C01 => "C0.1",
        Depth::C02 => "C0.2",
    }
}

/// Depths of a user-level wait, the lighter first.
pub const DEPTHS: [Depth; 2] = [Depth::C01, Depth::C02];

/// Measures each of `waits` for `time`, if there is a meter or a counter to read.
pub fn measure(
    waits: Vec<MeasuredWait>,
    time: Nanos,
    mut discovery: Discovery,
) -> Result<Waits, SelftestError> {
    let mut counting = ThreadCounting::this_thread();
    let counters = counting.stop();
    if let (true, Err(why)) = (discovery.meters.is_empty(), &counters.c02) {
        return Ok(Waits {
            waits: Vec::new(),
            waits_reason: Some(format!(
                "no meter can be read here (joulio power says why), and no residency: {why}"
            )),
        });
    }
    let mut measured = Vec::new();
    for MeasuredWait {
        name,
        depth,
        mut wait,
    } in waits
    {
        let window = discovery.meters.open().map_err(SelftestError::Meters)?;
        counting.start();
        let end = Tsc::get().after(time);
        while Tsc::now() < end {
            wait()?;
        }
        let counters = counting.stop();
        let power = window.close(None).iter().map(PowerReading::of).collect();
        let mut missing = BTreeMap::new();
        let mut count =
            |name, count: Result<u64, String>| count.map_err(|why| missing.insert(name, why)).ok();
        measured.push(WaitResult {
            name,
            depth,
            cycles: count("cycles", counters.cycles),
            c01_cycles: count("c01_cycles", counters.c01),
            c02_cycles: count("c02_cycles", counters.c02),
            missing,
            power,
        });
    }
    Ok(Waits {
        waits: measured,
        waits_reason: None,
    })
}

impl PowerReading {
    fn of(measured: &energy::MeterResult) -> PowerReading {
        let total = measured.figure.as_ref().map(|figure| &figure.total);
        let error = |total: &energy::Energy| Some((total.error? / total.window).0);
        PowerReading {
            meter: measured.about.name.clone(),
            boundary: measured.about.zone.boundary.to_string(),
            watts: total.ok().map(|total| total.watts().0),
            error_watts: total.ok().and_then(error),
            window_seconds: total.ok().map(|total| total.window.seconds()),
            reason: total.err().map(ToString::to_string),
        }
    }
}
