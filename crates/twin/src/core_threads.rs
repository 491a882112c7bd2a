//! Threads of one core, which see each other's activity.

use crate::TwinError;
use crate::event_queue::EventQueue;
use crate::run_queue::Turn;
use crate::runner::{Runner, TakesTurns};
use crate::stop::{MAX_RUN_TIME, Stop};
use crate::thread::JobThread;
use crate::world::World;
use joulio_units::Nanos;

/// The threads on the hardware threads of a core. A core sees nothing of what another core does until a thread
/// there rings a doorbell.
pub(crate) enum CoreThreads<'r, 'a> {
    /// One job alone on the core, with its number in the run.
    One(&'r mut JobThread<'a>, usize),
    Several(Several<'r, 'a>),
}

/// Threads that see each other's activity.
pub(crate) struct Several<'r, 'a> {
    /// Threads with their numbers in the run, in ascending order.
    threads: Vec<(usize, Runner<'r, 'a>)>,
    /// Time of each thread's next action, by the thread's index in `threads`.
    events: EventQueue,
    /// True if the core handles interrupts of other queues and devices.
    interrupted: bool,
}

impl<'r, 'a> CoreThreads<'r, 'a> {
    /// Returns a core with `threads` and their numbers in the run, in ascending order; all begin at 0.
    pub(crate) fn new(mut threads: Vec<(usize, Runner<'r, 'a>)>) -> CoreThreads<'r, 'a> {
        if threads.len() == 1
            && let Some((number, Runner::Job(job))) = threads.pop_if(|one| one.1.is_job())
        {
            return CoreThreads::One(job, number);
        }
        let mut events = EventQueue::new(threads.len());
        let places = (0..threads.len()).rev();
        places.for_each(|place| events.add(Nanos::ZERO, place));
        let interrupted = threads.iter().any(|one| one.1.is_other_irqs());
        CoreThreads::Several(Several {
            threads,
            events,
            interrupted,
        })
    }

    /// Runs the threads from `at` on through `rings` rings of doorbells, and up to the next ring. Returns the time
    /// of that ring and the number of its thread; `None`: all threads have ended.
    ///
    /// # Errors
    /// [`TwinError`], if the run is too long or stopped, or a policy planned a step that the machine
    /// lacks.
    #[inline(always)]
    pub(crate) fn until_ring(
        &mut self,
        at: Nanos,
        rings: u32,
        world: &mut World<'_>,
        stop: &mut Stop<'_>,
    ) -> Result<Option<(Nanos, usize)>, TwinError> {
        match self {
            CoreThreads::One(job, number) => {
                stop.check(rings.max(1))?;
                let next = job.until_ring(at, rings, &mut world.seat_alone(job.cpu));
                if next <= MAX_RUN_TIME && job.goes_on() {
                    return Ok(Some((next, *number)));
                }
                match job.refused(world.machine) {
                    Some(error) => Err(error),
                    None if job.goes_on() => Err(TwinError::TooLong),
                    None => Ok(None),
                }
            }
            CoreThreads::Several(several) => several.until_ring(rings, world, stop),
        }
    }
}

impl Several<'_, '_> {
    fn until_ring(
        &mut self,
        mut rings: u32,
        world: &mut World<'_>,
        stop: &mut Stop<'_>,
    ) -> Result<Option<(Nanos, usize)>, TwinError> {
        while let Some((at, place)) = self.events.first() {
            stop.check(1)?;
            let (number, thread) = &mut self.threads[place];
            if self.interrupted && thread.has_its_turn() {
                // The handler of an interrupt of another device may have occupied the CPU for longer.
                let free = world.cpus[thread.cpu()].free;
                if at < free {
                    self.events.pop();
                    self.events.add(free, place);
                    continue;
                }
            }
            if thread.rings() {
                if rings == 0 {
                    return Ok(Some((at, *number)));
                }
                rings -= 1;
            }
            self.events.pop();
            let events = &mut self.events;
            let next = match thread {
                Runner::Job(job) => turn(&mut **job, at, place, world, events),
                Runner::Neighbour(neighbour) => turn(&mut **neighbour, at, place, world, events),
                Runner::OtherIrqs(irqs) => irqs.step(at, &mut world.seat(irqs.cpu)),
            };
            match next {
                Some(next) if next > MAX_RUN_TIME => return Err(TwinError::TooLong),
                Some(next) => self.events.add(next, place),
                None => {
                    if let Some(error) = thread.refused(world.machine) {
                        return Err(error);
                    }
                }
            }
        }
        Ok(None)
    }
}

/// Runs the actions of the thread at `place` that others see, until another thread's next action. Returns the time
/// of the thread's own next action; `None` if the thread has to wait for its CPU or has ended.
#[inline(always)]
fn turn<T: TakesTurns>(
    thread: &mut T,
    at: Nanos,
    place: usize,
    world: &mut World<'_>,
    events: &mut EventQueue,
) -> Option<Nanos> {
    let mut seat = world.seat(thread.cpu());
    let shared = seat.cpu.run_queue.shared();
    if shared {
        if thread.is_off() {
            if seat.cpu.run_queue.wants(place, at) == Turn::Waits {
                return None;
            }
        } else if seat.cpu.run_queue.must_give_up(at) {
            thread.preempted(at);
            let heir = seat.cpu.run_queue.give_up(at);
            if heir == Some(place) {
                return Some(at);
            }
            if let Some(heir) = heir {
                events.add(at, heir);
            }
            return None;
        }
    }
    // The thread goes on as long as nothing else happens on the core, and its CPU is not taken from it.
    let limit = events.next().min(MAX_RUN_TIME);
    let next = thread.steps(at, limit, &mut seat);
    if T::IS_JOB && next.is_none() {
        seat.cpu.jobs -= 1;
    }
    if shared && (next.is_none() || thread.is_off()) {
        let free = seat.cpu.free.max(at);
        // The time of the switch belongs to the next thread already.
        let left = Nanos(free.0.saturating_sub(seat.costs.switch.0)).max(at);
        let heir = match next {
            Some(wakes) => seat.cpu.run_queue.sleeps(left, wakes),
            None => seat.cpu.run_queue.ends(left),
        };
        if let Some(heir) = heir {
            events.add(free, heir);
        }
    }
    next
}
