//! Costs of the steps of a wait, by which `adaptive` plans.

use joulio_model::MachineProfile;
use joulio_twin::TwinSetup;
use joulio_wait::WaitCosts;
use joulio_workload::{Job, Method};

/// Returns the costs by which `adaptive` plans the waits of `job` with `method` on `machine`, and the name of the
/// machine that they are of: a generic server if `machine` is not known, or its profile has no costs.
pub(crate) fn plan_costs(
    machine: Option<&MachineProfile>,
    job: &Job,
    method: Method,
) -> (WaitCosts, String) {
    let own = machine.and_then(|machine| {
        let setup = TwinSetup::new(machine, &[]);
        let costs = joulio_twin::wait_costs(job, method, &setup).ok()?;
        Some((costs, machine.name.clone()))
    });
    own.unwrap_or_else(|| (WaitCosts::generic(), MachineProfile::DEFAULT.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_workload::{CompletionMode, EngineName};

    #[test]
    fn costs_that_a_machine_does_not_have_are_those_of_a_generic_server() {
        let method = Method {
            engine: EngineName::Nvme,
            mode: CompletionMode::Adaptive,
        };
        let job = Job::random_reads(1);
        let of = |machine: Option<&MachineProfile>| plan_costs(machine, &job, method);
        let mut machine = MachineProfile::builtin("xeon-6230").unwrap();
        let (costs, name) = of(Some(&machine));
        assert_eq!(name, "xeon-6230");
        assert_ne!(costs, WaitCosts::generic());
        let generic = (WaitCosts::generic(), "generic-server".to_owned());
        machine.costs = None;
        assert_eq!(of(Some(&machine)), generic);
        assert_eq!(of(None), generic);
    }
}
