//! An engine on io_submit(2) and io_getevents(2), the system calls that libaio wraps.

mod context;

use crate::engines::common::idle_until;
use crate::slots::Slots;
use crate::{
    AlignedBuffer, Calls, DirectFile, KernelCompletion, KernelEngine, KernelEngineError,
    KernelRequestError, Missing,
};
use context::Context;
use joulio_engine::{Engine, Request};
use joulio_job::{CompletionMode, EngineName};
use joulio_units::Nanos;
use joulio_wait::{WaitCounters, now};
use rustix::io::Errno;
use std::sync::Arc;

/// Largest depth of a context; all contexts together are limited by fs.aio-max-nr.
const MAX_DEPTH: usize = 65536;
/// Time between two calls of io_submit(2) while the kernel has no resources and no request of this engine will free
/// some.
const RETRY_INTERVAL: Nanos = Nanos::from_micros(100);
/// Time after which requests for which the kernel has no resources, with none of ours in flight, fail; as in fio's
/// libaio.
const MAX_STARVATION: Nanos = Nanos::from_millis(30_000);

/// A context of the kernel's asynchronous I/O on a file. It only waits for interrupts. The kernel has no
/// asynchronous trim here: [`Engine::submit`] executes each trim with a call that blocks until its end, as fio's
/// libaio does.
pub struct Libaio {
    context: Context,
    /// Requests that ended when they were submitted: trims, and requests that the kernel refused.
    ended: Vec<KernelCompletion>,
    /// Number of requests for which the kernel had no resources (EAGAIN): they are submitted again once others have
    /// ended.
    starved: usize,
    /// Time since which the kernel has had none while no request was in flight.
    starved_since: Option<Nanos>,
    /// Largest number of completions that one call of [`Engine::reap`] delivers.
    max: usize,
    calls: Calls,
}

impl Libaio {
    /// Creates a context of `depth`; `mode` must be [`CompletionMode::Interrupt`].
    ///
    /// # Errors
    /// libaio does not support the mode or the depth, or the kernel has no contexts left.
    pub fn new(
        file: Arc<DirectFile>,
        depth: usize,
        mode: CompletionMode,
    ) -> Result<Libaio, KernelEngineError> {
        let engine = EngineName::Libaio;
        if mode != CompletionMode::Interrupt {
            let missing = Missing::NotThisEngine(engine);
            return Err(KernelEngineError::Missing {
                engine,
                mode,
                missing,
            });
        }
        let slots = Slots::new(engine, depth, MAX_DEPTH)?;
        let context = Context::new(file, slots).map_err(|errno| {
            let missing = match errno {
                Errno::NOSYS => Missing::NoSuchCall,
                Errno::AGAIN => Missing::NoContexts,
                Errno::PERM => Missing::Forbidden,
                source => return call("io_setup", source),
            };
            KernelEngineError::Missing {
                engine,
                mode,
                missing,
            }
        })?;
        Ok(Libaio {
            context,
            ended: Vec::with_capacity(depth),
            starved: 0,
            starved_since: None,
            max: usize::MAX,
            calls: Calls::default(),
        })
    }

