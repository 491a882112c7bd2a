//! RAPL through the powercap tree (`Documentation/power/powercap/powercap.rst`).

use super::{PLATYPUS, Processor, UPDATE, Vendor};
use crate::counter::Wrapping;
use crate::finding::{FindingState, Found, MeterFinding};
use crate::meter::{About, Meter, MeterError, MeterKind, MeterValue, Reading, Source};
use crate::root::Root;
use crate::{Boundary, Clock, Place, Zone};
use joulio_units::{Joules, Nanos};

const CLASS: &str = "/sys/class/powercap";
/// Watts that no zone exceeds, unless its limits allow more.
const MIN_PEAK_WATTS: f64 = 1000.0;
/// Factor of a zone's limit that it may draw: for milliseconds a package exceeds the limit.
const PEAK: f64 = 2.0;
/// Step in joules from which on a counter is coarse: with whole joules, a window of seconds is imprecise.
const COARSE: f64 = 0.5;
/// Time by which two readings may be further apart than their times: the register's age, and a thread that waits for a
/// CPU between the reading and the clock.
const LATE: Nanos = Nanos::from_millis(1_000);

/// Finds every zone of the tree; the memory-mapped ones come last, as they repeat the others.
pub(crate) fn discover(root: &Root) -> Vec<Found> {
    let names = root.names(CLASS);
    let zones = |prefix: &'static str| {
        let numbered = move |name: &&String| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        names.iter().filter(numbered)
    };
    let processor = Processor::of(root);
    let mut found: Vec<_> = zones("intel-rapl:")
        .map(|folder| one(root, &processor, Source::Powercap, folder))
        .collect();
    let mapped = zones("intel-rapl-mmio:");
    found.extend(mapped.map(|folder| one(root, &processor, Source::PowercapMmio, folder)));
    if found.is_empty() {
        let state = FindingState::Absent {
            why: format!("no {CLASS}/intel-rapl:*{}", processor.without_rapl()),
            allow: processor.load("intel_rapl_msr"),
        };
        found.push(Found::Not(MeterFinding::new(
            "powercap",
            Source::Powercap,
            None,
            state,
        )));
    }
    found
}

fn one(root: &Root, processor: &Processor, source: Source, folder: &str) -> Found {
    let named = root.text(&format!("{CLASS}/{folder}/name"));
    let named = match named {
        Ok(named) => named,
        Err(error) => {
            let state = FindingState::Unreadable {
                why: error.to_string(),
                allow: None,
            };
            return Found::Not(MeterFinding::new(
                format!("{source}:{folder}"),
                source,
                None,
                state,
            ));
        }
    };
    let not = |zone: Option<Zone>, state| {
        let name = match &zone {
            Some(zone) => format!("{source}:{zone}"),
            None => format!("{source}:{named}@{folder}"),
        };
        Found::Not(MeterFinding::new(name, source, zone, state))
    };
    let Some(zone) = zone(root, folder, &named) else {
        let why = "inside the package, and no boundary of its own".into();
        return not(None, FindingState::Unused { why });
    };
    if processor.vendor == Vendor::Amd && zone.boundary == Boundary::Cores {
        // MSR C001_029A exists for each core, and the kernel reads that of the package's first CPU.
        let why = "on AMD this counter is that of a single core".into();
        return not(Some(zone), FindingState::Unused { why });
    }
    match Powercap::new(root, source, folder, &zone) {
        Ok(meter) => Found::Meter(Box::new(meter)),
        Err(error) => not(
            Some(zone),
            FindingState::Unreadable {
                why: error.to_string(),
                allow: None,
            },
        ),
    }
}

