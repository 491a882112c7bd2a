//! Commands that futures wait for, by the tags that they were submitted with.

use joulio_nvme::Completed;
use std::task::Waker;

/// A command of a future.
enum Operation {
    /// Nobody's; the next one that is.
    Free(Option<usize>),
    /// With the device, and its future.
    Waiting(Waker),
    /// With the device; its future was dropped.
    Cancelled,
    /// Completed, for its future to take.
    Done(Completed),
}

/// Commands of one queue: with the device, or completed and not taken yet.
#[derive(Default)]
pub(crate) struct Operations {
    all: Vec<Operation>,
    free: Option<usize>,
}

impl Operations {
    pub(crate) fn with_capacity(depth: usize) -> Operations {
        Operations {
            all: Vec::with_capacity(depth),
            free: None,
        }
    }

    /// Begins a command whose completion wakes `waker`; its index.
    #[inline]
    pub(crate) fn begin(&mut self, waker: Waker) -> usize {
        let Some(index) = self.free else {
            self.all.push(Operation::Waiting(waker));
            return self.all.len() - 1;
        };
        let operation = &mut self.all[index];
        if let Operation::Free(next) = *operation {
            self.free = next;
        }
        *operation = Operation::Waiting(waker);
        index
    }

    /// Forgets a command that was not submitted, and returns its waker, to be dropped when no lock is held.
    pub(crate) fn forget(&mut self, index: usize) -> Option<Waker> {
        match self.release(index) {
            Operation::Waiting(waker) => Some(waker),
            _ => None,
        }
    }

    fn release(&mut self, index: usize) -> Operation {
        let next = self.free.replace(index);
        std::mem::replace(&mut self.all[index], Operation::Free(next))
    }

    /// Takes the completion of `index`, if it has come.
    #[inline]
    pub(crate) fn take(&mut self, index: usize) -> Option<Completed> {
        match self.all[index] {
            Operation::Done(_) => match self.release(index) {
                Operation::Done(completed) => Some(completed),
                _ => None,
            },
            _ => None,
        }
    }

    /// Has the completion of `index` wake `waker`; the waker that it would have woken, if that is
    /// another, to be dropped when no lock is held.
    pub(crate) fn wake_by(&mut self, index: usize, waker: &Waker) -> Option<Waker> {
        match &mut self.all[index] {
            Operation::Waiting(old) if !old.will_wake(waker) => {
                Some(std::mem::replace(old, waker.clone()))
            }
            _ => None,
        }
    }

    /// Notes that the future of `index` is gone. The completion, if it has come, and the waker, to be
    /// dropped when no lock is held.
    pub(crate) fn cancel(&mut self, index: usize) -> (Option<Completed>, Option<Waker>) {
        if let Some(completed) = self.take(index) {
            return (Some(completed), None);
        }
        match std::mem::replace(&mut self.all[index], Operation::Cancelled) {
            Operation::Waiting(waker) => (None, Some(waker)),
            _ => (None, None),
        }
    }

    /// Takes in a completion: the waker of its future, or the completion of one that is gone.
    #[inline]
    pub(crate) fn complete(&mut self, completed: Completed) -> Result<Waker, Completed> {
        let index = completed.tag as usize;
        let operation = &mut self.all[index];
        match std::mem::replace(operation, Operation::Done(completed)) {
            Operation::Waiting(waker) => Ok(waker),
            _ => match self.release(index) {
                Operation::Done(completed) => Err(completed),
                _ => unreachable!("just put there"),
            },
        }
    }

    /// Wakers of all commands with the device, which keep them.
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        let wakers = self.all.iter().filter_map(|operation| match operation {
            Operation::Waiting(waker) => Some(waker.clone()),
            _ => None,
        });
        wakers.collect()
    }
}
