//! Commands with a list of buffers: their entries in the submission queue, and their data.

use crate::common::{Seen, Spy, open_stepped};
use joulio_emulator::Stepper;
use joulio_nvme::spec::{Command, NvmOpcode};
use joulio_nvme::wait::now;
use joulio_nvme::{
    Arena, BufferList, Completed, Controller, ControllerOptions, DmaBuffer, QueuePair, SubmitError,
};

const PRP: u32 = 0;
const SGL: u32 = 1;

fn open(seen: Seen) -> (Controller<Spy>, Stepper, Seen) {
    open_stepped(seen, ControllerOptions::default())
}

/// Returns PSDT of the command in slot `index` of the submission queue.
fn psdt(seen: &Seen, index: usize) -> u32 {
    seen.last_memory().load_u32(index * 64) >> 14 & 3
}

fn end(queue: &mut QueuePair<Spy>, stepper: &Stepper) -> Completed {
    queue.ring();
    stepper.step(now());
    let mut ended = None;
    assert_eq!(queue.reap(8, |done| ended = Some(done)), Ok(1));
    let ended = ended.unwrap();
    assert!(ended.status.is_success(), "{}", ended.status);
    ended
}

/// Writes a pattern from one buffer, reads it with the list of `parts` (offset and length in a buffer of 8 KiB
/// each; the buffers in the order `order`), and compares the data. Returns PSDT of the read.
fn read_by(seen: Seen, parts: &[(usize, usize)], order: &[usize]) -> Result<u32, SubmitError> {
    let (controller, stepper, seen) = open(seen);
    let namespace = controller.namespace(1).unwrap();
    let arena = Arena::new(controller.allocate(1 << 20).unwrap());
    let mut queue = controller.create_queue_pair(1).unwrap();
    let bytes: usize = parts.iter().map(|(_, len)| len).sum();
    let blocks = (bytes / 512) as u32;
    let pattern: Vec<u8> = (0..bytes).map(|at| (at / 256 + at) as u8).collect();
    let mut whole = arena.take(bytes).unwrap();
    whole.write(0, &pattern);
    queue.write(&namespace, 8, blocks, whole, 0).unwrap();
    end(&mut queue, &stepper);

    let mut buffers: Vec<_> = (0..parts.len()).map(|_| arena.take(8192)).collect();
    let mut list = BufferList::new();
    for (&(at, len), &which) in parts.iter().zip(order) {
        let mut buffer = buffers[which].take().unwrap();
        buffer.write(0, &[0xa5; 8192]);
        list.push_part(buffer, at..at + len);
    }
    let addresses: Vec<_> = list.iter().map(DmaBuffer::iova).collect();
    if let Err(rejected) = queue.readv(&namespace, 8, blocks, list, 7) {
        assert_eq!(rejected.buffers.iter().count(), parts.len());
        assert_eq!(queue.outstanding(), 0);
        return Err(rejected.reason);
    }
    let psdt = psdt(&seen, 1);
    let done = end(&mut queue, &stepper);
    assert_eq!(done.tag, 7);
    let (mut from, mut back) = (0, Vec::new());
    for (buffer, &(at, len)) in done.into_buffers().into_iter().zip(parts) {
        let mut bytes = vec![0; 8192];
        buffer.read(0, &mut bytes);
        assert!(
            bytes[at..at + len] == pattern[from..from + len],
            "{at} {len}"
        );
        let around = bytes[..at].iter().chain(&bytes[at + len..]);
        assert!(around.copied().all(|byte| byte == 0xa5), "{at} {len}");
        from += len;
        back.push(buffer.iova());
    }
    assert_eq!(back, addresses);
    Ok(psdt)
}

#[test]
fn pages_are_prps_where_the_controller_has_no_sgls() {
    let plain = Seen::without_sgls;
    for order in [[0, 1, 2, 3], [3, 1, 0, 2]] {
        let whole = [(0, 8192); 4];
        assert_eq!(read_by(plain(), &whole, &order), Ok(PRP));
        // The first part may begin within a page, and the last may end within one.
        let ends = [(7680, 512), (4096, 4096), (0, 8192), (0, 512)];
        assert_eq!(read_by(plain(), &ends, &order), Ok(PRP));
    }
    // Two pages need no list.
    assert_eq!(read_by(plain(), &[(4096, 4096); 2], &[1, 0]), Ok(PRP));
    let within = [(0, 512), (512, 512)];
    assert_eq!(read_by(plain(), &within, &[0, 1]), Err(SubmitError::Pages));
}

