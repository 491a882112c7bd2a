//! A thread that takes the user interrupts of a device.

use super::code::Code;
use super::device::Device;
use super::low_power::LowPower;
use super::slot::Slot;
use super::thread::ThreadId;
use super::{ReceiverStatus, UintrError, abi};
use crate::arch::UserInterrupts;
use crate::{Depth, Tsc};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};

/// Reason why a [`Receiver::wait`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverWoken {
    /// The handler ran since the last [`Receiver::clear`].
    Marked,
    /// The deadline came first.
    TimedOut,
}

/// Result of one TPAUSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once {
    /// Whether the handler ran since the last [`Receiver::clear`].
    pub marked: bool,
    /// Whether the system's limit ended the TPAUSE, and nothing else had before.
    pub limited: bool,
}

/// A guard during whose life user interrupts are disabled; dropping it enables them again.
#[derive(Debug)]
pub struct Held<'a> {
    /// The CPU to enable them on, if they were enabled before.
    allowed: Option<UserInterrupts>,
    // On the thread that has them: not `Send`.
    receiver: std::marker::PhantomData<(&'a Receiver, *const ())>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(cpu) = self.allowed {
            // SAFETY: the thread is registered as long as the receiver is borrowed.
            unsafe { cpu.allow() };
        }
    }
}

/// A thread's user interrupts, which come from one device interrupt.
///
/// Can be moved to another thread as long as none has registered. Dropping it returns the interrupt to the kernel.
#[derive(Debug)]
pub struct Receiver {
    // Before the slot: the module has let go of the handler when the slot becomes another's.
    device: Device,
    slot: Slot,
    owner: Option<ThreadId>,
    depth: Depth,
    /// Thread that pauses, if the handler hands the core over. Declared after the device, as the slot is.
    low_power: Option<LowPower>,
    /// Whether user interrupts are enabled during waits only.
    in_waits_only: bool,
}

impl Receiver {
    /// Opens a receiver that waits at most as deep as `depth`, for whichever thread registers first.
    ///
    /// # Errors
    /// The CPU, the system or this user lacks something.
    pub fn open(depth: Depth) -> Result<Receiver, UintrError> {
        let device = Device::open()?;
        Ok(Receiver {
            device,
            slot: Slot::take()?,
            owner: None,
            depth,
            low_power: None,
            in_waits_only: false,
        })
    }

    /// Opens a receiver as [`Receiver::open`] does, but enables user interrupts only during waits. Interrupts between
    /// two waits, while the thread polls, become one that is delivered at the beginning of the next wait: running the
    /// handler meanwhile would tell nothing that the poll does not find.
    ///
    /// # Errors
    /// Those of [`Receiver::open`].
    pub fn open_in_waits_only(depth: Depth) -> Result<Receiver, UintrError> {
        let mut receiver = Receiver::open(depth)?;
        receiver.in_waits_only = true;
        Ok(receiver)
    }

    /// Opens a receiver as [`Receiver::open`] does, with waits as in SPDK+ (HotStorage '25): a second user-level thread
    /// pauses, and the handler hands the core over to the one that polls. For comparison.
    ///
    /// # Errors
    /// Those of [`Receiver::open`], or there is no memory for a stack.
    pub fn open_hand_over(depth: Depth) -> Result<Receiver, UintrError> {
        let mut receiver = Receiver::open(depth)?;
        receiver.low_power = Some(LowPower::new(
            receiver.slot.state(),
            receiver.device.cpu.low_power(),
        )?);
        Ok(receiver)
    }

    /// Registers the calling thread as the only one that takes the interrupts. It has to be pinned to a CPU before it
    /// binds one. A second call by the same thread has no effect.
    ///
    /// # Errors
    /// [`UintrError::OtherThread`], [`UintrError::SecondOfThread`], or the module's.
    pub fn register(&mut self) -> Result<(), UintrError> {
        match self.owner {
            Some(owner) if owner == ThreadId::here() => return Ok(()),
            Some(_) => return Err(UintrError::OtherThread),
            None => {}
        }
        let cpu = self.device.cpu;
        let handler = match &self.low_power {
            Some(_) if cpu.has_shadow_stack() => return Err(UintrError::ShadowStack),
            Some(_) => cpu.hand_over_handler(),
            None => cpu.handler(),
        };
        // SAFETY: the handler is part of this program and keeps everything, or runs where
        // user interrupts are let through, in a thread that it may leave. It writes
        // to the state of its vector, which is this receiver's.
        let registered = unsafe { abi::register(self.device.as_fd(), handler, self.slot.vector()) };
        registered.map_err(|errno| match errno {
            Errno::BUSY => UintrError::SecondOfThread,
            errno => UintrError::other("register")(errno),
        })?;
        self.owner = Some(ThreadId::here());
        if self.lets_through() {
            // SAFETY: the module has just switched user interrupts on for this thread.
            unsafe { cpu.allow() };
        }
        Ok(())
    }

