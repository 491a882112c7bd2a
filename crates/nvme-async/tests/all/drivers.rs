//! Drivers: in a reactor, in a thread of their own, and dropped.

use crate::common::{Woken, World, block_on, poll};
use joulio_emulator::{EmulatedDevice, Fault};
use joulio_nvme::wait::{AnyPolicy, now};
use joulio_nvme_async::{Driver, IoFailure};
use rustix::event::{PollFd, PollFlags};
use rustix::time::Timespec;
use std::os::fd::AsFd;
use std::sync::Arc;
use tokio::io::unix::AsyncFd;

fn readable(driver: &impl AsFd) -> bool {
    let at_once = Timespec::default();
    let mut fds = [PollFd::new(driver, PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&at_once)).unwrap() == 1
}

/// Arms `driver`, which has nothing to reap. A check of its queue that is due also wakes it, which may happen on a
/// machine where this thread did not run for long.
fn arm(driver: &mut Driver<EmulatedDevice>) {
    for _ in 0..1000 {
        if driver.arm().unwrap() && !readable(driver) {
            return;
        }
        assert_eq!(driver.reap(8).unwrap(), 0);
    }
    panic!("something wakes the driver again and again");
}

#[test]
fn a_command_to_an_idle_queue_is_armed_though_the_driver_waits() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(4), world.namespace);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let mut driver = queue.driver().unwrap();
    let woken = Arc::new(Woken::default());
    // After that, the check of a queue whose policy has changed is over.
    arm(&mut driver);
    let mut read = queue.read(&namespace, 0, 1, world.buffer());
    assert!(poll(&mut read, &woken).is_pending());
    assert!(!readable(&driver));
    stepper.step(now());
    // Readable because of the interrupt that the submission enabled.
    assert!(readable(&driver));
    assert_eq!(driver.reap(8).unwrap(), 1);
    assert_eq!(woken.count(), 1);
    assert!(poll(&mut read, &woken).is_ready());
    arm(&mut driver);
}

#[test]
fn a_change_to_polling_ends_the_drivers_wait() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(4), world.namespace);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let mut driver = queue.driver().unwrap();
    let woken = Arc::new(Woken::default());
    let mut read = queue.read(&namespace, 0, 1, world.buffer());
    assert!(poll(&mut read, &woken).is_pending());
    arm(&mut driver);
    queue.set_policy(AnyPolicy::POLL).unwrap();
    assert!(readable(&driver));
    // The driver polls from now on.
    assert!(!driver.arm().unwrap());
    stepper.step(now());
    assert_eq!(driver.reap(8).unwrap(), 1);
    assert!(poll(&mut read, &woken).is_ready());
}

#[test]
fn a_driver_that_is_dropped_leaves_the_queue_to_its_futures() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(1), world.namespace);
    let driver = queue.driver().unwrap();
    let woken = Arc::new(Woken::default());
    let mut read = queue.read(&namespace, 0, 1, world.buffer());
    assert!(poll(&mut read, &woken).is_pending());
    assert_eq!(woken.count(), 0);
    drop(driver);
    assert_eq!(woken.count(), 1);
    stepper.step(now());
    assert!(poll(&mut read, &woken).is_ready());
    assert!(queue.driver().is_ok());
}

#[test]
fn a_thread_drives_until_the_last_handle_is_gone() {
    let world = World::spawned();
    let queue = world.queue(8);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let driver = queue.driver().unwrap();
    let driving = std::thread::spawn(move || driver.run());
    let mut buffer = world.buffer();
    for _ in 0..300 {
        buffer = block_on(queue.read(&world.namespace, 0, 1, buffer)).unwrap();
    }
    drop(queue);
    driving.join().unwrap().unwrap();
}

#[test]
fn a_driver_that_arms_after_the_last_handle_went_does_not_wait() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(4), world.namespace);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let mut driver = queue.driver().unwrap();
    let woken = Arc::new(Woken::default());
    let mut read = queue.read(&namespace, 0, 1, world.buffer());
    assert!(poll(&mut read, &woken).is_pending());
    drop(read);
    // The driver has checked this before, and would arm next.
    assert!(!driver.is_closed());
    drop(queue);
    // A command is in flight: the driver waits for it.
    arm(&mut driver);
    assert!(!driver.is_closed());
    stepper.step(now());
    assert!(readable(&driver));
    assert_eq!(driver.reap(8).unwrap(), 1);
    assert!(!driver.arm().unwrap() && driver.is_closed());
}

async fn drive(driver: Driver<EmulatedDevice>) {
    // SAFETY: the driver owns its descriptor, which stays the same.
    let mut driver = unsafe { AsyncFd::register(driver) }.unwrap();
    while !driver.get_ref().is_closed() {
        if driver.get_mut().arm().unwrap() {
            driver.readable().await.unwrap().clear_ready();
        } else {
            tokio::task::yield_now().await;
        }
        driver.get_mut().reap(16).unwrap();
    }
}

#[test]
fn in_tokio_every_io_ends_under_every_policy_while_they_change() {
    let world = World::spawned();
    let namespace = world.namespace;
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_io().build().unwrap();
    runtime.block_on(async {
        let queue = world.queue(4);
        let driver = tokio::spawn(drive(queue.driver().unwrap()));
        let buffers = world.controller.allocate_buffers(8, 512).unwrap();
        let tasks: Vec<_> = buffers
            .into_iter()
            .map(|mut buffer| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    for round in 0..100 {
                        if round % 25 == 0 {
                            let policy = match round / 25 % 2 {
                                0 => AnyPolicy::INTERRUPT,
                                _ => AnyPolicy::POLL,
                            };
                            queue.set_policy(policy).unwrap();
                        }
                        buffer = queue.read(&namespace, 0, 1, buffer).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        drop(queue);
        driver.await.unwrap();
    });
}

#[test]
fn a_controller_that_is_removed_ends_all_futures_with_that() {
    let world = World::spawned();
    let (queue, namespace) = (world.queue(2), world.namespace);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let driver = queue.driver().unwrap();
    let driving = std::thread::spawn(move || driver.run());
    world.controller.device().inject(Fault::Removed);
    // Commands in flight end as aborted, or with the error that the controller is gone; later ones end with that
    // error.
    let gone = loop {
        let read = block_on(queue.read(&namespace, 0, 1, world.buffer()));
        match read.err().map(|error| error.reason) {
            Some(IoFailure::Controller(error)) => break error,
            Some(IoFailure::Status(_)) | None => {}
            Some(other) => panic!("{other}"),
        }
    };
    let ended = driving.join().unwrap().unwrap_err();
    assert_eq!(ended.to_string(), gone.to_string());
}