#[test]
fn any_dwords_are_sgls_where_the_controller_has_them() {
    let seen = Seen::default;
    let odd = [(4, 100), (8000, 92), (0, 320), (512, 512)];
    assert_eq!(read_by(seen(), &odd, &[2, 0, 3, 1]), Ok(SGL));
    assert_eq!(read_by(seen(), &[(0, 8192); 4], &[3, 2, 1, 0]), Ok(SGL));
    // Even then, two pages are PRPs.
    assert_eq!(read_by(seen(), &[(0, 4096); 2], &[1, 0]), Ok(PRP));
    let bytes = [(0, 510), (0, 514)];
    assert_eq!(
        read_by(seen(), &bytes, &[1, 0]),
        Err(SubmitError::Alignment)
    );
    let bytes = [(2, 512), (0, 512)];
    assert_eq!(
        read_by(seen(), &bytes, &[1, 0]),
        Err(SubmitError::Alignment)
    );
}

#[test]
fn what_is_adjacent_is_one_part_and_too_many_are_refused() {
    let (controller, stepper, seen) = open(Seen::default());
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let arena = Arena::new(controller.allocate(1 << 20).unwrap());
    // 512 parts of one dword each, in order: together one part, and so one page.
    let cut = |mut rest: DmaBuffer| {
        let mut pieces = Vec::new();
        while rest.len() > 4 {
            let behind = rest.split_off(4);
            pieces.push(std::mem::replace(&mut rest, behind));
        }
        pieces.push(rest);
        pieces
    };
    let pieces = cut(arena.take(2048).unwrap());
    assert_eq!(pieces.len(), 512);
    let list = pieces.into_iter().collect();
    queue.readv(&namespace, 0, 4, list, 0).unwrap();
    assert_eq!(psdt(&seen, 0), PRP);
    let pieces = end(&mut queue, &stepper).into_buffers();
    // In reverse order, each is a part of its own.
    let mut pieces: Vec<_> = pieces.into_iter().collect();
    pieces.reverse();
    let list: BufferList = pieces.into_iter().collect();
    let rejected = queue.readv(&namespace, 0, 4, list, 0).unwrap_err();
    assert!(
        matches!(rejected.reason, SubmitError::Parts { parts: 512, max } if max >= 32),
        "{rejected}"
    );
    assert_eq!(rejected.buffers.iter().count(), 512);
}

#[test]
fn a_write_gathers_and_a_raw_command_takes_a_list_too() {
    let (controller, stepper, _) = open(Seen::default());
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let arena = Arena::new(controller.allocate(1 << 20).unwrap());
    let mut list = BufferList::new();
    for byte in 1..=4 {
        let mut buffer = arena.take(4096).unwrap();
        buffer.write(0, &[byte; 4096]);
        list.push_part(buffer, 0..256);
    }
    queue.writev(&namespace, 3, 2, list, 0).unwrap();
    let list = end(&mut queue, &stepper).into_buffers();
    // The buffers that came back, whole, for a command that the caller builds.
    let list: BufferList = list.into_iter().collect();
    let read = Command::transfer(NvmOpcode::READ, namespace.id(), 3, 2).with_fua();
    queue.submit_with_list(&namespace, read, list, 0).unwrap();
    let first = end(&mut queue, &stepper).into_buffers().pop().unwrap();
    let mut bytes = [0; 1024];
    first.read(0, &mut bytes);
    for (index, quarter) in bytes.chunks(256).enumerate() {
        assert!(quarter.iter().all(|&byte| usize::from(byte) == index + 1));
    }
}

#[test]
fn a_list_that_does_not_fit_comes_back() {
    let (controller, stepper, _) = open(Seen::default());
    let (other, _stepper, _) = open(Seen::default());
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let list = |controller: &Controller<Spy>, len| -> BufferList {
        let buffers = controller.allocate_buffers(2, len).unwrap();
        buffers.into_iter().rev().collect()
    };
    let mut refused = |list: BufferList, lba, blocks| {
        let rejected = queue.readv(&namespace, lba, blocks, list, 0).unwrap_err();
        rejected.reason
    };
    let short = list(&controller, 512);
    assert_eq!(refused(short, 0, 3), SubmitError::Buffer { bytes: 1536 });
    let empty = BufferList::new();
    assert_eq!(refused(empty, 0, 1), SubmitError::Buffer { bytes: 512 });
    assert_eq!(refused(list(&other, 512), 0, 1), SubmitError::Foreign);
    let past = refused(list(&controller, 512), namespace.blocks(), 1);
    assert!(matches!(past, SubmitError::Range { .. }));
    assert!(matches!(
        refused(list(&controller, 512), 0, 0),
        SubmitError::Length { bytes: 0, .. }
    ));
    queue
        .readv(&namespace, 0, 2, list(&controller, 512), 0)
        .unwrap();
    let full = queue.readv(&namespace, 0, 2, list(&controller, 512), 0);
    assert_eq!(full.unwrap_err().reason, SubmitError::QueueFull);
    end(&mut queue, &stepper);
}
