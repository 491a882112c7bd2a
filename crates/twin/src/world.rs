//! What the jobs share.

use crate::cpu::{Cause, CoreUse, Cpu, Got};
use crate::device::Device;
use crate::step_costs::StepCosts;
use crate::times::Doing;
use joulio_model::MachineProfile;
use joulio_units::Nanos;

/// State that the jobs share: the machine, its CPUs, and the devices.
pub(crate) struct World<'a> {
    pub(crate) machine: &'a MachineProfile,
    pub(crate) costs: StepCosts,
    /// Hardware threads: the first of each core, then the second of each.
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) cores: usize,
    /// The other hardware threads of each one's core that have jobs.
    pub(crate) beside: Vec<Vec<usize>>,
    pub(crate) devices: Vec<Device<'a>>,
}

impl World<'_> {
    /// Gives `cpu` to `job`, at `at` or when those who requested it before are done.
    pub(crate) fn take(&mut self, cpu: usize, job: usize, at: Nanos, cause: Cause) -> Got {
        self.cpus[cpu].take(job, at, cause, &self.costs)
    }

    /// Work of the path's own; when it is done.
    #[inline]
    pub(crate) fn work(&mut self, cpu: usize, at: Nanos, time: Nanos) -> Nanos {
        self.run(cpu, at, time, self.costs.work)
    }

    /// Work of the kernel's; when it is done.
    #[inline]
    pub(crate) fn kernel(&mut self, cpu: usize, at: Nanos, time: Nanos) -> Nanos {
        self.run(cpu, at, time, Doing::Kernel)
    }

    /// Switches from a thread to idle, or to another; returns when that is done.
    pub(crate) fn switch(&mut self, cpu: usize, at: Nanos) -> Nanos {
        let end = self.kernel(cpu, at, self.costs.switch);
        self.uncharge(cpu, at, end, 1.0 - self.costs.charged);
        end
    }

    /// Handles what woke a CPU, and switches to the thread, from when the CPU is `got` on;
    /// returns when that is done.
    pub(crate) fn wake(&mut self, cpu: usize, got: Got, handler: Nanos) -> Nanos {
        let handled = self.kernel(cpu, got.at, handler);
        let end = self.kernel(cpu, handled, self.costs.wake);
        if got.idle {
            self.uncharge(cpu, handled, end, 1.0 - self.costs.charged);
        }
        end
    }

    #[inline]
    fn uncharge(&mut self, cpu: usize, from: Nanos, to: Nanos, share: f64) {
        if share == 1.0 {
            return self.cpus[cpu].uncharge(to, to - from);
        }
        let time = Nanos::nearest((to - from).0 as f64 * share);
        self.cpus[cpu].uncharge(to, time);
    }

    /// Polls, which wait for memory and not for the core.
    #[inline]
    pub(crate) fn spin(&mut self, cpu: usize, at: Nanos, time: Nanos) -> Nanos {
        self.cpus[cpu].spend(at, time, Doing::Spin)
    }

    /// Code, which is slower beside another thread of the core.
    #[inline]
    fn run(&mut self, cpu: usize, at: Nanos, time: Nanos, doing: Doing) -> Nanos {
        if self.beside[cpu].is_empty() {
            return self.cpus[cpu].spend(at, time, doing);
        }
        let beside = self.beside[cpu].iter().map(|&other| &self.cpus[other]);
        let slowdown = beside.map(|other| match other.use_of_core(at) {
            CoreUse::None => 1.0,
            CoreUse::Spin => self.costs.smt_spin_slowdown,
            CoreUse::Work => self.costs.smt_slowdown,
        });
        let slowdown = slowdown.fold(1.0, f64::max);
        let time = match slowdown == 1.0 {
            true => time,
            false => Nanos::nearest(time.0 as f64 * slowdown),
        };
        let end = self.cpus[cpu].spend(at, time, doing);
        self.cpus[cpu].works();
        end
    }
}
