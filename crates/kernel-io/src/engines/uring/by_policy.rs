//! io_uring(7) with waits by a policy, on two rings: one completed by interrupts, and one that polls if the device
//! has poll queues.

use super::requests::Requests;
use super::{FileRequests, IoUring, NvmeCommands, RingOptions};
use crate::engines::common::idle_until;
use crate::{
    AlignedBuffer, Calls, DirectFile, KernelCompletion, KernelEngine, KernelEngineError,
    KernelRequestError, Missing,
};
use joulio_engine::{Engine, Request};
use joulio_job::{CompletionMode, EngineName};
use joulio_units::Nanos;
use joulio_wait::{
    AnyPolicy, Blocked, Class, Outstanding, Policy, RunDelay, Slept, Step, StepKind, StepSet,
    WaitCounters, WaitError, Waiter, Watched, Woken, now, sleep,
};
use rustix::io::Errno;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Time between two polls of a polled ring when the policy would block, since no interrupt completes it.
const BETWEEN_POLLS: Nanos = Nanos::from_micros(50);

/// Two rings on a file or a namespace, and the policy with which one thread waits for both.
///
/// A request goes to the polled ring if the policy's plan polls for it, and to the other ring if the thread should
/// block at once. Spinning on the other ring takes no system call: when an interrupt has come, the kernel sets a
/// flag in memory (IORING_SQ_TASKRUN, Linux 5.19), or writes the completion there.
pub struct PolicyUring<R: Requests = FileRequests> {
    blocking: IoUring<R>,
    polled: Option<IoUring<R>>,
    policy: AnyPolicy,
    waiter: Waiter,
    run_delay: RunDelay,
    out: InFlight,
    can: StepSet,
    /// Largest number of completions that one call of [`Engine::reap`] delivers.
    max: usize,
    /// Calls of [`Engine::reap`].
    reaps: u64,
    /// Counters of the steps that the rings carry out instead of the waiter.
    counters: WaitCounters,
    /// System calls in addition to those of the rings.
    system_calls: u64,
}

impl PolicyUring {
    /// Creates the rings for `depth` requests, for which `policy` waits.
    ///
    /// # Errors
    /// io_uring, the depth, an option or a step of the policy is unavailable; the error gives the reason. A device
    /// without poll queues is not an error.
    pub fn new(
        file: Arc<DirectFile>,
        depth: usize,
        policy: AnyPolicy,
        options: RingOptions,
    ) -> Result<PolicyUring, KernelEngineError> {
        let open = |mode| IoUring::new(Arc::clone(&file), depth, mode, options);
        PolicyUring::of(open, depth, policy)
    }

    /// Returns the steps with which a thread can wait for the rings on this machine: no monitor, as a completion
    /// may be announced in either of two cache lines, and no user interrupt, which only a user-space driver has.
    pub fn steps() -> StepSet {
        let can = Waiter::new().can();
        can.without(StepKind::Monitor)
            .without(StepKind::UserInterrupt)
    }
}

impl PolicyUring<NvmeCommands> {
    /// Creates the rings for `depth` commands to the namespace of `file`, for which `policy` waits.
    ///
    /// # Errors
    /// As [`PolicyUring::new`]; also if `file` is not a whole NVMe namespace, or the namespace accepts no such
    /// commands.
    pub fn passthrough(
        file: Arc<DirectFile>,
        depth: usize,
        policy: AnyPolicy,
        options: RingOptions,
    ) -> Result<PolicyUring<NvmeCommands>, KernelEngineError> {
        let open = |mode| IoUring::passthrough(Arc::clone(&file), depth, mode, options);
        PolicyUring::of(open, depth, policy)
    }
}

impl<R: Requests> PolicyUring<R> {
    fn of(
        open: impl Fn(CompletionMode) -> Result<IoUring<R>, KernelEngineError>,
        depth: usize,
        policy: AnyPolicy,
    ) -> Result<PolicyUring<R>, KernelEngineError> {
        let can = PolicyUring::steps();
        if policy.steps().missing_in(can).is_some() || policy.asks_others() {
            return Err(KernelEngineError::Policy {
                policy: policy.name().into_owned(),
            });
        }
        let polled = match open(CompletionMode::Poll) {
            Ok(ring) => Some(ring),
            Err(KernelEngineError::Missing {
                missing: Missing::NoPollQueues,
                ..
            }) => None,
            Err(error) => return Err(error),
        };
        Ok(PolicyUring {
            blocking: open(CompletionMode::Interrupt)?,
            polled,
            policy,
            waiter: Waiter::new(),
            run_delay: RunDelay::default(),
            out: InFlight::new(depth),
            can,
            max: usize::MAX,
            reaps: 0,
            counters: WaitCounters::default(),
            system_calls: 0,
        })
    }

    /// Returns true if the device has poll queues, so that requests may go there.
    pub fn polls_device(&self) -> bool {
        self.polled.is_some()
    }

