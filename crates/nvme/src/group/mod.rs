//! A poll group: the queues that one core waits on.

mod blocking;
mod cache_line;
mod core;
mod event_loop;
mod idle;
mod queues;
mod received;
mod sharing;
mod tick;
mod trial;
mod waiting;

pub use cache_line::SharedCacheLine;
pub use event_loop::EventGroup;
pub use queues::{Queues, UsualQueue};

use self::blocking::Blocking;
use self::received::{Change, Received};
use self::sharing::Sharing;
use crate::queue::{Completed, Faults, QueuePair};
use crate::{NvmeError, PolicyError};
use joulio_device::{Device, Vector};
use joulio_units::Nanos;
use joulio_wait::{BusyThread, RunDelay, Step, WaitCounters, Waiter, Waker};

/// Queues that one core waits on. The core waits, not the queue: the steps that the queues'
/// policies plan are merged into one.
///
/// The group also checks its queues, several times a second while commands are outstanding: lost
/// interrupts are found, user interrupts that were taken away are bound again, commands that take
/// too long are aborted, a controller that fails is reset ([`ControllerOptions`](crate::ControllerOptions)).
pub struct PollGroup<D: Device> {
    queues: Queues<D>,
    waiter: Waiter,
    /// Queues whose user interrupts the waiter takes.
    received: Received,
    /// Blocks and sleeps; the waiter counts its own steps.
    counters: WaitCounters,
    /// Queues and vectors that a block waits for.
    blocking: Blocking,
    /// Cache line that all queues' interrupts write, once several queues are to be watched.
    line: Option<Result<SharedCacheLine, PolicyError>>,
    /// The thread that waits, while a device of these queues is a thread of this process too.
    busy: Option<BusyThread>,
    /// Time of the next check of the queues.
    next_tick: Nanos,
    /// Time that the thread was ready and did not run.
    run_delay: RunDelay,
    /// Calls of [`PollGroup::reap`] until the clock is read.
    calls_left: u32,
    /// Facts of the queues and their policies, as of when they were read last.
    known: Known,
    /// Handle by which other threads end the wait of a reactor's group.
    waker: Option<Waker>,
    /// A wait must end on time, and so does not use the kernel.
    sharp: bool,
    /// Knows whether other threads want the core; of a reactor's group.
    sharing: Option<Sharing>,
}

/// Facts about the queues' policies, which hold until a policy changes.
#[derive(Clone, Copy)]
struct Known {
    /// Identifiers given to policies of this process when they were read.
    policy_ids_given: u64,
    /// Step that all queues plan, always.
    fixed: Option<Step>,
    /// At least one policy or trace records times.
    timed: bool,
    /// At least one policy asks for the time that the thread loses.
    asks_lost: bool,
}

impl Known {
    const NOTHING: Known = Known {
        policy_ids_given: u64::MAX,
        fixed: None,
        timed: false,
        asks_lost: false,
    };
}

/// Next thing to do after a wait.
enum Next {
    /// Poll the queues.
    Poll,
    /// Poll the queues that the block found interrupted.
    Interrupted,
    /// Check the queues, at this time.
    Tick(Nanos),
    /// Return: there is nothing left to wait for.
    Return,
}

/// Number of calls between two readings of the clock in a group that never has to wait.
const CALLS: u32 = 4096;

impl<D: Device> PollGroup<D> {
    /// Creates a group of `queues`; one queue is a group of one.
    pub fn new(queues: Vec<QueuePair<D>>) -> PollGroup<D> {
        let mut group = PollGroup {
            queues: Queues::new(queues),
            waiter: Waiter::new(),
            received: Received::default(),
            counters: WaitCounters::default(),
            blocking: Blocking::default(),
            line: None,
            busy: None,
            next_tick: Nanos::ZERO,
            run_delay: RunDelay::default(),
            calls_left: CALLS,
            known: Known::NOTHING,
            waker: None,
            sharp: false,
            sharing: None,
        };
        group.joined();
        group
    }

    /// Creates a group without queues, for a reactor: `waker` ends its waits, and it gives the core to other threads
    /// that want it.
    pub(crate) fn of_reactor(waker: Waker) -> PollGroup<D> {
        let mut group = PollGroup::new(Vec::new());
        group.waker = Some(waker);
        group.sharing = Some(Sharing::default());
        group
    }

    /// Returns whether another thread has woken the core since the last check.
    #[inline]
    fn is_woken(&self) -> bool {
        self.waker.as_ref().is_some_and(Waker::is_woken)
    }

