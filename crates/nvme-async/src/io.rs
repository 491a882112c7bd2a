//! The future of a command.

use crate::state::{Shared, State, Wakers};
use crate::{IoError, IoFailure};
use joulio_device::Device;
use joulio_nvme::spec::Command;
use joulio_nvme::{BufferList, Completed, DmaBuffer, Namespace, QueuePair, SubmitError};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The future of a command: submitted when it is first polled, as soon as the queue has room. Dropped
/// before it is done, it leaves the command with the device ([`AsyncQueue::reclaim`](crate::AsyncQueue::reclaim)).
#[must_use = "a command is submitted when its future is polled"]
pub struct Io<D: Device, T> {
    shared: Arc<Shared<D>>,
    stage: Stage,
    outcome: PhantomData<fn() -> T>,
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
enum Stage {
    /// Not submitted yet; the place in the line for room.
    New(Request, Option<u64>),
    /// With the device, or completed: the operation.
    Submitted(usize),
    /// Its result was taken.
    Ended,
}

/// A command to be submitted.
pub(crate) enum Request {
    Read(Namespace, u64, u32, (DmaBuffer, usize)),
    Write(Namespace, u64, u32, (DmaBuffer, usize)),
    WriteThrough(Namespace, u64, u32, DmaBuffer),
    Readv(Namespace, u64, u32, BufferList),
    Writev(Namespace, u64, u32, BufferList),
    Flush(Namespace),
    Raw(Namespace, Command, BufferList),
}

impl Request {
    /// Submits it as `tag`; a refusal comes with its buffers.
    #[inline]
    fn submit<D: Device>(self, queue: &mut QueuePair<D>, tag: u64) -> Result<(), Refused> {
        match self {
            Request::Read(namespace, lba, blocks, (buffer, offset)) => {
                queue.read_at(&namespace, lba, blocks, buffer, offset, tag)?;
            }
            Request::Write(namespace, lba, blocks, (buffer, offset)) => {
                queue.write_at(&namespace, lba, blocks, buffer, offset, tag)?;
            }
            Request::WriteThrough(namespace, lba, blocks, buffer) => {
                queue.write_through(&namespace, lba, blocks, buffer, tag)?;
            }
            Request::Readv(namespace, lba, blocks, buffers) => {
                queue.readv(&namespace, lba, blocks, buffers, tag)?;
            }
            Request::Writev(namespace, lba, blocks, buffers) => {
                queue.writev(&namespace, lba, blocks, buffers, tag)?;
            }
            Request::Flush(namespace) => queue.flush(&namespace, tag)?,
            Request::Raw(namespace, command, buffers) if buffers.is_empty() => {
                queue.submit(&namespace, command, tag)?;
            }
            Request::Raw(namespace, command, buffers) => {
                queue.submit_with_list(&namespace, command, buffers, tag)?;
            }
        }
        queue.ring();
        Ok(())
    }

    fn into_buffers(self) -> BufferList {
        match self {
            Request::Read(.., (buffer, _))
            | Request::Write(.., (buffer, _))
            | Request::WriteThrough(.., buffer) => [buffer].into_iter().collect(),
            Request::Readv(.., buffers)
            | Request::Writev(.., buffers)
            | Request::Raw(.., buffers) => buffers,
            Request::Flush(_) => BufferList::new(),
        }
    }
}

/// A command that the queue refused.
struct Refused(SubmitError, BufferList);

impl From<SubmitError> for Refused {
    fn from(reason: SubmitError) -> Refused {
        Refused(reason, BufferList::new())
    }
}

impl From<joulio_nvme::Rejected> for Refused {
    fn from(rejected: joulio_nvme::Rejected) -> Refused {
        Refused(rejected.reason, [rejected.buffer].into_iter().collect())
    }
}

impl From<joulio_nvme::RejectedList> for Refused {
    fn from(rejected: joulio_nvme::RejectedList) -> Refused {
        Refused(rejected.reason, rejected.buffers)
    }
}

impl<D: Device, T> Io<D, T> {
    pub(crate) fn new(shared: &Arc<Shared<D>>, request: Request) -> Io<D, T> {
        Io {
            shared: Arc::clone(shared),
            stage: Stage::New(request, None),
            outcome: PhantomData,
        }
    }
}

impl<D: Device, T: Outcome> Future for Io<D, T> {
    type Output = Result<T, IoError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut later = Later::default();
        let mut state = this.shared.lock();
        let polled = this.stage.poll(&mut state, cx.waker(), &mut later);
        drop(state);
        later.wake();
        polled.map(|result| {
            this.stage = Stage::Ended;
            let completed = result?;
            match completed.status {
                status if status.is_success() => Ok(T::of(completed)),
                status => Err(IoError {
                    reason: IoFailure::Status(status),
                    buffers: completed.into_buffers(),
                }),
            }
        })
    }
}

