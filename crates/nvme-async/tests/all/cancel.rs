//! Futures that are dropped: the device keeps the buffer until the command has completed.

use crate::common::{Woken, World, poll};
use joulio_nvme::wait::now;
use std::sync::Arc;

#[test]
fn a_buffer_comes_back_later_and_never_early() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(4), world.namespace);
    let woken = Arc::new(Woken::default());
    let arena = world.controller.allocate_trusted_arena(4096).unwrap();
    let mut read = queue.read(&namespace, 0, 1, arena.take(4096).unwrap());
    assert!(poll(&mut read, &woken).is_pending());
    drop(read);
    // The device has the buffer, and nobody else.
    assert_eq!(queue.outstanding(), 1);
    assert!(queue.reclaim().is_none() && arena.take(4).is_none());
    let mut other = queue.flush(&namespace);
    assert!(poll(&mut other, &woken).is_pending());
    assert!(queue.reclaim().is_none() && arena.take(4).is_none());
    stepper.step(now());
    assert!(poll(&mut other, &woken).is_ready());
    assert_eq!(queue.outstanding(), 0);
    assert_eq!(queue.reclaim().map(|buffer| buffer.len()), Some(4096));
    assert!(queue.reclaim().is_none());
    assert!(arena.take(4096).is_some());
}

#[test]
fn without_a_driver_and_other_futures_a_buffer_comes_back_too() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(4), world.namespace);
    let woken = Arc::new(Woken::default());
    let mut read = queue.read(&namespace, 0, 1, world.buffer());
    assert!(poll(&mut read, &woken).is_pending());
    drop(read);
    assert!(queue.reclaim().is_none());
    stepper.step(now());
    assert!(queue.reclaim().is_some());
    assert_eq!(queue.outstanding(), 0);
}

#[test]
fn a_future_that_was_never_polled_sends_nothing() {
    let (world, _stepper) = World::stepped();
    let (queue, namespace) = (world.queue(1), world.namespace);
    drop(queue.read(&namespace, 0, 1, world.buffer()));
    assert_eq!(queue.outstanding(), 0);
    assert!(queue.reclaim().is_none());
}

#[test]
fn a_completion_that_nobody_took_gives_its_buffer_too() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(2), world.namespace);
    let woken = Arc::new(Woken::default());
    let mut read = queue.read(&namespace, 0, 1, world.buffer());
    let mut flush = queue.flush(&namespace);
    assert!(poll(&mut read, &woken).is_pending());
    assert!(poll(&mut flush, &woken).is_pending());
    stepper.step(now());
    // Both have completed; this poll takes its own completion.
    assert!(poll(&mut flush, &woken).is_ready());
    assert!(queue.reclaim().is_none());
    drop(read);
    assert!(queue.reclaim().is_some());
}

#[test]
fn draining_waits_for_commands_whose_future_is_gone() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(8), world.namespace);
    let woken = Arc::new(Woken::default());
    for _ in 0..8 {
        let mut read = queue.read(&namespace, 0, 1, world.buffer());
        assert!(poll(&mut read, &woken).is_pending());
    }
    let mut drained = Box::pin(queue.drain());
    assert!(poll(&mut drained, &woken).is_pending());
    stepper.step(now());
    assert!(poll(&mut drained, &woken).is_ready());
    assert_eq!(queue.outstanding(), 0);
    let reclaimed = std::iter::from_fn(|| queue.reclaim()).count();
    assert_eq!(reclaimed, 8);
}
