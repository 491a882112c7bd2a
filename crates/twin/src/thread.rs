//! A job: the run loop, in virtual time.
//!
//! It is the loop of a real job: send out what is due, poll, wait as the policy says, take in what
//! ended. Between two rings of the doorbell it touches nobody but its CPU, so that one call of
//! [`JobThread::step`] does all of that at once.

mod poll;

use crate::TwinError;
use crate::in_flight::InFlight;
use crate::oracle::OracleState;
use crate::path::Path;
use crate::setup::Coalescing;
use crate::world::World;
use joulio_job::{IoStatistics, Job, Schedule};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Counters, Outstanding, Policy, Slept, StepKind, StepSet};

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
    Woken(Wakening),
}

/// Event that wakes a job that gave its CPU away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakening {
    /// Another thread was given the CPU at `since`, or had it from the start; the job did not give
    /// it away by itself.
    Slice { since: Nanos },
    /// A sleep that began at `start` and was to end at `until`.
    Timer { start: Nanos, until: Nanos },
    /// A block that began at `start`; the interrupt came, or its time was over.
    Block { start: Nanos, interrupted: bool },
}

pub(crate) struct JobThread<'a> {
    pub(crate) index: usize,
    pub(crate) job: &'a Job,
    pub(crate) coalescing: Option<Coalescing>,
    pub(crate) cpu: usize,
    pub(crate) device: usize,
    pub(crate) policy: AnyPolicy,
    /// Waits in place of the policy.
    pub(crate) oracle: Option<OracleState>,
    pub(crate) timed: bool,
    /// True if the policy is told before each wait who else is runnable.
    pub(crate) asks_others: bool,
    /// True if the policy is told what time the job loses to others.
    pub(crate) asks_lost: bool,
    /// Completions raise interrupts that the kernel takes: the driver's vector is unmasked, or what
    /// is out went to a queue of the kernel's that has interrupts.
    pub(crate) armed: bool,
    /// True if a block leaves that as it was before it: the driver's vector is masked again.
    pub(crate) masks: bool,
    /// True if interrupts come straight to the thread.
    pub(crate) user_interrupts: bool,
    pub(crate) in_flight: InFlight,
    pub(crate) phase: ThreadPhase,
    /// Phase that it goes on with when it has its CPU again, which was taken from it.
    pub(crate) resumes: ThreadPhase,
    /// I/Os that are made and not with the device.
    made: Vec<u16>,
    /// The measured I/Os of one poll: whether each wrote, its bytes, and when it arrived.
    ended: Vec<(bool, u32, Nanos)>,
    /// Time that it takes to make and submit the I/Os in `made`.
    making: Nanos,
    schedule: Schedule,
    /// Bytes of an I/O, by load.
    sizes: Vec<u32>,
    /// Place of the job's first load among those of all jobs.
    first_load: usize,
    end: Nanos,
    issued: u64,
    pub(crate) measuring: bool,
    /// The CPU was idle since the last completion, for so long at most.
    pub(crate) cold: Option<Nanos>,
    /// True if the CPU was idle before the last completion.
    chilled: bool,
    /// Completions whose interrupt has been paid for.
    pub(crate) announced: u64,
    pub(crate) counters: Counters,
    before: Counters,
    pub(crate) done: Done,
}

