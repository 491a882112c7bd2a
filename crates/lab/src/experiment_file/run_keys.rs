//! Keys that an experiment's runs have in common.

use crate::experiment::{ExperimentOptions, RateProcess};
use crate::report::OneOrMore;
use crate::sweep::Order;
use joulio_units::{MIN_WINDOW, Nanos, parse_cpus};
use joulio_workload::{JobKind, parse_count, parse_size, parse_time};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Keys for an experiment's runs, named like the flags of `joulio bench`. A key that is missing leaves its value as it
/// is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunKeys {
    /// Length of a run: `2m`, `300ms`.
    pub runtime: Option<String>,
    /// I/Os of each job, instead of a length.
    pub number_ios: Option<Number>,
    /// Ramp before the measurement.
    pub ramp_time: Option<String>,
    /// Repetitions of each point.
    pub replicates: Option<u32>,
    /// Order of the points within a repetition.
    pub order: Option<Order>,
    /// Seed of every random number.
    pub seed: Option<u64>,
    /// Bytes of each device that are used.
    pub size: Option<Number>,
    /// Devices, if none is named on the command line; each in runs of its own.
    pub device: Option<OneOrMore>,
    /// Machine of the model, or of virtual time.
    pub machine: Option<String>,
    /// True if jobs are processes.
    pub process: Option<bool>,
    /// CPUs of the jobs, assigned in turn.
    pub cpus_allowed: Option<String>,
    /// True if the I/Os of a rate arrive at random intervals.
    pub poisson: Option<bool>,
    /// Number of I/Os between two stalls of `thinktime`.
    pub thinktime_blocks: Option<u32>,
    /// Largest number of completions that are taken together; not valid in virtual time.
    pub iodepth_batch_complete_max: Option<usize>,
    /// Meters to read; not valid in virtual time.
    pub meter: Option<OneOrMore>,
    /// Settings of the kernel for all runs.
    #[serde(default)]
    pub set: BTreeMap<String, Number>,
    /// Longest time that CPUs may take to wake, in microseconds.
    pub cpu_dma_latency: Option<u32>,
    /// True if devices that joulio drives change their power state by themselves (APST), false if not; not valid in
    /// virtual time.
    pub apst: Option<bool>,
    /// True if I/Os go through a file system, in virtual time.
    pub file_system: Option<bool>,
    /// True if a kernel thread hands requests to the driver, in virtual time.
    pub kworker: Option<bool>,
    /// True if runs with an unsteady rate are kept apart.
    pub steady: Option<bool>,
    /// Length of idle intervals in which the machine's meters are read, before, between and after the repetitions of a
    /// sweep: `10s`; `0`: no intervals.
    pub idle: Option<String>,
    /// Keys that replace these with `--quick`.
    pub quick: Option<Box<RunKeys>>,
}

/// A number, or a text that stands for one: `1000`, `"10k"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A whole number.
    Whole(u64),
    /// A text.
    Text(String),
}

impl Number {
    /// Returns the number as text.
    pub fn text(&self) -> String {
        match self {
            Number::Whole(number) => number.to_string(),
            Number::Text(text) => text.clone(),
        }
    }
}

/// Values of keys that are not options of a single experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunExtras {
    /// Devices, each in runs of its own.
    pub devices: Vec<String>,
    /// Order of the points.
    pub order: Order,
    /// True if runs with an unsteady rate are kept apart.
    pub steady: bool,
    /// Length of an idle interval; zero: no intervals.
    pub idle: Nanos,
}

