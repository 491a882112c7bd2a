//! A poll group inside an event loop of the caller's: one descriptor for epoll or an executor.

use super::{PollGroup, Queues};
use crate::NvmeError;
use crate::queue::{Completed, QueuePair};
use joulio_device::{Device, DeviceError};
use joulio_units::Nanos;
use joulio_wait::{arm_and_check, now};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A poll group for an event loop: epoll(7), an executor, or another library's loop. Its descriptor ([`AsFd`])
/// becomes readable when a queue is interrupted, or when the group is due to check its queues.
///
/// The loop calls [`EventGroup::arm`], waits for the descriptor, calls [`EventGroup::reap`], and begins again. `arm`
/// unmasks interrupts first and polls after that, so that no completion is missed in between.
///
/// ```
/// # use joulio_nvme::{Controller, ControllerOptions, EventGroup, PollGroup};
/// # use joulio_nvme::wait::AnyPolicy;
/// # use joulio_emulator::{EmulatedDevice, Options};
/// # use rustix::event::{PollFd, PollFlags, poll};
/// # use std::os::fd::AsFd;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let profile = joulio_model::DeviceProfile::builtin("instant")?;
/// # let device = EmulatedDevice::spawn(&Options::new(profile))?;
/// # let controller = Controller::open(device, ControllerOptions::default())?;
/// # let namespace = controller.namespace(1)?;
/// # let buffer = controller.allocate_buffers(1, 4096)?.remove(0);
/// # let mut queue = controller.create_queue_pair(32)?;
/// queue.set_policy(AnyPolicy::INTERRUPT)?;
/// queue.read(&namespace, 0, 8, buffer, 7)?;
/// queue.ring();
/// let mut group = EventGroup::new(PollGroup::new(vec![queue]))?;
/// let mut done = 0;
/// while done == 0 {
///     if group.arm()? {
///         // Beside sockets and whatever else the loop has.
///         poll(&mut [PollFd::new(&group, PollFlags::IN)], None)?;
///     }
///     done += group.reap(64, |_, completed| assert_eq!(completed.tag, 7))?;
/// }
/// # Ok(()) }
/// ```
pub struct EventGroup<D: Device> {
    group: PollGroup<D>,
    /// Descriptor that is readable when `eventfds` or `timer` is; the same for as long as the group lives.
    readable: OwnedFd,
    /// Set of the eventfds of the queues that block: made again when other queues block.
    eventfds: OwnedFd,
    /// Version of the group's blocking queues that `eventfds` holds; 0: none.
    watched: u64,
    /// Timer that expires when the queues are to be checked.
    timer: OwnedFd,
    /// Time when `timer` expires; [`Nanos::MAX`]: never.
    timer_at: Nanos,
    /// Queue at which the next call of `reap` begins, so that a limit starves no queue.
    first: usize,
}

