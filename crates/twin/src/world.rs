//! State that the jobs share: devices, CPUs, the clock.

use crate::cpu::Cpu;
use crate::device::Device;
use crate::seat::{Beside, Seat};
use crate::step_costs::StepCosts;
use joulio_model::MachineProfile;

/// State that the jobs share: the machine, its CPUs, and the devices.
pub(crate) struct World<'a> {
    pub(crate) machine: &'a MachineProfile,
    pub(crate) costs: StepCosts,
    /// All hardware threads: the first of each core, then the second of each core.
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) cores: usize,
    /// For each hardware thread, the others of its core that have jobs.
    pub(crate) beside: Vec<Vec<usize>>,
    pub(crate) devices: Vec<Device<'a>>,
}

impl<'a> World<'a> {
    /// Returns the seat of a thread on `cpu` that is alone on its core.
    #[inline(always)]
    pub(crate) fn seat_alone(&mut self, cpu: usize) -> Seat<'_, 'a> {
        Seat::alone(&mut self.cpus[cpu], &self.costs, &mut self.devices)
    }

    /// Returns the seat of a thread that has its turn on `cpu`.
    #[inline(always)]
    pub(crate) fn seat(&mut self, cpu: usize) -> Seat<'_, 'a> {
        let (own, beside) = Beside::apart(&mut self.cpus, cpu, &self.beside[cpu]);
        Seat {
            cpu: own,
            beside,
            costs: &self.costs,
            devices: &mut self.devices,
        }
    }
}
