//! The future of a command.

use crate::request::Request;
use crate::state::{Shared, State};
use crate::wakers::Wakers;
use crate::{FromCompleted, IoError, IoFailure};
use joulio_device::Device;
use joulio_nvme::{BufferList, Completed, SubmitError};
use parking_lot::MutexGuard;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The future of a command, which is submitted when the future is first polled, or as soon as the queue has room. A
/// future that is dropped before its command completes leaves the command with the device
/// ([`AsyncQueue::reclaim`](crate::AsyncQueue::reclaim)).
#[must_use = "a command is submitted when its future is polled"]
pub struct Io<'a, D: Device, T> {
    shared: &'a Shared<D>,
    progress: Progress<'a>,
    outcome: PhantomData<fn() -> T>,
}

/// A command, and how far it has got.
struct Progress<'a> {
    stage: Stage,
    request: Request<'a>,
}

/// Stage of a command.
#[derive(Clone, Copy)]
enum Stage {
    /// Not submitted yet.
    New,
    /// Not submitted; the future waits with this ticket until the queue has room.
    InLine(u64),
    /// In flight, or completed; with the index of the operation.
    Submitted(u32),
    /// Ended: the result has been taken.
    Ended,
}

impl<'a, D: Device, T> Io<'a, D, T> {
    #[inline]
    pub(crate) fn new(shared: &'a Shared<D>, request: Request<'a>) -> Io<'a, D, T> {
        Io {
            shared,
            progress: Progress {
                stage: Stage::New,
                request,
            },
            outcome: PhantomData,
        }
    }
}

impl<D: Device, T: FromCompleted> Future for Io<'_, D, T> {
    type Output = Result<T, IoError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.progress.stage {
            Stage::New => {
                if self.begin(cx.waker()) {
                    return Poll::Pending;
                }
            }
            Stage::Submitted(operation) => {
                if let Some(outcome) = self.finish(operation) {
                    return Poll::Ready(Ok(outcome));
                }
            }
            Stage::InLine(_) | Stage::Ended => {}
        }
        self.poll_slowly(cx.waker())
    }
}

// The common cases, in few instructions (`benches/instructions`): their return values fit into registers. The
// compiler inlines them where a program awaits once.
impl<D: Device, T: FromCompleted> Io<'_, D, T> {
    /// Submits the command if the queue has a driver that is awake and does the rest; returns true if the command
    /// was submitted.
    #[inline]
    fn begin(&mut self, waker: &Waker) -> bool {
        let mut state = self.shared.lock();
        if !state.is_easy() {
            return false;
        }
        let request = &mut self.progress.request;
        let Some((kind, buffer)) = request.take_whole() else {
            return self.progress.begin_other(state, waker);
        };
        let operation = state.operations.begin(waker.clone());
        let range = (request.lba, request.blocks);
        let submitted = state.queue().transfer(
            kind,
            request.namespace,
            range,
            (buffer, 0),
            operation.into(),
        );
        match submitted {
            Ok(()) => {
                self.progress.stage = Stage::Submitted(operation);
                true
            }
            Err(rejected) => {
                request.buffer = Some(rejected.buffer);
                forget(state, operation)
            }
        }
    }

    /// Returns the result of the operation, if it has completed successfully.
    #[inline]
    fn finish(&mut self, operation: u32) -> Option<T> {
        let mut state = self.shared.lock();
        let completed = state.operations.take_good(operation)?;
        self.progress.stage = Stage::Ended;
        Some(T::of(completed))
    }

    /// Polls the future in all cases that the quick path leaves.
    #[cold]
    #[inline(never)]
    fn poll_slowly(&mut self, waker: &Waker) -> Poll<Result<T, IoError>> {
        self.progress.poll(self.shared, waker).map(|ended| {
            self.progress.stage = Stage::Ended;
            let completed = ended?;
            match completed.status.is_success() {
                true => Ok(T::of(completed)),
                false => Err(IoError {
                    reason: IoFailure::Status(completed.status),
                    buffers: completed.into_buffers(),
                }),
            }
        })
    }
}

/// Removes an operation that the queue has refused; its next poll returns the same error.
#[cold]
#[inline(never)]
fn forget<D: Device>(mut state: MutexGuard<'_, State<D>>, operation: u32) -> bool {
    let waker = state.operations.forget(operation);
    drop(state);
    drop(waker);
    false
}

