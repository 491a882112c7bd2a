//! Taking in what ended.

use super::{JobThread, ThreadPhase};
use crate::world::World;
use joulio_units::{Direction, Nanos};
use joulio_wait::{Outstanding, Policy};

impl JobThread<'_> {
    /// One poll of the completion queue; takes in all that is there. An I/O ends for the workload
    /// when the poll hands them out, all at once.
    pub(super) fn poll(&mut self, at: Nanos, world: &mut World<'_>) -> Nanos {
        self.counters.polls += 1;
        if self.in_flight.first() > at {
            self.counters.empty_polls += 1;
            let at = world.spin(self.cpu, at, world.costs.poll);
            let deadline = self.deadline(at);
            // Nothing to wait for is no reason to wait, as in the driver.
            let nothing = self.in_flight.count() == 0 && deadline == Nanos::MAX;
            let due = at >= deadline || nothing;
            self.phase = if due {
                ThreadPhase::Issue
            } else {
                ThreadPhase::Wait
            };
            return at;
        }
        // What is there now: the work of taking it in shows no more.
        let seen = if self.timed { at } else { Nanos::ZERO };
        let mut work = world.costs.leave;
        let cold = self.cold.take();
        if let Some(idle) = cold {
            work += world.costs.cold.after(idle);
        }
        self.chilled = cold.is_some();
        let mut end = world.work(self.cpu, at, work);
        let mut announced = std::mem::take(&mut self.announced);
        while let Some(io) = self.in_flight.finished(at) {
            match announced.checked_sub(1) {
                Some(rest) => announced = rest,
                None => {
                    end = self.interrupted(end, world);
                    announced = self.threshold() - 1;
                }
            }
            end = world.work(self.cpu, end, world.costs.complete);
            // The other commands of an I/O that went out in parts.
            for _ in 1..world.costs.parts[io.load] {
                end = self.interrupted(end, world);
                end = world.work(self.cpu, end, world.costs.complete);
            }
            if let Some(scheduler) = &world.costs.scheduler {
                let cost = &scheduler[usize::from(self.chilled)];
                end = world.work(self.cpu, end, cost.after[io.side()]);
            }
            if self.timed {
                self.policy.completed(io.class, io.submitted, seen);
            }
            if io.measured {
                let wrote = io.direction == Direction::Write;
                let bytes = self.sizes[io.load];
                self.ended.push((wrote, bytes, io.arrival));
            }
        }
        // The driver masks its vector when a block is over; what came until then has interrupted.
        self.armed &= !self.masks;
        for &(wrote, bytes, arrival) in &self.ended {
            let side = if wrote {
                &mut self.done.write
            } else {
                &mut self.done.read
            };
            side.success(end.since(arrival), u64::from(bytes));
            if let Some(oracle) = &mut self.oracle {
                oracle.completed(end.since(arrival));
            }
        }
        self.ended.clear();
        self.phase = ThreadPhase::Issue;
        end
    }

    /// Pays for an interrupt that nothing waited for: that of a completion which came while the
    /// vector was armed for another's block. User interrupts stay off while completions are taken
    /// in, as SPDK+ has them.
    fn interrupted(&mut self, at: Nanos, world: &mut World<'_>) -> Nanos {
        if !self.armed || self.user_interrupts {
            return at;
        }
        self.counters.interrupts += 1;
        world.kernel(self.cpu, at, world.costs.interrupt)
    }
}
