//! Reads that were started, and end later.

use crate::StoreError;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory that a started read fills; the read has it until it ends.
pub type ReadMemory = Box<dyn AsMut<[u8]> + Send>;

/// A read of a store that was started. [`BlockStore::finish_read`](crate::BlockStore::finish_read) waits for it. To
/// drop it cancels it: its memory is dropped with it, and nothing is written there any more.
pub struct StartedRead {
    progress: Arc<Progress>,
    lane: u64,
}

impl fmt::Debug for StartedRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartedRead")
            .field("ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}

impl Drop for StartedRead {
    fn drop(&mut self) {
        drop(self.progress.take_memory());
    }
}

impl StartedRead {
    /// Makes a read into `into` of which nothing is left to be done.
    pub(crate) fn ended(into: ReadMemory) -> StartedRead {
        StartedRead::new(&Progress::new(into, 0), 0)
    }

    /// Makes a read with `progress` on the queue pair `lane`.
    pub(crate) fn new(progress: &Arc<Progress>, lane: u64) -> StartedRead {
        StartedRead {
            progress: Arc::clone(progress),
            lane,
        }
    }

    /// Returns the number of the queue pair that executes the read.
    pub(crate) fn lane(&self) -> u64 {
        self.lane
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.progress.state().left == 0
    }

    /// Returns the memory of a read that has ended, or why it failed.
    pub(crate) fn result(self) -> Result<ReadMemory, StoreError> {
        let mut state = self.progress.state();
        match (state.failed.take(), state.into.take()) {
            (None, Some(into)) => Ok(into),
            (failed, _) => Err(failed.unwrap_or(StoreError::QueueLost)),
        }
    }
}

/// The state of a started read, which its owner shares with the queue pair that executes it.
pub(crate) struct Progress(Mutex<State>);

struct State {
    /// Nothing is written there without the lock; `None`: the read was cancelled.
    into: Option<ReadMemory>,
    /// Commands that have not ended.
    left: usize,
    failed: Option<StoreError>,
}

impl Progress {
    /// The state of a read into `into` by `commands` commands.
    pub fn new(into: ReadMemory, commands: usize) -> Arc<Progress> {
        Arc::new(Progress(Mutex::new(State {
            into: Some(into),
            left: commands,
            failed: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_memory(&self) -> Option<ReadMemory> {
        self.state().into.take()
    }

    /// Whether the read was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state().into.is_none()
    }

    /// Ends one command: `copy` writes its data to the read's memory, unless the read was cancelled.
    pub fn end(&self, copy: impl FnOnce(&mut [u8]) -> Result<(), StoreError>) {
        let mut state = self.state();
        state.left -= 1;
        if let Some(into) = &mut state.into
            && let Err(error) = copy((**into).as_mut())
        {
            state.failed.get_or_insert(error);
        }
    }
}
