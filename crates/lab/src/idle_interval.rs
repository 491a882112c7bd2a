//! Idle intervals of a sweep: the power of the machine before its first repetition, between repetitions and after the
//! last, with no device open and nothing running.

use crate::cpu_time::CpuTime;
use crate::experiment::{EnergyOptions, EnergySources};
use crate::pause::pause;
use crate::record::Platform;
use joulio_emulator::FaultPlan;
use joulio_energy::{Baseline, Host, IdlePower, Root, Zone};
use joulio_units::Nanos;
use joulio_workload::Stop;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// An idle interval with its place among the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleInterval {
    /// Name of the sweep.
    pub sweep: String,
    /// Repetition whose runs ended before the interval; `None`: no run had been done.
    pub after: Option<u32>,
    /// Repetition whose runs came after the interval; `None`: none came.
    pub before: Option<u32>,
    /// Platform of the runs.
    pub platform: Platform,
    /// Name of the CPU.
    pub machine: String,
    /// Start time in seconds since 1970.
    pub unix_seconds: f64,
    /// Fraction of the time in which the CPUs were busy, 0 to 1; `None`: the kernel does not report it.
    pub busy: Option<f64>,
    /// Idle power by meter.
    pub meters: Vec<IdlePower>,
    /// Reason why there is no figure; `None`: there is one.
    pub missing: Option<String>,
}

/// Idle power of a meter over all idle intervals of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IdleSummary {
    /// Name of the meter.
    pub meter: String,
    /// Boundary and place of the meter.
    pub zone: String,
    /// Number of intervals.
    pub intervals: usize,
    /// Mean power in watts.
    pub mean_watts: f64,
    /// Lowest power of an interval in watts.
    pub lowest_watts: f64,
    /// Highest power of an interval in watts.
    pub highest_watts: f64,
    /// Largest change in percent from the interval before one repetition's runs to the interval after them; `None`: no
    /// repetition has both intervals.
    pub change_percent: Option<f64>,
}

/// Meters of the machine, for idle intervals.
pub struct IdleProbe {
    time: Nanos,
    sources: Result<EnergySources, String>,
    host: Host,
}

impl IdleProbe {
    /// Creates a probe that reads the machine's meters among those of `energy` for `time`. Meters in devices are not
    /// read, because no device is open.
    pub fn new(time: Nanos, energy: &EnergyOptions) -> IdleProbe {
        let sources = EnergySources::open(&energy.without_devices(), &FaultPlan::default(), &[]);
        let root = energy.root.as_deref();
        let root = root.map_or_else(Root::system, Root::at);
        // A machine without a machine-id can be measured too.
        let host = Host::of(&root).unwrap_or(Host {
            machine: String::new(),
            kernel: String::new(),
            governors: Vec::new(),
        });
        IdleProbe {
            time,
            sources: sources.map_err(|why| why.to_string()),
            host,
        }
    }

    /// Returns true if there is a meter to read.
    pub fn has_meter(&self) -> bool {
        let sources = self.sources.as_ref();
        sources.is_ok_and(|sources| !sources.meters.is_empty())
    }

    /// Reads the meters while nothing runs, and stores the figures in `interval`; returns them as a baseline, if there
    /// is a figure. Without a meter it does not wait.
    pub fn measure(&mut self, interval: &mut IdleInterval, stop: &Stop) -> Option<Baseline> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        interval.unix_seconds = now.as_secs_f64();
        match self.try_measure(now.as_secs(), interval, stop) {
            Ok(baseline) => {
                interval.meters.clone_from(&baseline.meters);
                Some(baseline)
            }
            Err(why) => {
                interval.missing = Some(why);
                None
            }
        }
    }

    fn try_measure(
        &mut self,
        now: u64,
        interval: &mut IdleInterval,
        stop: &Stop,
    ) -> Result<Baseline, String> {
        let sources = self.sources.as_mut().map_err(|why| why.clone())?;
        if sources.meters.is_empty() {
            return Err("no meter of this machine can be read: joulio power says why".into());
        }
        let before = CpuTime::now();
        let window = sources.meters.open().map_err(|error| error.to_string())?;
        let whole = pause(self.time, stop, |_| {});
        let measured = window.close(None);
        if !whole {
            return Err("ended early".into());
        }
        interval.busy = CpuTime::now().busy_since(before);
        let baseline = Baseline::new(self.host.clone(), now, &measured);
        if baseline.meters.is_empty() {
            let why = measured.iter().find_map(|one| one.figure.as_ref().err());
            return Err(why.map_or_else(|| "no figure".into(), ToString::to_string));
        }
        Ok(baseline)
    }
}

