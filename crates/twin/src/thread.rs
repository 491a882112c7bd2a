//! A job's loop, in virtual time.
//!
//! The loop is that of a real job: submit the I/Os that are due, poll, wait as the policy plans, take completions.
//! Between two rings of the doorbell a job affects only its own CPU, so that one call of [`JobThread::until`]
//! simulates everything between them.

mod poll;
mod queue;
mod shape;

pub(crate) use queue::DeviceQueue;
pub(crate) use shape::{SEVERAL, Shape, is_plain, is_single};

use crate::cpu::Cpu;
use crate::device::Device;
use crate::in_flight::InFlightIo;
use crate::io_log::{IoCounts, IoLog};
use crate::oracle::OracleState;
use crate::path::Path;
use crate::seat::Seat;
use crate::setup::Coalescing;
use crate::step_costs::StepCosts;
use crate::stop::MAX_RUN_TIME;
use joulio_job::{IoStatistics, Job, Load};
use joulio_units::{Direction, Nanos};
use joulio_wait::{Class, Policy, Slept, Step, StepKind, StepSet, WaitCounters};
use shape::{ONE, ONE_SINGLE, PLAIN, PLAIN_SINGLE};

/// Phase of a job: its next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadPhase {
    /// Creates the I/Os that are due, with the CPU.
    Issue,
    /// Rings the doorbell.
    Ring,
    /// Polls the completion queue, with the CPU.
    Poll,
    /// Waits, with the CPU.
    Wait,
    /// Requests its CPU back.
    Woken,
    /// The thread has ended: no I/O is left to issue.
    Ended,
}

/// Next action of a job, and its time.
pub(crate) type Next = (ThreadPhase, Nanos);

/// Event that wakes a job that gave up its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakening {
    /// The end of another thread's slice: that thread had the CPU from `since` on, and the job was preempted.
    Slice { since: Nanos },
    /// The end of a sleep that began at `start` and was planned to end at `until`.
    Timer { start: Nanos, until: Nanos },
    /// The end of a block that began at `start`, by the interrupt or by its time limit.
    Block { start: Nanos, interrupted: bool },
}

pub(crate) struct JobThread<'a> {
    /// Index among the threads of its core.
    pub(crate) place: usize,
    pub(crate) job: &'a Job,
    pub(crate) coalescing: Option<Coalescing>,
    pub(crate) cpu: usize,
    pub(crate) queue: DeviceQueue,
    /// Queues of the thread's other devices, in one poll group with the first; their policies are of the same kind.
    pub(crate) others: Vec<DeviceQueue>,
    /// Steps that the policy may plan and that the machine has.
    pub(crate) can: StepSet,
    /// Oracle that waits in place of the policy.
    pub(crate) oracle: Option<OracleState>,
    pub(crate) timed: bool,
    /// Step that the policy plans for every wait, if it does.
    pub(crate) fixed: Option<Step>,
    pub(crate) shape: Shape,
    /// True if the policy needs to know, before each wait, whether other threads are runnable.
    pub(crate) asks_others: bool,
    /// True if the policy needs to know the time that the job loses to other threads.
    pub(crate) asks_lost: bool,
    /// True if completions raise interrupts that the kernel handles: the driver's vector is unmasked, or the I/Os
    /// in flight are on a queue of the kernel that has interrupts.
    pub(crate) armed: bool,
    /// True if `armed` is false again after a block: the driver masks its vector.
    pub(crate) masks: bool,
    /// True if interrupts are delivered straight to the thread.
    pub(crate) user_interrupts: bool,
    /// True if the interrupts of several devices are posted into one descriptor.
    pub(crate) posted: bool,
    /// True if the descriptor's notification has been sent (its bit ON): there is no other until the kernel clears
    /// the bit.
    pub(crate) notified: bool,
    pub(crate) phase: ThreadPhase,
    /// Event that woke the job last, or that will wake it.
    pub(crate) wakening: Wakening,
    /// Step that the policy planned although the machine lacks it or the policy did not announce it; ends the job.
    pub(crate) lacking: Option<StepKind>,
    /// Phase in which the job goes on when it gets back a CPU that was taken from it.
    pub(crate) resumes: ThreadPhase,
    /// Time to create and submit the I/Os that are not on the device yet.
    making: Nanos,
    loads: Vec<ThreadLoad>,
    /// True if the I/Os of some load take several commands.
    in_parts: bool,
    end: Nanos,
    pub(crate) measuring: bool,
    /// Time at which the measured part begins; `Nanos::MAX` once it has begun.
    measures_from: Nanos,
    /// Longest time for which the CPU was idle since the last completion, if it was.
    pub(crate) cold: Option<Nanos>,
    /// True if the CPU was idle before the last completion.
    chilled: bool,
    /// Number of completions whose interrupt has been paid for.
    pub(crate) announced: u64,
    pub(crate) counters: WaitCounters,
    before: WaitCounters,
    pub(crate) done: Done,
    /// Statistics of the job's own I/Os, if each job is counted by itself.
    pub(crate) own: Option<Box<IoStatistics>>,
    /// Counts of the job's I/Os one by one, if they are requested.
    pub(crate) log: Option<Box<IoLog>>,
}

