//! io_uring(7) as an engine.

mod by_policy;
mod passthrough;
mod poller;
mod raw_ring;
mod requests;
mod ring;
mod setup;
mod waiting;

pub use by_policy::PolicyUring;
pub use passthrough::NvmeCommands;
pub use requests::FileRequests;
pub use setup::RingOptions;

use crate::slots::Slots;
use crate::{
    AlignedBuffer, Calls, DirectFile, KernelCompletion, KernelEngine, KernelEngineError,
    KernelRequestError,
};
use io_uring::EnterFlags;
use joulio_engine::{Engine, Request};
use joulio_job::CompletionMode;
use joulio_units::{Nanos, Operation};
use joulio_wait::{WaitCounters, now};
use poller::Before;
use requests::Requests;
use ring::Ring;
use rustix::io::Errno;
use setup::Opened;
use std::sync::Arc;
use std::thread::yield_now;

/// Longest time for which a ring that is dropped waits for its requests, and that a probing read may take.
const MAX_WAIT: Nanos = Nanos::from_millis(5_000);

/// A ring on a file, or for commands to an NVMe namespace. It can be created in one thread and used in another, but
/// only the thread that first submits may use it afterwards. That thread registers the ring's descriptor, if the
/// kernel supports it (5.18), so that no call looks the descriptor up. If another thread drops the ring, the kernel
/// keeps its memory until the first one ends.
///
/// Interrupt mode waits in io_uring_enter(2). The polling modes spin there too, and a deadline cannot end that
/// call: the kernel polls until a completion comes, or another thread needs the core. So the kernel spins only
/// while the deadline is at least 10 ms away; nearer deadlines are kept with calls that poll once. A device that
/// does not answer holds the thread until the kernel's own timeout (30 s for NVMe). In the sqpoll modes the caller
/// polls the ring in user space, as fio does.
pub struct IoUring<R: Requests = FileRequests> {
    ring: Ring<R>,
    /// Identifier of the kernel's thread.
    poller: Option<i32>,
    mode: CompletionMode,
    options: RingOptions,
    /// True if the ring was created disabled: the thread that first submits enables it.
    disabled: bool,
    /// True once a thread has submitted, to which the ring then belongs.
    owned: bool,
    /// Largest number of completions that one call of [`Engine::reap`] delivers.
    max: usize,
    /// True if the kernel supports a timeout for waits.
    timeouts: bool,
    /// True if requests in flight are not waited for.
    abandoned: bool,
    calls: Calls,
}

impl IoUring {
    /// Creates a ring of `depth` with `mode`. For a mode that polls, one block is read first, because only then the
    /// kernel reports that a device has no poll queues; older kernels do not report it, and complete the read by an
    /// interrupt.
    ///
    /// # Errors
    /// io_uring, the mode, the depth or an option is unavailable; the error gives the reason.
    pub fn new(
        file: Arc<DirectFile>,
        depth: usize,
        mode: CompletionMode,
        options: RingOptions,
    ) -> Result<IoUring, KernelEngineError> {
        let requests = FileRequests::new(Arc::clone(&file));
        IoUring::probed(requests, &file, depth, mode, options)
    }
}

impl IoUring<NvmeCommands> {
    /// Creates a ring of `depth` with `mode` for commands to the namespace of `file`.
    ///
    /// # Errors
    /// As [`IoUring::new`]; also if `file` is not a whole NVMe namespace, or the namespace accepts no such
    /// commands.
    pub fn passthrough(
        file: Arc<DirectFile>,
        depth: usize,
        mode: CompletionMode,
        options: RingOptions,
    ) -> Result<IoUring<NvmeCommands>, KernelEngineError> {
        let commands = NvmeCommands::open(Arc::clone(&file), mode)?;
        IoUring::probed(commands, &file, depth, mode, options)
    }
}

impl<R: Requests + Clone> IoUring<R> {
    fn probed(
        requests: R,
        file: &DirectFile,
        depth: usize,
        mode: CompletionMode,
        options: RingOptions,
    ) -> Result<IoUring<R>, KernelEngineError> {
        if mode.polls_device() {
            IoUring::open(requests.clone(), 1, mode, options)?.probe(file)?;
        }
        IoUring::open(requests, depth, mode, options)
    }
}

impl<R: Requests> IoUring<R> {
    fn open(
        requests: R,
        depth: usize,
        mode: CompletionMode,
        options: RingOptions,
    ) -> Result<IoUring<R>, KernelEngineError> {
        let slots = Slots::new(R::ENGINE, depth, setup::MAX_DEPTH)?;
        let before = mode.has_poller_thread().then(Before::now);
        let opened = setup::open(depth, mode, &options)?;
        let poller = before.and_then(Before::newcomer);
        IoUring::around(opened, poller, requests, slots, mode, options)
    }

    fn around(
        opened: Opened<R>,
        poller: Option<i32>,
        requests: R,
        slots: Slots,
        mode: CompletionMode,
        options: RingOptions,
    ) -> Result<IoUring<R>, KernelEngineError> {
        let ring = Ring::new(opened.ring, requests, slots, options.registered_file);
        let ring = ring.map_err(|errno| {
            setup::refusal(R::ENGINE, "io_uring_register(files)", errno, mode, &options)
        })?;
        Ok(IoUring {
            timeouts: ring.has_timeouts(),
            disabled: opened.disabled,
            owned: false,
            max: usize::MAX,
            abandoned: false,
            calls: Calls::default(),
            ring,
            poller,
            mode,
            options,
        })
    }

