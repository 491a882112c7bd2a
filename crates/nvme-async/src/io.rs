//! The future of a command.

use crate::state::{Shared, State, Wakers};
use crate::{IoError, IoFailure};
use joulio_device::Device;
use joulio_nvme::spec::Command;
use joulio_nvme::{BufferList, Completed, DmaBuffer, Namespace, QueuePair, Rejected, SubmitError};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker};

/// The future of a command: submitted when it is first polled, as soon as the queue has room. Dropped
/// before it is done, it leaves the command with the device ([`AsyncQueue::reclaim`](crate::AsyncQueue::reclaim)).
#[must_use = "a command is submitted when its future is polled"]
pub struct Io<'a, D: Device, T> {
    shared: &'a Shared<D>,
    progress: Progress<'a>,
    outcome: PhantomData<fn() -> T>,
}

/// A command and how far it is.
struct Progress<'a> {
    stage: Stage,
    request: Request<'a>,
}

/// Result of a command that succeeded: its buffer, its buffers, nothing, or all that its completion says.
pub trait Outcome: Sized {
    /// The result of `completed`, which succeeded.
    fn of(completed: Completed) -> Self;
}

impl Outcome for () {
    fn of(_: Completed) {}
}

impl Outcome for DmaBuffer {
    #[inline]
    fn of(completed: Completed) -> DmaBuffer {
        let buffer = completed.buffer;
        buffer.expect("a command that succeeded gives its buffer back")
    }
}

impl Outcome for BufferList {
    fn of(completed: Completed) -> BufferList {
        completed.into_buffers()
    }
}

impl Outcome for Completed {
    fn of(completed: Completed) -> Completed {
        completed
    }
}

/// Progress of a future.
#[derive(Clone, Copy)]
enum Stage {
    /// Not submitted yet; the place in the line for room.
    New(Option<u64>),
    /// With the device, or completed: the operation.
    Submitted(usize),
    /// Its result was taken.
    Ended,
}

/// Kind of a command.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Read,
    Write,
    WriteThrough,
    Readv,
    Writev,
    Flush,
    Raw,
}

/// A command to be submitted. Stays in its future; the buffers alone leave it.
pub(crate) struct Request<'a> {
    pub(crate) kind: Kind,
    pub(crate) namespace: &'a Namespace,
    pub(crate) lba: u64,
    pub(crate) blocks: u32,
    pub(crate) offset: usize,
    /// Buffer, or the first of a list, until it was submitted.
    pub(crate) buffer: Option<DmaBuffer>,
    /// Command of the caller's own.
    pub(crate) raw: Option<Box<Command>>,
}

impl<'a> Request<'a> {
    /// A command of `kind` to the blocks `range`, with the buffer, or the first of a list, from that offset.
    #[inline]
    pub(crate) fn new(
        kind: Kind,
        namespace: &'a Namespace,
        (lba, blocks): (u64, u32),
        (buffer, offset): (Option<DmaBuffer>, usize),
    ) -> Request<'a> {
        Request {
            kind,
            namespace,
            lba,
            blocks,
            offset,
            buffer,
            raw: None,
        }
    }

    /// Submits it as `tag`; with a refusal it has its buffers again.
    #[inline(always)]
    fn submit<D: Device>(&mut self, queue: &mut QueuePair<D>, tag: u64) -> Result<(), SubmitError> {
        let one = match (self.kind, self.buffer.take()) {
            (Kind::Read, Some(buffer)) => queue.read_at(
                self.namespace,
                self.lba,
                self.blocks,
                buffer,
                self.offset,
                tag,
            ),
            (Kind::Write, Some(buffer)) => queue.write_at(
                self.namespace,
                self.lba,
                self.blocks,
                buffer,
                self.offset,
                tag,
            ),
            (_, buffer) => return self.submit_other(queue, buffer, tag),
        };
        one.map_err(|rejected| self.refuse(rejected))
    }

    #[inline(never)]
    fn submit_slowly<D: Device>(
        &mut self,
        queue: &mut QueuePair<D>,
        tag: u64,
    ) -> Result<(), SubmitError> {
        self.submit(queue, tag)
    }

    #[cold]
    fn refuse(&mut self, rejected: Rejected) -> SubmitError {
        self.buffer = Some(rejected.buffer);
        rejected.reason
    }

    #[inline(never)]
    fn submit_other<D: Device>(
        &mut self,
        queue: &mut QueuePair<D>,
        buffer: Option<DmaBuffer>,
        tag: u64,
    ) -> Result<(), SubmitError> {
        let (namespace, lba, blocks) = (self.namespace, self.lba, self.blocks);
        let list = match (self.kind, buffer) {
            (Kind::WriteThrough, Some(buffer)) => {
                let written = queue.write_through(namespace, lba, blocks, buffer, tag);
                return written.map_err(|rejected| self.refuse(rejected));
            }
            (Kind::Flush, _) => return queue.flush(namespace, tag),
            (Kind::Raw, None) => {
                let command = self.raw.as_deref().copied().unwrap_or_default();
                return queue.submit(namespace, command, tag);
            }
            (Kind::Raw, buffer) => {
                let command = self.raw.as_deref().copied().unwrap_or_default();
                queue.submit_with_list(namespace, command, BufferList::from_chain(buffer), tag)
            }
            (Kind::Writev, buffer) => {
                queue.writev(namespace, lba, blocks, BufferList::from_chain(buffer), tag)
            }
            (_, buffer) => queue.readv(namespace, lba, blocks, BufferList::from_chain(buffer), tag),
        };
        list.map_err(|rejected| {
            self.buffer = rejected.buffers.into_chain();
            rejected.reason
        })
    }
}

