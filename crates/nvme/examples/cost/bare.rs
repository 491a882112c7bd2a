//! The barest loop. It writes the same 64-byte entries as the driver and reads the same 16-byte ones, with a
//! doorbell for each batch. It checks nothing, keeps no buffer, and cannot distinguish one command from another.

use joulio_device::{Device, DmaArray, Doorbell};
use joulio_emulator::EmulatedDoorbell;
use joulio_nvme::spec::register::{completion_doorbell, submission_doorbell};
use std::hint::black_box;
use std::sync::Arc;

/// Rings in memory that no device reads.
struct Bare {
    depth: usize,
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
    for slot in 0..bare.depth as u64 {
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
    for _ in 0..bare.depth {
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

/// Completes every command in order, as a device would.
fn complete(bare: &Bare) {
    let (mut head, mut phase) = (bare.head, bare.phase);
    for slot in 0..bare.depth as u32 {
        bare.completion
            .write(head, [0, 0, 1 << 16, slot | phase << 16]);
        head += 1;
        if head == bare.completion.len() {
            head = 0;
            phase ^= 1;
        }
    }
}

pub fn run(ios: usize, depth: usize) {
    let (device, _stepper) = super::device(1);
    let entries = depth + 1;
    let completions = (entries * 64).next_multiple_of(4096);
    let memory = device.allocate(completions + entries * 16).expect("memory");
    let memory = Arc::new(memory);
    let doorbell = |offset| device.doorbell(offset).expect("it has doorbells");
    let mut bare = Bare {
        depth,
        submission: memory.array(0, entries),
        completion: memory.array(completions, entries),
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
    for _ in 0..ios / depth {
        bare_submit(black_box(&mut bare));
        complete(&bare);
        assert_eq!(bare_reap(black_box(&mut bare)), depth);
    }
}