impl IdleInterval {
    /// Returns the watts by meter.
    pub fn watts(&self) -> BTreeMap<String, f64> {
        let meters = self.meters.iter();
        meters.map(|one| (one.meter.clone(), one.watts)).collect()
    }

    fn watts_of(&self, meter: &str) -> Option<f64> {
        let mut meters = self.meters.iter();
        Some(meters.find(|one| one.meter == meter)?.watts)
    }
}

impl IdleSummary {
    /// Summarises `intervals` for each meter, in the order of the meters' names.
    pub fn of(intervals: &[IdleInterval]) -> Vec<IdleSummary> {
        let mut meters: BTreeMap<&str, (&IdlePower, Vec<f64>)> = BTreeMap::new();
        for power in intervals.iter().flat_map(|one| &one.meters) {
            let (_, watts) = meters
                .entry(&power.meter)
                .or_insert_with(|| (power, Vec::new()));
            watts.push(power.watts);
        }
        let summary = |(meter, (power, watts)): (&str, (&IdlePower, Vec<f64>))| IdleSummary {
            meter: meter.to_owned(),
            zone: Zone {
                boundary: power.boundary,
                place: power.place.clone(),
            }
            .to_string(),
            intervals: watts.len(),
            mean_watts: watts.iter().sum::<f64>() / watts.len() as f64,
            lowest_watts: watts.iter().copied().fold(f64::INFINITY, f64::min),
            highest_watts: watts.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            change_percent: change(intervals, meter),
        };
        meters.into_iter().map(summary).collect()
    }
}

/// Returns the largest change of `meter` in percent, from before one repetition's runs to after them.
fn change(intervals: &[IdleInterval], meter: &str) -> Option<f64> {
    let before = intervals.iter().enumerate().filter_map(|(at, one)| {
        let watts = one.watts_of(meter).filter(|watts| *watts > 0.0)?;
        Some((at, &one.sweep, one.before?, watts))
    });
    let changes = before.filter_map(|(at, sweep, replicate, watts)| {
        // The first after it: later ones may be of another shard, on another machine.
        let mut later = intervals[at + 1..].iter();
        let after = later.find(|one| one.sweep == *sweep && one.after == Some(replicate))?;
        Some((after.watts_of(meter)? / watts - 1.0) * 100.0)
    });
    changes.max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_energy::{Boundary, Place};

    fn interval(after: Option<u32>, before: Option<u32>, watts: f64) -> IdleInterval {
        IdleInterval {
            sweep: "main".into(),
            after,
            before,
            platform: Platform::Real,
            machine: "a box".into(),
            unix_seconds: 0.0,
            busy: Some(0.01),
            meters: vec![IdlePower {
                meter: "plug".into(),
                boundary: Boundary::Wall,
                place: Place::Machine,
                watts,
                error_watts: 0.0,
                seconds: 10.0,
            }],
            missing: None,
        }
    }

    #[test]
    fn the_change_is_across_the_runs_of_one_repetition() {
        let all = [
            interval(None, Some(1), 40.0),
            interval(Some(1), Some(2), 42.0),
            interval(Some(2), None, 39.9),
        ];
        let summary = &IdleSummary::of(&all)[0];
        assert_eq!((summary.intervals, summary.meter.as_str()), (3, "plug"));
        assert!((summary.mean_watts - 40.633).abs() < 0.001);
        assert_eq!((summary.lowest_watts, summary.highest_watts), (39.9, 42.0));
        // Two repetitions: the power changes from 40 to 42 W, and from 42 to 39.9 W.
        assert_eq!(
            summary.change_percent.map(f64::abs).map(f64::round),
            Some(5.0)
        );
        assert_eq!(IdleSummary::of(&all[..1])[0].change_percent, None);
    }

    #[test]
    fn a_change_is_within_one_shard() {
        let all = [
            interval(None, Some(1), 40.0),
            interval(Some(1), None, 40.4),
            interval(None, Some(1), 60.0),
            interval(Some(1), None, 60.6),
        ];
        let change = IdleSummary::of(&all)[0].change_percent.unwrap();
        assert!((change - 1.0).abs() < 1e-6, "{change}");
    }
}
