//! A queue pair whose commands are futures.

use crate::request::{Kind, Request};
use crate::state::Shared;
use crate::wakers::Wakers;
use crate::{Driver, Io, IoError};
use joulio_device::Device;
use joulio_nvme::spec::Command;
use joulio_nvme::wait::{AnyPolicy, WaitCounters};
use joulio_nvme::{
    BufferList, Completed, DmaBuffer, EventGroup, Namespace, NvmeError, PolicyError, PollGroup,
    QueuePair, Transfer,
};
use std::sync::Arc;

/// A queue pair whose commands are futures, for any number of tasks and threads. A clone refers to the same queue.
///
/// Commands beyond the queue's depth wait for room, in the order of their submission.
pub struct AsyncQueue<D: Device> {
    shared: Arc<Shared<D>>,
    _handle: Arc<Handle<D>>,
}

impl<D: Device> Clone for AsyncQueue<D> {
    fn clone(&self) -> AsyncQueue<D> {
        AsyncQueue {
            shared: Arc::clone(&self.shared),
            _handle: Arc::clone(&self._handle),
        }
    }
}

/// Handle of the queue; when the last is dropped, the driver ends.
struct Handle<D: Device>(Arc<Shared<D>>);

impl<D: Device> Drop for Handle<D> {
    fn drop(&mut self) {
        self.0.with(&mut Wakers::new(), |state, wake| {
            state.closed = true;
            state.wake_driver(wake);
        });
    }
}

impl<D: Device> AsyncQueue<D> {
    /// Makes the commands of `queue` futures. The queue keeps its policy.
    ///
    /// # Errors
    /// The process has no descriptors left ([`NvmeError::Device`]).
    ///
    /// # Panics
    /// If `queue` has commands in flight.
    pub fn new(queue: QueuePair<D>) -> Result<AsyncQueue<D>, NvmeError> {
        assert_eq!(queue.outstanding(), 0, "commands are outstanding");
        let depth = queue.depth();
        let events = EventGroup::new(PollGroup::new(vec![queue]))?;
        let shared = Arc::new(Shared::new(events, depth));
        Ok(AsyncQueue {
            _handle: Arc::new(Handle(Arc::clone(&shared))),
            shared,
        })
    }

    /// Creates the driver, which reaps completions so that the futures need not. A queue has at most one at a time.
    ///
    /// # Errors
    /// The process has no descriptors left.
    ///
    /// # Panics
    /// If the queue has a driver.
    pub fn driver(&self) -> Result<Driver<D>, NvmeError> {
        Driver::new(&self.shared)
    }

