//! What submit and reap cost: the driver, and beside it the barest loop that moves the same bytes.
//!
//! `benches/instructions` runs both under callgrind, which collects inside `submit` and `reap`
//! only: the device (stepped in this thread) is not counted.
//!
//! The bare loop writes the same 64-byte entries and reads the same 16-byte ones, a doorbell for
//! each batch. It checks nothing, keeps no buffer, and cannot distinguish one command from another.

use joulio_device::{Device, DmaArray, Doorbell};
use joulio_emulator::{EmulatedDevice, EmulatedDoorbell, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::spec::register::{completion_doorbell, submission_doorbell};
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, Namespace, PollGroup};
use joulio_units::Nanos;
use std::hint::black_box;
use std::sync::Arc;

const DEPTH: usize = 32;
const BLOCKS: u32 = 8;

struct Driver {
    group: PollGroup<EmulatedDevice>,
    namespace: Namespace,
    buffers: Vec<DmaBuffer>,
    next: u64,
}

#[inline(never)]
fn driver_submit(driver: &mut Driver) {
    let queue = &mut driver.group.queues()[0];
    while let Some(buffer) = driver.buffers.pop() {
        let lba = driver.next & 0xffff8;
        driver.next += 8;
        if queue
            .read(&driver.namespace, lba, BLOCKS, buffer, driver.next)
            .is_err()
        {
            unreachable!("there are as many buffers as slots");
        }
    }
    queue.ring();
}

#[inline(never)]
fn driver_reap(driver: &mut Driver) -> usize {
    let buffers = &mut driver.buffers;
    let mut good = 0;
    let reaped = driver.group.reap(DEPTH, None, |_, done| {
        good += usize::from(done.status.is_success());
        buffers.extend(done.buffer);
    });
    assert!(reaped.is_ok());
    good
}

/// Rings in memory that nobody else reads.
struct Bare {
    submission: DmaArray<[u64; 8]>,
    completion: DmaArray<[u32; 4]>,
    doorbells: (EmulatedDoorbell, EmulatedDoorbell),
    tail: usize,
    head: usize,
    phase: u32,
    address: u64,
    next: u64,
}

#[inline(never)]
fn bare_submit(bare: &mut Bare) {
    for slot in 0..DEPTH as u64 {
        let lba = bare.next & 0xffff8;
        bare.next += 8;
        let entry = [
            2 | slot << 16 | 1 << 32,
            0,
            0,
            bare.address + slot * 4096,
            0,
            lba,
            7,
            0,
        ];
        bare.submission.write(bare.tail, entry);
        bare.tail += 1;
        if bare.tail == bare.submission.len() {
            bare.tail = 0;
        }
    }
    bare.doorbells.0.ring(bare.tail as u32);
}

#[inline(never)]
fn bare_reap(bare: &mut Bare) -> usize {
    let mut good = 0;
    for _ in 0..DEPTH {
        let dword3 = bare.completion.load_word(bare.head, 12);
        if (dword3 >> 16) & 1 != bare.phase {
            break;
        }
        good += usize::from(dword3 >> 17 == 0);
        bare.head += 1;
        if bare.head == bare.completion.len() {
            bare.head = 0;
            bare.phase ^= 1;
        }
    }
    bare.doorbells.1.ring(bare.head as u32);
    good
}

/// What the bare loop's device does: completes everything, in order.
fn complete(bare: &Bare) {
    let (mut head, mut phase) = (bare.head, bare.phase);
    for slot in 0..DEPTH as u32 {
        bare.completion
            .write(head, [0, 0, 1 << 16, slot | phase << 16]);
        head += 1;
        if head == bare.completion.len() {
            head = 0;
            phase ^= 1;
        }
    }
}

fn device() -> (EmulatedDevice, Stepper) {
    let profile = DeviceProfile::builtin("instant").expect("built in");
    EmulatedDevice::stepped(&Options::new(profile)).expect("memory for a controller")
}

fn run_driver(rounds: usize) {
    let (device, stepper) = device();
    let controller = Controller::open(device, ControllerOptions::default()).expect("it opens");
    let namespace = controller.namespace(1).expect("it has one");
    let queue = controller.create_queue_pair(DEPTH).expect("it has queues");
    println!("memory of a queue pair of depth 256: {} bytes", {
        controller
            .create_queue_pair(256)
            .expect("it has queues")
            .info()
            .memory
    });
    let buffers = controller.allocate_buffers(DEPTH, 4096).expect("memory");
    let mut driver = Driver {
        group: PollGroup::new(vec![queue]),
        namespace,
        buffers,
        next: 0,
    };
    for _ in 0..rounds {
        driver_submit(black_box(&mut driver));
        stepper.step(Nanos::ZERO);
        assert_eq!(driver_reap(black_box(&mut driver)), DEPTH);
    }
}

fn run_bare(rounds: usize) {
    let (device, _stepper) = device();
    let memory = Arc::new(device.allocate(8192).expect("memory"));
    let doorbell = |offset| device.doorbell(offset).expect("it has doorbells");
    let mut bare = Bare {
        submission: memory.array(0, DEPTH + 1),
        completion: memory.array(4096, DEPTH + 1),
        doorbells: (
            doorbell(submission_doorbell(1, 0)),
            doorbell(completion_doorbell(1, 0)),
        ),
        tail: 0,
        head: 0,
        phase: 1,
        address: 0x10_0000,
        next: 0,
    };
    for _ in 0..rounds {
        bare_submit(black_box(&mut bare));
        complete(&bare);
        assert_eq!(bare_reap(black_box(&mut bare)), DEPTH);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let which = arguments.next().unwrap_or_default();
    let ios: usize = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(32_000);
    match which.as_str() {
        "driver" => run_driver(ios / DEPTH),
        "bare" => run_bare(ios / DEPTH),
        _ => {
            eprintln!("usage: cost driver|bare [IOS]");
            std::process::exit(2);
        }
    }
}