/// Returns the zone of a powercap folder, by its name and its parent's.
fn zone(root: &Root, folder: &str, named: &str) -> Option<Zone> {
    if named.starts_with("package") {
        return Some(Zone {
            boundary: Boundary::Package,
            place: package(named)?,
        });
    }
    if let Some(socket) = named.strip_prefix("psys") {
        let socket = socket.strip_prefix('-').unwrap_or("0");
        return Some(Zone::package(Boundary::Psys, socket.parse().ok()?));
    }
    let boundary = match named {
        "core" => Boundary::Cores,
        "dram" => Boundary::Dram,
        _ => return None,
    };
    let (parent, _) = folder.rsplit_once(':')?;
    let parent = root.text(&format!("{CLASS}/{parent}/name")).ok()?;
    Some(Zone {
        boundary,
        place: package(&parent)?,
    })
}

/// Parses `package-0`, or `package-0-die-1`.
fn package(named: &str) -> Option<Place> {
    let rest = named.strip_prefix("package-")?;
    let (package, die) = match rest.split_once("-die-") {
        Some((package, die)) => (package, Some(die.parse().ok()?)),
        None => (rest, None),
    };
    Some(Place::Package {
        package: package.parse().ok()?,
        die,
    })
}

/// A zone's counter.
#[derive(Debug)]
struct Powercap {
    about: About,
    root: Root,
    path: String,
    counter: Wrapping,
    max_watts: f64,
    /// Time of the last reading.
    read_at: Nanos,
}

impl Powercap {
    fn new(root: &Root, source: Source, folder: &str, zone: &Zone) -> Result<Powercap, MeterError> {
        let range_path = format!("{CLASS}/{folder}/max_energy_range_uj");
        let range: u64 = root.number(&range_path)?;
        if range < u64::from(u32::MAX) {
            // Less than a microjoule a step: no RAPL has that.
            return Err(MeterError::malformed(range_path, &range.to_string()));
        }
        let step_uj = range as f64 / f64::from(u32::MAX);
        let step = Joules(step_uj / 1e6);
        let max_watts = MIN_PEAK_WATTS.max(PEAK * highest_limit(root, folder));
        let mut notes = Vec::new();
        if step.0 >= COARSE {
            notes.push(format!(
                "counts in steps of {:.0} J: use windows of tens of seconds",
                step.0
            ));
        }
        Ok(Powercap {
            about: About {
                name: format!("{source}:{zone}"),
                source,
                zone: zone.clone(),
                kind: MeterKind::Counter {
                    step,
                    update: UPDATE,
                    wraps_after: Some(Nanos::from_seconds(range as f64 / 1e6 / max_watts)),
                },
                slow: false,
                modelled: false,
                notes,
            },
            root: root.clone(),
            path: format!("{CLASS}/{folder}/energy_uj"),
            counter: Wrapping::new(range, step_uj as u64),
            max_watts,
            read_at: Nanos::ZERO,
        })
    }
}

/// Returns the highest power limit of a zone in watts; zero if the zone has none.
fn highest_limit(root: &Root, folder: &str) -> f64 {
    let limits = (0..3).flat_map(|n| {
        ["max_power_uw", "power_limit_uw"]
            .map(|file| format!("{CLASS}/{folder}/constraint_{n}_{file}"))
    });
    let watts = limits.filter_map(|path| Some(root.number::<u64>(&path).ok()? as f64 / 1e6));
    // Firmware without a limit reports 4 GW; no package has 10 kW.
    watts.filter(|&watts| watts < 10_000.0).fold(0.0, f64::max)
}

impl Meter for Powercap {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        let raw = self.root.number(&self.path);
        let at = clock.now();
        let raw = raw?;
        let before = std::mem::replace(&mut self.read_at, at);
        let most = match at < before {
            // If the clock goes back, nothing can be said here; the window notices it.
            true => u64::MAX,
            false => (self.max_watts * (at.since(before) + LATE).seconds() * 1e6) as u64,
        };
        let total = self.counter.advance(raw, most);
        let total = total.map_err(|from| MeterError::WentBack {
            what: self.path.clone(),
            from,
            to: raw,
        })?;
        Ok(Reading {
            at,
            value: MeterValue::Total(Joules(total as f64 / 1e6)),
        })
    }
}

/// Returns the command that makes `path` readable.
pub(crate) fn allow(path: &str) -> String {
    format!("sudo chmod a+r {path} ({PLATYPUS})")
}
