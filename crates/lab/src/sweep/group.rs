//! A run of a sweep with its sections, which run at the same time, or with its single workload.

use super::beside_error::BesideError;
use super::factor::method;
use super::options::{SweepOptions, SweepOptionsError};
use super::order::PlannedRun;
use crate::experiment::{Experiment, Manifest, Testbed};
use crate::record::Point;
use crate::target_name::TargetName;
use crate::targets::{Demand, TargetOptions};
use joulio_workload::{Job, Member, SectionResult};
use std::collections::BTreeMap;

/// Experiments of a run, one for each section, and the devices of all.
pub(super) struct Group {
    /// Experiments of the sections, in their order; at least one.
    pub(super) experiments: Vec<Experiment>,
    /// Devices of all sections without duplicates, with the options for opening them.
    pub(super) targets: TargetOptions,
    /// Members of the run, one for each section.
    pub(super) members: Vec<Member>,
}

impl Group {
    /// Creates the group of `run`, which belongs to `options`.
    ///
    /// # Errors
    /// A section is not valid, or cannot run at the same time as the others.
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

    /// Returns the experiment of a single workload, or the first section's, which has the settings of the machine and
    /// sources of energy of all sections.
    pub(super) fn first(&self) -> &Experiment {
        &self.experiments[0]
    }

    /// Returns the jobs of the sections.
    pub(super) fn jobs(&self) -> Vec<&Job> {
        self.members.iter().map(|member| &member.job).collect()
    }

    /// Returns the manifest of the runs of the group on `testbed`.
    pub(super) fn manifest(&self, testbed: &Testbed) -> Manifest {
        let mut manifest = testbed.manifest(&self.targets, &self.jobs());
        manifest.set_apst(self.first().options().settings.apst);
        manifest
    }

    /// Returns the factors that the `sections` of each reporting group have in common.
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

    /// Returns the members for which devices have to be opened; `None` if another program opens the device itself.
    pub(super) fn demand(&self) -> Option<Demand> {
        let external = |member: &Member| member.method.engine.is_external();
        (!self.members.iter().any(external)).then(|| self.members.clone())
    }
}

/// Adds those devices of `own` to `devices` that are not among them; returns the indices of all of `own`. A device that
/// a section names twice counts as two.
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

/// Returns an error if sections cannot run at the same time, or differ in what all must have in common.
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