/// A load of one job.
struct ThreadLoad {
    /// Index of the load among those of all jobs.
    index: u16,
    bytes: u32,
    /// Classes of a read and a write.
    classes: [Class; 2],
    /// Number of commands per I/O.
    parts: u32,
    /// Time to create and submit an I/O.
    making: Nanos,
}

impl ThreadLoad {
    /// Returns the loads of job number `index` of `job`, in the order of its schedule.
    fn all(job: &Job, index: usize, costs: &StepCosts) -> Vec<ThreadLoad> {
        let places = job.first_load(index)..;
        let loads = job.loads(index).into_iter().zip(places);
        let load = |(load, place): (Load, usize)| ThreadLoad {
            index: place as u16,
            bytes: load.bs,
            classes: [Direction::Read, Direction::Write].map(|d| Class::new(d, load.bs)),
            parts: costs.parts[place],
            making: costs.app + costs.submit[place],
        };
        loads.map(load).collect()
    }
}

/// Counts of a job in the measured part.
pub(crate) struct Done {
    pub(crate) ended: Nanos,
    /// Arrivals that were due and were never issued.
    pub(crate) unissued: u64,
    /// Unissued arrivals, and those that were due beyond the job's limited number of I/Os.
    pub(crate) behind: u64,
    /// Number of times that the job's CPU was given to another thread.
    pub(crate) preempted: u64,
}

/// Returns true if the kernel only ever blocks: it has no polled queue then, and all completions raise interrupts
/// from the start. The driver's vector is masked until the first block.
fn always_interrupted(path: Path, steps: StepSet) -> bool {
    path != Path::User && steps == StepSet::NONE.with(StepKind::Block)
}

/// Returns true if the driver unmasks its vector only during blocks: its policy also has other steps, and no user
/// interrupts.
fn masks_between_blocks(path: Path, steps: StepSet) -> bool {
    path == Path::User
        && steps != StepSet::NONE.with(StepKind::Block)
        && !steps.has(StepKind::UserInterrupt)
}

