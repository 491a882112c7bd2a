//! A thread of another program, which always has work.

use crate::cpu::Cause;
use crate::seat::Seat;
use crate::times::Doing;
use joulio_units::Nanos;

/// A thread of another program that computes without end on a CPU of the jobs; it ends with the last of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    /// Index among the threads of its core.
    pub(crate) place: usize,
    pub(crate) cpu: usize,
    /// True while another thread has the CPU.
    pub(crate) off: bool,
}

impl Neighbour {
    /// Computes, up to `limit`, until another thread may be given the CPU. Returns the time at which that happens;
    /// `None` once all the jobs of its CPU have ended.
    pub(crate) fn computes(
        &mut self,
        mut at: Nanos,
        limit: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Option<Nanos> {
        if self.off {
            self.off = false;
            at = seat.take(self.place, at, Cause::Turn).at;
            if at >= limit || seat.cpu.run_queue.must_give_up(at) {
                return Some(at);
            }
        }
        loop {
            let run_queue = &seat.cpu.run_queue;
            if run_queue.deserted() {
                return None;
            }
            // The handler of an interrupt that comes at this time runs next.
            let until = run_queue
                .undisturbed(at)
                .min(seat.cpu.next_irq)
                .max(at + Nanos(1));
            at = seat.cpu.spend(at, until - at, Doing::Neighbour);
            if at >= limit || seat.cpu.run_queue.must_give_up(at) {
                return Some(at);
            }
        }
    }
}