/// Counts of what a job did in the measured part.
pub(crate) struct Done {
    pub(crate) ended: Nanos,
    pub(crate) read: IoStatistics,
    pub(crate) write: IoStatistics,
    /// Arrivals that were due and never issued.
    pub(crate) unissued: u64,
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
        (cpu, device): (usize, usize),
        policy: AnyPolicy,
        schedule: Schedule,
    ) -> JobThread<'a> {
        JobThread {
            index,
            job,
            coalescing,
            cpu,
            device,
            oracle: None,
            timed: policy.timed(),
            asks_others: policy.asks_others(),
            asks_lost: policy.asks_lost(),
            armed: always_interrupted(path, policy.steps()),
            masks: masks_between_blocks(path, policy.steps()),
            user_interrupts: policy.steps().has(StepKind::UserInterrupt),
            policy,
            in_flight: InFlight::new(job.iodepth),
            phase: ThreadPhase::Issue,
            resumes: ThreadPhase::Issue,
            made: Vec::with_capacity(job.iodepth),
            ended: Vec::with_capacity(job.iodepth),
            making: Nanos::ZERO,
            schedule,
            sizes: job.all_loads().iter().map(|load| load.bs).collect(),
            first_load: job.first_load(index),
            end: job
                .runtime
                .map_or(Nanos::MAX, |runtime| job.ramp_time + runtime),
            issued: 0,
            measuring: false,
            cold: None,
            chilled: false,
            announced: 0,
            counters: Counters::default(),
            before: Counters::default(),
            done: Done {
                ended: Nanos::ZERO,
                read: IoStatistics::new(),
                write: IoStatistics::new(),
                unissued: 0,
                preempted: 0,
            },
        }
    }

    /// Does the next thing at `at`; when the one after is to be done, or nothing more.
    #[inline]
    pub(crate) fn step(
        &mut self,
        at: Nanos,
        world: &mut World<'_>,
    ) -> Result<Option<Nanos>, TwinError> {
        match self.phase {
            ThreadPhase::Issue => Ok(self.issue(at, world)),
            ThreadPhase::Ring => Ok(Some(self.ring(at, world))),
            ThreadPhase::Poll => Ok(Some(self.poll(at, world))),
            ThreadPhase::Wait => self.wait(at, world).map(Some),
            ThreadPhase::Woken(how) => Ok(Some(self.woken(how, at, world))),
        }
    }

    /// Returns true if the job has given its CPU away.
    pub(crate) fn is_off(&self) -> bool {
        matches!(self.phase, ThreadPhase::Woken(_))
    }

    /// Its CPU is taken for another thread, at `since`.
    pub(crate) fn preempted(&mut self, since: Nanos) {
        self.resumes = match self.phase {
            // What completes meanwhile is there when it is back.
            ThreadPhase::Wait => ThreadPhase::Poll,
            phase => phase,
        };
        self.phase = ThreadPhase::Woken(Wakening::Slice { since });
        self.done.preempted += u64::from(self.measuring);
    }

    fn issue(&mut self, at: Nanos, world: &mut World<'_>) -> Option<Nanos> {
        if !self.measuring && at >= self.job.ramp_time {
            self.measuring = true;
            self.issued = 0;
            self.before = self.counters;
        }
        let issuing = self.issuing(at);
        if issuing {
            self.make(at, world);
        }
        if self.made.is_empty() {
            if self.in_flight.count() == 0 && !issuing {
                self.done.ended = at;
                let wanted = self
                    .job
                    .number_ios
                    .map_or(u64::MAX, |n| n - self.issued.min(n));
                self.done.unissued = self.schedule.clone().left(self.end.min(at), wanted);
                return None;
            }
            self.phase = ThreadPhase::Poll;
            return Some(at);
        }
        let mut work = world.costs.enter + std::mem::take(&mut self.making);
        if let Some(scheduler) = &world.costs.scheduler {
            let cost = &scheduler[usize::from(self.chilled)];
            let sides = self.made.iter().map(|tag| self.in_flight.get(*tag).side());
            work += sides.fold(Nanos::ZERO, |sum, side| sum + cost.before[side]);
        }
        self.phase = ThreadPhase::Ring;
        Some(world.work(self.cpu, at, work))
    }

    fn issuing(&self, at: Nanos) -> bool {
        let enough = self.measuring && self.job.number_ios.is_some_and(|n| self.issued >= n);
        at < self.end && !enough
    }

    /// Makes all that is due and has room.
    fn make(&mut self, at: Nanos, world: &World<'_>) {
        let limit = self.job.number_ios.filter(|_| self.measuring);
        while self.in_flight.has_room() && limit.is_none_or(|n| self.issued < n) {
            let Some(mut due) = self.schedule.due(at) else {
                break;
            };
            due.load += self.first_load;
            if due.closed {
                // Making it is not the I/O's time.
                due.arrival += world.costs.app;
            }
            self.making += world.costs.app + world.costs.submit[due.load];
            if let Some(tag) = self.in_flight.take(due, self.measuring) {
                self.made.push(tag);
            }
            self.issued += 1;
        }
    }

    /// Rings, once the scheduler's lock is had; when that is done.
    fn ring(&mut self, mut at: Nanos, world: &mut World<'_>) -> Nanos {
        let scheduler = &world.costs.scheduler;
        let locked = scheduler.map(|cost| cost[usize::from(self.chilled)].locked);
        let start = at;
        let device = &mut world.devices[self.device];
        for &tag in &self.made {
            let io = self.in_flight.get(tag);
            let class = io.class;
            let made = io.arrival + world.costs.app + world.costs.submit[io.load];
            let waited = if io.closed { Nanos::ZERO } else { at - made };
            if let Some(locked) = locked {
                at = device.lock(at, locked[io.side()]);
            }
            let finish = device.submit(at, io.direction, io.load);
            let submitted = if self.timed { at } else { Nanos::ZERO };
            self.in_flight.start(tag, submitted, finish);
            if self.timed {
                if waited > Nanos::ZERO {
                    self.policy.waited(waited, at);
                }
                self.policy.submitted(class, at);
            }
        }
        self.made.clear();
        self.phase = ThreadPhase::Poll;
        if at > start {
            world.cpus[self.cpu].spend(start, at - start, world.costs.work);
        }
        match world.costs.rung {
            Nanos::ZERO => at,
            rung => world.work(self.cpu, at, rung),
        }
    }

    /// Reports to the policy that the core woke at `at`, where a real poll group does it; a
    /// completion was there, or not.
    pub(crate) fn woke(&mut self, over: bool, at: Nanos) {
        if self.timed {
            let slept = if over { Slept::Over } else { Slept::Under };
            self.policy.woke(slept, at);
        }
    }

    /// Completions that one interrupt may announce.
    pub(crate) fn threshold(&self) -> u64 {
        self.coalescing.map_or(1, |c| u64::from(c.threshold))
    }

    /// Until when to wait for a completion: the next arrival that can go out, and the next thing to
    /// be done without one.
    pub(crate) fn deadline(&self, at: Nanos) -> Nanos {
        let next = self.schedule.next();
        if next == Nanos::MAX || !self.in_flight.has_room() || !self.issuing(at) {
            return Nanos::MAX;
        }
        let turn = if self.measuring {
            self.end
        } else {
            self.job.ramp_time
        };
        next.min(turn)
    }

    /// Returns what was counted in the measured part.
    pub(crate) fn counted(&self) -> Counters {
        self.counters - self.before
    }
}
