//! Reads, writes and flushes: where the data goes, and what is refused.

use crate::common::{
    CAPACITY, Host, PAGE, Pair, bytes, on_file, options, ram, slow_options, transfer,
};
use joulio_device::{Device, DmaMemory};
use joulio_emulator::{EmulatedDevice, EmulatorError};
use joulio_nvme_spec::register::CC;
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use proptest::prelude::*;

const BLOCKS: u64 = CAPACITY / 512;

fn status(host: &Host, pair: &mut Pair, command: Command) -> Status {
    pair.submit(1, command);
    host.step(0);
    pair.reap().expect("an instant device is done").status()
}

/// A byte of a pattern that no shift maps to itself.
fn pattern(seed: u64, at: usize) -> u8 {
    let mixed = (seed ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

#[test]
fn what_is_written_is_read_back_and_the_rest_is_zero() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    buffer.write(0, &[7; 512]);
    let write = transfer(NvmOpcode::WRITE, 5, 1, &buffer);
    assert!(status(&host, &mut pair, write).is_success());
    buffer.write(0, &[9; PAGE]);
    let read = transfer(NvmOpcode::READ, 4, 3, &buffer);
    assert!(status(&host, &mut pair, read).is_success());
    let back = bytes(&buffer, 0, PAGE);
    assert!(back[..512].iter().all(|&byte| byte == 0));
    assert!(back[512..1024].iter().all(|&byte| byte == 7));
    assert!(back[1024..1536].iter().all(|&byte| byte == 0));
    assert!(back[1536..].iter().all(|&byte| byte == 9));
}

#[test]
fn data_moves_when_the_io_finishes_and_not_before() {
    let mut host = Host::stepped(&slow_options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    buffer.write(0, &[1; PAGE]);
    pair.submit(1, transfer(NvmOpcode::READ, 0, 1, &buffer));
    host.step(0);
    host.step(9_999);
    assert_eq!(bytes(&buffer, 0, 1), [1]);
    assert!(pair.reap().is_none());
    host.step(10_000);
    assert_eq!(bytes(&buffer, 0, 1), [0]);
    assert!(pair.reap().is_some());
}

#[test]
fn a_buffer_that_is_unmapped_meanwhile_is_a_data_transfer_error() {
    let mut host = Host::stepped(&slow_options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    pair.submit(1, transfer(NvmOpcode::READ, 0, 1, &buffer));
    host.step(0);
    drop(buffer);
    host.step(10_000);
    let status = pair.reap().unwrap().status();
    assert_eq!(status.kind(), Status::DATA_TRANSFER_ERROR);
}

#[test]
fn transfers_that_cannot_be_are_refused_with_the_reason() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4 * PAGE);
    let read = |slba, blocks| transfer(NvmOpcode::READ, slba, blocks, &buffer);
    let with = |change: fn(&mut Command, u64)| {
        let mut command = read(0, 8);
        change(&mut command, buffer.iova().0);
        command
    };
    let never = |status: Status| status.do_not_retry();
    let cases: [(&str, Command, Status); 16] = [
        (
            "past the end",
            read(BLOCKS, 1),
            never(Status::LBA_OUT_OF_RANGE),
        ),
        (
            "across the end",
            read(BLOCKS - 1, 2),
            never(Status::LBA_OUT_OF_RANGE),
        ),
        (
            "a wrapping range",
            read(u64::MAX, 2),
            never(Status::LBA_OUT_OF_RANGE),
        ),
        (
            "more than MDTS",
            read(0, 2049),
            never(Status::INVALID_FIELD),
        ),
        (
            "the most blocks",
            read(0, 65536),
            never(Status::INVALID_FIELD),
        ),
        (
            "no namespace",
            with(|c, _| c.nsid.set(0)),
            never(Status::INVALID_NAMESPACE),
        ),
        (
            "NSID 2",
            with(|c, _| c.nsid.set(2)),
            never(Status::INVALID_NAMESPACE),
        ),
        (
            "all namespaces",
            with(|c, _| c.nsid.set(u32::MAX)),
            never(Status::INVALID_NAMESPACE),
        ),
        (
            "an SGL for metadata",
            with(|c, _| c.cdw0.set(0x8002)),
            never(Status::INVALID_FIELD),
        ),
        (
            "fused",
            with(|c, _| c.cdw0.set(0x0102)),
            never(Status::INVALID_FIELD),
        ),
        (
            "PRP1 at a byte",
            with(|c, at| c.prp1.set(at + 1)),
            never(Status::PRP_OFFSET_INVALID),
        ),
        (
            "PRP2 inside a page",
            with(|c, at| {
                c.prp1.set(at + 512);
                c.prp2.set(at + 4096 + 512);
            }),
            never(Status::PRP_OFFSET_INVALID),
        ),
        (
            "PRP1 unmapped",
            with(|c, _| c.prp1.set(0)),
            Status::DATA_TRANSFER_ERROR,
        ),
        (
            "PRP1 at the end",
            with(|c, _| c.prp1.set(!4095)),
            Status::DATA_TRANSFER_ERROR,
        ),
        (
            "PRP2 unmapped",
            with(|c, at| c.prp1.set(at + 512)),
            Status::DATA_TRANSFER_ERROR,
        ),
        (
            "a list unmapped",
            with(|c, _| c.cdw10[2].set(63)),
            Status::DATA_TRANSFER_ERROR,
        ),
    ];
    for (what, command, expected) in cases {
        assert_eq!(status(&host, &mut pair, command), expected, "{what}");
    }
    assert_eq!(host.device.activity().failed_commands, 16);
    assert!(status(&host, &mut pair, read(BLOCKS - 1, 1)).is_success());
}

#[test]
fn commands_of_other_kinds_do_not_exist() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    for opcode in [
        NvmOpcode::WRITE_UNCORRECTABLE,
        NvmOpcode(0x19),
        NvmOpcode(0xff),
    ] {
        let refused = status(&host, &mut pair, Command::nvm(opcode, NamespaceId(1)));
        assert_eq!(refused, Status::INVALID_OPCODE.do_not_retry());
    }
}

