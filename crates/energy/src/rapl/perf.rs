//! RAPL through the kernel's `power` PMU.
//!
//! The kernel extends the hardware's 32 bits to 64, in units of 2^-32 J, and handles their wrap with a timer of its own
//! (`arch/x86/events/rapl.c`). An event is opened on one CPU of each package and counts whatever runs there.

use super::{PLATYPUS, Processor, UPDATE};
use crate::finding::{FindingState, Found, MeterFinding};
use crate::meter::{About, Meter, MeterError, MeterKind, MeterValue, Reading, Source};
use crate::root::{PerfCounter, PerfEvent, Root};
use crate::{Boundary, Clock, Place, Zone};
use joulio_units::{Joules, parse_cpus};
use std::io;

const PMU: &str = "/sys/bus/event_source/devices/power";
/// Assumed unit of a counter until it has been seen to count: nearly all have 2^-14 J.
const USUAL_STEP: Joules = Joules(1.0 / 16384.0);
/// Unit of the platform's counter on Sapphire Rapids: whole joules, which perf does not report.
const COARSE_STEP: Joules = Joules(1.0);

/// Finds every event of the PMU, on every CPU that it is to be read on.
pub(crate) fn discover(root: &Root) -> Vec<Found> {
    let events = root.names(&format!("{PMU}/events"));
    let events: Vec<_> = events
        .iter()
        .filter(|name| name.starts_with("energy-") && !name.contains('.'))
        .collect();
    if events.is_empty() {
        return vec![absent(root)];
    }
    let (pmu, cpus) = match (root.number(&format!("{PMU}/type")), cpus(root)) {
        (Ok(pmu), Ok(cpus)) => (pmu, cpus),
        (Err(error), _) | (_, Err(error)) => return vec![broken("perf:power", &error)],
    };
    let mut found = Vec::new();
    for event in events {
        for &cpu in &cpus {
            found.push(one(root, pmu, event, cpu, &cpus));
        }
    }
    found
}

fn absent(root: &Root) -> Found {
    let processor = Processor::of(root);
    let state = FindingState::Absent {
        why: format!("no {PMU}{}", processor.without_rapl()),
        allow: processor.load("rapl"),
    };
    Found::Not(MeterFinding::new("perf", Source::Perf, None, state))
}

fn broken(name: &str, error: &MeterError) -> Found {
    let state = FindingState::Unreadable {
        why: error.to_string(),
        allow: None,
    };
    Found::Not(MeterFinding::new(name, Source::Perf, None, state))
}

/// Reads the CPUs of `cpumask`, one for each package: `0,28`.
fn cpus(root: &Root) -> Result<Vec<usize>, MeterError> {
    let path = format!("{PMU}/cpumask");
    let text = root.text(&path)?;
    match parse_cpus(&text) {
        Ok(cpus) if !cpus.is_empty() => Ok(cpus.into_iter().map(|cpu| cpu as usize).collect()),
        _ => Err(MeterError::malformed(path, &text)),
    }
}

fn one(root: &Root, pmu: u32, event: &str, cpu: usize, cpus: &[usize]) -> Found {
    let place = place(root, cpu, cpus);
    let (boundary, zone_name) = match (event, &place) {
        ("energy-pkg", _) => (Some(Boundary::Package), "package"),
        ("energy-cores", _) => (Some(Boundary::Cores), "cores"),
        ("energy-ram", _) => (Some(Boundary::Dram), "dram"),
        ("energy-psys", _) => (Some(Boundary::Psys), "psys"),
        (other, _) => (None, other),
    };
    let Some(boundary) = boundary else {
        let state = FindingState::Unused {
            why: "inside the package, and no boundary of its own".into(),
        };
        let name = format!("perf:{zone_name}@cpu{cpu}");
        return Found::Not(MeterFinding::new(name, Source::Perf, None, state));
    };
    let zone = Zone { boundary, place };
    let name = format!("perf:{zone}");
    match open(root, pmu, event, cpu) {
        Ok((counter, scale)) => Found::Meter(Box::new(PerfMeter::new(name, zone, counter, scale))),
        Err(error) => {
            let state = FindingState::Unreadable {
                allow: allow(&error),
                why: error.to_string(),
            };
            Found::Not(MeterFinding::new(name, Source::Perf, Some(zone), state))
        }
    }
}