    /// The queues, in the order in which they joined.
    #[inline]
    pub fn queues(&mut self) -> &mut Queues<D> {
        &mut self.queues
    }

    /// Adds a queue.
    ///
    /// # Panics
    /// When the group is a reactor's: [`Reactor::add`](crate::Reactor::add) brings a queue's poller with it.
    pub fn push(&mut self, queue: QueuePair<D>) {
        self.check_free();
        self.join(queue);
    }

    /// Panics for a reactor's group, whose queues are known by their places.
    fn check_free(&self) {
        let free = self.waker.is_none();
        assert!(free, "a reactor's queues are its pollers' to the end");
    }

    pub(crate) fn join(&mut self, queue: QueuePair<D>) {
        self.queues.push(queue);
        // The next wait takes the queue's user interrupt too, if it uses them.
        self.release();
        self.joined();
    }

    /// Removes queue `index`; the queues after it move up by one. The queue keeps its policy and its commands, which
    /// may be outstanding, and can join another group or thread.
    ///
    /// # Errors
    /// Its interrupt was redirected ([`PollGroup::redirect`]) and cannot be restored; then it stays.
    ///
    /// # Panics
    /// When there is no such queue, or the group is a reactor's: the completions of the queues after it would reach
    /// other pollers.
    pub fn remove(&mut self, index: usize) -> Result<QueuePair<D>, PolicyError> {
        self.check_free();
        self.queues.all_mut()[index].restore_vector()?;
        // Another of the remaining queues may have its interrupts without the kernel now.
        self.release();
        self.line = None;
        let queue = self.queues.remove(index);
        self.joined();
        Ok(queue)
    }

    fn joined(&mut self) {
        self.blocking.reserve(self.queues.len());
        self.forget_known();
        self.register();
    }

    /// Registers the calling thread as the one that waits, where a device is a thread of this process that spins: the
    /// two must not wait for each other on one CPU.
    fn register(&mut self) {
        let mut queues = self.queues.iter();
        let in_process = queues.any(|queue| queue.device().spins_in_process());
        // First: the old registration is of the same thread, or of one that waits no more.
        self.busy = None;
        self.busy = in_process.then(BusyThread::register);
        self.share_cpu();
    }

    /// Decides whether a spin yields its CPU, now and at each check: other threads come and go.
    fn share_cpu(&mut self) {
        let wanted = self.sharing.as_ref().is_some_and(Sharing::is_wanted);
        if self.busy.is_some() {
            self.waiter.set_yields(wanted || BusyThread::are_too_many());
        } else if self.sharing.is_some() {
            self.waiter.set_yields(wanted);
        }
    }

    /// Returns the number of commands outstanding on all queues.
    pub fn outstanding(&self) -> usize {
        self.queues.active().map(QueuePair::outstanding).sum()
    }

    /// Returns the counts of the core and all its queues since they were made.
    pub fn counters(&mut self) -> WaitCounters {
        self.waiter.keep_binding();
        let mut counters = self.counters;
        counters += self.waiter.counters();
        self.queues.settle();
        for queue in self.queues.all_mut() {
            counters += queue.counters();
        }
        counters
    }

