//! Drivers, which reap completions for the futures of a queue.

use crate::state::{Shared, State};
use crate::wakers::{Wakers, wake_all};
use crate::{IoError, IoFailure};
use joulio_device::{Device, DeviceError};
use joulio_nvme::{BufferList, NvmeError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::future::poll_fn;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::task::Poll;

/// Largest number of completions that [`Driver::run`] takes at once.
const BATCH: usize = 256;

/// Reaps completions for the futures of an [`AsyncQueue`](crate::AsyncQueue), and wakes those futures. The sequence
/// is [`Driver::arm`], a wait for the descriptor, [`Driver::reap`], and again, as for an
/// [`EventGroup`](joulio_nvme::EventGroup):
///
/// ```no_run
/// # use joulio_device::Device;
/// # use joulio_nvme_async::Driver;
/// use tokio::io::unix::AsyncFd;
///
/// async fn drive<D: Device>(driver: Driver<D>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     // SAFETY: the driver owns its descriptor, which stays the same.
///     let mut driver = unsafe { AsyncFd::register(driver)? };
///     while !driver.get_ref().is_closed() {
///         if driver.get_mut().arm()? {
///             driver.readable().await?.clear_ready();
///         } else {
///             tokio::task::yield_now().await;
///         }
///         driver.get_mut().reap(256)?;
///     }
///     Ok(())
/// }
/// ```
///
/// When the driver is dropped, the futures poll the queue themselves.
pub struct Driver<D: Device> {
    shared: Arc<Shared<D>>,
    /// The group's descriptor.
    readable: OwnedFd,
    /// Kept, so that a reap allocates nothing.
    wake: Wakers,
}

impl<D: Device> Driver<D> {
    pub(crate) fn new(shared: &Arc<Shared<D>>) -> Result<Driver<D>, NvmeError> {
        let mut state = shared.lock();
        assert!(!state.is_driven(), "the queue has a driver");
        let readable = state.events.as_fd().try_clone_to_owned();
        let readable = readable.map_err(|source| DeviceError::Os {
            what: "duplicate a descriptor".into(),
            source,
        })?;
        state.driver_is_awake();
        Ok(Driver {
            shared: Arc::clone(shared),
            readable,
            wake: Wakers::new(),
        })
    }

    /// Enables interrupts. If the result is `true`, nothing has completed, and the descriptor becomes readable once
    /// a command completes, or once the queue must be checked. If it is `false`, there are completions to reap, or
    /// the queue must be polled because its policy never blocks, or [`Driver::is_closed`].
    ///
    /// # Errors
    /// The controller can no longer be used.
    pub fn arm(&mut self) -> Result<bool, Arc<NvmeError>> {
        self.shared.with(&mut self.wake, State::arm)
    }

    /// Rings the doorbell once for all commands that were written since the driver woke; [`Driver::arm`] and
    /// [`Driver::reap`] do that too.
    pub fn ring(&mut self) {
        self.shared.lock().ring();
    }

    /// Takes up to `max` completions, without waiting, and wakes their futures; returns their number.
    ///
    /// # Errors
    /// The controller can no longer be used: all futures end with this error.
    pub fn reap(&mut self, max: usize) -> Result<usize, Arc<NvmeError>> {
        let mut state = self.shared.lock();
        state.driver_is_awake();
        let count = state.reap(max, &mut self.wake);
        let ended = state.ended.is_some();
        drop(state);
        wake_all(&mut self.wake);
        match ended {
            false => Ok(count),
            true => Err(self.ended()),
        }
    }

    /// Returns true if the queue has no handle left and no command in flight.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().is_closed()
    }

    /// Drives the queue in the calling thread, which should do nothing else, until [`Driver::is_closed`].
    ///
    /// # Errors
    /// The controller can no longer be used.
    pub fn run(mut self) -> Result<(), Arc<NvmeError>> {
        while !self.is_closed() {
            if self.arm()? {
                match poll(&mut [PollFd::new(&self.readable, PollFlags::IN)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(self.fail(errno)),
                }
            }
            self.reap(BATCH)?;
        }
        Ok(())
    }

    /// Returns the reason why the controller can no longer be used; called only if it cannot.
    #[cold]
    fn ended(&self) -> Arc<NvmeError> {
        let state = self.shared.lock();
        let ended = state.ended.as_ref().map(Arc::clone);
        ended.expect("it was found to have ended")
    }

    fn fail(&mut self, errno: Errno) -> Arc<NvmeError> {
        let error = NvmeError::Device(DeviceError::Os {
            what: "wait for a descriptor (poll)".into(),
            source: errno.into(),
        });
        self.shared
            .with(&mut self.wake, |state, wake| state.fail(error, wake))
    }
}

impl<D: Device> AsFd for Driver<D> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}

impl<D: Device> AsRawFd for Driver<D> {
    fn as_raw_fd(&self) -> RawFd {
        self.readable.as_raw_fd()
    }
}

impl<D: Device> Drop for Driver<D> {
    fn drop(&mut self) {
        self.shared.with(&mut self.wake, State::leave_to_futures);
    }
}

/// Waits until no command is in flight.
pub(crate) async fn drain<D: Device>(shared: &Arc<Shared<D>>) -> Result<(), IoError> {
    poll_fn(|cx| {
        let (ended, outstanding) = shared.with(&mut Wakers::new(), |state, wake| {
            if !state.is_driven() {
                state.reap(usize::MAX, wake);
            }
            (state.ended.clone(), state.events.group().outstanding())
        });
        if let Some(ended) = ended {
            return Poll::Ready(Err(IoError {
                reason: IoFailure::Controller(ended),
                buffers: BufferList::new(),
            }));
        }
        if outstanding == 0 {
            return Poll::Ready(Ok(()));
        }
        // No completion wakes this future, so that it asks to be polled again.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
