//! Buffers that are slices, parts of buffers, transfers at an offset, and memory that the caller allocated.

use crate::common::open;
use joulio_device::DeviceError;
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, Stepper, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{AnyPolicy, Hybrid, now};
use joulio_nvme::{
    Controller, ControllerOptions, DmaBuffer, NvmeError, QueuePair, SharedMemory, SubmitError,
    Transfer, TrustedArena, TrustedBuffer,
};

fn trusted() -> (Controller<EmulatedDevice>, Stepper) {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    let store = StoreOptions::Ram {
        bytes: Some(1 << 20),
    };
    options.namespaces = vec![NamespaceOptions { store, block: None }];
    let (device, stepper) = EmulatedDevice::stepped(&options).unwrap();
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    (controller, stepper)
}

fn end(queue: &mut QueuePair<EmulatedDevice>, stepper: &Stepper) -> TrustedBuffer {
    queue.ring();
    stepper.step(now());
    let mut ended = None;
    assert_eq!(queue.reap(8, |done| ended = Some(done)), Ok(1));
    let done = ended.unwrap();
    assert!(done.status.is_success(), "{}", done.status);
    TrustedBuffer::try_from(done.buffer.unwrap()).unwrap()
}

#[test]
fn more_than_an_address_space_has_is_refused() {
    let (controller, _stepper) = trusted();
    for len in [usize::MAX, usize::MAX / 2 + 1] {
        let refused = controller.allocate_arena(len).map(drop).unwrap_err();
        assert!(refused.to_string().contains("more than memory can hold"));
        assert!(controller.allocate_trusted_arena(len).is_err());
        assert!(controller.allocate(len).is_err());
    }
}

#[test]
fn a_slice_is_written_and_read_without_a_copy() {
    let (controller, stepper) = trusted();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let mut buffer = controller.allocate_trusted(1, 4096).unwrap().remove(0);
    let at = buffer.as_ptr();
    buffer
        .iter_mut()
        .zip(0..)
        .for_each(|(byte, at)| *byte = at as u8);
    let blocks = 4096 / namespace.block_size();
    queue.write(&namespace, 0, blocks, buffer, 0).unwrap();
    let mut buffer = end(&mut queue, &stepper);
    buffer.fill(0);
    queue.read(&namespace, 0, blocks, buffer, 0).unwrap();
    let buffer = end(&mut queue, &stepper);
    assert_eq!(buffer.as_ptr(), at);
    assert!(
        buffer
            .iter()
            .zip(0_usize..)
            .all(|(&byte, at)| byte == at as u8)
    );
}

#[test]
fn a_sub_range_has_a_command_while_its_neighbour_is_the_callers() {
    let (controller, stepper) = trusted();
    let namespace = controller.namespace(1).unwrap();
    let block = namespace.block_size() as usize;
    let mut queue = controller.create_queue_pair(2).unwrap();
    let arena = controller.allocate_trusted_arena(1 << 20).unwrap();
    let mut first = arena.take(2 * block).unwrap();
    first.fill(1);
    let mut second = first.split_off(block);
    queue.write(&namespace, 5, 1, first, 0).unwrap();
    // The device has the first half; the second is ours.
    second.fill(2);
    let mut whole = end(&mut queue, &stepper);
    queue.read(&namespace, 5, 1, second, 0).unwrap();
    whole.join(end(&mut queue, &stepper)).unwrap();
    assert!(whole.len() == 2 * block && whole.iter().all(|&byte| byte == 1));
}

#[test]
fn a_transfer_at_an_offset_leaves_the_rest_of_its_buffer() {
    let (controller, stepper) = trusted();
    let namespace = controller.namespace(1).unwrap();
    let block = namespace.block_size() as usize;
    let mut queue = controller.create_queue_pair(1).unwrap();
    let mut buffer = controller.allocate_trusted(1, 4 * block).unwrap().remove(0);
    buffer[block..2 * block].fill(9);
    queue.write_at(&namespace, 3, 1, buffer, block, 0).unwrap();
    let mut buffer = end(&mut queue, &stepper);
    buffer.fill(0);
    // At an offset that is a multiple of neither a page nor a block.
    queue
        .read_at(&namespace, 3, 1, buffer, block / 2 + 4, 0)
        .unwrap();
    let buffer = end(&mut queue, &stepper);
    let inside = block / 2 + 4..block / 2 + 4 + block;
    let right = |(at, &byte): (usize, &u8)| (byte == 9) == inside.contains(&at);
    assert!(buffer.iter().enumerate().all(right));

    let mut refused = |offset| {
        let buffer = controller.allocate_trusted(1, 4 * block).unwrap().remove(0);
        let rejected = queue.read_at(&namespace, 3, 1, buffer, offset, 0);
        rejected.unwrap_err().reason
    };
    let bytes = block as u64;
    assert_eq!(refused(3 * block + 4), SubmitError::Buffer { bytes });
    assert_eq!(refused(usize::MAX - 3), SubmitError::Buffer { bytes });
    assert_eq!(refused(2), SubmitError::Alignment);
}

