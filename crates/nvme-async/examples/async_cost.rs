//! The cost of a 4 KiB read with a future and, for comparison, with the driver's interface for event loops. The
//! program `benches/instructions` runs both under callgrind, which counts only inside the functions `async_*` or
//! `events_*`.
//!
//! In `async_poll`, a task takes the result of a read and submits the next one: the whole of its poll is counted,
//! with the futures, their wakers and their buffers. `async_ring` and `async_reap` contain the driver. The executor
//! is not counted: where it keeps its tasks, and which of them it polls.

use joulio_emulator::{EmulatedDevice, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, EventGroup, Namespace, PollGroup};
use joulio_nvme_async::{AsyncQueue, Driver};
use joulio_units::Nanos;
use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Number of blocks of an I/O.
const BLOCKS: u32 = 8;

/// A task that does `count` reads, one after the other.
async fn read(
    queue: &AsyncQueue<EmulatedDevice>,
    namespace: &Namespace,
    next: &Cell<u64>,
    mut buffer: DmaBuffer,
    count: usize,
) {
    for _ in 0..count {
        let lba = next.get() & 0xffff8;
        next.set(next.get() + 8);
        buffer = match queue.read(namespace, lba, BLOCKS, buffer).await {
            Ok(buffer) => buffer,
            Err(error) => panic!("{error}"),
        };
    }
}

#[inline(never)]
fn async_poll(task: Pin<&mut impl Future<Output = ()>>, context: &mut Context<'_>) -> bool {
    task.poll(context) == Poll::Ready(())
}

#[inline(never)]
fn async_ring(driver: &mut Driver<EmulatedDevice>) {
    driver.ring();
}

#[inline(never)]
fn async_reap(driver: &mut Driver<EmulatedDevice>, depth: usize) {
    assert!(driver.reap(depth).is_ok_and(|count| count == depth));
}

struct Events {
    group: EventGroup<EmulatedDevice>,
    namespace: Namespace,
    buffers: Vec<DmaBuffer>,
    next: u64,
}

#[inline(never)]
fn events_submit(events: &mut Events) {
    let queue = &mut events.group.group().queues()[0];
    while let Some(buffer) = events.buffers.pop() {
        let lba = events.next & 0xffff8;
        events.next += 8;
        let namespace = &events.namespace;
        let submitted = queue.read(namespace, lba, BLOCKS, buffer, events.next);
        assert!(submitted.is_ok());
    }
    queue.ring();
}

#[inline(never)]
fn events_reap(events: &mut Events, depth: usize) {
    let (buffers, mut good) = (&mut events.buffers, 0);
    let reaped = events.group.reap(depth, |_, done| {
        good += usize::from(done.status.is_success());
        buffers.extend(done.buffer);
    });
    assert!(reaped.is_ok() && good == depth);
}

fn open() -> Result<(Controller<EmulatedDevice>, Stepper), Box<dyn std::error::Error>> {
    let options = Options::new(DeviceProfile::builtin("instant")?);
    let (device, stepper) = EmulatedDevice::stepped(&options)?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    Ok((controller, stepper))
}

fn run_events(ios: usize, depth: usize) -> Result<(), Box<dyn std::error::Error>> {
    let (controller, stepper) = open()?;
    let queue = controller.create_queue_pair(depth)?;
    let mut events = Events {
        group: EventGroup::new(PollGroup::new(vec![queue]))?,
        namespace: controller.namespace(1)?,
        buffers: controller.allocate_buffers(depth, 4096)?,
        next: 0,
    };
    for _ in 0..ios / depth {
        events_submit(black_box(&mut events));
        // The driver checks its device at intervals: here, where the check is not counted.
        events.group.reap(0, |_, _| {})?;
        stepper.step(Nanos::ZERO);
        events_reap(black_box(&mut events), depth);
    }
    Ok(())
}

fn run(ios: usize, depth: usize) -> Result<(), Box<dyn std::error::Error>> {
    let (controller, stepper) = open()?;
    let queue = AsyncQueue::new(controller.create_queue_pair(depth)?)?;
    let namespace = controller.namespace(1)?;
    let (mut driver, next) = (queue.driver()?, Cell::new(0));
    let buffers = controller.allocate_buffers(depth, 4096)?;
    let read = |buffer| Box::pin(read(&queue, &namespace, &next, buffer, ios / depth));
    let mut tasks: Vec<_> = buffers.into_iter().map(read).collect();
    // As of an executor whose wakers the compiler does not know.
    let mut context = Context::from_waker(black_box(Waker::noop()));
    for round in 0..=ios / depth {
        for task in &mut tasks {
            let done = async_poll(black_box(task).as_mut(), &mut context);
            assert_eq!(done, round == ios / depth);
        }
        if round < ios / depth {
            async_ring(black_box(&mut driver));
            driver.reap(0)?;
            stepper.step(Nanos::ZERO);
            async_reap(black_box(&mut driver), depth);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|number| number.parse().ok());
    match (arguments.first().map(String::as_str), number(1), number(2)) {
        (Some("async"), Some(ios), Some(depth)) if depth > 0 => run(ios, depth),
        (Some("events"), Some(ios), Some(depth)) if depth > 0 => run_events(ios, depth),
        _ => Err("usage: async_cost async|events IOS DEPTH".into()),
    }
}
