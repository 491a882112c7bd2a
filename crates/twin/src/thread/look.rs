//! Taking in what ended.

use super::{Phase, Thread};
use crate::run::World;
use joulio_units::{Direction, Nanos};
use joulio_wait::{Outstanding, Policy};

impl Thread<'_> {
    /// One look at the completion queue; takes in all that is there. An I/O ends for the workload
    /// when the look hands them out, all at once.
    pub(super) fn look(&mut self, at: Nanos, world: &mut World<'_>) -> Nanos {
        self.counters.polls += 1;
        if self.flights.first() > at {
            self.counters.empty_polls += 1;
            let at = world.spin(self.cpu, at, world.prices.look);
            let deadline = self.deadline(at);
            // Nothing to wait for is no reason to wait, as in the driver.
            let nothing = self.flights.count() == 0 && deadline == Nanos::MAX;
            let due = at >= deadline || nothing;
            self.phase = if due { Phase::Issue } else { Phase::Wait };
            return at;
        }
        // What is there now: the work of taking it in shows no more.
        let seen = if self.timed { at } else { Nanos::ZERO };
        let mut work = world.prices.leave;
        let cold = self.cold.take();
        if let Some(idle) = cold {
            work += world.prices.cold.after(idle);
        }
        self.chilled = cold.is_some();
        let mut end = world.work(self.cpu, at, work);
        let mut announced = std::mem::take(&mut self.announced);
        while let Some(flight) = self.flights.finished(at) {
            match announced.checked_sub(1) {
                Some(rest) => announced = rest,
                None => {
                    end = self.interrupted(end, world);
                    announced = self.threshold() - 1;
                }
            }
            end = world.work(self.cpu, end, world.prices.complete);
            if let Some(scheduler) = &world.prices.scheduler {
                let price = &scheduler[usize::from(self.chilled)];
                end = world.work(self.cpu, end, price.after[flight.side()]);
            }
            if self.timed {
                self.policy.completed(flight.class, flight.submitted, seen);
            }
            if flight.measured {
                let wrote = flight.direction == Direction::Write;
                let bytes = self.sizes[flight.load];
                self.ended.push((wrote, bytes, flight.arrival));
            }
        }
        for &(wrote, bytes, arrival) in &self.ended {
            let side = if wrote {
                &mut self.done.write
            } else {
                &mut self.done.read
            };
            side.success(end.since(arrival), u64::from(bytes));
        }
        self.ended.clear();
        self.phase = Phase::Issue;
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
        world.kernel(self.cpu, at, world.prices.interrupt)
    }
}