    /// Waits for `min` events in the kernel, until `deadline`, and delivers `max` at most.
    fn wait(
        &mut self,
        min_max: (usize, usize),
        deadline: Nanos,
        sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, KernelEngineError> {
        let began = now();
        let timeout = (deadline != Nanos::MAX).then(|| deadline - began);
        let taken = self.take(min_max, timeout, sink);
        self.calls.waiting.blocks += 1;
        self.calls.waiting.blocked += now() - began;
        taken
    }

    fn take(
        &mut self,
        min_max: (usize, usize),
        timeout: Option<Nanos>,
        sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, KernelEngineError> {
        self.calls.system_calls += 1;
        match self.context.events(min_max, timeout, sink) {
            Ok(taken) => Ok(taken),
            Err(Errno::INTR) => Ok(0),
            Err(errno) => Err(call("io_getevents", errno)),
        }
    }

    /// Submits the staged requests with io_submit(2), as far as the kernel has resources for them.
    fn send(&mut self) {
        self.starved = 0;
        while self.context.unsubmitted() > 0 {
            self.calls.system_calls += 1;
            match self.context.submit() {
                Ok(_) => self.starved_since = None,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.may_try_again() => {
                    self.starved = self.context.unsubmitted();
                    break;
                }
                Err(errno) => self.ended.extend(self.context.refuse_first(errno)),
            }
        }
    }

    /// Returns true if the kernel may have resources later, freed by requests that end, of this engine or of
    /// others.
    fn may_try_again(&mut self) -> bool {
        if self.sent() > 0 {
            self.starved_since = None;
            return true;
        }
        let at = now();
        at - *self.starved_since.get_or_insert(at) < MAX_STARVATION
    }

    /// Delivers the requests that ended when they were submitted, `max` at most; returns their number.
    fn hand_out(&mut self, max: usize, sink: impl FnMut(KernelCompletion)) -> usize {
        let count = self.ended.len().min(max);
        self.ended.drain(..count).for_each(sink);
        count
    }

    /// Returns the number of requests in the kernel.
    fn sent(&self) -> usize {
        self.context.outstanding() - self.context.staged()
    }
}

impl Engine for Libaio {
    type Buffer = AlignedBuffer;
    type Failure = KernelRequestError;
    type Error = KernelEngineError;

    fn buffers(
        &mut self,
        _: usize,
        count: usize,
        len: usize,
    ) -> Result<Vec<AlignedBuffer>, KernelEngineError> {
        AlignedBuffer::allocate(count, len)
    }

    fn prepare(
        &mut self,
        request: Request,
        buffer: AlignedBuffer,
    ) -> Result<(), KernelEngineError> {
        self.context.prepare(&request, buffer)
    }

    fn submit(&mut self) -> Result<(), KernelEngineError> {
        let staged = self.context.staged() - self.starved;
        self.calls.submits += u64::from(staged > 0);
        self.calls.submitted += staged as u64;
        self.send();
        while let Some(trimmed) = self.context.trim() {
            self.calls.system_calls += 1;
            self.ended.push(trimmed);
        }
        Ok(())
    }

    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        mut sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, KernelEngineError> {
        self.calls.reaps += 1;
        let max = self.max;
        let min = min.min(max);
        let mut delivered = self.hand_out(max, &mut sink);
        if min <= delivered && delivered < max && self.sent() > 0 {
            let room = (0, max - delivered);
            delivered += self.take(room, Some(Nanos::ZERO), &mut sink)?;
        }
        if min <= delivered && self.starved > 0 {
            self.send();
        }
        while delivered < min {
            let room = max - delivered;
            match (self.sent().min(min - delivered), self.starved) {
                (0, 0) => {
                    idle_until(deadline);
                    break;
                }
                (0, _) => idle_until(deadline.min(now() + RETRY_INTERVAL)),
                (wanted, 0) => delivered += self.wait((wanted, room), deadline, &mut sink)?,
                // The next request that ends may free resources for another.
                _ => delivered += self.wait((1, room), deadline, &mut sink)?,
            }
            if self.starved > 0 {
                self.send();
                delivered += self.hand_out(max - delivered, &mut sink);
            }
            if delivered < min && now() >= deadline {
                break;
            }
        }
        self.calls.completed += delivered as u64;
        Ok(delivered)
    }

    fn limit(&mut self, max: usize) {
        self.max = max.max(1);
    }

    fn abandon(&mut self) {
        self.context.abandon();
    }

    fn effective(&mut self) -> String {
        CompletionMode::Interrupt.to_string()
    }

    fn counters(&mut self) -> WaitCounters {
        self.calls.waiting
    }

    fn system_calls(&self) -> Option<u64> {
        Some(self.calls.system_calls)
    }
}

impl KernelEngine for Libaio {
    fn calls(&self) -> Calls {
        Calls {
            strange: self.context.strange(),
            ..self.calls
        }
    }
}

fn call(call: &'static str, source: Errno) -> KernelEngineError {
    KernelEngineError::Call { call, source }
}
