//! Advice from virtual time.

use super::{AdviseArgs, Found};
use crate::failure::Failure;
use joulio_host::power_states::coalescing;
use joulio_lab::advise::{Advice, CandidateGroup, groups};
use joulio_lab::experiment::{EnergyNote, Manifest};
use joulio_lab::machine_profile;
use joulio_lab::virtual_time::{IdleState, VirtualExperiment, VirtualOptions};
use joulio_nvme::wait::Policy;
use joulio_units::Nanos;
use joulio_workload::{Job, Method, RunResult};
use std::iter;

/// Simulates all candidates.
pub fn find(args: &AdviseArgs, job: Job) -> Result<Found, Failure> {
    let machine = machine_profile(args.machine.as_deref()).map_err(Failure::input)?;
    let costs = machine.costs.as_ref();
    let states = costs.map_or(&[][..], |costs| &costs.idle[..]);
    let max_cstates: Vec<String> = match args.max_cstate.as_slice() {
        // The deepest is none to be kept from, and one that polls saves nothing.
        [] => (states.iter().rev().skip(1).rev())
            .filter(|costs| costs.state != IdleState::Poll)
            .map(|costs| costs.state.to_string())
            .collect(),
        named => named.to_vec(),
    };
    let schedulers: Vec<String> = match args.scheduler.as_slice() {
        [] => {
            let known = costs.iter().flat_map(|costs| costs.scheduler.keys());
            iter::once("none".into()).chain(known.cloned()).collect()
        }
        named => named.to_vec(),
    };
    let methods = args.methods(&job)?;
    let mut runs = Vec::new();
    let mut devices = None;
    for iodepth in args.depths(&job) {
        let job = Job {
            iodepth,
            ..job.clone()
        };
        let coalescing = args.coalescing(&job);
        for group in groups(&methods, &schedulers, &max_cstates, &coalescing) {
            let experiment = experiment(args, &job, &group)?;
            for seed in 0..u64::from(args.replicates) {
                let seeded = |method: Method| Job {
                    seed: job.seed.wrapping_add(seed),
                    ramp_time: ramp(&job, method),
                    ..job.clone()
                };
                let all = experiment.run(seeded).map_err(Failure::input)?;
                runs.extend(all.into_iter().map(without_none));
            }
            devices = Some(experiment.devices);
        }
    }
    let spin = machine.core_watts.spin.value;
    let advice = Advice::of(&runs, &args.options(&job, Some(spin))).map_err(Failure::input)?;
    let energy = EnergyNote::modelled(&machine);
    let place = format!(
        "in virtual time on {}: every figure is modelled",
        machine.name
    );
    Ok(Found {
        manifest: Manifest::modelled(&job, devices.unwrap_or_default(), energy),
        job,
        place,
        diagnoses: Vec::new(),
        advice,
        disks: Vec::new(),
    })
}

/// The ramp of a method: one that learns has twice the time that it learns in, but no less than the job's.
fn ramp(job: &Job, method: Method) -> Nanos {
    let policy = method.mode.policy();
    let learning = policy.map_or(Nanos::ZERO, |policy| policy.learning());
    job.ramp_time.max(learning + learning)
}

/// `none` is a scheduler that is none: the same as no setting.
fn without_none(mut run: RunResult) -> RunResult {
    run.settings
        .retain(|name, value| !(name == "scheduler" && value == "none"));
    run
}

fn experiment(
    args: &AdviseArgs,
    job: &Job,
    group: &CandidateGroup,
) -> Result<VirtualExperiment, Failure> {
    let states = group.max_cstates.iter();
    let states = states.map(|name| name.parse::<IdleState>());
    let states = states.collect::<Result<_, _>>();
    let values = group.coalescing.iter().map(|text| coalescing::parse(text));
    let values = values.collect::<Result<_, _>>().map_err(Failure::input)?;
    let options = VirtualOptions {
        devices: args.work.device.clone(),
        machine: args.machine.clone(),
        schedulers: group.schedulers.clone(),
        frequencies: Vec::new(),
        max_cstates: states.map_err(|why| Failure::input(format!("--max-cstate: {why}")))?,
        coalescing: values,
    };
    VirtualExperiment::new(&options, job, group.methods.clone()).map_err(Failure::input)
}