impl RunKeys {
    /// Applies these keys to `options` and `extras`.
    ///
    /// # Errors
    /// Name of a key whose value is not valid, and the reason.
    pub fn apply(
        &self,
        options: &mut ExperimentOptions,
        extras: &mut RunExtras,
    ) -> Result<(), (&'static str, String)> {
        let time = |key, text: &Option<String>, plain| {
            let time = text
                .as_deref()
                .map(|text| parse_time(text, plain).map(Nanos));
            time.transpose().map_err(|error| (key, error.to_string()))
        };
        const SECOND: u64 = 1_000_000_000;
        let workload = &mut options.workload;
        // A length and a number of I/Os replace each other, so a later layer overrides both.
        if let Some(runtime) = time("runtime", &self.runtime, SECOND)? {
            (workload.runtime, workload.number_ios) = (Some(runtime), None);
        }
        if let Some(number) = &self.number_ios {
            let count = parse_count(&number.text());
            let count = count.map_err(|error| ("number_ios", error.to_string()))?;
            (workload.number_ios, workload.runtime) = (Some(count), None);
        }
        if let Some(ramp) = time("ramp_time", &self.ramp_time, SECOND)? {
            workload.ramp_time = Some(ramp);
        }
        if let Some(seed) = self.seed {
            workload.seed = seed;
        }
        if let Some(size) = &self.size {
            let size = parse_size(&size.text());
            workload.size = Some(size.map_err(|error| ("size", error.to_string()))?);
        }
        if let Some(process) = self.process {
            workload.kind = match process {
                true => JobKind::Process,
                false => JobKind::Thread,
            };
        }
        if let Some(cpus) = &self.cpus_allowed {
            let parsed = parse_cpus(cpus).ok().filter(|cpus| !cpus.is_empty());
            let no_list = || {
                (
                    "cpus_allowed",
                    format!("'{cpus}' is not a list of CPUs: 0,2-4"),
                )
            };
            let cpus = parsed.ok_or_else(no_list)?;
            workload.cpus_allowed = cpus.into_iter().map(|cpu| cpu as usize).collect();
        }
        if let Some(poisson) = self.poisson {
            workload.rate_process = match poisson {
                true => RateProcess::Poisson,
                false => RateProcess::Linear,
            };
        }
        if let Some(blocks) = self.thinktime_blocks {
            workload.thinktime_blocks = Some(blocks);
        }
        if let Some(max) = self.iodepth_batch_complete_max {
            workload.batches.complete_max = Some(max);
        }
        if let Some(replicates) = self.replicates {
            if replicates == 0 {
                return Err(("replicates", "must be at least 1".into()));
            }
            options.replicates = replicates;
        }
        if let Some(machine) = &self.machine {
            options.energy.machine = Some(machine.clone());
        }
        if let Some(meters) = &self.meter {
            let is_url = |word: &String| word.trim().starts_with("redfish=");
            if meters.values().iter().any(is_url) {
                let why = "a file names no URL of a BMC, which would get the credentials of whoever runs it: \
                           give it as --meter redfish=URL";
                return Err(("meter", why.into()));
            }
            options.energy.meters = meters.values().to_vec();
        }
        for (name, value) in &self.set {
            options.settings.set.retain(|(other, _)| other != name);
            options.settings.set.push((name.clone(), value.text()));
        }
        if let Some(us) = self.cpu_dma_latency {
            options.settings.cpu_dma_latency = Some(us);
        }
        if let Some(on) = self.apst {
            options.settings.apst = Some(on);
        }
        if let Some(twin) = &mut options.twin {
            let surroundings = &mut twin.surroundings;
            surroundings.file_system = self.file_system.unwrap_or(surroundings.file_system);
            surroundings.kworker = self.kworker.unwrap_or(surroundings.kworker);
        }
        if let Some(devices) = &self.device {
            extras.devices = devices.values().to_vec();
        }
        if let Some(idle) = time("idle", &self.idle, SECOND)? {
            if idle != Nanos::ZERO && idle < MIN_WINDOW {
                let why = "no meter has a figure of less than 1 s: 1s or longer, or 0";
                return Err(("idle", why.into()));
            }
            extras.idle = idle;
        }
        extras.order = self.order.unwrap_or(extras.order);
        extras.steady = self.steady.unwrap_or(extras.steady);
        Ok(())
    }
}