    /// Whether interrupts are delivered between waits.
    fn lets_through(&self) -> bool {
        self.low_power.is_none() && !self.in_waits_only
    }

    /// Returns whether the calling thread is the one that registered.
    pub fn is_mine(&self) -> bool {
        self.check_thread().is_ok()
    }

    /// Binds the device interrupt that signals `eventfd`: it is directed to this thread's CPU and runs the handler
    /// while the thread runs; otherwise it signals `eventfd` as before.
    ///
    /// # Errors
    /// [`UintrError::NotPinned`], [`UintrError::NoInterrupt`], [`UintrError::NotDirect`],
    /// [`UintrError::Taken`], or the module's.
    pub fn bind(&self, eventfd: BorrowedFd<'_>) -> Result<(), UintrError> {
        self.check_thread()?;
        abi::bind(self.device.as_fd(), eventfd).map_err(|errno| match errno {
            Errno::XDEV => UintrError::NotPinned,
            Errno::NODEV => UintrError::NoInterrupt,
            Errno::BUSY => UintrError::Taken,
            Errno::OPNOTSUPP => UintrError::NotDirect,
            errno => UintrError::other("bind")(errno),
        })
    }

    /// Returns the interrupt to the kernel.
    ///
    /// # Errors
    /// The module's.
    pub fn unbind(&self) -> Result<(), UintrError> {
        self.check_thread()?;
        abi::unbind(self.device.as_fd()).map_err(UintrError::other("unbind"))
    }

    /// Watches `eventfd`: from now on its signals become user interrupts of the thread, whoever makes them, at once
    /// while the thread runs, else when it runs again. So a thread that takes one device's interrupt without the kernel
    /// gets those of other devices too, through the kernel's handler but without a system call or a switch. The
    /// descriptor need not stay open. Returns the number of the watch.
    ///
    /// # Errors
    /// [`UintrError::TooManyWatches`], or the module's.
    pub fn watch(&self, eventfd: BorrowedFd<'_>) -> Result<u32, UintrError> {
        self.check_thread()?;
        abi::watch(self.device.as_fd(), eventfd).map_err(|errno| match errno {
            Errno::NOSPC => UintrError::TooManyWatches,
            errno => UintrError::other("watch")(errno),
        })
    }

    /// Ends the watch of that number.
    ///
    /// # Errors
    /// The module's.
    pub fn unwatch(&self, number: u32) -> Result<(), UintrError> {
        self.check_thread()?;
        abi::unwatch(self.device.as_fd(), number).map_err(UintrError::other("unwatch"))
    }

    /// Reads the module's state and counters of this receiver.
    ///
    /// # Errors
    /// The module's.
    pub fn status(&self) -> Result<ReceiverStatus, UintrError> {
        let status = abi::status(self.device.as_fd());
        status
            .map(ReceiverStatus::from)
            .map_err(UintrError::other("status"))
    }

