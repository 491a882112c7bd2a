//! Commands for which futures wait, by the tags with which they were submitted.

use crate::wakers::Wakers;
use joulio_nvme::spec::Status;
use joulio_nvme::{Completed, DmaBuffer};
use std::mem;
use std::task::Waker;

/// Completion of a command that its future has not taken yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    No,
    /// The command was successful.
    Good,
    Bad,
}

/// The command of a future.
///
/// | waker | done | |
/// |---|---|---|
/// | some | no | in flight |
/// | none | good, bad | completed |
/// | none | no | in flight, and its future was dropped; or the operation is free |
struct Operation {
    /// Wakes the future.
    waker: Option<Waker>,
    /// Buffer of a command that has completed.
    buffer: Option<DmaBuffer>,
    done: Done,
    /// Status of a command that has completed.
    status: Status,
    /// Dwords 0 and 1 of a completed command; in a free operation, the index of the one that was freed before it, or
    /// [`NONE`].
    word: u64,
}

/// Index for no operation.
const NONE: u32 = u32::MAX;

/// Commands of one queue, in flight, or completed and not taken yet.
pub(crate) struct Operations {
    all: Vec<Operation>,
    /// Index of the operation that was freed last, or [`NONE`].
    free: u32,
}

impl Operations {
    pub(crate) fn with_capacity(depth: usize) -> Operations {
        Operations {
            all: Vec::with_capacity(depth),
            free: NONE,
        }
    }

    /// Adds a command whose completion wakes `waker`; returns its index.
    #[inline(always)]
    pub(crate) fn begin(&mut self, waker: Waker) -> u32 {
        let index = self.free;
        let Some(operation) = self.all.get_mut(index as usize) else {
            return self.begin_new(waker);
        };
        self.free = operation.word as u32;
        // A free operation has no waker: nothing is dropped here.
        mem::forget(operation.waker.replace(waker));
        index
    }

    #[cold]
    #[inline(never)]
    fn begin_new(&mut self, waker: Waker) -> u32 {
        self.all.push(Operation {
            waker: Some(waker),
            buffer: None,
            done: Done::No,
            status: Status::SUCCESS,
            word: 0,
        });
        self.all.len() as u32 - 1
    }

    #[inline]
    fn release(&mut self, index: u32) {
        self.all[index as usize].word = mem::replace(&mut self.free, index).into();
    }

    /// Removes a command that was not submitted. Returns its waker, to be dropped when no lock is held.
    pub(crate) fn forget(&mut self, index: u32) -> Option<Waker> {
        self.release(index);
        self.all[index as usize].waker.take()
    }

    /// Takes the completion of `index`, if it has come and is a success.
    #[inline(always)]
    pub(crate) fn take_good(&mut self, index: u32) -> Option<Completed> {
        match self.all[index as usize].done {
            Done::Good => self.take(index),
            Done::No | Done::Bad => None,
        }
    }

    /// Takes the completion of `index`, if it has come.
    #[inline(always)]
    pub(crate) fn take(&mut self, index: u32) -> Option<Completed> {
        let operation = &mut self.all[index as usize];
        if operation.done == Done::No {
            return None;
        }
        operation.done = Done::No;
        let free = mem::replace(&mut self.free, index);
        let result = mem::replace(&mut operation.word, free.into());
        Some(Completed {
            tag: index.into(),
            status: operation.status,
            dw0: result as u32,
            dw1: (result >> 32) as u32,
            buffer: operation.buffer.take(),
        })
    }

    /// Sets the waker that the completion of `index` wakes. Returns the old waker if it differs, to be dropped when
    /// no lock is held.
    pub(crate) fn wake_by(&mut self, index: u32, waker: &Waker) -> Option<Waker> {
        match &mut self.all[index as usize].waker {
            Some(old) if !old.will_wake(waker) => Some(mem::replace(old, waker.clone())),
            _ => None,
        }
    }

    /// Notes that the future of `index` was dropped. Returns the completion, if it has come, and the waker, to be
    /// dropped when no lock is held.
    pub(crate) fn cancel(&mut self, index: u32) -> (Option<Completed>, Option<Waker>) {
        match self.take(index) {
            Some(completed) => (Some(completed), None),
            None => (None, self.all[index as usize].waker.take()),
        }
    }

    /// Accepts a completion, and adds the waker of its future to `wake`. If the future was dropped, the buffers are
    /// put into `reclaimed`.
    #[inline(always)]
    pub(crate) fn complete(
        &mut self,
        completed: Completed,
        wake: &mut Wakers,
        reclaimed: &mut Vec<DmaBuffer>,
    ) {
        // The tag was made from an index.
        let operation = &mut self.all[completed.tag as u32 as usize];
        let Some(waker) = operation.waker.take() else {
            return self.reclaim(completed, reclaimed);
        };
        operation.done = match completed.status.is_success() {
            true => Done::Good,
            false => Done::Bad,
        };
        (operation.status, operation.word) = (completed.status, completed.result());
        // The operation of a command in flight has no buffer: nothing is dropped here.
        mem::forget(mem::replace(&mut operation.buffer, completed.buffer));
        wake.push(waker);
    }

    #[cold]
    #[inline(never)]
    fn reclaim(&mut self, completed: Completed, reclaimed: &mut Vec<DmaBuffer>) {
        self.release(completed.tag as u32);
        reclaimed.extend(completed.into_buffers());
    }

    /// Returns clones of the wakers of all commands in flight.
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        let all = self.all.iter();
        all.filter_map(|operation| operation.waker.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dwords_0_and_1_come_with_a_completion_and_operations_are_used_again() {
        let mut operations = Operations::with_capacity(2);
        let (mut wake, mut reclaimed) = (Wakers::new(), Vec::new());
        for _ in 0..3 {
            let begun = [0, 1].map(|_| operations.begin(Waker::noop().clone()));
            let statuses = [Status::SUCCESS, Status::INVALID_FIELD];
            for (index, status) in begun.into_iter().zip(statuses) {
                let completed = Completed {
                    tag: index.into(),
                    status,
                    dw0: 0x8000_0001,
                    dw1: 5,
                    buffer: None,
                };
                operations.complete(completed, &mut wake, &mut reclaimed);
                let taken = operations.take(index).unwrap();
                assert_eq!((taken.status, taken.result()), (status, 0x5_8000_0001));
            }
            assert_eq!(wake.drain(..).count(), 2);
        }
        assert!(operations.all.len() == 2 && reclaimed.is_empty());
    }
}