    fn probe(mut self, file: &DirectFile) -> Result<(), KernelEngineError> {
        let len = file.logical_block();
        let request = Request {
            device: 0,
            operation: Operation::Read,
            offset: 0,
            len,
            tag: 0,
        };
        for buffer in AlignedBuffer::allocate(1, len as usize)? {
            self.prepare(request, buffer)?;
        }
        self.submit()?;
        let mut outcome = Ok(());
        self.reap(1, now() + MAX_WAIT, |done| outcome = done.outcome)?;
        match outcome {
            Err(KernelRequestError::Errno(errno)) => Err(self.refusal("a probing read", errno)),
            _ => Ok(()),
        }
    }

    /// Registers `buffers`, if that option is on and none are registered.
    fn register(&mut self, buffers: &[AlignedBuffer]) -> Result<(), KernelEngineError> {
        if self.options.fixed_buffers && !self.ring.has_registered() {
            let registered = self.ring.register(buffers);
            registered.map_err(|errno| self.refusal(setup::REGISTER_BUFFERS, errno))?;
        }
        Ok(())
    }

    fn refusal(&self, call: &'static str, errno: Errno) -> KernelEngineError {
        setup::refusal(R::ENGINE, call, errno, self.mode, &self.options)
    }

    fn enter(
        &mut self,
        min: usize,
        flags: EnterFlags,
        timeout: Option<Nanos>,
    ) -> Result<usize, Errno> {
        let submit = if self.mode.has_poller_thread() {
            0
        } else {
            self.ring.untaken()
        };
        self.calls.system_calls += 1;
        self.ring.enter(submit, min, flags, timeout)
    }

    /// Makes the ring that of this thread, which submits first.
    #[cold]
    fn own(&mut self) -> Result<(), KernelEngineError> {
        if self.disabled {
            let enabled = self.ring.enable();
            enabled.map_err(|errno| self.refusal("io_uring_register(enable)", errno))?;
        }
        self.ring.register_descriptor();
        self.owned = true;
        Ok(())
    }

    /// Wakes the kernel's thread if it sleeps.
    fn wake_poller(&mut self) -> Result<(), KernelEngineError> {
        if self.ring.needs_wakeup() {
            let woken = self.enter(0, EnterFlags::SQ_WAKEUP, None);
            woken.map_err(|errno| self.refusal("io_uring_enter(wake-up)", errno))?;
        }
        Ok(())
    }

    /// Yields the core, so that the kernel's thread can free entries, which it does after it has ended their requests.
    #[cold]
    fn wait_for_entries(&mut self) -> Result<(), KernelEngineError> {
        self.wake_poller()?;
        self.calls.system_calls += 1;
        yield_now();
        Ok(())
    }

    /// Submits all requests in the ring to the kernel. Those for which the kernel has no room now it takes at the
    /// next wait, after others have ended.
    fn hand_over(&mut self) -> Result<(), KernelEngineError> {
        while self.ring.untaken() > 0 {
            let errno = match self.enter(0, EnterFlags::empty(), None) {
                Ok(1..) | Err(Errno::INTR) => continue,
                Ok(0) => Errno::AGAIN,
                Err(errno) => errno,
            };
            let others = self.ring.outstanding() > self.ring.untaken();
            if !(others && matches!(errno, Errno::AGAIN | Errno::BUSY)) {
                return Err(self.refusal("io_uring_enter(submit)", errno));
            }
            break;
        }
        Ok(())
    }
}

impl<R: Requests> Engine for IoUring<R> {
    type Buffer = AlignedBuffer;
    type Failure = KernelRequestError;
    type Error = KernelEngineError;

    /// Allocates buffers. With fixed buffers the first call registers its buffers, at most 16384 (1024 before Linux
    /// 5.13); those of later calls are ordinary ones.
    fn buffers(
        &mut self,
        _: usize,
        count: usize,
        len: usize,
    ) -> Result<Vec<AlignedBuffer>, KernelEngineError> {
        let buffers = AlignedBuffer::allocate(count, len)?;
        self.register(&buffers)?;
        Ok(buffers)
    }

    #[inline]
    fn prepare(
        &mut self,
        request: Request,
        buffer: AlignedBuffer,
    ) -> Result<(), KernelEngineError> {
        self.ring.prepare(&request, buffer)
    }

    fn submit(&mut self) -> Result<(), KernelEngineError> {
        if self.ring.staged() == 0 {
            return Ok(());
        }
        if !self.owned {
            self.own()?;
        }
        self.calls.submits += 1;
        let published = loop {
            match self.ring.publish() {
                0 => self.wait_for_entries()?,
                published => break published,
            }
        };
        self.calls.submitted += published as u64;
        if !self.mode.has_poller_thread() {
            return self.hand_over();
        }
        self.wake_poller()
    }

    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, KernelEngineError> {
        self.calls.reaps += 1;
        let reaped = self.wait_for(min, deadline, sink);
        reaped.map_err(|errno| self.refusal("io_uring_enter(wait)", errno))
    }

    fn limit(&mut self, max: usize) {
        self.max = max.max(1);
    }

    fn abandon(&mut self) {
        self.abandoned = true;
    }

    fn effective(&mut self) -> String {
        self.mode.to_string()
    }

    fn counters(&mut self) -> WaitCounters {
        self.calls.waiting
    }

    fn system_calls(&self) -> Option<u64> {
        Some(self.calls.system_calls)
    }

    fn kernel_thread(&self) -> Option<i32> {
        self.poller
    }
}

impl<R: Requests> KernelEngine for IoUring<R> {
    fn calls(&self) -> Calls {
        Calls {
            strange: self.ring.strange(),
            ..self.calls
        }
    }
}

impl<R: Requests> Drop for IoUring<R> {
    fn drop(&mut self) {
        self.ring.unstage();
        if !self.abandoned {
            self.drain(now() + MAX_WAIT);
        }
    }
}

#[cfg(test)]
mod tests;
