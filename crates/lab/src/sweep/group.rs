//! A run of a sweep as it is done: its sections beside each other, or its one workload.

use super::beside_error::BesideError;
use super::factor::method;
use super::options::{SweepOptions, SweepOptionsError};
use super::order::PlannedRun;
use crate::experiment::Experiment;
use crate::record::Point;
use crate::target_name::TargetName;
use crate::targets::{Demand, TargetOptions};
use joulio_workload::{Job, Member, SectionResult};
use std::collections::BTreeMap;

/// A run's experiments, one a section, and the devices of all.
pub(super) struct Group {
    /// Experiments of the sections, at least one, in their order.
    pub(super) experiments: Vec<Experiment>,
    /// Devices of all sections, each once, and how they are opened.
    pub(super) targets: TargetOptions,
    /// Members of the run, one a section.
    pub(super) members: Vec<Member>,
}

impl Group {
    /// The group of `run`, one of those of `options`.
    ///
    /// # Errors
    /// A section makes no sense, or cannot run beside the others.
    pub(super) fn new(
        options: &SweepOptions,
        run: &PlannedRun,
    ) -> Result<Group, SweepOptionsError> {
        let mut experiments = Vec::new();
        let mut members = Vec::new();
        let mut devices = Vec::new();
        for section in options.sections() {
            let run = section.section_run(run)?;
            let experiment = section.experiment(&run)?;
            let method = method(&run.point)?;
            members.push(Member {
                name: section.section.clone(),
                reporting_group: section.reporting_group,
                job: experiment.job_of(method),
                method,
                devices: unite(&mut devices, &experiment.options().targets.devices),
                wait_costs: None,
                ring: experiment.options().targets.ring,
            });
            experiments.push(experiment);
        }
        check_beside(&members, &experiments)?;
        let targets = TargetOptions {
            devices,
            ..experiments[0].options().targets.clone()
        };
        Ok(Group {
            experiments,
            targets,
            members,
        })
    }

    /// The experiment of a workload alone; of sections the first, which has what all have in common: settings
    /// of the machine, sources of energy.
    pub(super) fn first(&self) -> &Experiment {
        &self.experiments[0]
    }

    /// Jobs of the sections.
    pub(super) fn jobs(&self) -> Vec<&Job> {
        self.members.iter().map(|member| &member.job).collect()
    }

    /// Factors that the `sections` of each reporting group have in common.
    pub(super) fn reporting(
        &self,
        sections: &[SectionResult],
    ) -> impl Iterator<Item = Point> + use<> {
        let mut groups = BTreeMap::<usize, Point>::new();
        for (member, section) in self.members.iter().zip(sections) {
            let common = groups.entry(member.reporting_group);
            let common = common.or_insert_with(|| section.point.clone());
            common.retain(|factor, value| section.point.get(factor) == Some(value));
        }
        groups.into_values()
    }

    /// Target to be opened; `None`: another program does it, and opens it itself.
    pub(super) fn demand(&self) -> Option<Demand> {
        let external = |member: &Member| member.method.engine.is_external();
        (!self.members.iter().any(external)).then(|| self.members.clone())
    }
}

/// Adds those of `own` to `devices` that are not among them: their numbers. A device that a section has twice is
/// two.
fn unite(devices: &mut Vec<TargetName>, own: &[TargetName]) -> Vec<usize> {
    let mut numbers = Vec::new();
    for device in own {
        let text = device.text();
        let known = devices.iter().enumerate();
        let mut known = known.filter(|(at, one)| one.text() == text && !numbers.contains(at));
        let known = known.next().map(|(at, _)| at);
        numbers.push(known.unwrap_or_else(|| {
            devices.push(device.clone());
            devices.len() - 1
        }));
    }
    numbers
}

/// Refuses what is not beside anything, and what all have to have in common.
fn check_beside(members: &[Member], experiments: &[Experiment]) -> Result<(), BesideError> {
    if members.len() < 2 {
        return Ok(());
    }
    for (member, experiment) in members.iter().zip(experiments) {
        let name = || member.name.clone();
        let options = experiment.options();
        if member.method.engine.is_external() {
            return Err(BesideError::External(name()));
        }
        if options.settings != experiments[0].options().settings {
            return Err(BesideError::Settings(name()));
        }
    }
    Ok(())
}