/// Returns the package of `cpu`; with its die, if the PMU has several of one package.
fn place(root: &Root, cpu: usize, cpus: &[usize]) -> Place {
    let topology = |cpu: usize, file: &str| {
        root.number::<u32>(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{file}"))
    };
    let package_of = |cpu| topology(cpu, "physical_package_id").unwrap_or(0);
    let package = package_of(cpu);
    let several = cpus
        .iter()
        .filter(|&&cpu| package_of(cpu) == package)
        .count()
        > 1;
    let die = several.then(|| topology(cpu, "die_id").unwrap_or(0));
    Place::Package { package, die }
}

fn open(
    root: &Root,
    pmu: u32,
    event: &str,
    cpu: usize,
) -> Result<(Box<dyn PerfCounter>, f64), MeterError> {
    let path = format!("{PMU}/events/{event}");
    let said = root.text(&path)?;
    let config = said.strip_prefix("event=0x");
    let config = config.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let config = config.ok_or_else(|| MeterError::malformed(&path, &said))?;
    let scale_path = format!("{path}.scale");
    let scale: f64 = root.number(&scale_path)?;
    let unit = root.text(&format!("{path}.unit"))?;
    if !(scale.is_finite() && scale > 0.0) || unit != "Joules" {
        return Err(MeterError::malformed(
            scale_path,
            &format!("{scale} {unit}"),
        ));
    }
    let event = PerfEvent { pmu, config, cpu };
    let opened = root.perf.open(&event);
    let counter = opened.map_err(|error| open_error(&error, cpu))?;
    Ok((counter, scale))
}

fn open_error(error: &io::Error, cpu: usize) -> MeterError {
    MeterError::io(format!("perf_event_open on CPU {cpu}"), error)
}

fn allow(error: &MeterError) -> Option<String> {
    matches!(error, MeterError::Denied { .. }).then(|| {
        format!(
            "sudo setcap cap_perfmon=ep \"$(command -v joulio)\", or sudo sysctl kernel.perf_event_paranoid=0 ({PLATYPUS})"
        )
    })
}

/// An open event of one package.
#[derive(Debug)]
struct PerfMeter {
    about: About,
    counter: Box<dyn PerfCounter>,
    /// Joules of one count.
    scale: f64,
    /// Exponent of the power of two of which all counts so far are multiples.
    granularity: u32,
}

impl PerfMeter {
    fn new(name: String, zone: Zone, counter: Box<dyn PerfCounter>, scale: f64) -> PerfMeter {
        let step = match zone.boundary {
            Boundary::Psys => COARSE_STEP,
            _ => USUAL_STEP,
        };
        PerfMeter {
            about: About {
                name,
                source: Source::Perf,
                zone,
                kind: MeterKind::Counter {
                    step,
                    update: UPDATE,
                    wraps_after: None,
                },
                slow: false,
                modelled: false,
                notes: Vec::new(),
            },
            counter,
            scale,
            granularity: u64::BITS,
        }
    }

    /// Learns the step: the kernel shifts the hardware's steps up to 2^-32 J, so that the zeros at a count's end are
    /// those of the step, or more by chance, which later counts correct.
    fn learn_step(&mut self, count: u64) {
        if count == 0 || count.trailing_zeros() >= self.granularity {
            return;
        }
        self.granularity = count.trailing_zeros();
        if let MeterKind::Counter { step, .. } = &mut self.about.kind {
            *step = Joules(self.scale * 2f64.powi(self.granularity as i32));
        }
    }
}

impl Meter for PerfMeter {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        let count = self.counter.read();
        let at = clock.now();
        let count = count.map_err(|error| MeterError::io(&self.about.name, &error))?;
        self.learn_step(count);
        Ok(Reading {
            at,
            value: MeterValue::Total(Joules(count as f64 * self.scale)),
        })
    }
}
