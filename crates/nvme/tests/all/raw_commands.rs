//! Commands that the caller has built.

use crate::common::{Seen, Spy, instant, open, open_stepped_as};
use crate::forged::forge;
use joulio_emulator::{IdentifyPages, Stepper};
use joulio_nvme::spec::command::Cdw0;
use joulio_nvme::spec::{Command, DsmAttributes, DsmRange, NvmOpcode, Status};
use joulio_nvme::wait::now;
use joulio_nvme::{ControllerOptions, DmaBuffer, QueuePair, SubmitError};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

/// Rings the doorbell, steps the device, and takes the only completion.
fn end(queue: &mut QueuePair<Spy>, stepper: &Stepper) -> (Status, Option<DmaBuffer>) {
    queue.ring();
    stepper.step(now());
    let mut ended = None;
    let reaped = queue.reap(8, |done| ended = Some((done.status, done.buffer)));
    assert_eq!(reaped, Ok(1));
    ended.unwrap()
}

#[test]
fn what_raw_commands_write_they_read_and_deallocate() {
    let (controller, stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let blocks = 4096 / namespace.block_size();
    let mut buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
    let pattern: Vec<u8> = (0..4096).map(|index| (index % 251) as u8).collect();
    buffer.write(0, &pattern);

    let write = Command::transfer(NvmOpcode::WRITE, namespace.id(), 8, blocks).with_fua();
    queue
        .submit_with_data(&namespace, write, buffer, 0)
        .unwrap();
    let (status, buffer) = end(&mut queue, &stepper);
    assert!(status.is_success());
    let mut buffer = buffer.unwrap();
    buffer.write(0, &[0; 4096]);

    let read = Command::transfer(NvmOpcode::READ, namespace.id(), 8, blocks);
    queue.submit_with_data(&namespace, read, buffer, 0).unwrap();
    let (status, buffer) = end(&mut queue, &stepper);
    assert!(status.is_success());
    let mut buffer = buffer.unwrap();
    let mut bytes = vec![0; 4096];
    buffer.read(0, &mut bytes);
    assert_eq!(bytes, pattern);

    let range = DsmRange {
        context_attributes: U32::ZERO,
        blocks: U32::new(blocks),
        slba: U64::new(8),
    };
    buffer.write(0, range.as_bytes());
    let attributes = DsmAttributes::new().with_ad(true);
    let deallocate = Command::dataset_management(namespace.id(), 1, attributes);
    queue
        .submit_with_data(&namespace, deallocate, buffer, 0)
        .unwrap();
    assert!(end(&mut queue, &stepper).0.is_success());

    let flush = Command::nvm(NvmOpcode::FLUSH, namespace.id());
    queue.submit(&namespace, flush, 0).unwrap();
    let (status, buffer) = end(&mut queue, &stepper);
    assert!(status.is_success() && buffer.is_none());
}

#[test]
fn a_command_that_the_controller_has_not_ends_with_its_status() {
    let (controller, stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
    let append = Command::transfer(NvmOpcode::ZONE_APPEND, namespace.id(), 0, 1);
    queue
        .submit_with_data(&namespace, append, buffer, 0)
        .unwrap();
    let (status, buffer) = end(&mut queue, &stepper);
    assert_eq!(status, Status::INVALID_OPCODE.do_not_retry());
    assert!(buffer.is_some());
}

#[test]
fn the_address_that_a_zone_append_returns_has_64_bits() {
    let (controller, _stepper, seen) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let memory = seen.last_memory();
    let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
    let append = Command::transfer(NvmOpcode::ZONE_APPEND, namespace.id(), 0, 1);
    queue
        .submit_with_data(&namespace, append, buffer, 0)
        .unwrap();
    queue.ring();
    let written = 0x5_8000_0001;
    let cid = (memory.load_u32(0) >> 16) as u16;
    forge(&memory, 0, written, (1, cid), 1);
    let mut ended = None;
    let reaped = queue.reap(8, |done| ended = Some((done.result(), done.dw0, done.dw1)));
    assert_eq!(reaped, Ok(1));
    assert_eq!(ended, Some((written, 0x8000_0001, 5)));
}

#[test]
fn what_would_break_the_driver_or_reach_past_the_buffer_is_refused() {
    let (controller, _stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let mut buffer = controller.allocate_buffers(1, 4096).unwrap().pop();
    let mut refusal = |command: Command| {
        let rejected = queue.submit_with_data(&namespace, command, buffer.take().unwrap(), 0);
        let rejected = rejected.unwrap_err();
        buffer = Some(rejected.buffer);
        rejected.reason
    };
    let read = Command::transfer(NvmOpcode::READ, namespace.id(), 0, 1);
    let too_long = 4096 / namespace.block_size() + 1;
    let long = Command::transfer(NvmOpcode::READ, namespace.id(), 0, too_long);
    let bytes = u64::from(too_long * namespace.block_size());
    assert_eq!(refusal(long), SubmitError::Buffer { bytes });
    let opcode = NvmOpcode::READ.0;
    let dword0 = Cdw0::new().with_opc(opcode);
    for dword0 in [dword0.with_fuse(1), dword0.with_psdt(1), dword0.with_cid(9)] {
        let cdw0 = U32::new(dword0.into());
        let reason = refusal(Command { cdw0, ..read });
        assert_eq!(reason, SubmitError::DriverFields { opcode });
    }
    for pointer in 0..3 {
        let mut command = read;
        *[&mut command.mptr, &mut command.prp1, &mut command.prp2][pointer] = U64::new(0x1000);
        assert_eq!(refusal(command), SubmitError::DriverFields { opcode });
    }
    let vendor = Command::nvm(NvmOpcode(0xc1), namespace.id());
    assert_eq!(refusal(vendor), SubmitError::UnknownLength { opcode: 0xc1 });
    let flush = Command::nvm(NvmOpcode::FLUSH, namespace.id());
    let data = SubmitError::Data {
        opcode: 0,
        moves: false,
    };
    assert_eq!(refusal(flush), data);
    let data = SubmitError::Data {
        opcode,
        moves: true,
    };
    assert_eq!(queue.submit(&namespace, read, 0), Err(data));
    assert_eq!(queue.outstanding(), 0);

    let (other, _stepper, _) = open();
    let foreign = other.namespace(1).unwrap();
    assert_eq!(queue.submit(&foreign, flush, 0), Err(SubmitError::Foreign));
}

#[test]
fn a_vendors_command_moves_as_much_as_its_caller_says() {
    let (controller, stepper, seen) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let memory = seen.last_memory();
    let buffer = controller.allocate_buffers(1, 8192).unwrap().remove(0);
    let start = buffer.iova().0;
    let mut vendor = Command::nvm(NvmOpcode(0xc1), namespace.id());
    vendor.cdw10[5].set(9);
    queue
        .submit_vendor(&namespace, vendor, 8192, buffer, 0)
        .unwrap();
    // Base figure 87: PRP1, PRP2, dword 15.
    let word = |at| u64::from(memory.load_u32(at)) | u64::from(memory.load_u32(at + 4)) << 32;
    assert_eq!((word(24), word(32)), (start, start + 4096));
    assert_eq!(memory.load_u32(60), 9);
    let (status, buffer) = end(&mut queue, &stepper);
    assert_eq!(status, Status::INVALID_OPCODE.do_not_retry());
    assert_eq!(buffer.map(|buffer| buffer.len()), Some(8192));
}

#[test]
fn a_vendors_command_that_would_reach_past_its_buffer_is_refused() {
    let (controller, _stepper, _) = open();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let mut buffer = controller.allocate_buffers(1, 4096).unwrap().pop();
    let mut refusal = |command: Command, len| {
        let own = buffer.take().unwrap();
        let rejected = queue.submit_vendor(&namespace, command, len, own, 0);
        let rejected = rejected.unwrap_err();
        buffer = Some(rejected.buffer);
        rejected.reason
    };
    let command = |opcode| Command::nvm(NvmOpcode(opcode), namespace.id());
    let (vendor, max) = (command(0xc1), controller.max_transfer());
    for opcode in [NvmOpcode::READ.0, NvmOpcode::ZONE_APPEND.0, 0x7f] {
        let reason = refusal(command(opcode), 512);
        let first = 0x80;
        assert_eq!(reason, SubmitError::NotVendor { opcode, first });
    }
    let moves = false;
    let opcode = 0xc0;
    let none = refusal(command(opcode), 512);
    assert_eq!(none, SubmitError::Data { opcode, moves });
    assert_eq!(refusal(vendor, 6), SubmitError::Alignment);
    assert_eq!(refusal(vendor, 4100), SubmitError::Buffer { bytes: 4100 });
    for len in [0, max + 4] {
        let bytes = len.into();
        assert_eq!(refusal(vendor, len), SubmitError::Length { bytes, max });
    }
    let aimed = Command {
        prp2: U64::new(0x1000),
        ..vendor
    };
    let opcode = 0xc1;
    assert_eq!(refusal(aimed, 512), SubmitError::DriverFields { opcode });
    let (other, _stepper, _) = open();
    let foreign = other.allocate_buffers(1, 4096).unwrap().remove(0);
    let rejected = queue.submit_vendor(&namespace, vendor, 512, foreign, 0);
    assert_eq!(rejected.unwrap_err().reason, SubmitError::Foreign);
    let own = buffer.unwrap();
    let foreign = other.namespace(1).unwrap();
    let rejected = queue.submit_vendor(&foreign, vendor, 512, own, 0);
    assert_eq!(rejected.unwrap_err().reason, SubmitError::Foreign);
    assert_eq!(queue.outstanding(), 0);
}

#[test]
fn of_the_standard_format_and_the_callers_length_the_larger_counts() {
    let (controller, _stepper, _) = open();
    let mut identity = *controller.identity();
    identity.icsvscc = 1;
    let mut options = instant();
    options.identify = Some(Box::new(IdentifyPages {
        controller: identity,
        namespace: None,
    }));
    let (controller, _stepper, _) =
        open_stepped_as(&options, Seen::default(), ControllerOptions::default());
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let buffer = controller.allocate_buffers(1, 512).unwrap().remove(0);
    let mut vendor = Command::nvm(NvmOpcode(0xc1), namespace.id());
    vendor.cdw10[0].set(129);
    let rejected = queue.submit_vendor(&namespace, vendor, 512, buffer, 0);
    let rejected = rejected.unwrap_err();
    assert_eq!(rejected.reason, SubmitError::Buffer { bytes: 516 });
    let rejected = queue.submit_vendor(&namespace, vendor, 520, rejected.buffer, 0);
    let rejected = rejected.unwrap_err();
    assert_eq!(rejected.reason, SubmitError::Buffer { bytes: 520 });
    vendor.cdw10[0].set(128);
    let submitted = queue.submit_vendor(&namespace, vendor, 4, rejected.buffer, 0);
    assert!(submitted.is_ok());
}
