//! A job: the run loop, in virtual time.
//!
//! It is the loop of a real job: submit the I/Os that are due, poll, wait as the policy plans, take in completions.
//! Between two rings of the doorbell it affects only its CPU, so that one call of [`JobThread::step`] simulates all
//! of that at once.

mod poll;
mod queue;

pub(crate) use queue::DeviceQueue;

use crate::in_flight::InFlightIo;
use crate::io_log::{IoCounts, IoLog};
use crate::oracle::OracleState;
use crate::path::Path;
use crate::seat::Seat;
use crate::setup::Coalescing;
use crate::step_costs::StepCosts;
use crate::stop::LONGEST;
use joulio_job::{IoStatistics, Job, Load};
use joulio_units::{Direction, Nanos};
use joulio_wait::{Class, Policy, Slept, Step, StepKind, StepSet, WaitCounters};

/// Phase of a job: what it does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadPhase {
    /// Makes the I/Os that are due, with the CPU.
    Issue,
    /// Rings the doorbell.
    Ring,
    /// Polls the completion queue, with the CPU.
    Poll,
    /// Waits, with the CPU.
    Wait,
    /// Wants its CPU back.
    Woken,
    /// The thread has ended: no I/O is left to issue.
    Ended,
}

/// Features that a job's loop needs; the loop for each shape does no more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One device, and nothing beyond times: the policy's only step is planned for every wait and no policy is told
    /// of events, interrupts come at once, the job neither stalls nor draws sizes, and there is no scheduler.
    Plain,
    /// One device, with any feature.
    One,
    /// Several devices, with any feature.
    Several,
}

/// [`Shape`]s, as parameters of functions.
pub(crate) const PLAIN: u8 = 0;
pub(crate) const ONE: u8 = 1;
pub(crate) const SEVERAL: u8 = 2;

/// Next action of a job, and its time.
pub(crate) type Next = (ThreadPhase, Nanos);

/// Event that wakes a job that gave its CPU away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakening {
    /// The end of another thread's slice: that thread had the CPU from `since` on, and the job did not give the CPU
    /// away by itself.
    Slice { since: Nanos },
    /// A sleep that began at `start` and was to end at `until`.
    Timer { start: Nanos, until: Nanos },
    /// A block that began at `start`; the interrupt came, or its time was over.
    Block { start: Nanos, interrupted: bool },
}

pub(crate) struct JobThread<'a> {
    /// Place among the threads of its core.
    pub(crate) place: usize,
    pub(crate) job: &'a Job,
    pub(crate) coalescing: Option<Coalescing>,
    pub(crate) cpu: usize,
    pub(crate) queue: DeviceQueue,
    /// Queues for the thread's further devices, in one poll group with the first, by policies of
    /// the same kind.
    pub(crate) others: Vec<DeviceQueue>,
    /// The steps that the policy may plan and the machine has.
    pub(crate) can: StepSet,
    /// Waits in place of the policy.
    pub(crate) oracle: Option<OracleState>,
    pub(crate) timed: bool,
    /// Step that the policy plans for every wait.
    pub(crate) fixed: Option<Step>,
    pub(crate) shape: Shape,
    /// True if the policy asks before each wait which other threads are runnable.
    pub(crate) asks_others: bool,
    /// True if the policy asks for the time that the job loses to others.
    pub(crate) asks_lost: bool,
    /// Completions raise interrupts that the kernel takes: the driver's vector is unmasked, or what
    /// is out went to a queue of the kernel's that has interrupts.
    pub(crate) armed: bool,
    /// True if a block leaves that as it was before it: the driver's vector is masked again.
    pub(crate) masks: bool,
    /// True if interrupts come straight to the thread.
    pub(crate) user_interrupts: bool,
    /// True if those of several devices are posted into one descriptor.
    pub(crate) posted: bool,
    /// True if the descriptor's notification is out (its bit ON): no other comes until the kernel has
    /// cleared it.
    pub(crate) notified: bool,
    pub(crate) phase: ThreadPhase,
    /// Event that woke it last, or will.
    pub(crate) wakening: Wakening,
    /// Step that the policy planned and did not announce, or the machine lacks: it ended the job.
    pub(crate) lacking: Option<StepKind>,
    /// Phase with which the job goes on when it gets back the CPU that was taken from it.
    pub(crate) resumes: ThreadPhase,
    /// Time that it takes to make and submit the I/Os that are not with the device yet.
    making: Nanos,
    loads: Vec<ThreadLoad>,
    /// True if I/Os of some load go out in several commands.
    in_parts: bool,
    end: Nanos,
    pub(crate) measuring: bool,
    /// Time at which the measured part begins; never, once it has.
    measures_from: Nanos,
    /// The CPU was idle since the last completion, for so long at most.
    pub(crate) cold: Option<Nanos>,
    /// True if the CPU was idle before the last completion.
    chilled: bool,
    /// Completions whose interrupt has been paid for.
    pub(crate) announced: u64,
    pub(crate) counters: WaitCounters,
    before: WaitCounters,
    pub(crate) done: Done,
    /// The job's own I/Os, where each job is to be known by itself.
    pub(crate) own: Option<Box<IoStatistics>>,
    /// The job's I/Os one by one, where they are to be known.
    pub(crate) log: Option<Box<IoLog>>,
}

