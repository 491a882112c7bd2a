//! The ioctls of `/dev/joulio_uintr`: `kmod/joulio_uintr.h`.
//!
//! Sound because each call passes a structure of the size that its request encodes, through rustix, and a borrowed
//! descriptor; descriptors that the kernel makes are owned at once.

use rustix::io::{Errno, Result};
use rustix::ioctl::{Getter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl, opcode};
use std::ffi::c_void;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

/// Version of the module's interface that is defined here.
pub(super) const VERSION: u32 = 2;

const TYPE: u8 = 0xbb;
const INFO: Opcode = opcode::read::<Info>(TYPE, 0);
const REGISTER: Opcode = opcode::write::<Thread>(TYPE, 1);
const UNREGISTER: Opcode = opcode::none(TYPE, 2);
const BIND: Opcode = opcode::write::<Event>(TYPE, 3);
const UNBIND: Opcode = opcode::none(TYPE, 4);
const STATUS: Opcode = opcode::read::<RawStatus>(TYPE, 5);
const SOURCE: Opcode = opcode::write::<NewSource>(TYPE, 6);
const RAISE_AFTER: Opcode = opcode::write::<u64>(TYPE, 7);
const RAISE_AT: Opcode = opcode::write::<u64>(TYPE, 8);
const WATCH: Opcode = opcode::write::<Event>(TYPE, 9);
const UNWATCH: Opcode = opcode::write::<u32>(TYPE, 10);

/// Version of the module's interface, and flags of its features.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Info {
    pub(super) abi: u32,
    pub(super) flags: u32,
}

impl Info {
    pub(super) const HARDWARE: u32 = 1;
    pub(super) const TEST_SOURCE: u32 = 4;
}

#[repr(C)]
struct Thread {
    handler: u64,
    user_vector: u32,
    flags: u32,
}

/// `struct joulio_uintr_bind`, and `struct joulio_uintr_watch`.
#[repr(C)]
struct Event {
    eventfd: i32,
    flags: u32,
}

impl Event {
    fn new(eventfd: BorrowedFd<'_>) -> Event {
        Event {
            eventfd: std::os::fd::AsRawFd::as_raw_fd(&eventfd),
            flags: 0,
        }
    }
}

/// A watch that is to begin; the request returns its number.
#[repr(transparent)]
struct NewWatch(Event);

/// `struct joulio_uintr_status`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawStatus {
    pub(super) state: u32,
    pub(super) irq: u32,
    pub(super) vector: u32,
    pub(super) cpu: u32,
    pub(super) switches_out: u64,
    pub(super) switches_in: u64,
    pub(super) injected: u64,
    pub(super) rescued: u64,
    pub(super) notified: u64,
    pub(super) reserved: u64,
}

#[repr(C)]
struct NewSource {
    eventfd: i32,
    cpu: u32,
    flags: u32,
    pad: u32,
}

pub(super) fn info(device: BorrowedFd<'_>) -> Result<Info> {
    // SAFETY: the request writes an Info.
    unsafe { ioctl(device, Getter::<INFO, Info>::new()) }
}

/// Registers `handler` for `user_vector` in the calling thread.
///
/// # Safety
/// `handler` is code that may run between any two instructions of this thread, ends with UIRET and
/// leaves everything as it was; it stays until the thread is unregistered.
pub(super) unsafe fn register(
    device: BorrowedFd<'_>,
    handler: usize,
    user_vector: u32,
) -> Result<()> {
    let thread = Thread {
        handler: handler as u64,
        user_vector,
        flags: 0,
    };
    // SAFETY: the request reads a Thread; the handler is the caller's promise.
    unsafe { ioctl(device, Setter::<REGISTER, Thread>::new(thread)) }
}

pub(super) fn unregister(device: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the request takes nothing.
    unsafe { ioctl(device, NoArg::<UNREGISTER>::new()) }
}

pub(super) fn bind(device: BorrowedFd<'_>, eventfd: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the request reads an Event.
    unsafe { ioctl(device, Setter::<BIND, Event>::new(Event::new(eventfd))) }
}

/// Begins a watch of `eventfd` and returns its number.
pub(super) fn watch(device: BorrowedFd<'_>, eventfd: BorrowedFd<'_>) -> Result<u32> {
    // SAFETY: the request reads an Event and returns a number.
    unsafe { ioctl(device, NewWatch(Event::new(eventfd))) }
}

pub(super) fn unwatch(device: BorrowedFd<'_>, number: u32) -> Result<()> {
    // SAFETY: the request reads a u32.
    unsafe { ioctl(device, Setter::<UNWATCH, u32>::new(number)) }
}

pub(super) fn unbind(device: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the request takes nothing.
    unsafe { ioctl(device, NoArg::<UNBIND>::new()) }
}

pub(super) fn status(device: BorrowedFd<'_>) -> Result<RawStatus> {
    // SAFETY: the request writes a RawStatus.
    unsafe { ioctl(device, Getter::<STATUS, RawStatus>::new()) }
}

pub(super) fn source(device: BorrowedFd<'_>, eventfd: BorrowedFd<'_>, cpu: u32) -> Result<OwnedFd> {
    let new = NewSource {
        eventfd: std::os::fd::AsRawFd::as_raw_fd(&eventfd),
        cpu,
        flags: 0,
        pad: 0,
    };
    // SAFETY: the request reads a NewSource and returns a descriptor.
    unsafe { ioctl(device, new) }
}

pub(super) fn raise_after(source: BorrowedFd<'_>, nanoseconds: u64) -> Result<()> {
    // SAFETY: the request reads a u64.
    unsafe { ioctl(source, Setter::<RAISE_AFTER, u64>::new(nanoseconds)) }
}

pub(super) fn raise_at(source: BorrowedFd<'_>, address: u64) -> Result<()> {
    // SAFETY: the request reads a u64; at the address there is no more than a breakpoint.
    unsafe { ioctl(source, Setter::<RAISE_AT, u64>::new(address)) }
}

// SAFETY: the request reads this structure, writes nothing to it, and returns a descriptor.
unsafe impl Ioctl for NewSource {
    type Output = OwnedFd;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        SOURCE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> Result<OwnedFd> {
        match out {
            ..0 => Err(Errno::BADF),
            // SAFETY: the kernel has just made this descriptor for us.
            fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        }
    }
}

// SAFETY: the request reads this structure, writes nothing to it, and returns a number.
unsafe impl Ioctl for NewWatch {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        WATCH
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> Result<u32> {
        u32::try_from(out).map_err(|_| Errno::INVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Compares with what `gcc -include kmod/joulio_uintr.h` prints.
    #[test]
    fn requests_and_structures_are_those_of_the_header() {
        let requests = [
            INFO,
            REGISTER,
            UNREGISTER,
            BIND,
            UNBIND,
            STATUS,
            SOURCE,
            RAISE_AFTER,
            RAISE_AT,
            WATCH,
            UNWATCH,
        ];
        let header = [
            0x8008_bb00,
            0x4010_bb01,
            0x0000_bb02,
            0x4008_bb03,
            0x0000_bb04,
            0x8040_bb05,
            0x4010_bb06,
            0x4008_bb07,
            0x4008_bb08,
            0x4008_bb09,
            0x4004_bb0a,
        ];
        assert_eq!(requests, header);
        assert_eq!(offset_of!(Thread, user_vector), 8);
        assert_eq!(offset_of!(RawStatus, switches_out), 16);
        assert_eq!(offset_of!(RawStatus, rescued), 40);
        assert_eq!(offset_of!(RawStatus, notified), 48);
        assert_eq!(offset_of!(NewSource, cpu), 4);
    }
}