impl<D: Device> EventGroup<D> {
    /// Prepares `group` for an event loop. Its queues must block
    /// ([`AnyPolicy::INTERRUPT`](joulio_wait::AnyPolicy::INTERRUPT)), from the first call of [`EventGroup::arm`] at
    /// the latest.
    ///
    /// # Errors
    /// No descriptor is left ([`NvmeError::Device`]).
    pub fn new(group: PollGroup<D>) -> Result<EventGroup<D>, NvmeError> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags);
        let timer = timer.map_err(os("create a timer"))?;
        let (readable, eventfds) = (epoll_set()?, epoll_set()?);
        watch(&readable, timer.as_fd())?;
        watch(&readable, eventfds.as_fd())?;
        Ok(EventGroup {
            group,
            readable,
            eventfds,
            watched: 0,
            timer,
            timer_at: Nanos::MAX,
            first: 0,
        })
    }

    /// Returns the group, to add and remove queues, and to submit commands to them.
    pub fn group(&mut self) -> &mut PollGroup<D> {
        &mut self.group
    }

    /// Returns the group, which can wait by itself again.
    pub fn into_group(self) -> PollGroup<D> {
        self.group
    }

    /// Unmasks the interrupts of all queues with commands outstanding. `true`: nothing has completed, and the
    /// descriptor becomes readable once a command does; `false`: there are completions to reap, and the loop must not
    /// wait.
    ///
    /// # Errors
    /// A queue that has commands outstanding raises no interrupt, as its policy never blocks
    /// ([`PolicyError::NeverBlocks`](crate::PolicyError::NeverBlocks)); an interrupt cannot be unmasked, or no
    /// descriptor is left.
    pub fn arm(&mut self) -> Result<bool, NvmeError> {
        self.group.blocking.keep(&self.group.queues, None);
        // The group may have seen other queues or policies while it waited by itself.
        let version = self.group.blocking.version();
        if self.watched != version {
            self.watch_again()?;
            self.watched = version;
        }
        // Claims the interrupts raised since then, so that the descriptor is not readable for them again.
        self.group
            .blocking
            .poll(Nanos::ZERO)
            .map_err(os("poll eventfds"))?;
        for index in self.group.blocking.interrupted() {
            self.group.queues.all_mut()[index].claim();
        }
        let waiting = self.group.queues.survey();
        // The queues are armed, claimed and reaped here.
        self.group.queues.disarmed();
        if waiting.reconnects {
            // Check now, not at the next interval: until then the loop would ask again and again.
            self.group.next_tick = Nanos(1);
            self.group.calls_left = 1;
            return Ok(false);
        }
        let armed = arm_and_check(&mut self.group.queues, arm_active, Queues::poll)?;
        if !armed {
            return Ok(false);
        }
        let at = now();
        if waiting.outstanding && self.is_tick_due(at) {
            // Also checks groups that are reaped without the event loop.
            self.group.calls_left = 1;
            return Ok(false);
        }
        let tick = match waiting.outstanding {
            true => self.group.next_tick,
            false => Nanos::MAX,
        };
        // Also sets a timer that has expired, and is readable.
        if self.timer_at != tick || self.timer_at <= at {
            self.set_timer(tick)?;
        }
        Ok(true)
    }

    /// Makes the descriptor readable at once, until the next [`EventGroup::arm`]: for another thread that wants the
    /// loop's attention.
    ///
    /// # Errors
    /// The timer cannot be set ([`NvmeError::Device`]).
    pub fn wake(&mut self) -> Result<(), NvmeError> {
        // A time long past.
        self.set_timer(Nanos(1))
    }

    /// Hands out up to `max` completions, each with the index of its queue, without waiting. Also checks the queues
    /// when that is due, which may end more commands than `max`.
    ///
    /// # Errors
    /// As [`PollGroup::reap`].
    pub fn reap(
        &mut self,
        max: usize,
        mut sink: impl FnMut(usize, Completed),
    ) -> Result<usize, NvmeError> {
        let mut delivered = 0;
        let at = now();
        if self.group.outstanding() > 0 && self.is_tick_due(at) {
            delivered = self.group.tick(at, &mut sink)?;
        }
        let queues = self.group.queues.all_mut();
        let count = queues.len();
        let first = if self.first < count { self.first } else { 0 };
        for nth in 0..count {
            if delivered >= max {
                break;
            }
            let index = (first + nth) % count;
            self.first = index + 1;
            let left = max - delivered;
            delivered += queues[index].reap(left, |completed| sink(index, completed))?;
        }
        Ok(delivered)
    }

    /// Returns whether the queues are due for a check; the first check of a group is due after one interval.
    fn is_tick_due(&mut self, at: Nanos) -> bool {
        if self.group.next_tick == Nanos::ZERO {
            self.group.schedule_tick(at);
        }
        self.group.next_tick <= at
    }

    /// Makes the descriptor readable by interrupts of the queues that block now, and of no others.
    fn watch_again(&mut self) -> Result<(), NvmeError> {
        // A new set: the descriptors of queues that left may be other files' by now.
        let eventfds = epoll_set()?;
        let mut vectors = self
            .group
            .queues
            .iter()
            .filter_map(QueuePair::blocking_vector);
        vectors.try_for_each(|vector| watch(&eventfds, vector.event()))?;
        watch(&self.readable, eventfds.as_fd())?;
        // Closing the old set takes it out of the outer set.
        self.eventfds = eventfds;
        Ok(())
    }

    fn set_timer(&mut self, at: Nanos) -> Result<(), NvmeError> {
        let expires = match at {
            // All zero stops a timer.
            Nanos::MAX => Timespec::default(),
            Nanos(ns) => Timespec::try_from(Duration::from_nanos(ns)).expect("2^64 ns fit"),
        };
        let times = Itimerspec {
            it_interval: Timespec::default(),
            it_value: expires,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &times)
            .map_err(os("set a timer"))?;
        self.timer_at = at;
        Ok(())
    }
}

impl<D: Device> AsFd for EventGroup<D> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}

/// Unmasks the interrupts of the queues that have commands outstanding.
fn arm_active<D: Device>(queues: &mut Queues<D>) -> Result<(), NvmeError> {
    queues.each_active(|queue| {
        if queue.outstanding() == 0 {
            return Ok(());
        }
        match queue.blocking_vector() {
            Some(_) => Ok(queue.interrupt().arm().map(drop)?),
            None => Err(NvmeError::from(queue.never_blocks())),
        }
    })
}

fn epoll_set() -> Result<OwnedFd, NvmeError> {
    epoll::create(epoll::CreateFlags::CLOEXEC).map_err(os("create an epoll set"))
}

fn watch(set: &OwnedFd, fd: BorrowedFd<'_>) -> Result<(), NvmeError> {
    let data = epoll::EventData::new_u64(0);
    epoll::add(set, fd, data, epoll::EventFlags::IN).map_err(os("add to an epoll set"))
}

/// Returns the error of the system call for `what`.
fn os(what: &'static str) -> impl FnOnce(Errno) -> NvmeError {
    move |errno| {
        NvmeError::Device(DeviceError::Os {
            what: what.into(),
            source: errno.into(),
        })
    }
}
