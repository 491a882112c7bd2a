//! Simulation of a scenario, and its judgement.

use super::judge::{GridCell, judge};
use super::{GridError, GridSweep, Scenario, View};
use crate::TwinSetup;
use joulio_model::{DeviceProfile, MeteredAt};
use joulio_wait::Objective;

impl GridSweep {
    /// Simulates `scenario`, and judges it in each of `views`.
    ///
    /// # Errors
    /// [`GridError`], if the scenario cannot be simulated or the machine has no such view.
    pub fn simulate(
        &self,
        scenario: &Scenario,
        device: &DeviceProfile,
        views: &[View],
    ) -> Result<Vec<GridCell>, GridError> {
        self.check(scenario, device)?;
        let package = self.machine.boundary == MeteredAt::Package;
        if package && views.iter().any(|view| view.boundary == Objective::Wall) {
            let machine = self.machine.name.clone();
            return Err(GridError::Wall { machine });
        }
        let devices = std::slice::from_ref(device);
        let setup = TwinSetup {
            neighbours: scenario.load.neighbours(),
            stop: Some(&*self.stop),
            ..TwinSetup::new(&self.machine, devices)
        };
        let replicates = self.replicates(scenario, &setup, views)?;
        let rows = views.iter().copied().enumerate();
        Ok(rows
            .map(|view| judge(scenario, view, &replicates))
            .collect())
    }
}