#[test]
fn memory_of_the_callers_own_is_one_mapping_of_many_buffers() {
    let (controller, stepper) = trusted();
    let namespace = controller.namespace(1).unwrap();
    let block = namespace.block_size() as usize;
    let mut queue = controller.create_queue_pair(8).unwrap();
    // Memory that is not private: data is copied in and out.
    let (ours, file) = SharedMemory::shareable(1 << 16).unwrap();
    let (other, _file) = SharedMemory::shareable(4096).unwrap();
    drop(file);
    let memory = controller.register(ours).unwrap();
    let held = memory.share();
    for (index, mut buffer) in DmaBuffer::carve(memory, 8, 4096).into_iter().enumerate() {
        buffer.write(0, &vec![index as u8; block]);
        queue.write(&namespace, index as u64, 1, buffer, 0).unwrap();
    }
    queue.ring();
    stepper.step(now());
    assert_eq!(
        queue.reap(8, |done| assert!(done.status.is_success())),
        Ok(8)
    );
    assert_eq!(held.load_u32(3 * 4096), 0x0303_0303);
    let refused = controller.register_trusted(other).err();
    let Some(NvmeError::Device(DeviceError::NotPrivate)) = refused else {
        panic!("{refused:?}");
    };
    // Private memory: slices.
    let own = SharedMemory::allocate(1 << 16).unwrap();
    let arena = TrustedArena::new(controller.register_trusted(own).unwrap());
    for index in 0..8 {
        let buffer = arena.take(block).unwrap();
        queue.read(&namespace, index, 1, buffer, 0).unwrap();
        let buffer = end(&mut queue, &stepper);
        assert!(buffer.iter().all(|&byte| u64::from(byte) == index));
    }
}

#[test]
fn a_buffer_of_another_device_is_refused_whatever_its_memory() {
    let (controller, _stepper, _) = open();
    let (other, _other_stepper) = trusted();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let buffer = other.allocate_trusted(1, 4096).unwrap().remove(0);
    let rejected = queue.read(&namespace, 0, 1, buffer, 0).unwrap_err();
    assert_eq!(rejected.reason, SubmitError::Foreign);
    assert!(TrustedBuffer::try_from(rejected.buffer).is_ok());
}

#[test]
fn a_page_is_transferred_at_once_and_what_is_out_of_the_ordinary_comes_back() {
    let (controller, stepper) = trusted();
    let (stranger, _stepper) = trusted();
    let namespace = controller.namespace(1).unwrap();
    let block = namespace.block_size() as usize;
    let mut queue = controller.create_queue_pair(1).unwrap();
    let arena = controller.allocate_trusted_arena(1 << 20).unwrap();
    let other = stranger.namespace(1).unwrap();
    assert!(matches!(queue.serve(&other), Err(SubmitError::Foreign)));
    queue.serve(&namespace).unwrap();
    let mut page = arena.take(4096).unwrap();
    page.fill(7);
    let send = |queue: &mut QueuePair<_>, kind, range, buffer: DmaBuffer| {
        queue.transfer_page(kind, range, buffer, 3)
    };
    let blocks = (4096 / block) as u32;
    send(&mut queue, Transfer::WRITE, (8, blocks), page.into()).unwrap();
    // The queue is full.
    let other = DmaBuffer::from(arena.take(4096).unwrap());
    let other = send(&mut queue, Transfer::READ, (8, 1), other).unwrap_err();
    drop(end(&mut queue, &stepper));
    let size = namespace.blocks();
    let other = send(&mut queue, Transfer::READ, (size, 1), other).unwrap_err();
    let other = send(&mut queue, Transfer::READ, (8, 0), other).unwrap_err();
    let other = send(&mut queue, Transfer::READ, (8, blocks + 1), other).unwrap_err();
    // A buffer of two pages, and one of another device.
    let long = DmaBuffer::from(arena.take(8192).unwrap());
    assert!(send(&mut queue, Transfer::READ, (8, blocks + 1), long).is_err());
    let foreign = stranger.allocate_buffers(1, 4096).unwrap().remove(0);
    assert!(send(&mut queue, Transfer::READ, (8, 1), foreign).is_err());
    assert_eq!(queue.outstanding(), 0);
    send(&mut queue, Transfer::READ, (8, blocks), other).unwrap();
    let read = end(&mut queue, &stepper);
    assert!(read.iter().all(|&byte| byte == 7));
    // Some commands need more than being submitted.
    queue
        .set_policy(AnyPolicy::Hybrid(Hybrid::automatic()))
        .unwrap();
    assert!(send(&mut queue, Transfer::READ, (8, blocks), read.into()).is_err());
}
