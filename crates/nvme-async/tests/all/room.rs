//! More commands than the depth of the queue.

use crate::common::{Woken, World, block_on, poll};
use joulio_nvme::wait::{AnyPolicy, now};
use std::sync::Arc;

#[test]
fn commands_wait_for_room_in_their_order() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(1), world.namespace);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let mut driver = queue.driver().unwrap();
    let woken: Vec<_> = (0..4).map(|_| Arc::new(Woken::default())).collect();
    let counts = || woken.iter().map(|woken| woken.count()).collect::<Vec<_>>();
    let mut reads: Vec<_> = (0..4)
        .map(|_| Some(queue.read(&namespace, 0, 1, world.buffer())))
        .collect();
    for (read, woken) in reads.iter_mut().zip(&woken) {
        assert!(poll(read.as_mut().unwrap(), woken).is_pending());
    }
    assert_eq!(queue.outstanding(), 1);
    let _ = driver.arm().unwrap();
    stepper.step(now());
    assert_eq!(driver.reap(8).unwrap(), 1);
    // The future whose command is done, and the next one in the line.
    assert_eq!(counts(), [1, 1, 0, 0]);
    assert!(poll(reads[0].as_mut().unwrap(), &woken[0]).is_ready());
    // The next one is dropped: its place is the third's.
    reads[1] = None;
    assert_eq!(counts(), [1, 1, 1, 0]);
    assert!(poll(reads[2].as_mut().unwrap(), &woken[2]).is_pending());
    assert_eq!(queue.outstanding(), 1);
    let _ = driver.arm().unwrap();
    stepper.step(now());
    assert_eq!(driver.reap(8).unwrap(), 1);
    assert_eq!(counts(), [1, 1, 2, 1]);
    assert!(poll(reads[2].as_mut().unwrap(), &woken[2]).is_ready());
    assert!(poll(reads[3].as_mut().unwrap(), &woken[3]).is_pending());
    let _ = driver.arm().unwrap();
    stepper.step(now());
    assert_eq!(driver.reap(8).unwrap(), 1);
    assert!(poll(reads[3].as_mut().unwrap(), &woken[3]).is_ready());
}

#[test]
fn without_a_driver_each_makes_room_for_itself() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(1), world.namespace);
    let woken = Arc::new(Woken::default());
    let mut first = queue.read(&namespace, 0, 1, world.buffer());
    let mut second = queue.flush(&namespace);
    assert!(poll(&mut first, &woken).is_pending());
    assert!(poll(&mut second, &woken).is_pending());
    // The future asks to be polled again.
    assert!(woken.count() >= 2);
    stepper.step(now());
    assert!(poll(&mut second, &woken).is_pending());
    stepper.step(now());
    assert!(poll(&mut second, &woken).is_ready());
    assert!(block_on(first).is_ok());
}

#[test]
fn who_goes_on_and_on_leaves_room_for_who_waits() {
    let (world, stepper) = World::stepped();
    let (queue, namespace) = (world.queue(1), world.namespace);
    queue.set_policy(AnyPolicy::INTERRUPT).unwrap();
    let mut driver = queue.driver().unwrap();
    let mut complete = || {
        let _ = driver.arm().unwrap();
        stepper.step(now());
        assert_eq!(driver.reap(8).unwrap(), 1);
    };
    let (busy, waits) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    let mut first = queue.flush(&namespace);
    let mut waiting = queue.flush(&namespace);
    assert!(poll(&mut first, &busy).is_pending());
    assert!(poll(&mut waiting, &waits).is_pending());
    complete();
    // As in an executor: the future that was woken first is polled first, and submits the next command at once.
    assert!(poll(&mut first, &busy).is_ready());
    let mut next = queue.flush(&namespace);
    assert!(poll(&mut next, &busy).is_pending());
    assert!(poll(&mut waiting, &waits).is_pending());
    complete();
    assert!(poll(&mut waiting, &waits).is_ready());
    assert!(poll(&mut next, &busy).is_pending());
    complete();
    assert!(poll(&mut next, &busy).is_ready());
}
