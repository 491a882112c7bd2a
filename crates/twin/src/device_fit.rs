//! Fits a device's profile to rates that anybody can measure: with one I/O in flight, by size, and with several in
//! flight.
//!
//! The time of an I/O with one in flight, less the time of the machine's software, is the device's service time.
//! For one size after another the service time is changed until the twin's rate equals the measured one. The
//! bandwidth is the highest that was measured with larger requests. The number of servers, and the share of a
//! service time for which an I/O holds a server, are those that best reproduce the rates at larger depths.
//! Everything else is copied from another profile, as a guess.

use crate::{TwinError, TwinSetup, run_policy};
use joulio_job::{Job, Method, ReadWrite};
use joulio_model::{DeviceProfile, Figure, FigureKind, LatencyPoint, MachineProfile, ProfileError};
use joulio_units::Direction;
use joulio_wait::AnyPolicy;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use toml::Value;

/// I/Os of each run.
const IOS: u64 = 8_000;

/// Shares of a service time to try, for which an I/O may hold its server, the largest first.
const SHARES: [f64; 15] = [
    1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3,
];

/// Circumstances in which rates were measured.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredBy<'a> {
    /// The machine; the time of its software is subtracted.
    pub machine: &'a MachineProfile,
    /// The engine and the completion mode.
    pub method: Method,
    /// Flag that ends the fit once it is set ([`TwinError::Stopped`]); `None`: the fit cannot be stopped.
    pub stop: Option<&'a AtomicBool>,
}

/// A measured rate of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRate {
    /// Place where the rate was read, for the profile's sources and for messages: a file's name and line.
    pub place: String,
    /// Reads or writes.
    pub direction: Direction,
    /// Bytes of an I/O.
    pub bytes: u32,
    /// I/Os in flight of each job.
    pub iodepth: usize,
    /// Jobs.
    pub numjobs: usize,
    /// I/Os per second of all jobs.
    pub iops: f64,
}

impl MeasuredRate {
    fn alone(&self) -> bool {
        self.iodepth * self.numjobs == 1
    }

    fn bytes_per_second(&self) -> f64 {
        self.iops * f64::from(self.bytes)
    }
}

/// A measured rate, and the twin's with the fitted profile.
#[derive(Clone, Debug, Serialize)]
pub struct FittedRate {
    /// Place where the rate was read.
    pub place: String,
    /// True for writes.
    pub write: bool,
    /// Bytes of an I/O.
    pub bytes: u32,
    /// I/Os in flight of each job.
    pub iodepth: usize,
    /// Jobs.
    pub numjobs: usize,
    /// Measured I/Os a second.
    pub measured: f64,
    /// The twin's I/Os a second.
    pub modelled: f64,
}

impl FittedRate {
    /// Returns the error of the twin's rate, as a fraction of the measured one.
    pub fn error(&self) -> f64 {
        self.modelled / self.measured - 1.0
    }
}