    /// Returns the number of times that the handler ran for this receiver's vector in this process.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.slot.state().count()
    }

    /// Clears the mark of the handler: to be called before the queues are polled, never after.
    #[inline]
    pub fn clear(&self) {
        self.slot.state().clear();
    }

    /// Returns whether the handler ran since the last [`Receiver::clear`].
    #[inline]
    pub fn marked(&self) -> bool {
        self.slot.state().marked()
    }

    /// Disables user interrupts, for a thread that is about to poll a last time and to block on the eventfd. An
    /// interrupt that comes meanwhile runs no handler, which the block would not notice: it stays pending, and the
    /// module finds it when the thread leaves the CPU, and signals the eventfd. An interrupt that came before does not
    /// concern the coming block: it runs the handler here, and ends no block.
    ///
    /// # Errors
    /// On any thread but the one that registered.
    pub fn hold(&self) -> Result<Held<'_>, UintrError> {
        self.check_thread()?;
        let cpu = self.device.cpu;
        if self.low_power.is_none() {
            // SAFETY: the thread is registered, so that the module has user interrupts on. Where they are let
            // through already, that changes nothing.
            unsafe {
                cpu.allow();
                cpu.hold();
            }
        }
        Ok(Held {
            allowed: self.lets_through().then_some(cpu),
            receiver: std::marker::PhantomData,
        })
    }

    /// Waits in TPAUSE until the handler has run since the last [`Receiver::clear`], or until the counter
    /// ([`Tsc::now`]) reaches `deadline`. Other interrupts and the system's limit on TPAUSE do not end it.
    ///
    /// # Errors
    /// On any thread but the one that registered.
    #[inline]
    pub fn wait(&self, deadline: u64) -> Result<ReceiverWoken, UintrError> {
        loop {
            if self.wait_once(deadline)?.marked {
                return Ok(ReceiverWoken::Marked);
            }
            if Tsc::now() >= deadline {
                return Ok(ReceiverWoken::TimedOut);
            }
        }
    }

    /// Waits as [`Receiver::wait`] does, but with at most one TPAUSE, which any interrupt may end.
    ///
    /// # Errors
    /// On any thread but the one that registered.
    #[inline]
    pub fn wait_once(&self, deadline: u64) -> Result<Once, UintrError> {
        self.check_thread()?;
        let state = self.slot.state();
        if self.low_power.is_some() {
            // SAFETY: `register` chose the handler, where there is no shadow stack; this thread never lets
            // user interrupts through; the low-power thread is this receiver's.
            unsafe { self.device.cpu.hand_over(state, deadline, self.depth) };
            let (marked, limited) = (state.marked(), false);
            return Ok(Once { marked, limited });
        }
        let cpu = self.device.cpu;
        if self.in_waits_only {
            // SAFETY: the thread is registered, so that the module has user interrupts on. One that is pending
            // runs the handler before the wait, which then finds its mark.
            unsafe { cpu.allow() };
        }
        let limited = cpu.wait(state, deadline, self.depth);
        if self.in_waits_only {
            // SAFETY: as above.
            unsafe { cpu.hold() };
        }
        // Read after that: an interrupt that came after the wait has set the mark too.
        let marked = state.marked();
        Ok(Once { marked, limited })
    }

    /// Delays an interrupt that `raise` raises until the thread is at `at`, an instruction of the window
    /// ([`Code::window`]), and delivers it just before that; then continues as [`Receiver::wait_once`]. For tests.
    ///
    /// # Errors
    /// Those of `raise`; on another thread, or one with a shadow stack; or `at` is no instruction of the
    /// window.
    pub fn interrupt_at(
        &self,
        at: usize,
        deadline: u64,
        raise: impl FnOnce() -> Result<(), UintrError>,
    ) -> Result<Once, UintrError> {
        self.check_thread()?;
        let code = Code::here();
        let in_window = code.window.contains(&at) && code.instructions.contains(&at);
        if self.low_power.is_some() || !in_window {
            return Err(UintrError::NotInWindow(at));
        }
        let cpu = self.device.cpu;
        if cpu.has_shadow_stack() {
            return Err(UintrError::ShadowStack);
        }
        // SAFETY: this thread is registered, so that the module has user interrupts on.
        unsafe { cpu.hold() };
        let raised = raise();
        // Also after an error: it is what lets interrupts through again.
        let deadline = if raised.is_ok() { deadline } else { 0 };
        let state = self.slot.state();
        // SAFETY: `at` was just looked up, and there is no shadow stack.
        let limited = unsafe { cpu.wait_at(state, deadline, self.depth, at) };
        if self.in_waits_only {
            // SAFETY: as above.
            unsafe { cpu.hold() };
        }
        let marked = state.marked();
        raised.map(|()| Once { marked, limited })
    }

    fn check_thread(&self) -> Result<(), UintrError> {
        match self.owner {
            Some(owner) if owner == ThreadId::here() => Ok(()),
            Some(_) => Err(UintrError::OtherThread),
            None => Err(UintrError::NotRegistered),
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // A child of this process may have the file too, so that closing it says nothing. On
        // another thread the module refuses, and the close that follows has to do: it takes the
        // interrupt away and leaves the handler, which may be running, all that it needs. A mark
        // that it still makes may be another receiver's by then, whose owner polls once for
        // nothing.
        if self.check_thread().is_ok() {
            let _ = abi::unregister(self.device.as_fd());
        }
    }
}