impl<'a, D: Device, T> Io<'a, D, T> {
    #[inline]
    pub(crate) fn new(shared: &'a Shared<D>, request: Request<'a>) -> Io<'a, D, T> {
        Io {
            shared,
            progress: Progress {
                stage: Stage::New(None),
                request,
            },
            outcome: PhantomData,
        }
    }
}

impl Progress<'_> {
    /// Cases that are not the common one.
    #[inline(never)]
    fn poll<D: Device>(
        &mut self,
        mut state: MutexGuard<'_, State<D>>,
        refusal: Refusal,
        waker: &Waker,
    ) -> Poll<Result<Completed, IoError>> {
        let mut later = Later::default();
        let polled = match (self.stage, refusal) {
            (Stage::New(_), Some((index, reason))) => {
                self.not_submitted(index, reason, &mut state, waker, &mut later)
            }
            (Stage::New(_), None) => self.submit(&mut state, waker, &mut later),
            (Stage::Submitted(index), _) => wait_on(index, &mut state, waker, &mut later),
            (Stage::Ended, _) => panic!("a future was polled after it was done"),
        };
        drop(state);
        later.wake();
        polled
    }

    fn refused(&mut self, reason: IoFailure) -> IoError {
        let buffers = BufferList::from_chain(self.request.buffer.take());
        IoError { reason, buffers }
    }

    fn submit<D: Device>(
        &mut self,
        state: &mut State<D>,
        waker: &Waker,
        later: &mut Later,
    ) -> Poll<Result<Completed, IoError>> {
        if state.ended.is_some() {
            return self.ended(state);
        }
        let index = state.operations.begin(waker.clone());
        if let Err(reason) = self.request.submit_slowly(state.queue(), index as u64) {
            return self.not_submitted(index, reason, state, waker, later);
        }
        if let Stage::New(Some(ticket)) = self.stage {
            later.dropped.extend(state.take_turn(ticket));
        }
        self.stage = Stage::Submitted(index);
        if state.submitted(&mut later.wake) {
            return Poll::Pending;
        }
        wait_on(index, state, waker, later)
    }

    #[cold]
    fn ended<D: Device>(&mut self, state: &State<D>) -> Poll<Result<Completed, IoError>> {
        let ended = state.ended.as_ref().map(Arc::clone);
        let Some(ended) = ended else {
            return Poll::Pending;
        };
        Poll::Ready(Err(self.refused(IoFailure::Controller(ended))))
    }

    /// Outcome of a command that the queue did not take: it waits for room, or has failed.
    #[cold]
    fn not_submitted<D: Device>(
        &mut self,
        index: usize,
        reason: SubmitError,
        state: &mut State<D>,
        waker: &Waker,
        later: &mut Later,
    ) -> Poll<Result<Completed, IoError>> {
        later.dropped.extend(state.operations.forget(index));
        let Stage::New(ticket) = self.stage else {
            return Poll::Pending;
        };
        if reason != SubmitError::QueueFull {
            let left = ticket.and_then(|ticket| state.leave_line(ticket, &mut later.wake));
            later.dropped.extend(left);
            return Poll::Ready(Err(self.refused(IoFailure::Submit(reason))));
        }
        if !state.driven
            && state
                .reap(usize::MAX, &mut later.wake)
                .is_ok_and(|count| count > 0)
        {
            return self.submit(state, waker, later);
        }
        let (ticket, dropped) = state.wait_for_room(ticket, waker.clone());
        later.dropped.extend(dropped);
        self.stage = Stage::New(Some(ticket));
        if !state.driven {
            later.wake.push(waker.clone());
        }
        Poll::Pending
    }
}

