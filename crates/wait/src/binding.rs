//! A device interrupt that stays bound to a thread, although CPUs go offline and come back.

use joulio_cpu::uintr::{Receiver, ReceiverState, UintrError};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::os::fd::{AsFd, OwnedFd};

/// Changes to a thread's interrupt since the last check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// True if the thread lost the interrupt: its CPU went offline, or the interrupt or the thread was moved.
    pub(crate) lost: bool,
    /// True if the interrupt was bound again.
    pub(crate) bound: bool,
}

/// A thread and its interrupt, or a stand-in of a test.
pub(crate) trait Bound {
    /// Returns whether the thread has the interrupt.
    fn is_bound(&self) -> Result<bool, UintrError>;
    /// Lets go of what is left of it.
    fn unbind(&mut self) -> Result<(), UintrError>;
    /// Binds the interrupt to the thread, which must be pinned to one CPU.
    fn bind(&mut self) -> Result<(), UintrError>;
    /// Returns the CPUs on which the thread may run.
    fn allowed(&self) -> Result<Allowed, Errno>;
    /// Pins the thread to the CPU that it was bound on.
    fn pin(&mut self) -> Result<(), Errno>;
}

/// CPUs on which a thread may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// One CPU alone.
    One,
    /// Several CPUs, among them the one that the thread was bound on: what the kernel sets for a thread whose only
    /// CPU goes offline.
    Several,
    /// Several other CPUs, set by somebody else.
    Others,
}

/// Asks the module whether the thread still has its interrupt, and binds it again once its CPU is back. `was_bound`
/// holds the result of the last check, and is set to that of this one.
pub(crate) fn keep_binding(
    receiver: &mut impl Bound,
    was_bound: &mut bool,
) -> Result<Changes, UintrError> {
    let mut changes = Changes::default();
    if receiver.is_bound()? {
        return Ok(changes);
    }
    changes.lost = std::mem::replace(was_bound, false);
    // Refused if nothing is left of the binding.
    let _ = receiver.unbind();
    let pinned = match receiver.allowed() {
        Ok(Allowed::One) => true,
        // Refused as long as the CPU is offline.
        Ok(Allowed::Several) => receiver.pin().is_ok(),
        Ok(Allowed::Others) | Err(_) => false,
    };
    // A failure here is retried at the next check; until then the kernel takes the interrupts.
    if pinned && receiver.bind().is_ok() {
        *was_bound = true;
        changes.bound = true;
    }
    Ok(changes)
}

/// A thread that takes the interrupt which signals an eventfd.
#[derive(Debug)]
pub(crate) struct Binding {
    receiver: Receiver,
    event: OwnedFd,
    cpu: usize,
    bound: bool,
}

impl Binding {
    /// The calling thread takes it.
    pub(crate) fn new(mut receiver: Receiver, event: OwnedFd) -> Result<Binding, UintrError> {
        receiver.register()?;
        let mut binding = Binding {
            receiver,
            event,
            cpu: 0,
            bound: true,
        };
        binding.bind()?;
        Ok(binding)
    }

    /// The thread's user interrupts.
    #[inline]
    pub(crate) fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Calls [`keep_binding`]; on another thread than the receiver's no changes are known.
    #[cold]
    pub(crate) fn keep_binding(&mut self) -> Result<Changes, UintrError> {
        if !self.receiver.is_mine() {
            return Ok(Changes::default());
        }
        let mut bound = self.bound;
        let changes = keep_binding(self, &mut bound);
        self.bound = bound;
        changes
    }
}

impl Bound for Binding {
    fn is_bound(&self) -> Result<bool, UintrError> {
        let status = self.receiver.status()?;
        // On other CPUs the thread has none, and the kernel takes all.
        let here = rustix::thread::sched_getcpu();
        Ok(status.state == ReceiverState::Bound && status.cpu as usize == here)
    }

    fn unbind(&mut self) -> Result<(), UintrError> {
        self.receiver.unbind()
    }

    fn bind(&mut self) -> Result<(), UintrError> {
        // Its only interrupt, or the module refuses. The CPU is read first: the module names none if the interrupt is
        // lost again by then.
        let cpu = rustix::thread::sched_getcpu();
        self.receiver.bind(self.event.as_fd())?;
        self.cpu = cpu;
        Ok(())
    }