    /// Returns the faults of the devices, all queues together.
    pub fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        for queue in self.queues.iter() {
            faults += queue.faults();
        }
        faults
    }

    /// Returns the instruction of the group's user-level waits, `tpause` or `mwaitx`, if this machine has one.
    pub fn user_level_wait(&self) -> Option<&'static str> {
        self.waiter.user_level_wait()
    }

    /// Makes the calling thread, which must be pinned to a CPU, the one that waits. Policies with user interrupts
    /// need this; without this call the first wait after a change of such policies does the same, and fails if user
    /// interrupts are unavailable. If several queues use them, the first has its interrupt without the kernel, the
    /// others through the kernel's handler ([`joulio_wait::Waiter::receive`]).
    ///
    /// # Errors
    /// The thread cannot take user interrupts ([`PolicyError::UserInterrupt`]), or a vector cannot be
    /// unmasked.
    pub fn attach(&mut self) -> Result<(), PolicyError> {
        self.forget_known();
        self.release();
        self.register();
        for queue in self.queues.all_mut() {
            let interrupt = queue.interrupt();
            if interrupt.user_vector().is_some() {
                interrupt.unmask()?;
            }
        }
        let vectors = self.queues.iter().filter_map(QueuePair::user_vector);
        let events: Vec<_> = vectors.map(Vector::event).collect();
        match self.queues.iter().any(QueuePair::hands_over) {
            true => self.waiter.receive_by_hand_over(&events)?,
            false => self.waiter.receive(&events)?,
        }
        self.received = Received::of(&self.queues);
        Ok(())
    }

    /// Gives all user interrupts back to the kernel.
    fn release(&mut self) {
        self.waiter.release();
        self.received = Received::default();
    }

    /// Makes the thread take the user interrupts that the policies use now, and no others.
    fn follow_policies(&mut self) -> Result<(), PolicyError> {
        match self.received.change(&self.queues) {
            Change::None => Ok(()),
            Change::Release => {
                self.release();
                Ok(())
            }
            Change::Receive => self.attach(),
        }
    }

    /// Returns the cache line that the interrupts of all queues write, for a core that watches several at once (a
    /// [`StepKind::Monitor`](joulio_wait::StepKind::Monitor) step). It is made now, or at the first such wait. If it
    /// is unavailable, the core polls its queues each microsecond instead, which its counters show. A queue that has
    /// changed its policy since is redirected again.
    ///
    /// The first completion of each queue proves that the line is written; until then the core
    /// polls by itself.
    ///
    /// # Errors
    /// A vector cannot be redirected, or its redirection did not write
    /// ([`PolicyError::NotRedirected`]): then all vectors are restored.
    pub fn shared_cache_line(&mut self) -> Result<&SharedCacheLine, &PolicyError> {
        let stale = match &self.line {
            None => true,
            Some(Ok(line)) => !line.is_of(&self.queues),
            Some(Err(_)) => false,
        };
        if stale {
            self.line = Some(SharedCacheLine::of(self.queues.all_mut()));
        }
        self.check_line();
        match &self.line {
            Some(Ok(line)) => Ok(line),
            Some(Err(error)) => Err(error),
            None => unreachable!("made above"),
        }
    }

    /// Checks that interrupts write the line.
    fn check_line(&mut self) {
        if let Some(Ok(line)) = &mut self.line
            && let Err(error) = line.check(self.queues.all_mut())
        {
            self.line = Some(Err(error));
        }
    }

    /// Hands out completions, with the index of their queue, until at least `min` were delivered or `deadline` has
    /// passed. Between polls the core waits as the queues' policies plan.
    ///
    /// `min` = 0 polls once. Without a deadline the call returns early when nothing is outstanding; with one, a core
    /// that has nothing outstanding waits as its policies plan. After a reset of the controller its commands end with
    /// Command Aborted By Host, and the queues go on.
    ///
    /// # Errors
    /// After [`NvmeError::Completion`] the queues are consistent, and the call may be repeated. [`NvmeError::Policy`]
    /// and [`NvmeError::Wait`] mean that a policy cannot wait here. Any other error means that the controller can no
    /// longer be used: all its commands have been handed out as aborted, and the next call returns the same error.
    #[inline]
    pub fn reap(
        &mut self,
        min: usize,
        deadline: Option<Nanos>,
        mut sink: impl FnMut(usize, Completed),
    ) -> Result<usize, NvmeError> {
        self.calls_left -= 1;
        let mut delivered = match self.calls_left {
            0 => self.tick_if_due(&mut sink)?,
            _ => 0,
        };
        delivered += self.queues.reap(&mut sink)?;
        match delivered >= min {
            true => Ok(delivered),
            false => self.wait_and_reap(delivered, min, deadline, sink),
        }
    }

    /// Continues [`PollGroup::reap`] after `delivered` of `min` completions and a poll that found no more.
    #[inline(never)]
    fn wait_and_reap(
        &mut self,
        mut delivered: usize,
        min: usize,
        deadline: Option<Nanos>,
        mut sink: impl FnMut(usize, Completed),
    ) -> Result<usize, NvmeError> {
        while delivered < min {
            match self.wait(deadline)? {
                Next::Poll => {
                    if let Some(index) = self.queues.take_found() {
                        delivered += self.queues.reap_one(index, &mut sink)?;
                        if delivered >= min {
                            break;
                        }
                    }
                }
                Next::Interrupted => {
                    for index in self.blocking.interrupted() {
                        delivered += self.queues.reap_one(index, &mut sink)?;
                    }
                    continue;
                }
                Next::Tick(at) => delivered += self.tick(at, &mut sink)?,
                Next::Return => break,
            }
            delivered += self.queues.reap(&mut sink)?;
        }
        Ok(delivered)
    }
}