/// Wakers to be woken, and one to be dropped, when no lock is held.
#[derive(Default)]
struct Later {
    wake: Wakers,
    dropped: Option<Waker>,
}

impl Later {
    #[inline]
    fn wake(self) {
        if !self.wake.is_empty() {
            self.wake.into_iter().for_each(Waker::wake);
        }
    }
}

impl Stage {
    #[inline]
    fn poll<D: Device>(
        &mut self,
        state: &mut State<D>,
        waker: &Waker,
        later: &mut Later,
    ) -> Poll<Result<Completed, IoError>> {
        match self {
            Stage::New(..) => self.submit(state, waker, later),
            &mut Stage::Submitted(index) => wait_for(index, state, waker, later),
            Stage::Ended => panic!("a future was polled after it was done"),
        }
    }

    #[inline]
    fn submit<D: Device>(
        &mut self,
        state: &mut State<D>,
        waker: &Waker,
        later: &mut Later,
    ) -> Poll<Result<Completed, IoError>> {
        let Stage::New(request, ticket) = std::mem::replace(self, Stage::Ended) else {
            return Poll::Pending;
        };
        if !has_room(state, later) {
            let (ticket, dropped) = state.wait_for_room(ticket, waker.clone());
            later.dropped = dropped;
            *self = Stage::New(request, Some(ticket));
            if !state.driven {
                later.wake.push(waker.clone());
            }
            return Poll::Pending;
        }
        if let Some(ticket) = ticket {
            later.dropped = state.take_turn(ticket);
        }
        if let Some(ended) = &state.ended {
            let reason = IoFailure::Controller(Arc::clone(ended));
            let buffers = request.into_buffers();
            return Poll::Ready(Err(IoError { reason, buffers }));
        }
        let index = state.operations.begin(waker.clone());
        let queue = state.queue();
        if let Err(Refused(reason, buffers)) = request.submit(queue, index as u64) {
            later.dropped = state.operations.forget(index);
            let reason = IoFailure::Submit(reason);
            return Poll::Ready(Err(IoError { reason, buffers }));
        }
        *self = Stage::Submitted(index);
        if state.parked && state.queue().outstanding() == 1 {
            state.arm_for_driver(&mut later.wake);
        }
        if state.driven {
            return Poll::Pending;
        }
        wait_for(index, state, waker, later)
    }
}

/// Whether the queue has room for a command, or is to refuse it.
#[inline]
fn has_room<D: Device>(state: &mut State<D>, later: &mut Later) -> bool {
    let queue = state.queue();
    if queue.outstanding() < queue.depth() || state.ended.is_some() {
        return true;
    }
    if !state.driven {
        // An error is found in `ended`.
        let _ = state.reap(usize::MAX, &mut later.wake);
    }
    let queue = state.queue();
    queue.outstanding() < queue.depth() || state.ended.is_some()
}

#[inline]
fn wait_for<D: Device>(
    index: usize,
    state: &mut State<D>,
    waker: &Waker,
    later: &mut Later,
) -> Poll<Result<Completed, IoError>> {
    if let Some(completed) = state.operations.take(index) {
        return Poll::Ready(Ok(completed));
    }
    later.dropped = state.operations.wake_by(index, waker);
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
    let (_, waker) = state.operations.cancel(index);
    later.wake.extend(waker);
    let buffers = BufferList::new();
    Poll::Ready(Err(IoError { reason, buffers }))
}

impl<D: Device, T> Drop for Io<D, T> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.stage, Stage::Ended) {
            self.cancel();
        }
    }
}

impl<D: Device, T> Io<D, T> {
    #[cold]
    fn cancel(&mut self) {
        let mut later = Later::default();
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Submitted(index) => {
                let mut state = self.shared.lock();
                let (completed, dropped) = state.operations.cancel(index);
                let buffers = completed.map(Completed::into_buffers);
                state.reclaimed.extend(buffers.into_iter().flatten());
                later.dropped = dropped;
            }
            Stage::New(_, Some(ticket)) => {
                let mut state = self.shared.lock();
                later.dropped = state.leave_line(ticket, &mut later.wake);
            }
            Stage::New(_, None) | Stage::Ended => {}
        }
        later.wake();
    }
}
