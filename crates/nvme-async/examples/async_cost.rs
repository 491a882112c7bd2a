//! Cost of a 4 KiB read by a future, and beside it of one by the driver's own face for event loops:
//! `benches/instructions` runs both under callgrind, which collects inside `*_submit` and `*_reap`
//! only. The executor is not in it: each future is polled twice, to be submitted and to be done.

use joulio_emulator::{EmulatedDevice, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, EventGroup, Namespace, PollGroup};
use joulio_nvme_async::{AsyncQueue, Driver, Io};
use joulio_units::Nanos;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Blocks of an I/O.
const BLOCKS: u32 = 8;

type Read<'a> = Io<'a, EmulatedDevice, DmaBuffer>;

struct Futures<'a> {
    queue: &'a AsyncQueue<EmulatedDevice>,
    driver: Driver<EmulatedDevice>,
    namespace: &'a Namespace,
    buffers: Vec<Option<DmaBuffer>>,
    reads: Vec<Option<Read<'a>>>,
    next: u64,
}

#[inline(never)]
fn async_submit(futures: &mut Futures<'_>) {
    let mut context = Context::from_waker(Waker::noop());
    let buffers = futures.buffers.iter_mut();
    for (place, buffer) in futures.reads.iter_mut().zip(buffers) {
        let Some(buffer) = buffer.take() else {
            unreachable!("it came back");
        };
        let lba = futures.next & 0xffff8;
        futures.next += 8;
        let read = futures.queue.read(futures.namespace, lba, BLOCKS, buffer);
        // Where an executor has its tasks.
        let read = Pin::new(place.insert(read));
        assert!(read.poll(&mut context).is_pending());
    }
    futures.driver.ring();
}

#[inline(never)]
fn async_reap(futures: &mut Futures<'_>, depth: usize) {
    assert!(futures.driver.reap(depth).is_ok_and(|count| count == depth));
    let mut context = Context::from_waker(Waker::noop());
    let buffers = futures.buffers.iter_mut();
    for (place, buffer) in futures.reads.iter_mut().zip(buffers) {
        let Some(read) = place else {
            unreachable!("it was submitted");
        };
        let Poll::Ready(Ok(back)) = Pin::new(read).poll(&mut context) else {
            unreachable!("its completion was reaped");
        };
        *buffer = Some(back);
        *place = None;
    }
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
        stepper.step(Nanos::ZERO);
        events_reap(black_box(&mut events), depth);
    }
    Ok(())
}

fn run(ios: usize, depth: usize) -> Result<(), Box<dyn std::error::Error>> {
    let (controller, stepper) = open()?;
    let queue = AsyncQueue::new(controller.create_queue_pair(depth)?)?;
    let namespace = controller.namespace(1)?;
    let mut futures = Futures {
        driver: queue.driver()?,
        queue: &queue,
        namespace: &namespace,
        buffers: { controller.allocate_buffers(depth, 4096)? }
            .into_iter()
            .map(Some)
            .collect(),
        reads: (0..depth).map(|_| None).collect(),
        next: 0,
    };
    for _ in 0..ios / depth {
        async_submit(black_box(&mut futures));
        stepper.step(Nanos::ZERO);
        async_reap(black_box(&mut futures), depth);
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
