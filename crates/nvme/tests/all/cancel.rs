//! Waits end when they are cancelled. Every time limit here is longer than a test may take.

use crate::common::{Seen, Spy, instant, open_spawned, open_stepped, watched};
use joulio_emulator::{EmulatedDevice, Fault};
use joulio_nvme::{Cancel, Controller, ControllerOptions, NvmeError, PollGroup};
use joulio_units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Returns options with time limits of an hour, and the flag that cancels.
fn options() -> (ControllerOptions, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    let options = ControllerOptions {
        queues: 2,
        admin_timeout: Nanos::from_millis(3_600_000),
        io_timeout: Nanos::from_millis(3_600_000),
        cancel: Cancel::on(Arc::clone(&flag)),
        ..ControllerOptions::default()
    };
    (options, flag)
}

fn cancelled<T>(result: Result<T, NvmeError>) -> String {
    match result {
        Err(NvmeError::Cancelled { what, .. }) => what,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was waited for"),
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_admin_command_is_given_up_and_the_controller_with_it() {
    watched(|| {
        let (options, flag) = options();
        let (controller, _) = open_spawned("", Seen::patient(), options);
        let device = controller.device().emulated();
        // After the Asynchronous Event Requests, which are commands too.
        controller.smart_log().unwrap();
        device.inject(Fault::AdminStuck);
        device.inject(Fault::StuckReset);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| controller.smart_log());
            wait_until(|| device.activity().faults.admin_stuck == 1);
            flag.store(true, Ordering::Relaxed);
            assert_eq!(cancelled(waiter.join().unwrap()), "Get Log Page (SMART)");
        });
        cancelled(controller.smart_log());
        cancelled(controller.reset());
        cancelled(controller.create_queue_pair(4));
        assert_eq!(controller.resets(), 0);
    });
}

#[test]
fn a_reset_is_given_up() {
    watched(|| {
        let (options, flag) = options();
        let (controller, _) = open_spawned("", Seen::patient(), options);
        let device = controller.device().emulated();
        device.inject(Fault::StuckReset);
        std::thread::scope(|scope| {
            let resetter = scope.spawn(|| controller.reset());
            wait_until(|| device.activity().faults.stuck_resets == 1);
            flag.store(true, Ordering::Relaxed);
            assert_eq!(cancelled(resetter.join().unwrap()), "CSTS.RDY = 0");
        });
    });
}

#[test]
fn bring_up_is_given_up() {
    watched(|| {
        let (options, flag) = options();
        let (left, _) = open_spawned("", Seen::patient(), options.clone());
        let device = left.device().emulated().clone();
        device.inject(Fault::StuckReset);
        // A process that was killed leaves it like this.
        std::mem::forget(left);
        let spy = Spy::of(device.clone(), Seen::patient());
        std::thread::scope(|scope| {
            let opener = scope.spawn(|| Controller::open(spy, options));
            wait_until(|| device.activity().faults.stuck_resets == 1);
            flag.store(true, Ordering::Relaxed);
            assert_eq!(cancelled(opener.join().unwrap()), "CSTS.RDY = 0");
        });
    });
}

#[test]
fn bring_up_is_given_up_at_its_first_command_too() {
    watched(|| {
        let (options, flag) = options();
        let device = EmulatedDevice::spawn(&instant()).unwrap();
        device.inject(Fault::AdminStuck);
        let spy = Spy::of(device.clone(), Seen::patient());
        std::thread::scope(|scope| {
            let opener = scope.spawn(|| Controller::open(spy, options));
            wait_until(|| device.activity().faults.admin_stuck == 1);
            flag.store(true, Ordering::Relaxed);
            assert_eq!(cancelled(opener.join().unwrap()), "Identify Controller");
        });
    });
}

#[test]
fn a_controller_that_is_well_does_what_is_requested_after_that_too() {
    watched(|| {
        let (options, flag) = options();
        // Stepped: admin commands complete when their doorbell is rung.
        let (controller, stepper, _) = open_stepped(Seen::default(), options);
        flag.store(true, Ordering::Relaxed);
        let namespace = controller.namespace(1).unwrap();
        let mut group = PollGroup::new(vec![controller.create_queue_pair(4).unwrap()]);
        let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
        let queue = &mut group.queues()[0];
        queue.read(&namespace, 0, 1, buffer, 0).unwrap();
        queue.ring();
        stepper.step(Nanos::ZERO);
        assert_eq!(group.reap(1, None, |_, _| {}).unwrap(), 1);
        controller.smart_log().unwrap();
    });
}