    /// Reads `blocks` logical blocks from `lba` into `buffer` ([`QueuePair::read`]).
    #[inline]
    pub fn read<'a>(
        &'a self,
        namespace: &'a Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
    ) -> Io<'a, D, DmaBuffer> {
        self.transfer(Kind::Read, namespace, (lba, blocks), Some(buffer.into()))
    }

    /// Reads to `offset` in `buffer`, a multiple of 4 ([`QueuePair::read_at`]).
    pub fn read_at<'a>(
        &'a self,
        namespace: &'a Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        offset: usize,
    ) -> Io<'a, D, DmaBuffer> {
        let kind = Kind::At(Transfer::READ, offset);
        self.transfer(kind, namespace, (lba, blocks), Some(buffer.into()))
    }

    /// Writes `blocks` logical blocks from `buffer` to `lba` ([`QueuePair::write`]).
    #[inline]
    pub fn write<'a>(
        &'a self,
        namespace: &'a Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
    ) -> Io<'a, D, DmaBuffer> {
        self.transfer(Kind::Write, namespace, (lba, blocks), Some(buffer.into()))
    }

    /// Writes from `offset` in `buffer`, a multiple of 4 ([`QueuePair::write_at`]).
    pub fn write_at<'a>(
        &'a self,
        namespace: &'a Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
        offset: usize,
    ) -> Io<'a, D, DmaBuffer> {
        let kind = Kind::At(Transfer::WRITE, offset);
        self.transfer(kind, namespace, (lba, blocks), Some(buffer.into()))
    }

    /// Writes with FUA ([`QueuePair::write_through`]).
    pub fn write_through<'a>(
        &'a self,
        namespace: &'a Namespace,
        lba: u64,
        blocks: u32,
        buffer: impl Into<DmaBuffer>,
    ) -> Io<'a, D, DmaBuffer> {
        let kind = Kind::At(Transfer::WRITE_THROUGH, 0);
        self.transfer(kind, namespace, (lba, blocks), Some(buffer.into()))
    }

    /// Reads into the buffers of `buffers`, one after the other ([`QueuePair::readv`]).
    pub fn readv<'a>(
        &'a self,
        namespace: &'a Namespace,
        lba: u64,
        blocks: u32,
        buffers: BufferList,
    ) -> Io<'a, D, BufferList> {
        self.transfer(Kind::Readv, namespace, (lba, blocks), buffers.into_chain())
    }

    /// Writes from the buffers of `buffers`, one after the other ([`QueuePair::writev`]).
    pub fn writev<'a>(
        &'a self,
        namespace: &'a Namespace,
        lba: u64,
        blocks: u32,
        buffers: BufferList,
    ) -> Io<'a, D, BufferList> {
        self.transfer(Kind::Writev, namespace, (lba, blocks), buffers.into_chain())
    }

    /// Commits writes of the namespace that have completed to non-volatile media ([`QueuePair::flush`]).
    pub fn flush<'a>(&'a self, namespace: &'a Namespace) -> Io<'a, D, ()> {
        self.transfer(Kind::Flush, namespace, (0, 0), None)
    }

    /// Submits a command that the caller has built ([`QueuePair::submit`], [`QueuePair::submit_with_list`]);
    /// `buffers` is empty for a command without data. The result is the whole completion, since the meaning of
    /// dwords 0 and 1 depends on the command.
    pub fn command<'a>(
        &'a self,
        namespace: &'a Namespace,
        command: Command,
        buffers: BufferList,
    ) -> Io<'a, D, Completed> {
        let kind = Kind::Raw(Box::new(command));
        self.transfer(kind, namespace, (0, 0), buffers.into_chain())
    }

    #[inline]
    fn transfer<'a, T>(
        &'a self,
        kind: Kind,
        namespace: &'a Namespace,
        range: (u64, u32),
        buffer: Option<DmaBuffer>,
    ) -> Io<'a, D, T> {
        let (lba, blocks) = range;
        let request = Request {
            kind,
            namespace,
            lba,
            blocks,
            buffer,
        };
        Io::new(&self.shared, request)
    }

    /// Returns a buffer of a command whose future was dropped, once the command has completed.
    pub fn reclaim(&self) -> Option<DmaBuffer> {
        self.shared.with(&mut Wakers::new(), |state, wake| {
            if state.reclaimed.is_empty() && !state.is_driven() {
                // Without a driver, no future may ever poll the queue again.
                state.reap(usize::MAX, wake);
            }
            state.reclaimed.pop()
        })
    }

    /// Returns the number of commands in flight, including those whose future was dropped.
    pub fn outstanding(&self) -> usize {
        let mut state = self.shared.lock();
        state.events.group().outstanding()
    }

    /// Changes the policy, with or without commands in flight ([`QueuePair::set_policy`]). If the policy never
    /// blocks, the driver of the queue polls.
    ///
    /// # Errors
    /// As [`QueuePair::set_policy`]; the policy is then unchanged.
    pub fn set_policy(&self, policy: AnyPolicy) -> Result<(), PolicyError> {
        self.shared.with(&mut Wakers::new(), |state, wake| {
            let set = state.queue().set_policy(policy);
            state.wake_driver(wake);
            set
        })
    }

    /// Returns the counters of the queue and its core so far ([`PollGroup::counters`]).
    pub fn counters(&self) -> WaitCounters {
        self.shared.lock().events.group().counters()
    }

    /// Waits until no command is in flight, including those whose future was dropped.
    ///
    /// # Errors
    /// The controller can no longer be used.
    pub async fn drain(&self) -> Result<(), IoError> {
        crate::driver::drain(&self.shared).await
    }
}
