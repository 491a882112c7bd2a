//! Cost of a 4 KiB read by a future beyond one by the driver: `benches/instructions` runs this under
//! callgrind, which collects inside `async_submit` and `async_reap` only. The executor is not in it: each
//! future is polled twice, to be submitted and to be done.

use joulio_emulator::{EmulatedDevice, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, Namespace};
use joulio_nvme_async::{AsyncQueue, Driver, Io};
use joulio_units::Nanos;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Blocks of an I/O.
const BLOCKS: u32 = 8;

type Read = Io<EmulatedDevice, DmaBuffer>;

struct Futures {
    queue: AsyncQueue<EmulatedDevice>,
    driver: Driver<EmulatedDevice>,
    namespace: Namespace,
    buffers: Vec<DmaBuffer>,
    reads: Vec<Read>,
    next: u64,
}

fn poll(read: &mut Read) -> Poll<DmaBuffer> {
    let mut context = Context::from_waker(Waker::noop());
    Pin::new(read).poll(&mut context).map(|done| match done {
        Ok(buffer) => buffer,
        Err(error) => panic!("{error}"),
    })
}

#[inline(never)]
fn async_submit(futures: &mut Futures) {
    while let Some(buffer) = futures.buffers.pop() {
        let lba = futures.next & 0xffff8;
        futures.next += 8;
        let read = futures.queue.read(&futures.namespace, lba, BLOCKS, buffer);
        futures.reads.push(read);
        let read = futures.reads.last_mut();
        assert!(read.is_some_and(|read| poll(read).is_pending()));
    }
}

#[inline(never)]
fn async_reap(futures: &mut Futures, depth: usize) {
    assert!(futures.driver.reap(depth).is_ok_and(|count| count == depth));
    while let Some(mut read) = futures.reads.pop() {
        let Poll::Ready(buffer) = poll(&mut read) else {
            unreachable!("its completion was reaped");
        };
        futures.buffers.push(buffer);
    }
}

fn run(ios: usize, depth: usize) -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new(DeviceProfile::builtin("instant")?);
    let (device, stepper): (_, Stepper) = EmulatedDevice::stepped(&options)?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let queue = AsyncQueue::new(controller.create_queue_pair(depth)?)?;
    let mut futures = Futures {
        driver: queue.driver()?,
        queue,
        namespace: controller.namespace(1)?,
        buffers: controller.allocate_buffers(depth, 4096)?,
        reads: Vec::with_capacity(depth),
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
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|number| number.parse())
        .collect::<Result<_, _>>()?;
    match arguments[..] {
        [ios, depth] if depth > 0 => run(ios, depth),
        _ => Err("usage: cost IOS DEPTH".into()),
    }
}