#[test]
fn a_flush_names_one_namespace_or_all() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    for (nsid, expected) in [
        (1, Status::SUCCESS),
        (u32::MAX, Status::SUCCESS),
        (0, Status::INVALID_NAMESPACE.do_not_retry()),
        (2, Status::INVALID_NAMESPACE.do_not_retry()),
    ] {
        let flush = Command::nvm(NvmOpcode::FLUSH, NamespaceId(nsid));
        assert_eq!(status(&host, &mut pair, flush), expected, "{nsid}");
    }
    assert_eq!(host.device.activity().flush.ios, 2);
}

#[test]
fn namespaces_do_not_share_blocks() {
    let mut options = options();
    options.namespaces = vec![ram(512), ram(4096)];
    let mut host = Host::stepped(&options);
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    buffer.write(0, &[5; PAGE]);
    let mut write = transfer(NvmOpcode::WRITE, 0, 1, &buffer);
    write.nsid.set(2);
    assert!(status(&host, &mut pair, write).is_success());
    let read = transfer(NvmOpcode::READ, 0, 8, &buffer);
    assert!(status(&host, &mut pair, read).is_success());
    assert_eq!(bytes(&buffer, 0, PAGE), [0; PAGE]);
    let mut read = transfer(NvmOpcode::READ, 0, 1, &buffer);
    read.nsid.set(2);
    assert!(status(&host, &mut pair, read).is_success());
    assert_eq!(bytes(&buffer, 0, PAGE), [5; PAGE]);
}

#[test]
fn a_file_keeps_what_was_written_and_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    {
        let mut host = Host::stepped(&on_file(&path, false));
        let mut pair = host.pair(1, 8, None);
        let buffer = host.buffer(2 * PAGE);
        buffer.write(512, &[3; 1024]);
        let mut write = transfer(NvmOpcode::WRITE, 2, 2, &buffer);
        write.prp1.set(buffer.iova().0 + 512);
        assert!(status(&host, &mut pair, write).is_success());
        write.cdw10[2].set(1 | 1 << 30);
        assert!(status(&host, &mut pair, write).is_success());
        let flush = Command::nvm(NvmOpcode::FLUSH, NamespaceId(1));
        assert!(status(&host, &mut pair, flush).is_success());
        let again = EmulatedDevice::stepped(&on_file(&path, false));
        assert!(matches!(again, Err(EmulatorError::InUse { .. })));
        host.device.write32(CC, 0);
    }
    let stored = std::fs::read(&path).unwrap();
    assert_eq!(stored.len(), 1 << 20);
    assert!(stored[1024..2048].iter().all(|&byte| byte == 3));
    assert_eq!(stored.iter().filter(|&&byte| byte != 0).count(), 1024);

    let mut host = Host::stepped(&on_file(&path, true));
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    let read = transfer(NvmOpcode::READ, 2, 2, &buffer);
    assert!(status(&host, &mut pair, read).is_success());
    assert_eq!(bytes(&buffer, 0, 1024), [3; 1024]);
    let write = transfer(NvmOpcode::WRITE, 2, 2, &buffer);
    let refused = status(&host, &mut pair, write);
    assert_eq!(refused, Status::from_field(0x20).do_not_retry());
    drop(host);
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let times = |seed| {
        let mut options = slow_options();
        options.seed = seed;
        options.profile.service.spread.value = 0.5;
        options.profile.service.floor.value = 0.5;
        let mut host = Host::stepped(&options);
        let mut pair = host.pair(1, 64, None);
        let buffer = host.buffer(PAGE);
        for cid in 0..50 {
            pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
        }
        let mut times = Vec::new();
        let mut next = host.step(0).next;
        while let Some(at) = next {
            times.push(at.0);
            next = host.step(at.0).next;
        }
        times
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}

