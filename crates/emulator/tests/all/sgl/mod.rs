//! Scatter gather lists: the place of the data, refusals, and hostile hosts.

mod hostile;
mod layout;

use crate::common::{Host, PAGE, Pair, bytes, options, transfer};
use joulio_device::DmaMemory;
use joulio_nvme_spec::identify::Cns;
use joulio_nvme_spec::{
    Command, DsmAttributes, DsmRange, NamespaceId, NvmOpcode, SglDescriptor, Status,
};
use zerocopy::IntoBytes;

const ONE: NamespaceId = NamespaceId(1);
const SIZE: usize = size_of::<SglDescriptor>();

fn status(host: &Host, pair: &mut Pair, command: Command) -> Status {
    pair.submit(1, command);
    host.step(0);
    pair.reap().expect("an instant device is done").status()
}

fn command(opcode: NvmOpcode, slba: u64, blocks: u32, first: SglDescriptor) -> Command {
    Command::transfer(opcode, ONE, slba, blocks).with_sgl(first)
}

/// Writes descriptors at `offset` of `memory`.
fn put(memory: &DmaMemory, offset: usize, descriptors: &[SglDescriptor]) {
    memory.write(offset, descriptors.as_bytes());
}

fn data(memory: &DmaMemory, offset: usize, len: usize) -> SglDescriptor {
    SglDescriptor::data_block(memory.iova().0 + offset as u64, len as u32)
}

fn segment(memory: &DmaMemory, offset: usize, count: usize) -> SglDescriptor {
    SglDescriptor::segment(memory.iova().0 + offset as u64, (count * SIZE) as u32)
}

fn last_segment(memory: &DmaMemory, offset: usize, count: usize) -> SglDescriptor {
    SglDescriptor::last_segment(memory.iova().0 + offset as u64, (count * SIZE) as u32)
}

#[test]
fn one_data_block_may_be_the_whole_list() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4 * PAGE);
    let pattern: Vec<u8> = (0..2 * PAGE).map(|at| (at % 253) as u8).collect();
    buffer.write(20, &pattern);
    let write = command(NvmOpcode::WRITE, 9, 16, data(&buffer, 20, 2 * PAGE));
    assert!(status(&host, &mut pair, write).is_success());
    let read = command(NvmOpcode::READ, 9, 16, data(&buffer, 2 * PAGE, 2 * PAGE));
    assert!(status(&host, &mut pair, read).is_success());
    assert_eq!(bytes(&buffer, 2 * PAGE, 2 * PAGE), pattern);
    let compare = command(NvmOpcode::COMPARE, 9, 16, data(&buffer, 2 * PAGE, 2 * PAGE));
    assert!(status(&host, &mut pair, compare).is_success());
}

#[test]
fn ranges_of_dataset_management_come_by_sgl_too() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    buffer.write(0, &[7; PAGE]);
    let write = transfer(NvmOpcode::WRITE, 0, 8, &buffer);
    assert!(status(&host, &mut pair, write).is_success());
    let lists = host.buffer(PAGE);
    let ranges = [DsmRange::new(1, 2), DsmRange::new(5, 1)];
    lists.write(0, ranges[0].as_bytes());
    lists.write(512, ranges[1].as_bytes());
    put(&lists, 1024, &[data(&lists, 0, 16), data(&lists, 512, 16)]);
    let attributes = DsmAttributes::new().with_ad(true);
    let deallocate = Command::dataset_management(ONE, 2, attributes);
    let deallocate = deallocate.with_sgl(last_segment(&lists, 1024, 2));
    assert!(status(&host, &mut pair, deallocate).is_success());
    let read = transfer(NvmOpcode::READ, 0, 8, &buffer);
    assert!(status(&host, &mut pair, read).is_success());
    let back = bytes(&buffer, 0, PAGE);
    let zero = (0..8).filter(|block| back[block * 512] == 0);
    assert!(zero.eq([1, 2, 5]));
}

