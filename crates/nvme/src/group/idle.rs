//! Waits of a reactor's core that no completion ends: those while no command is outstanding, and sleeps.

use super::PollGroup;
use crate::NvmeError;
use joulio_device::Device;
use joulio_units::Nanos;
use joulio_wait::{Blocked, Step, WaitCounters, WaitError, Waker, Watched, Woken, now, poll_until};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::error::Error;

/// A core that waits for its waker alone.
struct Idle<'a> {
    waker: &'a Waker,
    counters: &'a mut WaitCounters,
}

type Armed<T> = Result<T, Box<dyn Error + Send + Sync>>;

impl Watched for Idle<'_> {
    fn ready(&mut self) -> bool {
        self.waker.is_woken()
    }

    fn arm(&mut self) -> Armed<()> {
        Ok(())
    }

    fn block(&mut self, until: Nanos) -> Armed<Blocked> {
        if !self.waker.fall_asleep() {
            return Ok(Blocked::Interrupted);
        }
        let start = now();
        let woken = block_asleep(self.waker, until);
        self.counters.blocks += 1;
        self.counters.blocked += now() - start;
        match woken? {
            true => Ok(Blocked::Interrupted),
            false => Ok(Blocked::TimedOut),
        }
    }
}

/// Blocks a core that fell asleep until it is woken, until `until`, or until a signal; returns whether it was woken.
fn block_asleep(waker: &Waker, until: Nanos) -> Result<bool, Errno> {
    let event = waker.event();
    let mut fds = [PollFd::new(&event, PollFlags::IN)];
    let polled = poll_until(&mut fds, until);
    let woken = waker.get_up();
    match polled {
        Ok(_) | Err(Errno::INTR) => Ok(woken),
        Err(error) => Err(error),
    }
}

/// Sleeps until `until`, as by a timer, but a wake ends it too. No interrupt is armed: as in every sleep, completions
/// raise none.
pub(super) fn sleep_for_waker(waker: &Waker, until: Nanos) -> Result<Woken, WaitError> {
    if waker.fall_asleep() {
        block_asleep(waker, until).map_err(|errno| WaitError::Interrupt(errno.into()))?;
    }
    Ok(Woken::TimedOut)
}

impl<D: Device> PollGroup<D> {
    /// Waits in the kernel until the core is woken or until `until`: no completion can come. `sharp`: the wait must
    /// end on time, and so does not use the kernel.
    pub(crate) fn idle(&mut self, until: Nanos, sharp: bool) -> Result<(), NvmeError> {
        let step = match sharp {
            true => self.sharp_step(),
            false => Step::BLOCK,
        };
        let Some(waker) = &self.waker else {
            return Ok(());
        };
        let mut idle = Idle {
            waker,
            counters: &mut self.counters,
        };
        self.waiter.run(step.bounded(until), &mut idle)?;
        Ok(())
    }

    /// Sets whether waits must end on time, and so do not use the kernel.
    pub(crate) fn set_sharp(&mut self, sharp: bool) {
        self.sharp = sharp;
    }
}