/// Why no profile fits the rates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceFitError {
    /// The measurements have no read at depth 1.
    #[error("no reads of one job at iodepth 1: their latency is what a profile begins with")]
    NoReads,
    /// A size was measured twice with the same direction and depth.
    #[error("{second}: the same size, direction and depth as {first}: give their mean in one row")]
    Twice {
        /// The first.
        first: String,
        /// The other.
        second: String,
    },
    /// The machine's software alone takes longer than the measured I/Os.
    #[error(
        "{place}: {iops:.0} I/Os a second one at a time leave a device no time, as {machine} takes \
         {software_us:.2} us for each: name the machine it was measured on by --machine, its engine by \
         --ioengine, and how that waited by --completion"
    )]
    Quicker {
        /// The rate.
        place: String,
        /// I/Os a second.
        iops: f64,
        /// The machine.
        machine: String,
        /// Microseconds that its software takes.
        software_us: f64,
    },
    /// The fit was stopped.
    #[error(transparent)]
    Twin(#[from] TwinError),
    /// The twin cannot simulate the run of a rate.
    #[error("{place}: {problem}")]
    Rate {
        /// The rate.
        place: String,
        /// Problem of its run.
        problem: TwinError,
    },
    /// The fitted profile is invalid.
    #[error("no profile can be made of what was measured: {0}")]
    Profile(#[from] ProfileError),
    /// The base profile cannot be serialized.
    #[error("{0}")]
    Inherit(String),
}

/// Fits a profile called `name` to the `rates` of a device, measured with the setup `by`; everything else is copied
/// from `base`. Also returns each rate, with the twin's beside it.
///
/// # Errors
/// [`DeviceFitError`], if there are too few rates or they contradict the machine.
pub fn fit_device(
    name: &str,
    base: &DeviceProfile,
    by: &MeasuredBy<'_>,
    rates: &[MeasuredRate],
) -> Result<(DeviceProfile, Vec<FittedRate>), DeviceFitError> {
    let mut profile = inherited(base)?;
    profile.name = name.to_owned();
    profile.description = format!(
        "Fitted to {} rates measured on {}.",
        rates.len(),
        by.machine.name
    );
    // The model number is that of the measured device, not of the base.
    profile.model = model(name);
    profile.drives = Vec::new();
    // Mean rates show neither of these.
    profile.service.tail = None;
    profile.service.garbage_collection = None;
    let of = |direction| rates.iter().filter(move |rate| rate.direction == direction);
    if !of(Direction::Read).any(MeasuredRate::alone) {
        return Err(DeviceFitError::NoReads);
    }
    for direction in [Direction::Read, Direction::Write] {
        let deep: Vec<_> = of(direction).filter(|rate| !rate.alone()).collect();
        let bandwidth = bandwidth(&deep);
        let mut alone: Vec<_> = of(direction).filter(|rate| rate.alone()).collect();
        alone.sort_by_key(|rate| rate.bytes);
        for pair in alone.windows(2) {
            if pair[0].bytes == pair[1].bytes {
                return Err(DeviceFitError::Twice {
                    first: pair[0].place.clone(),
                    second: pair[1].place.clone(),
                });
            }
        }
        if alone.is_empty() {
            continue;
        }
        match by.alone(&mut profile, direction, &alone, bandwidth.clone()) {
            // With several in flight an I/O took longer than alone: the rates at depth measured something else.
            Err(DeviceFitError::Quicker { .. }) if bandwidth.is_some() => {
                by.alone(&mut profile, direction, &alone, None)?;
            }
            result => result?,
        }
    }
    let deep_reads: Vec<_> = of(Direction::Read).filter(|rate| !rate.alone()).collect();
    by.servers(&mut profile, &deep_reads)?;
    profile.validate()?;
    let beside = |rate: &MeasuredRate| {
        Ok(FittedRate {
            place: rate.place.clone(),
            write: rate.direction == Direction::Write,
            bytes: rate.bytes,
            iodepth: rate.iodepth,
            numjobs: rate.numjobs,
            measured: rate.iops,
            modelled: by.iops(&profile, rate)?,
        })
    };
    let beside = rates
        .iter()
        .map(beside)
        .collect::<Result<_, DeviceFitError>>()?;
    Ok((profile, beside))
}

/// Returns the model number of the profile called `name`: at most 40 ASCII characters, as in Identify Controller.
fn model(name: &str) -> String {
    let plain = name.chars().filter(|c| matches!(c, ' '..='~'));
    let all: String = "joulio emulated ".chars().chain(plain).take(40).collect();
    all.trim_end().into()
}

/// Returns `base` with every figure marked as a guess, since it is another device's profile.
fn inherited(base: &DeviceProfile) -> Result<DeviceProfile, DeviceFitError> {
    fn walk(value: &mut Value, name: &str) {
        match value {
            Value::Table(table) if table.contains_key("kind") => {
                let source = table.get("source").and_then(Value::as_str).unwrap_or("");
                let source = format!("as {name}: {source}");
                table.insert("source".into(), Value::String(source));
                table.insert("kind".into(), Value::String("guess".into()));
            }
            Value::Table(table) => table.iter_mut().for_each(|(_, value)| walk(value, name)),
            Value::Array(array) => array.iter_mut().for_each(|value| walk(value, name)),
            _ => {}
        }
    }
    let wrong = |error: &dyn std::fmt::Display| DeviceFitError::Inherit(error.to_string());
    let mut values = Value::try_from(base).map_err(|error| wrong(&error))?;
    walk(&mut values, &base.name);
    values.try_into().map_err(|error| wrong(&error))
}

fn figure(value: f64, kind: FigureKind, source: String) -> Figure {
    Figure {
        value,
        kind,
        source,
        band: Some([three_digits(0.9 * value), three_digits(1.1 * value)]),
    }
}

/// Returns `value` rounded to three significant digits.
fn three_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

fn first_guess(rate: &MeasuredRate) -> LatencyPoint {
    LatencyPoint {
        bytes: rate.bytes,
        us: figure(1e6 / rate.iops, FigureKind::Fitted, rate.place.clone()),
    }
}

/// Returns the highest bandwidth, in bytes per second, of the requests larger than the smallest size at depth;
/// `None` if only one size was measured at depth, for then the number of I/Os may be the limit.
fn bandwidth(deep: &[&MeasuredRate]) -> Option<Figure> {
    let smallest = deep.iter().map(|rate| rate.bytes).min()?;
    let larger = deep.iter().filter(|rate| rate.bytes > smallest);
    let most = larger.max_by(|a, b| a.bytes_per_second().total_cmp(&b.bytes_per_second()))?;
    let source = format!(
        "{}: {:.0} I/Os a second of {} B",
        most.place, most.iops, most.bytes
    );
    Some(figure(most.bytes_per_second(), FigureKind::Derived, source))
}

impl MeasuredBy<'_> {
    /// Simulates the run of `rate`; returns the twin's I/Os per second.
    fn iops(&self, profile: &DeviceProfile, rate: &MeasuredRate) -> Result<f64, DeviceFitError> {
        let jobs = rate.numjobs as u64;
        let job = Job {
            rw: ReadWrite::random(rate.direction),
            bs: u64::from(rate.bytes).into(),
            iodepth: rate.iodepth,
            numjobs: rate.numjobs,
            ..Job::random_reads((IOS / jobs).max(rate.iodepth as u64 * 20))
        };
        // Each run is too short to stop it inside.
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(TwinError::Stopped.into());
        }
        let devices = [profile.clone()];
        let setup = TwinSetup::new(self.machine, &devices);
        let policy = |_| self.method.mode.policy().unwrap_or(AnyPolicy::POLL);
        let done = run_policy(&job, self.method, &setup, policy);
        let done = done.map_err(|problem| DeviceFitError::Rate {
            place: rate.place.clone(),
            problem,
        });
        Ok(done?.iops())
    }

    /// Finds the service time of each size that was measured with one I/O in flight (`alone`), with `bandwidth` as
    /// the limit.
    fn alone(
        &self,
        profile: &mut DeviceProfile,
        direction: Direction,
        alone: &[&MeasuredRate],
        bandwidth: Option<Figure>,
    ) -> Result<(), DeviceFitError> {
        let service = &mut profile.service;
        let (limit, table) = match direction {
            Direction::Write => (&mut service.write_bandwidth, &mut service.write),
            _ => (&mut service.read_bandwidth, &mut service.read),
        };
        *limit = bandwidth;
        // A start for the search.
        *table = alone.iter().map(|rate| first_guess(rate)).collect();
        for (index, rate) in alone.iter().enumerate() {
            self.service(profile, index, rate)?;
        }
        Ok(())
    }

    /// Changes the service time of `rate`, at `index` of the table, until the twin's rate equals the measured one.
    fn service(
        &self,
        profile: &mut DeviceProfile,
        index: usize,
        rate: &MeasuredRate,
    ) -> Result<(), DeviceFitError> {
        let measured_us = 1e6 / rate.iops;
        let mut us = measured_us;
        for _ in 0..6 {
            point(profile, rate.direction, index).us.value = us;
            let off = measured_us - 1e6 / self.iops(profile, rate)?;
            us += off;
            if us <= 0.0 {
                return Err(DeviceFitError::Quicker {
                    place: rate.place.clone(),
                    iops: rate.iops,
                    machine: self.machine.name.clone(),
                    software_us: measured_us - us,
                });
            }
            if off.abs() < 1e-3 * measured_us {
                break;
            }
        }
        let us = (us * 1e3).round() / 1e3;
        let source = format!(
            "{}: {:.0} I/Os a second one at a time, less the software of {}",
            rate.place, rate.iops, self.machine.name
        );
        point(profile, rate.direction, index).us = figure(us, FigureKind::Fitted, source);
        Ok(())
    }

    /// Finds the number of servers, and the share of a service time for which an I/O holds one.
    fn servers(
        &self,
        profile: &mut DeviceProfile,
        deep_reads: &[&MeasuredRate],
    ) -> Result<(), DeviceFitError> {
        let smallest = deep_reads.iter().map(|rate| rate.bytes).min();
        // Larger requests determine the bandwidth.
        let reads = deep_reads
            .iter()
            .filter(|rate| Some(rate.bytes) == smallest);
        let reads: Vec<&MeasuredRate> = reads.copied().collect();
        let Some(most) = reads.iter().max_by(|a, b| a.iops.total_cmp(&b.iops)) else {
            return Ok(());
        };
        let mut shares: Vec<Option<f64>> = SHARES.map(Some).into();
        // The alternative: any free server takes the I/O.
        shares.push(None);
        // A single rate can determine only one figure.
        shares.truncate(if reads.len() > 1 { shares.len() } else { 1 });
        let mut best: Option<(f64, f64, Option<f64>)> = None;
        for share in shares {
            // Tries the servers found from each of the rates, since the link or the software limits some of them.
            let mut tried = Vec::new();
            for rate in &reads {
                let servers = self.servers_at(profile, share, rate)?;
                if tried.contains(&servers) {
                    continue;
                }
                tried.push(servers);
                set_servers(profile, servers, share);
                let mut worst: f64 = 0.0;
                for rate in &reads {
                    worst = worst.max((self.iops(profile, rate)? / rate.iops - 1.0).abs());
                }
                if best.is_none_or(|(least, ..)| worst < least) {
                    best = Some((worst, servers, share));
                }
            }
        }
        let Some((_, servers, share)) = best else {
            return Ok(());
        };
        let rates: Vec<_> = reads
            .iter()
            .map(|rate| format!("{:.0}", rate.iops))
            .collect();
        let source = format!(
            "{}: {} I/Os a second at depth",
            most.place,
            rates.join(", ")
        );
        let service = &mut profile.service;
        service.parallelism = Figure {
            band: Some([(0.8 * servers).floor().max(1.0), (1.2 * servers).ceil()]),
            ..figure(servers, FigureKind::Fitted, source.clone())
        };
        let kind = match reads.len() {
            1 => FigureKind::Guess,
            _ => FigureKind::Fitted,
        };
        service.channel_share = share.map(|share| Figure {
            band: Some([0.3_f64.min(share), 1.0]),
            ..figure(share, kind, source)
        });
        Ok(())
    }

    /// Finds the number of servers with which the twin's rate is nearest to `rate`, if an I/O holds its server for
    /// `share` of the service time; `None`: any free server takes the I/O.
    fn servers_at(
        &self,
        profile: &mut DeviceProfile,
        share: Option<f64>,
        rate: &MeasuredRate,
    ) -> Result<f64, DeviceFitError> {
        let (mut low, mut high) = (1_u32, 2_u32);
        let mut at = |servers: u32| {
            set_servers(profile, f64::from(servers), share);
            self.iops(profile, rate)
        };
        // With that many servers per I/O in flight, two I/Os hardly ever need the same one.
        let enough = 64 * (rate.iodepth * rate.numjobs).min(1_000) as u32;
        while high < enough && at(high)? < rate.iops {
            (low, high) = (high, high * 2);
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            match at(middle)? < rate.iops {
                true => low = middle,
                false => high = middle,
            }
        }
        let off = |iops: f64| (iops / rate.iops - 1.0).abs();
        let nearest = if off(at(low)?) <= off(at(high)?) {
            low
        } else {
            high
        };
        Ok(f64::from(nearest))
    }
}

fn point(profile: &mut DeviceProfile, direction: Direction, index: usize) -> &mut LatencyPoint {
    match direction {
        Direction::Write => &mut profile.service.write[index],
        _ => &mut profile.service.read[index],
    }
}

fn set_servers(profile: &mut DeviceProfile, servers: f64, share: Option<f64>) {
    let service = &mut profile.service;
    service.parallelism.value = servers;
    service.parallelism.band = None;
    service.channel_share = share.map(|share| Figure {
        band: None,
        ..figure(share, FigureKind::Guess, "searched for".into())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_number_is_short_ascii() {
        assert_eq!(model("mine"), "joulio emulated mine");
        assert_eq!(model("gerät 1"), "joulio emulated gert 1");
        assert_eq!(model("ä"), "joulio emulated");
        assert_eq!(model(&"x".repeat(99)).len(), 40);
    }
}
