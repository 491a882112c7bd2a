//! Polls of a job, and the completions that they take.

use super::{JobThread, Next, SEVERAL, ThreadPhase, is_plain, is_single};
use crate::io_log::IoCounts;
use crate::seat::Seat;
use joulio_units::Nanos;
use joulio_wait::Policy;

impl JobThread<'_> {
    /// Polls the completion queues once and takes all completions. For the workload an I/O ends when the poll
    /// delivers its completions, all at once.
    #[inline(always)]
    pub(super) fn poll<const SHAPE: u8>(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Next {
        let queues = self.queues::<SHAPE>() as u64;
        self.counters.polls += queues;
        if self.first::<SHAPE>() > at {
            self.counters.empty_polls += queues;
            let at = seat.spin(at, Nanos(queues * seat.costs.poll.0));
            let deadline = self.deadline::<SHAPE>(at);
            // With nothing to wait for the job does not wait, as in the driver.
            let nothing = !self.has_out::<SHAPE>() && deadline == Nanos::MAX;
            if at >= deadline || nothing {
                return (ThreadPhase::Issue, at);
            }
            return (ThreadPhase::Wait, at);
        }
        // All completions that are there now; the time to take them makes no later ones visible to this poll.
        let timed = !is_plain(SHAPE) && self.timed;
        let seen = if timed { at } else { Nanos::ZERO };
        let mut work = seat.costs.leave;
        let cold = self.cold.take();
        if let Some(idle) = cold {
            work = work.plus(seat.costs.cold.after(idle));
        }
        if !is_plain(SHAPE) {
            self.chilled = cold.is_some();
        }
        let mut end = at;
        let mut announced = std::mem::take(&mut self.announced);
        if !is_single(SHAPE) {
            for index in 0..self.queues::<SHAPE>() {
                self.queue_mut::<SHAPE>(index).ended = 0;
            }
        }
        let mut index = 0;
        loop {
            let queue = self.queue_mut::<SHAPE>(index);
            let Some(io) = queue.in_flight.finished::<SHAPE>(at) else {
                index += 1;
                if index == self.queues::<SHAPE>() {
                    break;
                }
                continue;
            };
            let (class, submitted, side) = (io.class, io.submitted(), io.side());
            let load = usize::from(io.load);
            if !is_single(SHAPE) {
                queue.ended += 1;
            }
            let is_direct = self.is_direct::<SHAPE>(index);
            match announced.checked_sub(1) {
                _ if is_direct => {}
                Some(rest) => announced = rest,
                None if self.armed || self.user_interrupts => {
                    end = seat.work(end, std::mem::take(&mut work));
                    end = self.interrupted(end, seat);
                    announced = self.threshold() - 1;
                }
                None => announced = self.threshold() - 1,
            }
            if !seat.alone_from(end) {
                // Meanwhile the other hardware thread of the core may begin or end something.
                end = seat.work(end, std::mem::take(&mut work));
            }
            work = work.plus(seat.costs.complete);
            if self.in_parts {
                end = seat.work(end, std::mem::take(&mut work));
                end = self.other_parts(load, is_direct, end, seat);
            }
            if !is_plain(SHAPE)
                && let Some(scheduler) = &seat.costs.scheduler
            {
                let cost = &scheduler[usize::from(self.chilled)];
                end = seat.work(end, std::mem::take(&mut work));
                end = seat.work(end, cost.after[side]);
            }
            if timed {
                let policy = &mut self.queue_mut::<SHAPE>(index).policy;
                policy.completed(class, submitted, seen);
            }
            if is_single(SHAPE) {
                break;
            }
        }
        end = seat.work(end, work);
        if SHAPE == SEVERAL {
            end = self.polled_in_vain(end, seat);
        }
        // The driver masks its vector at the end of a block; completions up to that time have raised interrupts.
        self.armed &= !self.masks;
        if SHAPE == SEVERAL {
            self.notified |= self.posted;
        }
        for index in 0..self.queues::<SHAPE>() {
            let queue = match SHAPE != SEVERAL || index == 0 {
                true => &self.queue,
                false => &self.others[index - 1],
            };
            let ended = queue.in_flight.taken_out::<SHAPE>(queue.ended);
            for io in ended.filter(|io| io.measured) {
                let (latency, load) = (end.since(io.arrival), &self.loads[usize::from(io.load)]);
                let completed = &mut seat.devices[queue.device].completed;
                completed[io.side()].success(latency, u64::from(load.bytes));
                if !is_plain(SHAPE)
                    && let Some(own) = &mut self.own
                {
                    own.success(latency, u64::from(load.bytes));
                }
                if !is_plain(SHAPE)
                    && let Some(oracle) = &mut self.oracle
                {
                    oracle.completed(latency);
                }
                if !is_plain(SHAPE)
                    && let Some(log) = &mut self.log
                {
                    log.ended(IoCounts {
                        counters: self.counters,
                        preemptions: self.done.preempted,
                        run_delay: seat.cpu.run_queue.run_delay(self.place),
                    });
                }
            }
        }
        (ThreadPhase::Issue, end)
    }

    /// Counts the polls of queues without a completion, in a round in which another queue had one.
    fn polled_in_vain(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        let others = self.others.iter().filter(|queue| queue.ended == 0);
        let empty = others.count() as u64 + u64::from(self.queue.ended == 0);
        self.counters.empty_polls += empty;
        seat.spin(at, Nanos(empty * seat.costs.poll.0))
    }

    /// Takes the completions of the other commands of an I/O of `load` that was split into parts.
    #[cold]
    fn other_parts(
        &mut self,
        load: usize,
        is_direct: bool,
        mut at: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        for _ in 1..self.loads[load].parts {
            if !is_direct {
                at = self.interrupted(at, seat);
            }
            at = seat.work(at, seat.costs.complete);
        }
        at
    }

    /// Returns true if the interrupts of queue `index` are delivered straight to the thread. They are off while the
    /// thread takes completions, as in SPDK+.
    #[inline(always)]
    pub(crate) fn is_direct<const SHAPE: u8>(&self, index: usize) -> bool {
        self.user_interrupts && (SHAPE != SEVERAL || index == 0 || self.posted)
    }

    /// Pays for an interrupt that no thread waited for: one of a completion that came while the vector was armed
    /// for a block on another completion, or one that the kernel handles for the thread.
    #[inline]
    fn interrupted(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        if !self.armed && !self.user_interrupts {
            return at;
        }
        self.counters.interrupts += 1;
        seat.kernel(at, seat.costs.interrupt)
    }
}