    /// Returns the ring for a request of `class`.
    fn ring(&mut self, class: Class) -> &mut IoUring<R> {
        let planned = self.policy.planned(class);
        let watched = planned.is_none_or(|plan| {
            // A thread that first blocks needs an interrupt, even if it polls later.
            let blocks = plan.loose.is_some_and(|(kind, _)| kind == StepKind::Block);
            !blocks && plan.watch_until > Nanos::ZERO
        });
        match &mut self.polled {
            Some(polled) if watched => polled,
            _ => &mut self.blocking,
        }
    }

    /// Delivers the completions, `max` at most, and reports them to the policy.
    fn take(&mut self, max: usize, mut sink: impl FnMut(KernelCompletion)) -> usize {
        let rings = [Some(&mut self.blocking), self.polled.as_mut()];
        let (policy, out) = (&mut self.policy, &mut self.out);
        let mut at = None;
        let mut delivered = 0;
        for ring in rings.into_iter().flatten() {
            delivered += ring.take(max - delivered, |mut completion| {
                // The slots deliver only requests that they hold, with their tags.
                let Some(sent) = out.end(completion.tag) else {
                    return;
                };
                completion.tag = sent.tag;
                let at = *at.get_or_insert_with(now);
                policy.completed(sent.class, sent.at, at);
                sink(completion);
            });
        }
        delivered
    }

    /// Waits once, as the policy plans, until `deadline` at most.
    fn wait(&mut self, deadline: Nanos) -> Result<(), KernelEngineError> {
        let at = now();
        if self.policy.asks_lost()
            && let Some(lost) = self
                .run_delay
                .lost(at, self.blocking.blocks() + self.counters.sleeps)
        {
            self.policy.lost(lost, at);
        }
        let step = self.policy.plan(&self.out, self.can, at).bounded(deadline);
        let mut rings = Rings {
            blocking: &mut self.blocking,
            polled: self.polled.as_mut(),
            error: None,
            counters: &mut self.counters,
            system_calls: &mut self.system_calls,
        };
        let woken = self.waiter.run(step, &mut rings);
        if let Some(errno) = rings.error {
            return Err(self.blocking.refusal("io_uring_enter(wait)", errno));
        }
        let woken = woken.map_err(|error| match error {
            WaitError::Interrupt(error) => match error.downcast::<Errno>() {
                Ok(errno) => self.blocking.refusal("io_uring_enter(wait)", *errno),
                Err(_) => self.blocking.refusal("io_uring_enter(wait)", Errno::IO),
            },
            // The policy was created with the steps of this machine.
            _ => self.blocking.refusal("a wait", Errno::NOTSUP),
        })?;
        if step.kind == StepKind::Sleep {
            self.slept(step, at);
        } else if step.kind == StepKind::Block && woken == Woken::TimedOut {
            let slept = self.is_over();
            self.policy.woke(slept, now());
        }
        Ok(())
    }

    fn slept(&mut self, step: Step, began: Nanos) {
        let end = now();
        let slept = self.is_over();
        self.policy.woke(slept, end);
        self.system_calls += 1;
        self.counters.sleeps += 1;
        self.counters.oversleeps += u64::from(slept == Slept::Over);
        self.counters.slept += end - began;
        self.counters.overslept += end - step.until;
    }

    /// Returns whether the sleep was longer than the I/O: whether a completion is there.
    fn is_over(&mut self) -> Slept {
        // A failure is reported by the next wait.
        let there = |ring: &mut IoUring<R>| ring.has_completion().unwrap_or(false);
        match self.rings().any(there) {
            true => Slept::Over,
            false => Slept::Under,
        }
    }

    fn rings(&mut self) -> impl Iterator<Item = &mut IoUring<R>> {
        [Some(&mut self.blocking), self.polled.as_mut()]
            .into_iter()
            .flatten()
    }
}

impl<R: Requests> Engine for PolicyUring<R> {
    type Buffer = AlignedBuffer;
    type Failure = KernelRequestError;
    type Error = KernelEngineError;

    fn buffers(
        &mut self,
        _: usize,
        count: usize,
        len: usize,
    ) -> Result<Vec<AlignedBuffer>, KernelEngineError> {
        let buffers = self.blocking.buffers(0, count, len)?;
        if let Some(polled) = &mut self.polled {
            polled.register(&buffers)?;
        }
        Ok(buffers)
    }

    fn waited(&mut self, _: usize, time: Nanos) {
        if self.policy.timed() {
            self.policy.waited(time, now());
        }
    }

    fn prepare(
        &mut self,
        request: Request,
        buffer: AlignedBuffer,
    ) -> Result<(), KernelEngineError> {
        let class = Class::new(request.operation.direction(), request.moved());
        let at = now();
        let Some(tag) = self.out.begin(request.tag, class, at) else {
            return Err(self.out.full(R::ENGINE));
        };
        let held = Request { tag, ..request };
        let ring = match request.operation.moves_data() {
            true => self.ring(class),
            // A polled ring accepts only reads and writes.
            false => &mut self.blocking,
        };
        if let Err(error) = ring.prepare(held, buffer) {
            self.out.end(tag);
            return Err(error);
        }
        self.policy.submitted(class, at);
        Ok(())
    }