    fn allowed(&self) -> Result<Allowed, Errno> {
        let set = sched_getaffinity(None)?;
        Ok(match set.count() {
            1 => Allowed::One,
            _ if set.is_set(self.cpu) => Allowed::Several,
            _ => Allowed::Others,
        })
    }

    fn pin(&mut self) -> Result<(), Errno> {
        let mut set = CpuSet::new();
        set.set(self.cpu);
        sched_setaffinity(None, &set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that was bound on a CPU, as the module and the kernel report it.
    struct Machine {
        online: bool,
        bound: bool,
        /// An old binding has to be undone before a bind is accepted.
        stale: bool,
        allowed: Allowed,
        binds: u32,
    }

    impl Machine {
        fn new() -> Machine {
            Machine {
                online: true,
                bound: true,
                stale: false,
                allowed: Allowed::One,
                binds: 0,
            }
        }

        fn unplug(&mut self) {
            (self.online, self.bound, self.stale) = (false, false, true);
            self.allowed = Allowed::Several;
        }
    }

    impl Bound for Machine {
        fn is_bound(&self) -> Result<bool, UintrError> {
            Ok(self.bound)
        }
        fn unbind(&mut self) -> Result<(), UintrError> {
            match std::mem::take(&mut self.stale) {
                true => Ok(()),
                false => Err(UintrError::NotRegistered),
            }
        }
        fn bind(&mut self) -> Result<(), UintrError> {
            self.binds += 1;
            match self.allowed {
                _ if self.stale => Err(UintrError::Taken),
                Allowed::One => {
                    self.bound = true;
                    Ok(())
                }
                _ => Err(UintrError::NotPinned),
            }
        }
        fn allowed(&self) -> Result<Allowed, Errno> {
            Ok(self.allowed)
        }
        fn pin(&mut self) -> Result<(), Errno> {
            if !self.online {
                return Err(Errno::INVAL);
            }
            self.allowed = Allowed::One;
            Ok(())
        }
    }

    const LOST: Changes = Changes {
        lost: true,
        bound: false,
    };
    const BOUND: Changes = Changes {
        lost: false,
        bound: true,
    };

    #[test]
    fn what_is_bound_is_left_alone() {
        let (mut machine, mut bound) = (Machine::new(), true);
        let changes = keep_binding(&mut machine, &mut bound).unwrap();
        assert_eq!(
            (changes, bound, machine.binds),
            (Changes::default(), true, 0)
        );
    }

    #[test]
    fn a_lost_interrupt_is_reported_once_and_bound_again_when_its_cpu_is_back() {
        let (mut machine, mut bound) = (Machine::new(), true);
        machine.unplug();
        assert_eq!(keep_binding(&mut machine, &mut bound), Ok(LOST));
        assert_eq!(
            keep_binding(&mut machine, &mut bound),
            Ok(Changes::default())
        );
        assert_eq!((bound, machine.binds), (false, 0));
        machine.online = true;
        assert_eq!(keep_binding(&mut machine, &mut bound), Ok(BOUND));
        assert!(bound && machine.bound);
        assert_eq!(
            keep_binding(&mut machine, &mut bound),
            Ok(Changes::default())
        );
    }

    #[test]
    fn one_that_is_back_before_the_next_check_was_lost_all_the_same() {
        let (mut machine, mut bound) = (Machine::new(), true);
        machine.unplug();
        machine.online = true;
        let both = Changes {
            lost: true,
            bound: true,
        };
        assert_eq!(keep_binding(&mut machine, &mut bound), Ok(both));
    }

    #[test]
    fn a_thread_that_somebody_moved_is_not_moved_back() {
        let (mut machine, mut bound) = (Machine::new(), true);
        (machine.bound, machine.allowed) = (false, Allowed::Others);
        assert_eq!(keep_binding(&mut machine, &mut bound), Ok(LOST));
        assert_eq!(machine.binds, 0);
        // Allowed on one CPU: then it is bound there.
        machine.allowed = Allowed::One;
        assert_eq!(keep_binding(&mut machine, &mut bound), Ok(BOUND));
    }
}