impl Progress<'_> {
    /// Submits a command of a less common kind, as [`Io::begin`] does.
    #[inline(never)]
    fn begin_other<D: Device>(
        &mut self,
        mut state: MutexGuard<'_, State<D>>,
        waker: &Waker,
    ) -> bool {
        let operation = state.operations.begin(waker.clone());
        match self.request.submit(state.queue(), operation.into()) {
            Ok(()) => {
                self.stage = Stage::Submitted(operation);
                true
            }
            Err(_) => forget(state, operation),
        }
    }

    fn poll<D: Device>(
        &mut self,
        shared: &Shared<D>,
        waker: &Waker,
    ) -> Poll<Result<Completed, IoError>> {
        let mut later = Later::default();
        let mut state = shared.lock();
        let polled = match self.stage {
            Stage::New | Stage::InLine(_) => self.submit(&mut state, waker, &mut later),
            Stage::Submitted(operation) => wait_on(operation, &mut state, waker, &mut later),
            Stage::Ended => panic!("a future was polled after it was done"),
        };
        drop(state);
        later.wake();
        polled
    }

    /// Returns the ticket with which the future waits for room.
    fn ticket(&self) -> Option<u64> {
        match self.stage {
            Stage::InLine(ticket) => Some(ticket),
            _ => None,
        }
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
        if let Some(ended) = &state.ended {
            let ended = Arc::clone(ended);
            return Poll::Ready(Err(self.refused(IoFailure::Controller(ended))));
        }
        if !state.has_turn(self.ticket()) {
            return self.not_submitted(SubmitError::QueueFull, state, waker, later);
        }
        let operation = state.operations.begin(waker.clone());
        if let Err(reason) = self.request.submit(state.queue(), operation.into()) {
            later.dropped.extend(state.operations.forget(operation));
            return self.not_submitted(reason, state, waker, later);
        }
        if let Stage::InLine(ticket) = self.stage {
            later.dropped.extend(state.take_turn(ticket));
        }
        self.stage = Stage::Submitted(operation);
        if state.submitted(&mut later.wake) {
            return Poll::Pending;
        }
        wait_on(operation, state, waker, later)
    }

    /// Handles a command that the queue did not accept: it waits for room, or has failed.
    fn not_submitted<D: Device>(
        &mut self,
        reason: SubmitError,
        state: &mut State<D>,
        waker: &Waker,
        later: &mut Later,
    ) -> Poll<Result<Completed, IoError>> {
        let ticket = self.ticket();
        if reason != SubmitError::QueueFull {
            let left = ticket.and_then(|ticket| state.leave_line(ticket, &mut later.wake));
            later.dropped.extend(left);
            return Poll::Ready(Err(self.refused(IoFailure::Submit(reason))));
        }
        if !state.is_driven() && state.reap(usize::MAX, &mut later.wake) > 0 {
            return self.submit(state, waker, later);
        }
        let (ticket, dropped) = state.wait_for_room(ticket, waker.clone());
        later.dropped.extend(dropped);
        self.stage = Stage::InLine(ticket);
        if !state.is_driven() {
            later.wake.push(waker.clone());
        }
        Poll::Pending
    }
}

/// Wakers to wake, and values to drop, once no lock is held.
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
    operation: u32,
    state: &mut State<D>,
    waker: &Waker,
    later: &mut Later,
) -> Poll<Result<Completed, IoError>> {
    if let Some(completed) = state.operations.take(operation) {
        return Poll::Ready(Ok(completed));
    }
    later
        .dropped
        .extend(state.operations.wake_by(operation, waker));
    if !state.is_driven() {
        state.reap(usize::MAX, &mut later.wake);
        if let Some(completed) = state.operations.take(operation) {
            return Poll::Ready(Ok(completed));
        }
        if state.ended.is_none() {
            later.wake.push(waker.clone());
        }
    }
    let Some(ended) = &state.ended else {
        return Poll::Pending;
    };
    // The device keeps the command and its buffer forever.
    let reason = IoFailure::Controller(Arc::clone(ended));
    later.dropped.extend(state.operations.cancel(operation).1);
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
    #[inline(never)]
    fn cancel(&mut self) {
        let mut later = Later::default();
        match std::mem::replace(&mut self.progress.stage, Stage::Ended) {
            Stage::Submitted(operation) => {
                let mut state = self.shared.lock();
                let (completed, dropped) = state.operations.cancel(operation);
                let buffers = completed.map(Completed::into_buffers);
                state.reclaimed.extend(buffers.into_iter().flatten());
                later.dropped.extend(dropped);
            }
            Stage::InLine(ticket) => {
                let mut state = self.shared.lock();
                let dropped = state.leave_line(ticket, &mut later.wake);
                later.dropped.extend(dropped);
            }
            Stage::New | Stage::Ended => {}
        }
        later.wake();
    }
}