#[test]
fn lists_that_cannot_be_are_refused_with_the_reason() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    let lists = host.buffer(PAGE);
    let half = data(&buffer, 0, 2048);
    let of_type = |bits: u8| SglDescriptor {
        identifier: bits,
        ..data(&buffer, 0, PAGE)
    };
    put(&lists, 0, &[half, half]);
    put(&lists, 64, &[half, last_segment(&lists, 0, 2), half]);
    put(&lists, 128, &[half, last_segment(&lists, 0, 1)]);
    put(&lists, 192, &[half, of_type(0x10)]);
    let odd = |by: u64, of: SglDescriptor| {
        let mut odd = of;
        odd.address.set(of.address.get() + by);
        odd
    };
    let long = |by: u32, of: SglDescriptor| {
        let mut long = of;
        long.length.set(of.length.get() + by);
        long
    };
    let never = |status: Status| status.do_not_retry();
    let nowhere = SglDescriptor::data_block(0, 4096);
    let cases: [(&str, SglDescriptor, Status); 23] = [
        ("too short", half, never(Status::INVALID_SGL_LENGTH)),
        (
            "nothing",
            data(&buffer, 0, 0),
            never(Status::INVALID_SGL_LENGTH),
        ),
        (
            "too long",
            data(&buffer, 0, PAGE + 4),
            never(Status::INVALID_SGL_LENGTH),
        ),
        (
            "a list too short",
            last_segment(&lists, 0, 1),
            never(Status::INVALID_SGL_LENGTH),
        ),
        (
            "data at a byte",
            odd(1, data(&buffer, 0, PAGE)),
            never(Status::INVALID_SGL_GRANULARITY),
        ),
        (
            "data at a word",
            odd(2, data(&buffer, 0, PAGE)),
            never(Status::INVALID_SGL_GRANULARITY),
        ),
        (
            "data of bytes",
            long(1, data(&buffer, 0, PAGE)),
            never(Status::INVALID_SGL_GRANULARITY),
        ),
        (
            "a bit bucket",
            of_type(0x10),
            never(Status::INVALID_SGL_TYPE),
        ),
        (
            "a keyed block",
            of_type(0x40),
            never(Status::INVALID_SGL_TYPE),
        ),
        (
            "a transport block",
            of_type(0x5a),
            never(Status::INVALID_SGL_TYPE),
        ),
        (
            "a vendor's type",
            of_type(0xf0),
            never(Status::INVALID_SGL_TYPE),
        ),
        ("an offset", of_type(0x01), never(Status::INVALID_SGL_TYPE)),
        (
            "a segment by offset",
            of_type(0x21),
            never(Status::INVALID_SGL_TYPE),
        ),
        (
            "a bit bucket in a list",
            last_segment(&lists, 192, 2),
            never(Status::INVALID_SGL_TYPE),
        ),
        (
            "a segment of nothing",
            last_segment(&lists, 0, 0),
            never(Status::INVALID_SGL_SEGMENT),
        ),
        (
            "half a descriptor",
            long(8, last_segment(&lists, 0, 1)),
            never(Status::INVALID_SGL_SEGMENT),
        ),
        (
            "a segment at a dword",
            odd(4, last_segment(&lists, 0, 2)),
            never(Status::INVALID_SGL_SEGMENT),
        ),
        (
            "more after the last",
            last_segment(&lists, 128, 2),
            never(Status::INVALID_SGL_SEGMENT),
        ),
        (
            "none after one that is not the last",
            segment(&lists, 0, 2),
            never(Status::INVALID_SGL_SEGMENT),
        ),
        (
            "a segment in the middle",
            segment(&lists, 64, 3),
            never(Status::INVALID_SGL_COUNT),
        ),
        (
            "a segment of 64 KiB",
            last_segment(&lists, 0, 4096),
            never(Status::INVALID_SGL_COUNT),
        ),
        ("data unmapped", nowhere, Status::DATA_TRANSFER_ERROR),
        (
            "a list unmapped",
            SglDescriptor::last_segment(8, 16),
            Status::DATA_TRANSFER_ERROR,
        ),
    ];
    for (what, first, expected) in cases {
        for opcode in [NvmOpcode::READ, NvmOpcode::WRITE, NvmOpcode::COMPARE] {
            let refused = status(&host, &mut pair, command(opcode, 0, 8, first));
            assert_eq!(refused, expected, "{what}");
        }
    }
    // What they are made of is sound.
    let sound = last_segment(&lists, 0, 2);
    assert!(status(&host, &mut pair, command(NvmOpcode::READ, 0, 8, sound)).is_success());
    let chained = segment(&lists, 64, 2);
    put(&lists, 0, &[half, SglDescriptor::data_block(0, 0)]);
    assert!(status(&host, &mut pair, command(NvmOpcode::READ, 0, 8, chained)).is_success());
}

