//! Commands that futures wait for, by the tags that they were submitted with.

use joulio_nvme::spec::Status;
use joulio_nvme::{Completed, DmaBuffer};
use std::task::Waker;

/// Progress of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nobody's.
    Free,
    /// With the device, and its future.
    Waiting,
    /// With the device; its future was dropped.
    Cancelled,
    /// Completed, for its future to take.
    Done,
}

/// A command of a future.
struct Operation {
    phase: Phase,
    /// The free one that was freed before, while both are, else past the end.
    next_free: usize,
    /// Wakes its future while it waits.
    waker: Option<Waker>,
    /// Its completion, once it is done.
    status: Status,
    dw0: u32,
    buffer: Option<DmaBuffer>,
}

/// Commands of one queue: with the device, or completed and not taken yet.
pub(crate) struct Operations {
    all: Vec<Operation>,
    /// The one that was freed last; past the end: none is free.
    free: usize,
}

impl Operations {
    pub(crate) fn with_capacity(depth: usize) -> Operations {
        Operations {
            all: Vec::with_capacity(depth),
            free: usize::MAX,
        }
    }

    /// Begins a command whose completion wakes `waker`; its index.
    #[inline]
    pub(crate) fn begin(&mut self, waker: Waker) -> usize {
        let index = self.free;
        let Some(operation) = self.all.get_mut(index) else {
            return self.begin_new(waker);
        };
        self.free = operation.next_free;
        operation.phase = Phase::Waiting;
        // A free one has none: nothing is dropped here.
        std::mem::forget(operation.waker.replace(waker));
        index
    }

    #[cold]
    fn begin_new(&mut self, waker: Waker) -> usize {
        self.all.push(Operation {
            phase: Phase::Waiting,
            next_free: usize::MAX,
            waker: Some(waker),
            status: Status::SUCCESS,
            dw0: 0,
            buffer: None,
        });
        self.all.len() - 1
    }

    /// Forgets a command that was not submitted. Its waker, to be dropped when no lock is held.
    pub(crate) fn forget(&mut self, index: usize) -> Option<Waker> {
        self.release(index);
        self.all[index].waker.take()
    }

    #[inline]
    fn release(&mut self, index: usize) {
        let operation = &mut self.all[index];
        operation.phase = Phase::Free;
        operation.next_free = std::mem::replace(&mut self.free, index);
    }

    /// Takes the completion of `index`, if it has come.
    #[inline]
    pub(crate) fn take(&mut self, index: usize) -> Option<Completed> {
        let operation = &mut self.all[index];
        if operation.phase != Phase::Done {
            return None;
        }
        let completed = Completed {
            tag: index as u64,
            status: operation.status,
            dw0: operation.dw0,
            buffer: operation.buffer.take(),
        };
        self.release(index);
        Some(completed)
    }

    /// Has the completion of `index` wake `waker`; the waker that it would have woken, if that is
    /// another, to be dropped when no lock is held.
    pub(crate) fn wake_by(&mut self, index: usize, waker: &Waker) -> Option<Waker> {
        match &mut self.all[index].waker {
            Some(old) if !old.will_wake(waker) => Some(std::mem::replace(old, waker.clone())),
            _ => None,
        }
    }

    /// Notes that the future of `index` is gone. The completion, if it has come, and the waker, to be
    /// dropped when no lock is held.
    pub(crate) fn cancel(&mut self, index: usize) -> (Option<Completed>, Option<Waker>) {
        if let Some(completed) = self.take(index) {
            return (Some(completed), None);
        }
        let operation = &mut self.all[index];
        operation.phase = Phase::Cancelled;
        (None, operation.waker.take())
    }

    /// Takes in a completion: the waker of its future, or the completion of one that is gone.
    #[inline]
    pub(crate) fn complete(&mut self, completed: Completed) -> Result<Waker, Completed> {
        let index = completed.tag as usize;
        let operation = &mut self.all[index];
        let Some(waker) = operation.waker.take() else {
            self.release(index);
            return Err(completed);
        };
        operation.phase = Phase::Done;
        (operation.status, operation.dw0) = (completed.status, completed.dw0);
        // One that waits has none: nothing is dropped here.
        std::mem::forget(std::mem::replace(&mut operation.buffer, completed.buffer));
        Ok(waker)
    }

    /// Wakers of all commands with the device, which keep them.
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        let waiting = self
            .all
            .iter()
            .filter_map(|operation| operation.waker.clone());
        waiting.collect()
    }
}
