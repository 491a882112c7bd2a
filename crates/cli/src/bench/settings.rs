//! Settings of the machine under which a bench runs: each combination in turn, put back after it.

use crate::failure::{Failure, say};
use joulio_host::Changes;
use joulio_host::knobs::{CpuLatency, Knob, Knobs, Setting};
use joulio_workload::{Method, Target, parse_time};
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// Where settings are: captured trees are for reading.
const ROOT: &str = "/";

/// The flags.
#[derive(clap::Args)]
pub struct Flags {
    /// I/O schedulers, a list (none, mq-deadline, kyber, bfq): every run is done under each, on the
    /// disks of the devices. Put back at the end, by joulio restore after kill -9
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    scheduler: Vec<String>,
    /// The deepest idle state that CPUs may enter, a list (C0, C1, C1E, C6 as the machine has
    /// them): every run is done under each. Put back like a scheduler
    #[arg(
        long = "max-cstate",
        alias = "max_cstate",
        value_name = "STATE",
        value_delimiter = ','
    )]
    max_cstate: Vec<String>,
    /// Another setting for all runs, as joulio knobs shows them: nr_requests=64. Repeatable; put
    /// back at the end
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Microseconds that CPUs may take to wake, held in /dev/cpu_dma_latency during the runs
    #[arg(long = "cpu_dma_latency", alias = "cpu-dma-latency", value_name = "US", value_parser = microseconds)]
    cpu_dma_latency: Option<u32>,
    /// How often all runs are done, in turn
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub loops: u32,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write NAME=VALUE, as nr_requests=64")?;
    Ok((name.into(), value.into()))
}

fn microseconds(text: &str) -> Result<u32, String> {
    let nanoseconds = match u32::from_str(text) {
        Ok(microseconds) => return Ok(microseconds),
        Err(_) => parse_time(text, 1_000)?,
    };
    u32::try_from(nanoseconds / 1_000).map_err(|_| format!("'{text}' is too long"))
}

/// One combination: what is set, by name.
#[derive(Clone, Debug, Default)]
pub struct Combination {
    /// As results tell it.
    pub told: BTreeMap<String, String>,
    knobs: Vec<(Knob, String)>,
}

impl Flags {
    /// The schedulers that were named.
    pub fn schedulers(&self) -> &[String] {
        &self.scheduler
    }

    /// Whether anything else is to be set.
    pub fn others(&self) -> bool {
        !self.max_cstate.is_empty() || !self.set.is_empty() || self.cpu_dma_latency.is_some()
    }

    /// Every combination, checked: nothing is changed when one cannot be had.
    pub fn combinations(&self, targets: &[Box<dyn Target>]) -> Result<Vec<Combination>, Failure> {
        let disks = disks(targets);
        let mut all = vec![Combination::default()];
        for (at, (name, value)) in self.set.iter().enumerate() {
            if self.set[..at].iter().any(|(before, _)| before == name) {
                return Err(Failure::input(format!(
                    "--set {name}: is there twice: give one value"
                )));
            }
            for combination in &mut all {
                combination.add(name, value, &disks)?;
            }
        }
        all = crossed(all, "scheduler", &self.scheduler, &disks)?;
        all = crossed(all, "max-cstate", &self.max_cstate, &disks)?;
        for (knob, value) in all.iter().flat_map(|combination| &combination.knobs) {
            let planned = Knobs::at(ROOT).plan(knob, value);
            planned.map_err(Failure::input)?;
        }
        Ok(all)
    }

    /// Keeps the CPUs as quick to wake as was asked for, until it is dropped.
    pub fn hold_latency(&self) -> Result<Option<CpuLatency>, Failure> {
        let held = self.cpu_dma_latency.map(|us| CpuLatency::hold(ROOT, us));
        held.transpose().map_err(Failure::input)
    }

    /// What is set for all runs beside a combination, by name.
    pub fn told(&self) -> impl Iterator<Item = (String, String)> {
        let latency = self.cpu_dma_latency;
        latency
            .map(|us| ("cpu_dma_latency".into(), us.to_string()))
            .into_iter()
    }
}

/// The disks that the kernel drives, each once.
fn disks(targets: &[Box<dyn Target>]) -> Vec<String> {
    let mut disks: Vec<String> = Vec::new();
    for disk in targets
        .iter()
        .filter_map(|target| target.info().disk.as_ref())
    {
        if !disks.contains(&disk.name) {
            disks.push(disk.name.clone());
        }
    }
    disks
}

/// Each of `all` with each of `values`.
fn crossed(
    all: Vec<Combination>,
    name: &str,
    values: &[String],
    disks: &[String],
) -> Result<Vec<Combination>, Failure> {
    if values.is_empty() {
        return Ok(all);
    }
    let mut crossed = Vec::new();
    for value in values {
        for combination in &all {
            let mut combination = combination.clone();
            combination.add(name, value, disks)?;
            crossed.push(combination);
        }
    }
    Ok(crossed)
}

impl Combination {
    fn add(&mut self, name: &str, value: &str, disks: &[String]) -> Result<(), Failure> {
        let unknown = || {
            Failure::input(format!(
                "no setting {name}: joulio knobs shows those that there are"
            ))
        };
        let knob = Knob::by_name(name, None).ok_or_else(unknown)?;
        if knob.disk().is_none() {
            self.knobs.push((knob, value.into()));
        } else if disks.is_empty() {
            return Err(Failure::input(format!(
                "{name}: the devices have no queue of the kernel's: it takes a block device or a file, as --device /dev/nvme0n1"
            )));
        } else {
            let of = |disk: &String| Knob::by_name(name, Some(disk));
            let knobs = disks.iter().filter_map(of);
            self.knobs.extend(knobs.map(|knob| (knob, value.into())));
        }
        self.told.insert(name.into(), value.into());
        Ok(())
    }

    /// Sets it all, and what `method` needs of the block layer; put back when that is dropped or
    /// finished.
    pub fn apply(
        &self,
        method: Method,
        targets: &[Box<dyn Target>],
    ) -> Result<Changes<'static>, Failure> {
        let mut wanted: Vec<(Knob, &str)> = self
            .knobs
            .iter()
            .map(|(knob, value)| (knob.clone(), value.as_str()))
            .collect();
        let delays: Vec<_> = targets
            .iter()
            .filter_map(|target| {
                let delay = target.poll_delay(method)?;
                let disk = &target.info().disk.as_ref()?.name;
                Some((Knob::queue(disk, Setting::IoPollDelay), delay.to_string()))
            })
            .collect();
        wanted.extend(
            delays
                .iter()
                .map(|(knob, delay)| (knob.clone(), delay.as_str())),
        );
        let mut changes = Changes::new(say);
        changes.knobs(Path::new(ROOT), &wanted)?;
        Ok(changes)
    }
}
