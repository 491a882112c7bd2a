//! Event loops over joulio.h's functions, with a stepped device.

use joulio::*;
use joulio_emulator::{EmulatedDevice, Fault, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::ptr::null_mut;

const NOTHING: joulio_completion = joulio_completion {
    tag: 0,
    buffer: null_mut(),
    result: 0,
    status: 0,
};

/// Waits for a command that the device does not complete; returns how often `arm` says to reap and `reap` finds
/// nothing, once the descriptor is readable for a check of the queue.
fn vain_calls(fd: i32, arm: impl Fn() -> i32, reap: impl Fn(&mut joulio_completion) -> i32) -> u32 {
    let mut done = NOTHING;
    // SAFETY: open, as long as its queue or group is.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    while arm() == 0 {
        assert_eq!(reap(&mut done), 0);
    }
    assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], None), Ok(1));
    let mut vain = 0;
    while arm() == 0 {
        assert_eq!(reap(&mut done), 0);
        vain += 1;
    }
    vain
}

#[test]
fn a_loop_that_is_woken_for_a_check_waits_again_after_one_reap() {
    let options = Options::new(DeviceProfile::builtin("instant").unwrap());
    let (device, _stepper) = EmulatedDevice::stepped(&options).unwrap();
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    let controller = controller_of(controller);
    // SAFETY: handles that are live, of one thread, and room for one completion.
    unsafe {
        let queue = joulio_queue_create(controller, 2, c"interrupt".as_ptr());
        let buffer = joulio_buffer_alloc(controller, 4096);
        assert_eq!(joulio_read(queue, 0, 1, buffer, 7), 0);
        assert_eq!(joulio_ring(queue), 0);
        let alone = vain_calls(
            joulio_fd(queue),
            || joulio_arm(queue),
            |done| joulio_reap(queue, 0, 1, 0, done),
        );
        let group = joulio_group_create(controller);
        assert_eq!(joulio_group_join(group, queue), 0);
        let grouped = vain_calls(
            joulio_group_fd(group),
            || joulio_group_arm(group),
            |done| joulio_group_reap(group, 0, 1, 0, done),
        );
        // More than one each where this thread is away for as long as between two checks.
        assert!(alone < 100 && grouped < 100, "{alone}, {grouped}");
    }
}

/// Reads until a call reports that there is no controller any more, after all commands before it have ended.
fn is_told(submit: impl Fn() -> i32, reap: impl Fn(&mut joulio_completion) -> i32) {
    let mut done = NOTHING;
    // It comes again for as long as somebody reads.
    for _ in 0..3 {
        assert_eq!(submit(), 0);
        assert_eq!(reap(&mut done), 1);
        assert_eq!((done.tag, done.status), (7, 0x371));
        assert_eq!(reap(&mut done), -Errno::IO.raw_os_error());
        // SAFETY: of this thread's last failure.
        let text = unsafe { CStr::from_ptr(joulio_error()) };
        assert!(text.to_str().unwrap().contains("was removed"), "{text:?}");
        // Nothing is in flight.
        assert_eq!(reap(&mut done), 0);
    }
}

#[test]
fn who_reaps_is_told_that_the_controller_was_removed() {
    let options = Options::new(DeviceProfile::builtin("instant").unwrap());
    let (device, stepper) = EmulatedDevice::stepped(&options).unwrap();
    let device = Controller::open(device, ControllerOptions::default()).unwrap();
    let controller = controller_of(device);
    // SAFETY: handles that are live, of one thread, and room for one completion.
    unsafe {
        let queue = joulio_queue_create(controller, 2, c"interrupt".as_ptr());
        let buffer = joulio_buffer_alloc(controller, 4096);
        stepper.inject(Fault::Removed);
        let submit = || match joulio_read(queue, 0, 1, buffer, 7) {
            0 => joulio_ring(queue),
            refused => refused,
        };
        is_told(submit, |done| joulio_reap(queue, 1, 1, -1, done));
        // A loop that waits for a descriptor is notified too.
        let in_loop = |done: &mut _| match joulio_arm(queue) {
            0 => joulio_reap(queue, 0, 1, 0, done),
            armed => armed - 1,
        };
        is_told(submit, in_loop);
        let group = joulio_group_create(controller);
        assert_eq!(joulio_group_join(group, queue), 0);
        is_told(submit, |done| joulio_group_reap(group, 1, 1, -1, done));
        let in_loop = |done: &mut _| match joulio_group_arm(group) {
            0 => joulio_group_reap(group, 0, 1, 0, done),
            armed => armed - 1,
        };
        is_told(submit, in_loop);
    }
}
