//! Advice from runs on this machine.

use super::{AdviseArgs, Found, lasting};
use crate::Outcome;
use crate::bench::{BenchTerminal, verdict};
use crate::failure::{Failure, say};
use crate::output::print;
use joulio_host::knobs::{KnobValues, Setting};
use joulio_host::{Changes, Knob, Knobs, Machine};
use joulio_lab::advise::{Advice, diagnose, groups};
use joulio_lab::experiment::{
    EnergySources, Experiment, ExperimentResult, ExperimentSettings, Manifest, MissingRuns,
};
use joulio_lab::{TargetName, open_targets};
use joulio_workload::{Job, Method, Stop, Target};
use std::path::Path;

const ROOT: &str = "/";

/// Runs all candidates.
pub fn find(args: &AdviseArgs, job: Job, stop: &Stop) -> Result<Found, Failure> {
    let methods = args.methods(&job)?;
    let mut engines: Vec<_> = methods.iter().map(|method| method.engine).collect();
    engines.dedup();
    for place in &args.work.device {
        for engine in &engines {
            place.check(*engine)?;
        }
    }
    let options = args.work.targets(args.ring());
    let targets = open_targets(&options, &job, &engines);
    let targets = targets.map_err(|error| Failure::from(error).after_signal())?;
    let sources = EnergySources::open(&args.energy(), &targets);
    let mut sources = sources.map_err(Failure::input)?;
    let mut manifest = Manifest::new(&options, &job, &sources, &targets);
    let disks = disks(&targets);
    let (schedulers, max_cstates) = settings(args, &disks);
    let mut all = ExperimentResult::default();
    for iodepth in args.depths(&job) {
        let job = Job {
            iodepth,
            ..job.clone()
        };
        for group in groups(&methods, &schedulers, &max_cstates, &[]) {
            let settings = ExperimentSettings {
                schedulers: group.schedulers,
                max_cstates: group.max_cstates,
                ..ExperimentSettings::default()
            };
            let combinations = settings.combinations(&targets).map_err(Failure::input)?;
            let experiment = Experiment {
                targets: &targets,
                methods: &group.methods,
                job: &|_: Method| job.clone(),
                settings: &settings,
                loops: args.replicates,
                machine: sources.machine.as_ref(),
                at_home: sources.at_home,
                baseline: sources.baseline.as_ref().map(|(baseline, _)| baseline),
                stop,
                root: Path::new(ROOT),
            };
            let observer = BenchTerminal::default();
            let result = experiment.run(&combinations, &mut sources.meters, &observer)?;
            all.runs.extend(result.runs);
            all.missing.not_run.extend(result.missing.not_run);
        }
    }
    manifest.interrupted = stop.stopped();
    manifest.not_run = all.missing.not_run.clone();
    if stop.stopped() {
        return Err(Failure::interrupted(
            "no advice: not all candidates were run",
        ));
    }
    verdict(&all.runs, &MissingRuns::default(), stop)?;
    let paths = args.work.device.iter().filter_map(|device| match device {
        TargetName::Kernel(path) => Some(path.as_path()),
        TargetName::Own(_) => None,
    });
    let paths: Vec<&Path> = paths.collect();
    let machine = Machine::read(ROOT, &paths);
    let spin = sources.machine.as_ref();
    let spin = spin.map(|machine| machine.core_watts.spin.value);
    let advice = Advice::of(&all.runs, &args.options(&job, spin)).map_err(Failure::input)?;
    Ok(Found {
        manifest,
        job,
        place: "on this machine".into(),
        diagnoses: diagnose(Path::new(ROOT), &machine, &all.runs),
        advice,
        disks,
    })
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

/// Schedulers that all disks can have, and idle states that CPUs can be kept from going deeper than, but
/// the deepest.
fn settings(args: &AdviseArgs, disks: &[String]) -> (Vec<String>, Vec<String>) {
    let knobs = Knobs::at(ROOT);
    let allowed = |knob: &Knob| match knobs.read(knob).map(|reading| reading.allowed) {
        Ok(KnobValues::OneOf(names)) => names,
        _ => Vec::new(),
    };
    let schedulers = match args.scheduler.as_slice() {
        [] => {
            let each = disks
                .iter()
                .map(|disk| allowed(&Knob::queue(disk, Setting::Scheduler)));
            let common = each.reduce(|common, names| {
                let both = common.into_iter();
                both.filter(|name| names.contains(name)).collect()
            });
            // One is what there is.
            common.filter(|names| names.len() > 1).unwrap_or_default()
        }
        named => named.to_vec(),
    };
    let states = match args.max_cstate.as_slice() {
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

/// `--apply`: makes the settings of the advice, and leaves them.
pub fn apply(found: &Found) -> Outcome {
    let chosen = &found.advice.chosen().candidate;
    let mut wanted: Vec<(Knob, &str)> = Vec::new();
    for (name, value) in &chosen.settings {
        let of = |disk: Option<&str>| Knob::by_name(name, disk);
        match of(None).filter(|knob| knob.disk().is_none()) {
            Some(knob) => wanted.push((knob, value)),
            None => {
                let knobs = found.disks.iter().filter_map(|disk| of(Some(disk)));
                wanted.extend(knobs.map(|knob| (knob, value.as_str())));
            }
        }
    }
    if wanted.is_empty() {
        return print(
            "\nNothing to apply: the completion mode is the program's own choice, and no setting of the machine helps.\n",
        );
    }
    let knobs = Knobs::at(ROOT);
    let changes = |(knob, value): &&(Knob, &str)| {
        let plan = knobs.plan(knob, value);
        plan.is_ok_and(|plan| !plan.is_none())
    };
    let changed: Vec<_> = wanted.iter().filter(changes).collect();
    let changed: Vec<_> = changed
        .iter()
        .map(|(knob, value)| format!("{knob}={value}"))
        .collect();
    let mut changes = Changes::new(say);
    changes.knobs(Path::new(ROOT), &wanted)?;
    changes.leave();
    let applied = match changed.is_empty() {
        true => "Nothing to apply: every setting is so already.".into(),
        false => format!(
            "Applied: {}. joulio restore puts it back.",
            changed.join(", ")
        ),
    };
    let lasting = lasting::text(&found.disks, chosen);
    print(&format!("\n{applied}\n{lasting}"))
}