#[test]
fn chains_without_an_end_come_to_one() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let lists = host.buffer(16 * PAGE);
    let never = Status::INVALID_SGL_COUNT.do_not_retry();
    let read = |first| command(NvmOpcode::READ, 0, 8, first);
    // A segment that is its own next.
    put(&lists, 0, &[segment(&lists, 0, 1)]);
    let first = segment(&lists, 0, 1);
    assert_eq!(status(&host, &mut pair, read(first)), never);
    // Two that point at each other, with blocks of nothing between.
    let nothing = data(&lists, 0, 0);
    put(&lists, 0, &[nothing, nothing, segment(&lists, 64, 2)]);
    put(&lists, 64, &[nothing, segment(&lists, 0, 3)]);
    let first = segment(&lists, 0, 3);
    assert_eq!(status(&host, &mut pair, read(first)), never);
    // The longest segment that a length can say.
    let mut first = last_segment(&lists, 0, 1);
    first.length.set(0xffff_fff0);
    assert_eq!(status(&host, &mut pair, read(first)), never);
}

#[test]
fn a_page_a_descriptor_is_never_too_many() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    let lists = host.buffer(2 * PAGE);
    // 1 MiB, the most that the profile transfers, into the same page again and again.
    let blocks: Vec<SglDescriptor> = (0..256).map(|_| data(&buffer, 0, PAGE)).collect();
    put(&lists, 0, &blocks[..100]);
    put(&lists, 100 * SIZE, &[last_segment(&lists, PAGE, 156)]);
    put(&lists, PAGE, &blocks[100..]);
    let first = segment(&lists, 0, 101);
    let read = command(NvmOpcode::READ, 0, 2048, first);
    assert!(status(&host, &mut pair, read).is_success());
    assert_eq!(host.device.activity().read.bytes, 1 << 20);
}

#[test]
fn a_segment_may_be_longer_than_a_page_and_begin_anywhere_in_one() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(256 * PAGE);
    let lists = host.buffer(4 * PAGE);
    let pattern: Vec<u8> = (0..64 * PAGE).map(|at| (at / 640 % 251) as u8).collect();
    buffer.write(0, &pattern);
    let blocks: Vec<SglDescriptor> = pattern
        .chunks(640)
        .enumerate()
        .map(|(index, piece)| data(&buffer, index * 640, piece.len()))
        .collect();
    assert!(blocks.len() > 256 && !(PAGE - 24).is_multiple_of(SIZE));
    put(&lists, PAGE - 24, &blocks[..300]);
    let first = last_segment(&lists, PAGE - 24, 300);
    let write = command(NvmOpcode::WRITE, 0, 375, first);
    assert!(status(&host, &mut pair, write).is_success());
    let read = command(
        NvmOpcode::READ,
        0,
        375,
        data(&buffer, 128 * PAGE, 300 * 640),
    );
    assert!(status(&host, &mut pair, read).is_success());
    let back = bytes(&buffer, 128 * PAGE, 300 * 640);
    assert!(back == pattern[..300 * 640]);
}

#[test]
fn admin_commands_have_prps_only() {
    let mut host = Host::stepped(&options());
    let buffer = host.buffer(PAGE);
    let identify = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
    let refused = host.admin(identify.with_sgl(data(&buffer, 0, PAGE)));
    let expected = Status::INVALID_FIELD.do_not_retry();
    assert_eq!(refused.status(), expected);
    assert_eq!(bytes(&buffer, 0, PAGE), [0; PAGE]);
}

#[test]
fn commands_without_data_ignore_their_pointer() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let nonsense = SglDescriptor::segment(3, 1);
    for command in [
        Command::nvm(NvmOpcode::FLUSH, ONE),
        Command::write_zeroes(ONE, 0, 8, true),
        Command::transfer(NvmOpcode::VERIFY, ONE, 0, 8),
    ] {
        let done = status(&host, &mut pair, command.with_sgl(nonsense));
        assert_eq!(done, Status::SUCCESS);
    }
}
