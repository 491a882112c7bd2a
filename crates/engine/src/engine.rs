//! The trait of all engines.

use crate::{Buffer, Completion, Request};
use joulio_units::Nanos;
use joulio_wait::WaitCounters;
use std::error::Error;
use std::fmt::Display;

/// Does I/O for one thread on one device or file, or on several devices.
///
/// The path of one I/O: [`prepare`](Engine::prepare) takes a request with its buffer,
/// [`submit`](Engine::submit) sends all that were prepared, [`reap`](Engine::reap) waits and hands
/// out what completed. An engine that is dropped with requests in flight frees no memory that the
/// device may still write.
pub trait Engine {
    /// Buffers of this engine.
    type Buffer: Buffer;
    /// Failure of one request, after which the engine goes on.
    type Failure: Display + Send + 'static;
    /// Failure of the engine itself.
    type Error: Error + Send + Sync + 'static;

    /// Allocates `count` zeroed buffers of `len` bytes for device `device` of the engine's, from 0.
    ///
    /// # Errors
    /// There is no such memory, or the device cannot be given any.
    fn buffers(
        &mut self,
        device: usize,
        count: usize,
        len: usize,
    ) -> Result<Vec<Self::Buffer>, Self::Error>;

    /// Learns that the request which is prepared next for `device` had to wait for `time` since it was
    /// due; an engine may wait for its completion by that.
    fn waited(&mut self, device: usize, time: Nanos) {
        let _ = (device, time);
    }

    /// Takes a request; there is room for as many as the engine's queue depth, of each device. A request that the
    /// device or the kernel refuses ends with a completion that says so. A trim or a flush has a buffer too,
    /// which comes back with its completion; a trim may leave other bytes in it.
    ///
    /// # Errors
    /// The queue is full, or the request does not fit its buffer or the device.
    fn prepare(&mut self, request: Request, buffer: Self::Buffer) -> Result<(), Self::Error>;

    /// Sends the requests that were prepared.
    ///
    /// # Errors
    /// The engine cannot go on.
    fn submit(&mut self) -> Result<(), Self::Error>;

    /// Hands what completed to `sink`, at least `min` requests unless `deadline` (on
    /// `CLOCK_MONOTONIC`) comes first, and waits meanwhile; returns how many. With nothing in
    /// flight it may return early.
    ///
    /// # Errors
    /// The engine cannot go on: requests in flight have no completion.
    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        sink: impl FnMut(Completion<Self::Buffer, Self::Failure>),
    ) -> Result<usize, Self::Error>;

    /// Abandons the requests in flight: dropping the engine no longer waits for them, and leaks their buffers where the
    /// device may still write them.
    fn abandon(&mut self) {}

    /// Name of the effective completion mode.
    fn effective(&mut self) -> String;

    /// Polls, sleeps, blocks and interrupts since the engine was made.
    fn counters(&mut self) -> WaitCounters;

    /// Whether the counters hold the time blocked and asleep; otherwise only the thread's CPU time
    /// reports how long it waited.
    fn counts_waiting(&self) -> bool {
        false
    }

    /// System calls since the engine was made; none where they are not counted.
    fn system_calls(&self) -> Option<u64> {
        None
    }

    /// Thread of the kernel that works for this engine, by its id in `/proc/self/task`.
    fn kernel_thread(&self) -> Option<i32> {
        None
    }

    /// Time that the completion mode goes on polling before it has learnt how long to wait; zero
    /// when it has learnt, or need not.
    fn learning(&mut self) -> Nanos {
        Nanos::ZERO
    }
}