impl<'a> JobThread<'a> {
    pub(crate) fn new(
        index: usize,
        job: &'a Job,
        (path, coalescing): (Path, Option<Coalescing>),
        (cpu, place): (usize, usize),
        queue: DeviceQueue,
        others: Vec<DeviceQueue>,
        costs: &StepCosts,
    ) -> JobThread<'a> {
        let policy = &queue.policy;
        JobThread {
            place,
            job,
            coalescing,
            cpu,
            oracle: None,
            timed: policy.timed(),
            fixed: policy.fixed(),
            shape: Shape::Several,
            asks_others: policy.asks_others(),
            asks_lost: policy.asks_lost(),
            armed: always_interrupted(path, policy.steps()),
            masks: masks_between_blocks(path, policy.steps()),
            user_interrupts: policy.steps().has(StepKind::UserInterrupt),
            posted: false,
            notified: false,
            can: costs.can.and(policy.steps()),
            queue,
            others,
            phase: ThreadPhase::Issue,
            wakening: Wakening::Slice { since: Nanos::ZERO },
            lacking: None,
            resumes: ThreadPhase::Issue,
            making: Nanos::ZERO,
            in_parts: costs.parts.iter().any(|parts| *parts > 1),
            loads: ThreadLoad::all(job, index, costs),
            end: job
                .runtime
                .map_or(Nanos::MAX, |runtime| job.ramp_time + runtime),
            measuring: false,
            measures_from: job.ramp_time,
            cold: None,
            chilled: false,
            announced: 0,
            counters: WaitCounters::default(),
            before: WaitCounters::default(),
            done: Done {
                ended: Nanos::ZERO,
                unissued: 0,
                behind: 0,
                preempted: 0,
            },
            own: None,
            log: None,
        }
    }

    /// Runs the job from `at` on, up to `limit` at most, as long as it has its CPU and rings no doorbell. Returns
    /// the time of its next action, or that of its end.
    #[inline]
    pub(crate) fn until(&mut self, at: Nanos, limit: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        match self.shape {
            Shape::Plain => self.until_of::<PLAIN>(at, limit, seat),
            Shape::PlainSingle => self.until_of::<PLAIN_SINGLE>(at, limit, seat),
            Shape::One => self.until_of::<ONE>(at, limit, seat),
            Shape::OneSingle => self.until_of::<ONE_SINGLE>(at, limit, seat),
            Shape::Several => self.until_of::<SEVERAL>(at, limit, seat),
        }
    }

    /// [`JobThread::until`] for one shape, without the code that the shape does not need. The phases are in their
    /// usual order, so that each leads into the next.
    #[inline(never)]
    fn until_of<const SHAPE: u8>(
        &mut self,
        mut at: Nanos,
        limit: Nanos,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let mut phase = self.phase;
        let goes_on = |phase: ThreadPhase, at: Nanos, seat: &mut Seat<'_, '_>| {
            !matches!(
                phase,
                ThreadPhase::Ring | ThreadPhase::Woken | ThreadPhase::Ended
            ) && at < limit
                && !seat.cpu.run_queue.must_give_up(at)
        };
        // The first action of a turn always runs. Ringing and waking up can only be the first.
        let begins = match phase {
            ThreadPhase::Ring => {
                (phase, at) = (ThreadPhase::Poll, self.ring::<SHAPE>(at, seat));
                true
            }
            ThreadPhase::Woken => {
                (phase, at) = self.woken::<SHAPE>(at, seat);
                true
            }
            _ => false,
        };
        if !begins || goes_on(phase, at, seat) {
            loop {
                if phase == ThreadPhase::Poll {
                    (phase, at) = self.poll::<SHAPE>(at, seat);
                    if !goes_on(phase, at, seat) {
                        break;
                    }
                }
                (phase, at) = match phase {
                    ThreadPhase::Issue => self.issue::<SHAPE>(at, seat),
                    ThreadPhase::Wait => self.wait::<SHAPE>(at, seat),
                    phase => (phase, at),
                };
                if !goes_on(phase, at, seat) {
                    break;
                }
            }
        }
        self.phase = phase;
        at
    }

    /// Runs a job that is alone on its core from `at` on, through `rings` rings of the doorbell and up to the next
    /// ring. Returns the time of that ring, or that of the job's end.
    #[inline(always)]
    pub(crate) fn until_ring(&mut self, at: Nanos, rings: u32, seat: &mut Seat<'_, '_>) -> Nanos {
        match self.shape {
            Shape::Plain => self.rings::<PLAIN>(at, rings, seat),
            Shape::PlainSingle => self.rings::<PLAIN_SINGLE>(at, rings, seat),
            Shape::One => self.rings::<ONE>(at, rings, seat),
            Shape::OneSingle => self.rings::<ONE_SINGLE>(at, rings, seat),
            Shape::Several => self.rings::<SEVERAL>(at, rings, seat),
        }
    }

    /// Returns the job's shape.
    pub(crate) fn shape(&self, costs: &StepCosts) -> Shape {
        let planned = self.fixed.is_some_and(|step| self.can.has(step.kind));
        let learns = self.timed || self.asks_others || self.asks_lost;
        let is_rare = !self.queue.schedule.is_plain();
        let more = self.coalescing.is_some() || costs.scheduler.is_some() || is_rare;
        let counts = self.oracle.is_some() || self.own.is_some() || self.log.is_some();
        let plain = planned && !learns && !more && !counts;
        match (self.others.is_empty(), plain, self.job.iodepth == 1) {
            (true, true, false) => Shape::Plain,
            (true, true, true) => Shape::PlainSingle,
            (true, false, false) => Shape::One,
            (true, false, true) => Shape::OneSingle,
            (false, _, _) => Shape::Several,
        }
    }

    /// [`JobThread::until_ring`] for one shape, without the code that the shape does not need.
    #[inline(always)]
    fn rings<const SHAPE: u8>(
        &mut self,
        mut at: Nanos,
        mut rings: u32,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        while at <= MAX_RUN_TIME {
            match self.phase {
                ThreadPhase::Ring if rings == 0 => break,
                ThreadPhase::Ring => rings -= 1,
                ThreadPhase::Ended => break,
                _ => {}
            }
            at = self.round::<SHAPE>(at, seat.cpu, seat.costs, seat.devices);
        }
        at
    }

    /// Runs the phases of an I/O in their order, from the present one on, so that each leads into the next. There
    /// is no loop here, so that the compiler prepares nothing for another round, and it sees that the core is the job's
    /// alone.
    #[inline(never)]
    fn round<const SHAPE: u8>(
        &mut self,
        at: Nanos,
        cpu: &mut Cpu,
        costs: &StepCosts,
        devices: &mut [Device<'_>],
    ) -> Nanos {
        let seat = &mut Seat::alone(cpu, costs, devices);
        let (mut phase, mut at) = (self.phase, at);
        if phase == ThreadPhase::Ring {
            (phase, at) = (ThreadPhase::Poll, self.ring::<SHAPE>(at, seat));
        }
        if phase == ThreadPhase::Poll {
            (phase, at) = self.poll::<SHAPE>(at, seat);
        }
        if phase == ThreadPhase::Wait {
            (phase, at) = self.wait::<SHAPE>(at, seat);
            if at > MAX_RUN_TIME {
                self.phase = phase;
                return at;
            }
        }
        if phase == ThreadPhase::Woken {
            (phase, at) = self.woken::<SHAPE>(at, seat);
        }
        if phase == ThreadPhase::Poll {
            (phase, at) = self.poll::<SHAPE>(at, seat);
        }
        // After a sleep the policy may plan once more for the same I/O.
        if !is_plain(SHAPE) && phase == ThreadPhase::Wait {
            (phase, at) = self.wait::<SHAPE>(at, seat);
            if phase == ThreadPhase::Poll && at <= MAX_RUN_TIME {
                (phase, at) = self.poll::<SHAPE>(at, seat);
            }
        }
        if phase == ThreadPhase::Issue {
            (phase, at) = self.issue::<SHAPE>(at, seat);
        }
        self.phase = phase;
        at
    }

    /// Returns false once the job has ended.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.phase != ThreadPhase::Ended
    }

    /// Takes the CPU from the job for another thread, at `since`.
    pub(crate) fn has_lost_its_cpu(&mut self, since: Nanos) {
        self.resumes = match self.phase {
            // Completions until then are polled when the thread has the CPU again.
            ThreadPhase::Wait => ThreadPhase::Poll,
            phase => phase,
        };
        self.phase = ThreadPhase::Woken;
        self.wakening = Wakening::Slice { since };
        self.done.preempted += u64::from(self.measuring);
    }

    #[inline(always)]
    fn issue<const SHAPE: u8>(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Next {
        if at >= self.measures_from {
            self.measures_from = Nanos::MAX;
            self.measuring = true;
            for index in 0..self.queues::<SHAPE>() {
                self.queue_mut::<SHAPE>(index).left = self.job.number_ios.unwrap_or(u64::MAX);
            }
            self.before = self.counters;
            if !is_plain(SHAPE)
                && let Some(log) = &mut self.log
            {
                log.begin(IoCounts {
                    counters: self.counters,
                    preemptions: self.done.preempted,
                    run_delay: seat.cpu.run_queue.run_delay(self.place),
                });
            }
        }
        let issuing = at < self.end && self.has_more::<SHAPE>();
        if issuing {
            for index in 0..self.queues::<SHAPE>() {
                self.make::<SHAPE>(index, at, seat);
                let queue = self.queue_mut::<SHAPE>(index);
                if SHAPE == SEVERAL && queue.left == 0 {
                    queue.schedule.all_issued(at);
                }
            }
        }
        if !self.has_made::<SHAPE>() {
            if !self.has_out::<SHAPE>() && !issuing {
                self.done.ended = at;
                self.done.unissued = self.due(at, |queue| queue.left);
                // No more than the number of I/Os of the job is counted.
                let most = self.job.number_ios.unwrap_or(u64::MAX);
                self.done.behind = self.due(at, |_| most);
                return (ThreadPhase::Ended, at);
            }
            return (ThreadPhase::Poll, at);
        }
        let mut work = seat.costs.enter.plus(std::mem::take(&mut self.making));
        if !is_plain(SHAPE)
            && let Some(scheduler) = &seat.costs.scheduler
        {
            let cost = &scheduler[usize::from(self.chilled)];
            for index in 0..self.queues::<SHAPE>() {
                let made = self.queue::<SHAPE>(index).in_flight.made();
                let sides = made.map(InFlightIo::side);
                work += sides.fold(Nanos::ZERO, |sum, side| sum + cost.before[side]);
            }
        }
        (ThreadPhase::Ring, seat.work(at, work))
    }

    /// Returns the number of arrivals that were due by `at` and not issued, at most `max` of each queue.
    fn due(&self, at: Nanos, max: impl Fn(&DeviceQueue) -> u64) -> u64 {
        let end = self.end.min(at);
        let left = |queue: &DeviceQueue| queue.schedule.clone().left(end, max(queue));
        left(&self.queue) + self.others.iter().map(left).sum::<u64>()
    }

    /// Creates all I/Os that are due and have room on queue `index`.
    #[inline(always)]
    fn make<const SHAPE: u8>(&mut self, index: usize, at: Nanos, seat: &Seat<'_, '_>) {
        let measured = self.measuring;
        let queue = match SHAPE != SEVERAL || index == 0 {
            true => &mut self.queue,
            false => &mut self.others[index - 1],
        };
        if !is_plain(SHAPE) && queue.schedule.stalls() && queue.in_flight.is_empty() {
            queue.schedule.drained(at);
        }
        while queue.in_flight.has_room::<SHAPE>() && queue.left > 0 {
            let due = match is_plain(SHAPE) {
                true => queue.schedule.due_plain(at),
                false => queue.schedule.due(at),
            };
            let Some(due) = due else {
                break;
            };
            let load = &self.loads[due.load];
            // The time to create an I/O is not part of its latency.
            let app = if due.closed {
                seat.costs.app
            } else {
                Nanos::ZERO
            };
            let io = queue.in_flight.make::<SHAPE>();
            io.arrival = due.arrival.plus(app);
            io.write = due.direction == Direction::Write;
            io.class = load.classes[io.side()];
            io.load = due.load as u16;
            if !is_plain(SHAPE) {
                io.closed = due.closed;
            }
            io.measured = measured;
            self.making = self.making.plus(load.making);
            queue.left -= 1;
            if is_single(SHAPE) {
                break;
            }
        }
    }

    /// Rings the doorbells, under the scheduler's lock if there is a scheduler; returns the time at which that
    /// ends.
    #[inline(always)]
    fn ring<const SHAPE: u8>(&mut self, mut at: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        let scheduler = seat.costs.scheduler.filter(|_| !is_plain(SHAPE));
        let locked = scheduler.map(|cost| cost[usize::from(self.chilled)].locked);
        let start = at;
        for index in 0..self.queues::<SHAPE>() {
            at = self.ring_one::<SHAPE>(index, at, locked, seat);
        }
        if at > start {
            seat.cpu.spend(start, at - start, seat.costs.work);
        }
        match seat.costs.rung {
            Nanos::ZERO => at,
            rung => seat.work(at, rung),
        }
    }

    /// Rings the doorbell of queue `index`, holding the scheduler's lock for the given times of a read and of a
    /// write; returns the time at which that ends.
    #[inline(always)]
    fn ring_one<const SHAPE: u8>(
        &mut self,
        index: usize,
        mut at: Nanos,
        locked: Option<[Nanos; 2]>,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let timed = !is_plain(SHAPE) && self.timed;
        let queue = match SHAPE != SEVERAL || index == 0 {
            true => &mut self.queue,
            false => &mut self.others[index - 1],
        };
        let device = &mut seat.devices[queue.device];
        while queue.in_flight.has_made() {
            let rung = at;
            let io = queue.in_flight.start::<SHAPE>(|io| {
                if let Some(locked) = locked {
                    at = device.lock(at, locked[io.side()]);
                }
                let load = self.loads[usize::from(io.load)].index;
                let finish = device.submit(at, io.side(), usize::from(load));
                (if timed { at } else { Nanos::ZERO }, finish)
            });
            if timed {
                let made = io.arrival + self.loads[usize::from(io.load)].making;
                if !io.closed && rung > made {
                    queue.policy.waited(rung - made, at);
                }
                queue.policy.submitted(io.class, at);
            }
            if is_single(SHAPE) {
                break;
            }
        }
        at
    }

    /// Reports to each queue's policy that the core woke at `at`, as a real poll group does, and whether a
    /// completion was there.
    pub(crate) fn woke<const SHAPE: u8>(&mut self, at: Nanos) {
        if self.timed {
            for index in 0..self.queues::<SHAPE>() {
                let queue = self.queue_mut::<SHAPE>(index);
                let slept = match queue.in_flight.first() <= at {
                    true => Slept::Over,
                    false => Slept::Under,
                };
                queue.policy.woke(slept, at);
            }
        }
    }

    /// Returns the number of completions that one interrupt may announce.
    pub(crate) fn threshold(&self) -> u64 {
        self.coalescing.map_or(1, |c| u64::from(c.threshold))
    }

    /// Returns the latest end of a wait for completions: the next arrival that can be submitted, or the next action
    /// that needs no completion.
    #[inline(always)]
    pub(crate) fn deadline<const SHAPE: u8>(&self, at: Nanos) -> Nanos {
        let mut next = Nanos::MAX;
        for index in 0..self.queues::<SHAPE>() {
            let queue = self.queue::<SHAPE>(index);
            if queue.in_flight.has_room::<SHAPE>() && queue.left > 0 && at < self.end {
                next = next.min(queue.schedule.next());
            }
        }
        if next == Nanos::MAX {
            return next;
        }
        let turn = if self.measuring {
            self.end
        } else {
            self.job.ramp_time
        };
        next.min(turn)
    }

    /// Returns the counters of the measured part.
    pub(crate) fn counted(&self) -> WaitCounters {
        self.counters - self.before
    }
}