    fn submit(&mut self) -> Result<(), KernelEngineError> {
        self.rings().try_for_each(IoUring::submit)
    }

    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        mut sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, KernelEngineError> {
        self.reaps += 1;
        let min = min.min(self.max);
        let mut delivered = self.take(self.max, &mut sink);
        if delivered == 0 && min == 0 && self.is_over() == Slept::Over {
            delivered = self.take(self.max, &mut sink);
        }
        while delivered < min {
            if self.out.count() == 0 && deadline == Nanos::MAX {
                break;
            }
            self.wait(deadline)?;
            delivered += self.take(self.max - delivered, &mut sink);
            if delivered < min && now() >= deadline {
                break;
            }
        }
        Ok(delivered)
    }

    fn limit(&mut self, max: usize) {
        self.max = max.max(1);
    }

    fn abandon(&mut self) {
        self.rings().for_each(IoUring::abandon);
    }

    fn effective(&mut self) -> String {
        self.policy.name().into_owned()
    }

    fn counters(&mut self) -> WaitCounters {
        let mut all = self.calls().waiting;
        all += self.waiter.counters();
        all
    }

    fn system_calls(&self) -> Option<u64> {
        Some(self.calls().system_calls)
    }

    fn learning(&mut self) -> Nanos {
        self.policy.learning()
    }
}

impl<R: Requests> KernelEngine for PolicyUring<R> {
    fn calls(&self) -> Calls {
        let mut all = self.blocking.calls();
        if let Some(polled) = &self.polled {
            let other = polled.calls();
            all.system_calls += other.system_calls;
            all.submits += other.submits;
            all.submitted += other.submitted;
            all.completed += other.completed;
            all.strange += other.strange;
            all.waiting += other.waiting;
        }
        all.reaps = self.reaps;
        all.system_calls += self.system_calls + 3 * self.run_delay.reads();
        all.waiting += self.counters;
        all
    }
}

/// The two rings during one wait.
struct Rings<'a, R: Requests> {
    blocking: &'a mut IoUring<R>,
    polled: Option<&'a mut IoUring<R>>,
    error: Option<Errno>,
    counters: &'a mut WaitCounters,
    system_calls: &'a mut u64,
}

impl<R: Requests> Watched for Rings<'_, R> {
    fn ready(&mut self) -> bool {
        self.counters.polls += 1;
        let rings = [Some(&mut *self.blocking), self.polled.as_deref_mut()];
        for ring in rings.into_iter().flatten() {
            match ring.has_completion() {
                Ok(false) => {}
                Ok(true) => return true,
                Err(errno) => {
                    self.error = Some(errno);
                    return true;
                }
            }
        }
        self.counters.empty_polls += 1;
        false
    }

    /// Returns at once: the interrupts of a ring are always enabled.
    fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    fn block(&mut self, until: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>> {
        let polled = self.polled.as_ref().is_some_and(|ring| ring.sent() > 0);
        if polled {
            // Nothing wakes a thread when a request of the polled ring completes.
            let began = now();
            let end = until.min(began + BETWEEN_POLLS);
            sleep(Duration::from_nanos((end - began).0));
            *self.system_calls += 1;
            self.counters.sleeps += 1;
            self.counters.slept += now() - began;
        } else if self.blocking.sent() > 0 {
            self.blocking.block(1, until)?;
            if self.blocking.has_completion()? {
                self.counters.wakes += 1;
                return Ok(Blocked::Interrupted);
            }
        } else {
            idle_until(until);
            *self.system_calls += 1;
        }
        Ok(Blocked::TimedOut)
    }
}

/// A request in flight.
#[derive(Clone, Copy)]
struct Sent {
    /// The caller's tag.
    tag: u64,
    class: Class,
    at: Nanos,
}

/// The requests in flight, each with a tag of its own.
struct InFlight {
    sent: Vec<Option<Sent>>,
    free: Vec<usize>,
}

impl InFlight {
    fn new(depth: usize) -> InFlight {
        InFlight {
            sent: vec![None; depth],
            free: (0..depth).rev().collect(),
        }
    }

    /// Adds a request with the caller's `tag`, and returns its own tag; `None` if there is no room for it.
    fn begin(&mut self, tag: u64, class: Class, at: Nanos) -> Option<u64> {
        let index = self.free.pop()?;
        self.sent[index] = Some(Sent { tag, class, at });
        Some(index as u64)
    }

    /// Removes and returns the request to which [`InFlight::begin`] gave this tag.
    fn end(&mut self, tag: u64) -> Option<Sent> {
        let index = usize::try_from(tag).ok()?;
        let sent = self.sent.get_mut(index)?.take()?;
        self.free.push(index);
        Some(sent)
    }

    fn full(&self, engine: EngineName) -> KernelEngineError {
        KernelEngineError::Full {
            engine,
            depth: self.sent.len(),
        }
    }
}

impl Outstanding for InFlight {
    fn count(&self) -> usize {
        self.sent.len() - self.free.len()
    }

    fn for_each(&self, each: &mut dyn FnMut(Class, Nanos)) {
        for sent in self.sent.iter().flatten() {
            each(sent.class, sent.at);
        }
    }
}