impl<D: Device, T: Outcome> Future for Io<'_, D, T> {
    type Output = Result<T, IoError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Stage::Submitted(index) = self.progress.stage
            && let Some(completed) = self.shared.take(index)
        {
            self.progress.stage = Stage::Ended;
            return Poll::Ready(result(completed));
        }
        match self.begin(cx.waker()) {
            Some(refusal) => self.poll_slowly(refusal, cx.waker()),
            None => Poll::Pending,
        }
    }
}

impl<D: Device, T> Io<'_, D, T> {
    /// Submits it where its queue has a driver, which is awake and does the rest. Some: it did not, as the
    /// queue refused the operation, or for another reason.
    #[inline(never)]
    fn begin(&mut self, waker: &Waker) -> Option<Refusal> {
        let mut state = self.shared.lock();
        if !matches!(self.progress.stage, Stage::New(None)) || !state.is_easy() {
            return Some(None);
        }
        let index = state.operations.begin(waker.clone());
        match self.progress.request.submit(state.queue(), index as u64) {
            Ok(()) => {
                self.progress.stage = Stage::Submitted(index);
                None
            }
            Err(reason) => Some(Some((index, reason))),
        }
    }

    #[cold]
    fn poll_slowly(&mut self, refusal: Refusal, waker: &Waker) -> Poll<Result<T, IoError>>
    where
        T: Outcome,
    {
        let polled = self.progress.poll(self.shared.lock(), refusal, waker);
        polled.map(|polled| {
            self.progress.stage = Stage::Ended;
            result(polled?)
        })
    }
}

/// Operation that the queue has just refused, and the reason.
type Refusal = Option<(usize, SubmitError)>;

/// Result of a command that has completed.
#[inline]
fn result<T: Outcome>(completed: Completed) -> Result<T, IoError> {
    match completed.status.is_success() {
        true => Ok(T::of(completed)),
        false => Err(failed(completed)),
    }
}

#[cold]
fn failed(completed: Completed) -> IoError {
    IoError {
        reason: IoFailure::Status(completed.status),
        buffers: completed.into_buffers(),
    }
}

/// Wakers to be woken, and some to be dropped, when no lock is held.
#[derive(Default)]
struct Later {
    wake: Wakers,
    dropped: Wakers,
}

impl Later {
    fn wake(self) {
        self.wake.into_iter().for_each(Waker::wake);
    }
}

fn wait_on<D: Device>(
    index: usize,
    state: &mut State<D>,
    waker: &Waker,
    later: &mut Later,
) -> Poll<Result<Completed, IoError>> {
    if let Some(completed) = state.operations.take(index) {
        return Poll::Ready(Ok(completed));
    }
    later.dropped.extend(state.operations.wake_by(index, waker));
    if !state.driven {
        let _ = state.reap(usize::MAX, &mut later.wake);
        if let Some(completed) = state.operations.take(index) {
            return Poll::Ready(Ok(completed));
        }
        if state.ended.is_none() {
            later.wake.push(waker.clone());
        }
    }
    let Some(ended) = &state.ended else {
        return Poll::Pending;
    };
    // The device has it for ever, and its buffer.
    let reason = IoFailure::Controller(Arc::clone(ended));
    later.dropped.extend(state.operations.cancel(index).1);
    let buffers = BufferList::new();
    Poll::Ready(Err(IoError { reason, buffers }))
}

impl<D: Device, T> Drop for Io<'_, D, T> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.progress.stage, Stage::Ended) {
            self.cancel();
        }
    }
}

impl<D: Device, T> Io<'_, D, T> {
    #[cold]
    fn cancel(&mut self) {
        let mut later = Later::default();
        match std::mem::replace(&mut self.progress.stage, Stage::Ended) {
            Stage::Submitted(index) => {
                let mut state = self.shared.lock();
                let (completed, dropped) = state.operations.cancel(index);
                let buffers = completed.map(Completed::into_buffers);
                state.reclaimed.extend(buffers.into_iter().flatten());
                later.dropped.extend(dropped);
            }
            Stage::New(Some(ticket)) => {
                let mut state = self.shared.lock();
                later
                    .dropped
                    .extend(state.leave_line(ticket, &mut later.wake));
            }
            Stage::New(None) | Stage::Ended => {}
        }
        later.wake();
    }
}
