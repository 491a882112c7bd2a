//! The data pointer of a command, as it is in the submission queue.

use crate::common::{Seen, open_stepped};
use joulio_device::SharedMemory;
use joulio_nvme::ControllerOptions;
use joulio_units::Nanos;

const PAGE: u64 = 4096;

/// Returns PSDT and the two words of the data pointer of the command in slot `index`.
fn pointer(memory: &SharedMemory, index: usize) -> (u32, u64, u64) {
    let at = index * 64;
    let word = |at| u64::from(memory.load_u32(at)) | u64::from(memory.load_u32(at + 4)) << 32;
    (memory.load_u32(at) >> 14 & 3, word(at + 24), word(at + 32))
}

/// Writes and reads back `bytes`, and calls `check` with the pointer of each command, and the address of the data.
fn there_and_back(
    seen: Seen,
    sgls: bool,
    bytes: usize,
    check: impl Fn((u32, u64, u64), u64, &SharedMemory),
) {
    let options = ControllerOptions {
        sgls,
        ..ControllerOptions::default()
    };
    let (controller, stepper, seen) = open_stepped(seen, options);
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(4).unwrap();
    let memory = seen.last_memory();
    let mut buffer = controller.allocate_buffers(1, bytes).unwrap().remove(0);
    let content: Vec<u8> = (0..bytes).map(|at| (at / 512 + at) as u8).collect();
    for (index, write) in [true, false].into_iter().enumerate() {
        let blocks = (bytes / 512) as u32;
        let at = buffer.iova().0;
        if write {
            buffer.write(0, &content);
            queue.write(&namespace, 3, blocks, buffer, 0).unwrap();
        } else {
            buffer.write(0, &vec![0xa5; bytes]);
            queue.read(&namespace, 3, blocks, buffer, 0).unwrap();
        }
        check(pointer(&memory, index), at, &memory);
        queue.ring();
        stepper.step(Nanos::ZERO);
        let mut back = None;
        queue.reap(1, |done| back = Some(done)).unwrap();
        let done = back.unwrap();
        assert!(done.status.is_success(), "{}", done.status);
        buffer = done.buffer.unwrap();
    }
    let mut data = vec![0; bytes];
    buffer.read(0, &mut data);
    assert!(data == content, "{bytes} bytes came back as others");
}

#[test]
fn up_to_two_pages_are_prps_in_the_command() {
    for sgls in [true, false] {
        for bytes in [512, 4096, 4608, 8192] {
            there_and_back(
                Seen::default(),
                sgls,
                bytes,
                |(psdt, first, second), at, _| {
                    let next = if bytes > 4096 { at + PAGE } else { 0 };
                    assert_eq!((psdt, first, second), (0b00, at, next), "{bytes}");
                },
            );
        }
    }
}

#[test]
fn above_two_pages_one_descriptor_is_all() {
    for bytes in [8704, 12_288, 131_072, 1 << 20] {
        there_and_back(
            Seen::default(),
            true,
            bytes,
            |(psdt, first, second), at, _| {
                // A data block (type 0h) with its length in bytes 11:8.
                assert_eq!((psdt, first, second), (0b01, at, bytes as u64), "{bytes}");
            },
        );
    }
}

#[test]
fn without_sgls_it_is_a_list_of_pages() {
    // A caller that does not want SGLs, and a controller that has none.
    let both: [(fn() -> Seen, bool); 2] = [(Seen::default, false), (Seen::without_sgls, true)];
    for (seen, sgls) in both {
        for bytes in [8704, 12_288, 131_072, 1 << 20] {
            there_and_back(seen(), sgls, bytes, |(psdt, first, list), at, memory| {
                assert_eq!((psdt, first), (0b00, at), "{bytes}");
                // The list is in the queue's own memory, after both rings.
                let pages = (bytes as u64).div_ceil(PAGE);
                let entries = (1..pages).map(|page| at + page * PAGE);
                let offset = (0..memory.len() / PAGE as usize).find_map(|page| {
                    let offset = page * PAGE as usize + list as usize % PAGE as usize;
                    let entry = memory.load_u32(offset);
                    (entry == (at + PAGE) as u32).then_some(offset)
                });
                let offset = offset.expect("a list in the queue's memory");
                for (index, entry) in entries.enumerate() {
                    let place = offset + index * 8;
                    assert_eq!(memory.load_u32(place), entry as u32);
                    assert_eq!(memory.load_u32(place + 4), (entry >> 32) as u32);
                }
            });
        }
    }
}
