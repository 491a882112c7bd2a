//! A thread's turn on its CPU.

use crate::cpu::{Cause, CoreUse, Cpu, Got};
use crate::device::Device;
use crate::step_costs::StepCosts;
use crate::times::Doing;
use joulio_units::Nanos;

/// A hardware thread, for as long as one thread of the run has its turn, with what else that touches.
pub(crate) struct Seat<'w, 'a> {
    pub(crate) cpu: &'w mut Cpu,
    pub(crate) others: Others<'w>,
    pub(crate) costs: &'w StepCosts,
    pub(crate) devices: &'w mut [Device<'a>],
}

/// The other hardware threads, of which those of the same core count.
pub(crate) struct Others<'w> {
    beside: &'w [usize],
    /// The CPUs with lower numbers, and those with higher ones.
    before: &'w [Cpu],
    after: &'w [Cpu],
}

impl<'w> Others<'w> {
    /// CPU number `own`, and the others, of which those `beside` it are of the same core.
    #[inline]
    pub(crate) fn apart(
        cpus: &'w mut [Cpu],
        own: usize,
        beside: &'w [usize],
    ) -> (&'w mut Cpu, Others<'w>) {
        let (before, rest) = cpus.split_at_mut(own);
        let (own, after) = rest.split_first_mut().expect("a thread's CPU is there");
        let others = Others {
            beside,
            before,
            after,
        };
        (own, others)
    }

    #[inline]
    fn cpu(&self, other: usize) -> &Cpu {
        let own = self.before.len();
        match other < own {
            true => &self.before[other],
            false => &self.after[other - own - 1],
        }
    }

    /// Factor on the time of code at `at`, by what the other threads of the core do.
    #[inline]
    fn slowdown(&self, at: Nanos, costs: &StepCosts) -> f64 {
        let of = |other: &usize| match self.cpu(*other).use_of_core(at) {
            CoreUse::None => 1.0,
            CoreUse::Spin => costs.smt_spin_slowdown,
            CoreUse::Work => costs.smt_slowdown,
        };
        match self.beside {
            [one] => of(one).max(1.0),
            more => more.iter().map(of).fold(1.0, f64::max),
        }
    }
}

impl Seat<'_, '_> {
    /// Gives the CPU to `job`, at `at` or when those who requested it before are done.
    #[inline(always)]
    pub(crate) fn take(&mut self, job: usize, at: Nanos, cause: Cause) -> Got {
        self.cpu.take(job, at, cause, self.costs)
    }

    /// Returns true if the other hardware threads of the core are idle all the time.
    #[inline]
    pub(crate) fn alone(&self) -> bool {
        self.others.beside.is_empty()
    }

    /// Work of the path's own; when it is done.
    #[inline]
    pub(crate) fn work(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.run(at, time, self.costs.work)
    }

    /// Work of the kernel's; when it is done.
    #[inline]
    pub(crate) fn kernel(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.run(at, time, Doing::Kernel)
    }

    /// Does the kernel's part `before` idle, and switches from a thread to idle, or to another; returns
    /// when that is done.
    #[inline(always)]
    pub(crate) fn switch(&mut self, at: Nanos, before: Nanos) -> Nanos {
        let (switch, uncharged) = (self.costs.switch, self.costs.switch_uncharged);
        if self.alone() {
            let end = self.cpu.spend(at, before + switch, Doing::Kernel);
            self.cpu.uncharge(end, uncharged);
            return end;
        }
        let from = self.kernel(at, before);
        let end = self.kernel(from, switch);
        self.cpu.uncharge(end, self.uncharged(end - from));
        end
    }

    /// Handles what woke a CPU, switches to the thread, and does the kernel's part `after` that, from
    /// when the CPU is `got` on; returns when that is done.
    #[inline(always)]
    pub(crate) fn wake(&mut self, got: Got, handler: Nanos, after: Nanos) -> Nanos {
        let (wake, uncharged) = (self.costs.wake, self.costs.wake_uncharged);
        if self.alone() {
            let time = handler + wake + after;
            let end = self.cpu.spend(got.at, time, Doing::Kernel);
            if got.idle {
                self.cpu.uncharge(end - after, uncharged);
            }
            return end;
        }
        let handled = self.kernel(got.at, handler);
        let woken = self.kernel(handled, wake);
        if got.idle {
            self.cpu.uncharge(woken, self.uncharged(woken - handled));
        }
        self.kernel(woken, after)
    }

    /// The part of a transition that lasted for `time` which is charged to nobody.
    fn uncharged(&self, time: Nanos) -> Nanos {
        Nanos::nearest(time.0 as f64 * self.costs.uncharged_share)
    }

    /// Polls, which wait for memory and not for the core.
    #[inline]
    pub(crate) fn spin(&mut self, at: Nanos, time: Nanos) -> Nanos {
        self.cpu.spend(at, time, Doing::Spin)
    }

    /// Code, which is slower beside another thread of the core.
    #[inline]
    fn run(&mut self, at: Nanos, time: Nanos, doing: Doing) -> Nanos {
        match self.others.beside {
            [] => self.cpu.spend(at, time, doing),
            _ => self.run_beside(at, time, doing),
        }
    }

    fn run_beside(&mut self, at: Nanos, time: Nanos, doing: Doing) -> Nanos {
        let slowdown = self.others.slowdown(at, self.costs);
        let time = match slowdown == 1.0 {
            true => time,
            false => Nanos::nearest(time.0 as f64 * slowdown),
        };
        let end = self.cpu.spend(at, time, doing);
        self.cpu.works();
        end
    }
}