/// A load, as one job does it.
struct ThreadLoad {
    /// Place of the load among those of all jobs.
    index: u16,
    bytes: u32,
    /// Classes of a read and a write.
    classes: [Class; 2],
    /// Commands that an I/O goes out in.
    parts: u32,
    /// Time that it takes to make and submit an I/O.
    making: Nanos,
}

impl ThreadLoad {
    /// Loads of job `index` of `job`, in the order of its schedule.
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
    /// Arrivals that were due and never issued.
    pub(crate) unissued: u64,
    /// Unissued arrivals, and those beyond the I/Os that the job was to do.
    pub(crate) behind: u64,
    /// Times that the job's CPU was taken for another.
    pub(crate) preempted: u64,
}

/// A kernel that only ever blocks has no polled queue: all its completions raise interrupts, from
/// the first on. The driver's vector is masked until the first block.
fn always_interrupted(path: Path, steps: StepSet) -> bool {
    path != Path::User && steps == StepSet::NONE.with(StepKind::Block)
}

/// The driver's vector is unmasked only during blocks, where the policy has other steps too and takes no
/// user interrupts.
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
    /// when its next action is due, or when the job has ended.
    #[inline]
    pub(crate) fn until(&mut self, at: Nanos, limit: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        match self.shape {
            Shape::Plain => self.until_of::<PLAIN>(at, limit, seat),
            Shape::One => self.until_of::<ONE>(at, limit, seat),
            Shape::Several => self.until_of::<SEVERAL>(at, limit, seat),
        }
    }

    /// [`JobThread::until`] for one shape, without the features that the shape does not need. The phases are in their
    /// order, so that each knows the next.
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
        // The beginning of a turn is run in any case; all phases but these two may be preceded by other threads.
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

    /// Runs a job that is alone on its core from `at` on, through `rings` rings of the doorbell and up to the ring
    /// after these. Returns when that ring is due, or when the job has ended.
    #[inline(always)]
    pub(crate) fn until_ring(&mut self, at: Nanos, rings: u32, seat: &mut Seat<'_, '_>) -> Nanos {
        match self.shape {
            Shape::Plain => self.rings::<PLAIN>(at, rings, seat),
            Shape::One => self.rings::<ONE>(at, rings, seat),
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
        match (
            self.others.is_empty(),
            planned && !learns && !more && !counts,
        ) {
            (true, true) => Shape::Plain,
            (true, false) => Shape::One,
            (false, _) => Shape::Several,
        }
    }

    /// [`JobThread::until_ring`] for one shape, without the features that the shape does not need.
    #[inline(always)]
    fn rings<const SHAPE: u8>(
        &mut self,
        mut at: Nanos,
        mut rings: u32,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        while at <= LONGEST && self.phase != ThreadPhase::Ended {
            if self.phase == ThreadPhase::Ring {
                if rings == 0 {
                    break;
                }
                rings -= 1;
            }
            at = self.round::<SHAPE>(at, seat);
        }
        at
    }

    /// The phases of an I/O in their order, from the present one on, so that each knows the next. No
    /// loop, so that nothing is made ready for another round.
    #[inline(never)]
    fn round<const SHAPE: u8>(&mut self, at: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        let (mut phase, mut at) = (self.phase, at);
        if phase == ThreadPhase::Ring {
            (phase, at) = (ThreadPhase::Poll, self.ring::<SHAPE>(at, seat));
        }
        if phase == ThreadPhase::Poll {
            (phase, at) = self.poll::<SHAPE>(at, seat);
        }
        if phase == ThreadPhase::Wait {
            (phase, at) = self.wait::<SHAPE>(at, seat);
            if at > LONGEST {
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
        if phase == ThreadPhase::Issue {
            (phase, at) = self.issue::<SHAPE>(at, seat);
        }
        self.phase = phase;
        at
    }

    /// Returns false once the job has nothing more to do.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.phase != ThreadPhase::Ended
    }

    /// Takes the CPU away for another thread, at `since`.
    pub(crate) fn has_lost_its_cpu(&mut self, since: Nanos) {
        self.resumes = match self.phase {
            // Completions until then are there when it is back.
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
            if SHAPE != PLAIN
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
                    queue.all_issued = queue.all_issued.min(at);
                }
            }
        }
        if !self.has_made::<SHAPE>() {
            if !self.has_out::<SHAPE>() && !issuing {
                self.done.ended = at;
                self.done.unissued = self.due(at, |queue| queue.left);
                // As many as the job is to do are enough.
                let most = self.job.number_ios.unwrap_or(u64::MAX);
                self.done.behind = self.due(at, |_| most);
                return (ThreadPhase::Ended, at);
            }
            return (ThreadPhase::Poll, at);
        }
        let mut work = seat.costs.enter + std::mem::take(&mut self.making);
        if SHAPE != PLAIN
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

    /// Returns the arrivals that are due by `at` and were not issued, at most `max` of each queue.
    fn due(&self, at: Nanos, max: impl Fn(&DeviceQueue) -> u64) -> u64 {
        let end = self.end.min(at);
        let left = |queue: &DeviceQueue| {
            let end = end.min(queue.all_issued);
            queue.schedule.clone().left(end, max(queue))
        };
        left(&self.queue) + self.others.iter().map(left).sum::<u64>()
    }

    /// Makes all that is due and has room on queue `index`.
    #[inline(always)]
    fn make<const SHAPE: u8>(&mut self, index: usize, at: Nanos, seat: &Seat<'_, '_>) {
        let measured = self.measuring;
        let queue = match SHAPE != SEVERAL || index == 0 {
            true => &mut self.queue,
            false => &mut self.others[index - 1],
        };
        if SHAPE != PLAIN && queue.schedule.stalls() && queue.in_flight.is_empty() {
            queue.schedule.drained(at);
        }
        while queue.in_flight.has_room() && queue.left > 0 {
            let due = match SHAPE {
                PLAIN => queue.schedule.due_plain(at),
                _ => queue.schedule.due(at),
            };
            let Some(due) = due else {
                break;
            };
            let load = &self.loads[due.load];
            // Making it is not the I/O's time.
            let app = if due.closed {
                seat.costs.app
            } else {
                Nanos::ZERO
            };
            let io = queue.in_flight.make();
            io.arrival = due.arrival + app;
            io.class = load.classes[usize::from(due.direction == Direction::Write)];
            io.load = due.load as u16;
            io.closed = due.closed;
            io.measured = measured;
            self.making += load.making;
            queue.left -= 1;
        }
    }

    /// Rings, once the scheduler's lock is had; when that is done.
    #[inline(always)]
    fn ring<const SHAPE: u8>(&mut self, mut at: Nanos, seat: &mut Seat<'_, '_>) -> Nanos {
        let scheduler = seat.costs.scheduler.filter(|_| SHAPE != PLAIN);
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

    /// Rings the doorbell of queue `index`, under the scheduler's lock for so long for a read and a write;
    /// when that is done.
    #[inline(always)]
    fn ring_one<const SHAPE: u8>(
        &mut self,
        index: usize,
        mut at: Nanos,
        locked: Option<[Nanos; 2]>,
        seat: &mut Seat<'_, '_>,
    ) -> Nanos {
        let timed = SHAPE != PLAIN && self.timed;
        let queue = match SHAPE != SEVERAL || index == 0 {
            true => &mut self.queue,
            false => &mut self.others[index - 1],
        };
        let device = &mut seat.devices[queue.device];
        while queue.in_flight.has_made() {
            let rung = at;
            let io = queue.in_flight.start(|io| {
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
        }
        at
    }

    /// Reports to each queue's policy that the core woke at `at`, where a real poll group does it; a
    /// completion was there, or not.
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

    /// Completions that one interrupt may announce.
    pub(crate) fn threshold(&self) -> u64 {
        self.coalescing.map_or(1, |c| u64::from(c.threshold))
    }

    /// Returns how long to wait for a completion at most: until the next arrival that can go out, or the next action
    /// that needs no completion.
    #[inline(always)]
    pub(crate) fn deadline<const SHAPE: u8>(&self, at: Nanos) -> Nanos {
        let mut next = Nanos::MAX;
        for index in 0..self.queues::<SHAPE>() {
            let queue = self.queue::<SHAPE>(index);
            if queue.in_flight.has_room() && queue.left > 0 && at < self.end {
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

    /// Returns what was counted in the measured part.
    pub(crate) fn counted(&self) -> WaitCounters {
        self.counters - self.before
    }
}
