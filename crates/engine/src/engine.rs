//! The trait of all engines.

use crate::{Buffer, Completion, Request};
use joulio_units::Nanos;
use joulio_wait::WaitCounters;
use std::error::Error;
use std::fmt::Display;

/// Executes I/O for one thread on one device or file, or on several devices.
///
/// The path of one I/O: [`prepare`](Engine::prepare) accepts a request with its buffer, [`submit`](Engine::submit)
/// sends all prepared requests, [`reap`](Engine::reap) waits and returns completions. Dropping an engine with requests
/// in flight frees no memory that the device may still write.
pub trait Engine {
    /// Type of the engine's buffers.
    type Buffer: Buffer;
    /// Failure of one request, after which the engine continues.
    type Failure: Display + Send + 'static;
    /// Failure of the engine itself.
    type Error: Error + Send + Sync + 'static;

    /// Allocates `count` zeroed buffers of `len` bytes for the engine's device number `device`, counted from 0.
    ///
    /// # Errors
    /// There is no memory, or it cannot be mapped for the device.
    fn buffers(
        &mut self,
        device: usize,
        count: usize,
        len: usize,
    ) -> Result<Vec<Self::Buffer>, Self::Error>;

    /// Records that the request which is prepared next for `device` had to wait for `time` since it was due; an engine
    /// may plan its wait for the completion by that.
    fn waited(&mut self, device: usize, time: Nanos) {
        let _ = (device, time);
    }

    /// Accepts a request; there is room for as many as the engine's queue depth, for each device. A request that the
    /// device or the kernel refuses ends with a completion that has the failure. A trim or a flush has a buffer too,
    /// which is returned with its completion; a trim may leave other bytes in it.
    ///
    /// # Errors
    /// The queue is full, or the request does not fit its buffer or the device.
    fn prepare(&mut self, request: Request, buffer: Self::Buffer) -> Result<(), Self::Error>;

    /// Sends the prepared requests.
    ///
    /// # Errors
    /// The engine cannot continue.
    fn submit(&mut self) -> Result<(), Self::Error>;

    /// Returns true if [`submit`](Engine::submit) only tells the device of the requests, which takes less time than a
    /// reading of the clock.
    fn submits_at_once(&self) -> bool {
        false
    }

    /// Passes completed requests to `sink` and returns their number. Waits for at least `min` unless `deadline` (on
    /// `CLOCK_MONOTONIC`) comes first. With nothing in flight it may return early.
    ///
    /// # Errors
    /// The engine cannot continue: requests in flight have no completion.
    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        sink: impl FnMut(Completion<Self::Buffer, Self::Failure>),
    ) -> Result<usize, Self::Error>;

    /// Limits the completions that one call of [`reap`](Engine::reap) passes on to `max`, at least 1, and so the number
    /// that it waits for. An engine that has no such limit passes on all that there are.
    fn limit(&mut self, max: usize) {
        let _ = max;
    }

    /// Abandons the requests in flight: dropping the engine no longer waits for them, and leaks their buffers where the
    /// device may still write them.
    fn abandon(&mut self) {}

    /// Returns the name of the effective completion mode.
    fn effective(&mut self) -> String;

    /// Returns the polls, sleeps, blocks and interrupts since the engine was made.
    fn counters(&mut self) -> WaitCounters;

    /// Whether the counters include the time blocked and asleep; otherwise only the thread's CPU time shows how long it
    /// waited.
    fn counts_waiting(&self) -> bool {
        false
    }

    /// Returns the system calls since the engine was made; `None` if they are not counted.
    fn system_calls(&self) -> Option<u64> {
        None
    }

    /// Returns the kernel's thread that works for this engine, by its id in `/proc/self/task`.
    fn kernel_thread(&self) -> Option<i32> {
        None
    }

    /// Returns the time that the completion mode still polls before it has learnt how long to wait; zero if it has
    /// learnt, or need not.
    fn learning(&mut self) -> Nanos {
        Nanos::ZERO
    }
}
