//! Interrupts of other queues and devices on the CPUs of the jobs.

use crate::seat::Seat;
use joulio_units::Nanos;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

/// A source of interrupts at random times, whose handlers run on a CPU of the jobs; it ends with the last job
/// there.
#[derive(Clone, Debug)]
pub(crate) struct OtherIrqs {
    pub(crate) cpu: usize,
    /// Mean time between two interrupts.
    mean: f64,
    random: Pcg64,
    begun: bool,
}

impl OtherIrqs {
    /// Returns a source of `rate` interrupts per second on `cpu`.
    pub(crate) fn new(cpu: usize, rate: u32, seed: u64) -> OtherIrqs {
        OtherIrqs {
            cpu,
            mean: 1e9 / f64::from(rate.max(1)),
            random: Pcg64::seed_from_u64(seed),
            begun: false,
        }
    }

    /// Runs the handler at `at`, or as soon as the CPU can be interrupted. Returns the time of the next interrupt;
    /// `None` once all the jobs of the CPU have ended.
    pub(crate) fn step(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Option<Nanos> {
        if seat.cpu.jobs == 0 {
            seat.cpu.next_irq = Nanos::MAX;
            return None;
        }
        if self.begun {
            seat.cpu.handle_other(at, seat.costs);
        }
        self.begun = true;
        let gap: f64 = Exp1.sample(&mut self.random);
        let next = at + Nanos::nearest(gap * self.mean).max(Nanos(1));
        seat.cpu.next_irq = next;
        Some(next)
    }
}