/// Describes `len` bytes from `offset` of a buffer by pages in the order of `order`, by lists
/// that begin `slack` slots before the end of their first page.
struct Layout {
    buffer: DmaMemory,
    lists: DmaMemory,
    order: Vec<usize>,
    offset: usize,
}

impl Layout {
    fn new(host: &Host, pages: usize, offset: usize, seed: u64) -> Layout {
        let mut order: Vec<usize> = (0..pages).collect();
        order.sort_by_key(|&page| pattern(seed, page));
        Layout {
            buffer: host.buffer(pages * PAGE),
            lists: host.buffer(8 * PAGE),
            order,
            offset,
        }
    }

    /// Returns the place in the buffer of byte `at` of the transfer.
    fn place(&self, at: usize) -> usize {
        let at = at + self.offset;
        self.order[at / PAGE] * PAGE + at % PAGE
    }

    fn page(&self, index: usize) -> u64 {
        self.buffer.iova().0 + (self.order[index] * PAGE) as u64
    }

    fn describe(&self, command: &mut Command, len: usize, slack: usize) {
        command.prp1.set(self.page(0) + self.offset as u64);
        let pages = (self.offset + len).div_ceil(PAGE);
        match pages {
            1 => command.prp2.set(u64::MAX),
            2 => command.prp2.set(self.page(1)),
            _ => {
                let first = PAGE - slack * 8;
                command.prp2.set(self.lists.iova().0 + first as u64);
                self.write_lists(first, pages);
            }
        }
    }

    fn write_lists(&self, mut slot: usize, pages: usize) {
        let put = |slot: usize, value: u64| self.lists.write(slot, &value.to_le_bytes());
        for page in 1..pages {
            let last_slot = slot % PAGE == PAGE - 8;
            if last_slot && page != pages - 1 {
                put(slot, self.lists.iova().0 + slot as u64 + 8);
                slot += 8;
            }
            put(slot, self.page(page));
            slot += 8;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_arrives_however_the_prps_are_laid_out(
        seed in any::<u64>(),
        offset in (0usize..PAGE / 4).prop_map(|words| words * 4),
        blocks in 1u32..=2048,
        slack in 1usize..=512,
        slba in 0u64..BLOCKS - 2048,
    ) {
        let mut host = Host::stepped(&options());
        let mut pair = host.pair(1, 8, None);
        let len = blocks as usize * 512;
        let pages = (offset + len).div_ceil(PAGE);
        let from = Layout::new(&host, pages, offset, seed);
        let data: Vec<u8> = (0..len).map(|at| pattern(seed, at)).collect();
        for (at, &byte) in data.iter().enumerate() {
            from.buffer.write(from.place(at), &[byte]);
        }
        let mut write = Command::transfer(NvmOpcode::WRITE, NamespaceId(1), slba, blocks);
        from.describe(&mut write, len, slack);
        prop_assert_eq!(status(&host, &mut pair, write), Status::SUCCESS);

        let to = Layout::new(&host, (len + 4 * PAGE) / PAGE, 0, !seed);
        let mut read = Command::transfer(NvmOpcode::READ, NamespaceId(1), slba, blocks);
        to.describe(&mut read, len, 513 - slack);
        prop_assert_eq!(status(&host, &mut pair, read), Status::SUCCESS);
        let whole = bytes(&to.buffer, 0, to.order.len() * PAGE);
        let back: Vec<u8> = (0..len).map(|at| whole[to.place(at)]).collect();
        prop_assert!(back == data);
    }
}
