//! An engine on preadv2(2), pwritev2(2) and other synchronous calls, with one request at a time.

use crate::engines::common::idle_until;
use crate::slots::{fits, outcome};
use crate::{
    AlignedBuffer, Calls, DirectFile, KernelCompletion, KernelEngine, KernelEngineError,
    KernelRequestError, Missing,
};
use joulio_engine::{Engine, Request};
use joulio_job::{CompletionMode, EngineName};
use joulio_units::{Nanos, Operation};
use joulio_wait::WaitCounters;
use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, IoSlice, IoSliceMut, ReadWriteFlags, preadv2, pwritev2, retry_on_intr};
use std::sync::Arc;

/// Engine with one synchronous call per request, at queue depth 1. [`Engine::submit`] makes the call, which no
/// deadline ends.
pub struct Psync {
    file: Arc<DirectFile>,
    mode: CompletionMode,
    flags: ReadWriteFlags,
    prepared: Option<(Request, AlignedBuffer)>,
    ended: Option<KernelCompletion>,
    calls: Calls,
}

impl Psync {
    /// Creates an engine on `file`. A mode that polls sets RWF_HIPRI, which needs queue/io_poll and, for hybrid
    /// polling, queue/io_poll_delay; [`expect`](crate::expect) reports whether the kernel honours it.
    ///
    /// # Errors
    /// The depth is not 1, or the mode needs a kernel thread.
    pub fn new(
        file: Arc<DirectFile>,
        depth: usize,
        mode: CompletionMode,
    ) -> Result<Psync, KernelEngineError> {
        let engine = EngineName::Psync;
        if depth != 1 {
            return Err(KernelEngineError::Depth {
                engine,
                requested: depth,
                limit: 1,
            });
        }
        let synchronous = matches!(
            mode,
            CompletionMode::Interrupt
                | CompletionMode::Poll
                | CompletionMode::Hybrid
                | CompletionMode::HybridFixed(_)
        );
        if !synchronous {
            let missing = Missing::NotThisEngine(engine);
            return Err(KernelEngineError::Missing {
                engine,
                mode,
                missing,
            });
        }
        Ok(Psync {
            file,
            mode,
            flags: if mode.polls_device() {
                ReadWriteFlags::HIPRI
            } else {
                ReadWriteFlags::empty()
            },
            prepared: None,
            ended: None,
            calls: Calls::default(),
        })
    }

    fn call(&mut self, request: &Request, buffer: &mut AlignedBuffer) -> Result<usize, Errno> {
        let (fd, at, flags) = (&self.file, request.offset, self.flags);
        let data = &mut buffer[..request.moved() as usize];
        retry_on_intr(|| {
            self.calls.system_calls += 1;
            match request.operation {
                Operation::Read => preadv2(fd, &mut [IoSliceMut::new(data)], at, flags),
                Operation::Write => pwritev2(fd, &[IoSlice::new(data)], at, flags),
                Operation::Trim => fd.trim(at, request.len).map(|()| 0),
                Operation::Sync => fsync(fd).map(|()| 0),
                Operation::DataSync => fdatasync(fd).map(|()| 0),
            }
        })
    }
}

impl Engine for Psync {
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
        if self.prepared.is_some() || self.ended.is_some() {
            return Err(KernelEngineError::Full {
                engine: EngineName::Psync,
                depth: 1,
            });
        }
        fits(EngineName::Psync, &request, &buffer)?;
        self.prepared = Some((request, buffer));
        Ok(())
    }

    fn submit(&mut self) -> Result<(), KernelEngineError> {
        let Some((request, mut buffer)) = self.prepared.take() else {
            return Ok(());
        };
        self.calls.submits += 1;
        self.calls.submitted += 1;
        let result = match self.call(&request, &mut buffer) {
            Ok(moved) => moved as i64,
            Err(errno) => -i64::from(errno.raw_os_error()),
        };
        self.ended = Some(KernelCompletion {
            tag: request.tag,
            outcome: outcome(result, request.moved()),
            buffer,
        });
        Ok(())
    }

    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        mut sink: impl FnMut(KernelCompletion),
    ) -> Result<usize, KernelEngineError> {
        self.calls.reaps += 1;
        let ended = self.ended.take();
        let delivered = usize::from(ended.is_some());
        self.calls.completed += delivered as u64;
        if let Some(completion) = ended {
            sink(completion);
        }
        if delivered < min {
            idle_until(deadline);
        }
        Ok(delivered)
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
}

impl KernelEngine for Psync {
    fn calls(&self) -> Calls {
        self.calls
    }
}
