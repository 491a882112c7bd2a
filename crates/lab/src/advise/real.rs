//! Advice from runs on this machine.

use super::advice::Advice;
use super::diagnosis::{diagnose, note};
use super::error::{AdviseError, MISSED_SOME};
use super::found::Found;
use super::groups::{CandidateGroup, groups};
use super::request::{AdviceRequest, ramp};
use crate::experiment::{
    ExperimentError, ExperimentSettings, Observer, Series, SeriesResult, Testbed, judge,
};
use crate::target_name::TargetName;
use crate::targets::Demand;
use joulio_host::knobs::{KnobValues, Setting};
use joulio_host::power_states::coalescing;
use joulio_host::{Knob, Knobs, Machine};
use joulio_workload::{CompletionMode, Job, Member, Method, Stop, Target};
use std::path::Path;

/// Root of the file tree of the machine, in which settings are read and changed.
const ROOT: &str = "/";

/// Runs all candidates of `job` on this machine.
pub(super) fn find(
    request: &AdviceRequest,
    job: &Job,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Found, AdviseError> {
    let options = &request.experiment;
    let methods = request.methods(job)?;
    let mut engines: Vec<_> = methods.iter().map(|method| method.engine).collect();
    engines.dedup();
    for device in &options.targets.devices {
        for engine in &engines {
            device.check(*engine).map_err(ExperimentError::from)?;
        }
    }
    let demands = engines.iter().map(|&engine| {
        let mode = CompletionMode::Interrupt;
        let method = Method { engine, mode };
        vec![Member::alone(
            job.clone(),
            method,
            options.targets.devices.len(),
        )]
    });
    let demands: Vec<Demand> = demands.collect();
    let mut testbed = Testbed::open(&options.targets, &options.energy, &demands)?;
    let manifest = testbed.manifest(&options.targets, &[job]);
    let disks = disks(testbed.targets());
    let (schedulers, max_cstates) = settings(&options.settings, &disks);
    // A query would consume faults that are meant for the runs.
    let asks = options.targets.faults.is_empty();
    let coalesces = asks && testbed.coalesces();
    // A state of less power is a slower one: it is worth its latency below a cap.
    let power_states = match request.cap {
        Some(_) if asks => testbed.power_states(),
        _ => Vec::new(),
    };
    let mut all = SeriesResult::default();
    for iodepth in request.depths(job) {
        let job = Job {
            iodepth,
            ..job.clone()
        };
        let coalescing = match coalesces {
            true => request.coalescing(&job),
            false => Vec::new(),
        };
        for group in groups(&methods, &schedulers, &max_cstates, &coalescing) {
            for settings in settings_of(&group, &power_states)? {
                let series = Series {
                    methods: &group.methods,
                    job: &|method: Method| Job {
                        ramp_time: ramp(&job, method),
                        ..job.clone()
                    },
                    settings: &settings,
                    combinations: &testbed.combinations(&settings)?,
                    ring: options.targets.ring,
                    replicates: options.replicates,
                };
                let result = testbed.run(&series, stop, observer)?;
                all.runs.extend(result.runs);
            }
        }
    }
    if stop.stopped() {
        return Err(AdviseError::Interrupted(MISSED_SOME));
    }
    judge(&all.runs, stop)?;
    let paths = options
        .targets
        .devices
        .iter()
        .filter_map(|device| match device {
            TargetName::Kernel(path) => Some(path.as_path()),
            TargetName::Own(_) => None,
        });
    let paths: Vec<&Path> = paths.collect();
    let machine = Machine::read(ROOT, &paths);
    let spin = testbed.sources().machine.as_ref();
    let spin = spin.map(|machine| machine.core_watts.spin.value);
    let diagnoses = diagnose(Path::new(ROOT), &machine, &all.runs);
    let advice = Advice::of(&all.runs, &request.options(job, spin));
    let advice = advice.inspect_err(|_| note(&diagnoses, observer))?;
    Ok(Found {
        manifest,
        modelled_on: None,
        diagnoses,
        advice,
        disks,
    })
}

/// Returns the settings of the runs of `group`, each with one interrupt coalescing; where the group has no limits, also
/// with each of `power_states`.
fn settings_of(
    group: &CandidateGroup,
    power_states: &[u8],
) -> Result<Vec<ExperimentSettings>, AdviseError> {
    let plain = ExperimentSettings {
        schedulers: group.schedulers.clone(),
        max_cstates: group.max_cstates.clone(),
        ..ExperimentSettings::default()
    };
    let mut all = Vec::new();
    for text in &group.coalescing {
        all.push(ExperimentSettings {
            coalescing: Some(coalescing::parse(text)?),
            ..plain.clone()
        });
    }
    if !group.coalescing.is_empty() {
        return Ok(all);
    }
    all.push(plain.clone());
    let power_states = power_states.iter().filter(|_| group.max_cstates.is_empty());
    all.extend(power_states.map(|&state| ExperimentSettings {
        power_state: Some(state),
        ..plain.clone()
    }));
    Ok(all)
}

fn disks(targets: &[Box<dyn Target>]) -> Vec<String> {
    let disks = targets
        .iter()
        .filter_map(|target| target.info().disk.as_ref());
    let mut disks: Vec<_> = disks.map(|disk| disk.name.clone()).collect();
    disks.sort();
    disks.dedup();
    disks
}

/// Returns the schedulers that all `disks` offer, and the idle states below which CPUs can be prevented from going,
/// except the deepest. Where `named` lists schedulers or idle states, these are returned instead.
fn settings(named: &ExperimentSettings, disks: &[String]) -> (Vec<String>, Vec<String>) {
    let knobs = Knobs::at(ROOT);
    let allowed = |knob: &Knob| match knobs.read(knob).map(|reading| reading.allowed) {
        Ok(KnobValues::OneOf(names)) => names,
        _ => Vec::new(),
    };
    let schedulers = match named.schedulers.as_slice() {
        [] => {
            let each = disks
                .iter()
                .map(|disk| allowed(&Knob::queue(disk, Setting::Scheduler)));
            let common = each.reduce(|common, names| {
                let both = common.into_iter();
                both.filter(|name| names.contains(name)).collect()
            });
            // With a single scheduler there is nothing to choose.
            common.filter(|names| names.len() > 1).unwrap_or_default()
        }
        named => named.to_vec(),
    };
    let states = match named.max_cstates.as_slice() {
        [] => {
            let mut states = allowed(&Knob::MaxCstate);
            states.retain(|name| name != "C0" && name != "POLL");
            states.pop();
            states
        }
        named => named.to_vec(),
    };
    (schedulers, states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_state_is_a_setting_of_its_own() {
        let of = |group: &CandidateGroup| -> Vec<(Option<u8>, bool)> {
            let all = settings_of(group, &[1, 2]).expect("settings");
            let all = all.iter();
            all.map(|one| (one.power_state, one.coalescing.is_some()))
                .collect()
        };
        let plain = CandidateGroup::default();
        let states = [(None, false), (Some(1), false), (Some(2), false)];
        assert_eq!(of(&plain), states);
        let limited = CandidateGroup {
            max_cstates: vec!["C1".into()],
            ..plain.clone()
        };
        assert_eq!(of(&limited), [(None, false)]);
        let coalesced = CandidateGroup {
            coalescing: vec!["8,100".into()],
            ..plain
        };
        assert_eq!(of(&coalesced), [(None, true)]);
    }
}
