//! Advice from virtual time.

use super::advice::Advice;
use super::diagnosis::{diagnose_modelled, note};
use super::error::{AdviseError, MISSED_SOME};
use super::found::Found;
use super::groups::{CandidateGroup, groups};
use super::request::{AdviceRequest, ramp};
use crate::experiment::{EnergyError, EnergyNote, ExperimentError, Manifest, Observer};
use crate::machine_profile;
use crate::virtual_time::{
    IdleState, VirtualError, VirtualExperiment, VirtualOptions, VirtualSurroundings,
};
use joulio_host::power_states::coalescing;
use joulio_workload::{Job, Method, RunResult, Stop};
use std::iter;

/// Simulates all candidates of `job` in virtual time, until `stop`.
pub(super) fn find(
    request: &AdviceRequest,
    job: &Job,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Found, AdviseError> {
    let options = &request.experiment;
    let machine = machine_profile(options.energy.machine.as_deref());
    let machine = machine.map_err(|error| ExperimentError::from(EnergyError::from(error)))?;
    let costs = machine.costs.as_ref();
    let states = costs.map_or(&[][..], |costs| &costs.idle[..]);
    let max_cstates: Vec<String> = match options.settings.max_cstates.as_slice() {
        // A limit at the deepest state changes nothing, and the POLL state saves nothing.
        [] => (states.iter().rev().skip(1).rev())
            .filter(|costs| costs.state != IdleState::Poll)
            .map(|costs| costs.state.to_string())
            .collect(),
        named => named.to_vec(),
    };
    let schedulers: Vec<String> = match options.settings.schedulers.as_slice() {
        [] => {
            let known = costs.iter().flat_map(|costs| costs.scheduler.keys());
            iter::once("none".into()).chain(known.cloned()).collect()
        }
        named => named.to_vec(),
    };
    let methods = request.methods(job)?;
    let mut runs = Vec::new();
    let mut devices = None;
    for iodepth in request.depths(job) {
        let job = Job {
            iodepth,
            ..job.clone()
        };
        let coalescing = request.coalescing(&job);
        for group in groups(&methods, &schedulers, &max_cstates, &coalescing) {
            let experiment = experiment(request, &job, &group)?;
            for seed in 0..u64::from(options.replicates) {
                let seeded = |method: Method| Job {
                    seed: job.seed.wrapping_add(seed),
                    ramp_time: ramp(&job, method),
                    ..job.clone()
                };
                let all = experiment.run(stop, seeded);
                if stop.stopped() {
                    return Err(AdviseError::Interrupted(MISSED_SOME));
                }
                let all = all.map_err(ExperimentError::from)?;
                runs.extend(all.into_iter().map(without_none));
            }
            devices = Some(experiment.devices);
        }
    }
    let spin = machine.core_watts.spin.value;
    let energy = EnergyNote::modelled(&machine);
    let diagnoses = diagnose_modelled(&machine, &runs);
    let advice = Advice::of(&runs, &request.options(job, Some(spin)));
    let advice = advice.inspect_err(|_| note(&diagnoses, observer))?;
    Ok(Found {
        manifest: Manifest::modelled(&[job], devices.unwrap_or_default(), energy),
        advice,
        modelled_on: Some(machine.name),
        diagnoses,
        disks: Vec::new(),
    })
}

/// Removes the scheduler `none` from the settings of `run`: it is the same as no setting.
fn without_none(mut run: RunResult) -> RunResult {
    run.settings
        .retain(|name, value| !(name == "scheduler" && value == "none"));
    run
}

fn experiment(
    request: &AdviceRequest,
    job: &Job,
    group: &CandidateGroup,
) -> Result<VirtualExperiment, AdviseError> {
    let states = group.max_cstates.iter();
    let states = states.map(|name| name.parse::<IdleState>());
    let states = states.collect::<Result<_, _>>();
    let values = group.coalescing.iter().map(|text| coalescing::parse(text));
    let options = VirtualOptions {
        devices: request.experiment.targets.devices.clone(),
        machine: request.experiment.energy.machine.clone(),
        schedulers: group.schedulers.clone(),
        frequencies: Vec::new(),
        max_cstates: states.map_err(|why| ExperimentError::from(VirtualError::NoIdleState(why)))?,
        coalescing: values.collect::<Result<_, _>>()?,
        surroundings: VirtualSurroundings::default(),
    };
    let experiment = VirtualExperiment::new(&options, job, group.methods.clone());
    Ok(experiment.map_err(ExperimentError::from)?)
}
