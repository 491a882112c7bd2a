//! Write Zeroes, Dataset Management, Compare and Verify, and their support as Identify reports it.

use crate::common::{
    CAPACITY, Host, PAGE, Pair, bytes, on_file, options, ram, slow_options, transfer,
};
use joulio_device::DmaMemory;
use joulio_nvme_spec::identify::{
    Cns, Dlfeat, IdentifyController, IdentifyNamespace, IdentifyNvmController, Oncs,
};
use joulio_nvme_spec::{
    Command, CommandId, DsmAttributes, DsmRange, NamespaceId, NvmOpcode, Status,
};
use proptest::prelude::*;
use zerocopy::{FromBytes, IntoBytes};

const BLOCKS: u64 = CAPACITY / 512;
const ONE: NamespaceId = NamespaceId(1);
const NEVER_RANGE: Status = Status::LBA_OUT_OF_RANGE.do_not_retry();

fn status(host: &Host, pair: &mut Pair, command: Command) -> Status {
    pair.submit(1, command);
    host.step(0);
    pair.reap().expect("an instant device is done").status()
}

fn done(host: &Host, pair: &mut Pair, command: Command) {
    assert_eq!(status(host, pair, command), Status::SUCCESS);
}

/// Fills `blocks` blocks from block 0 with 7.
fn fill(host: &Host, pair: &mut Pair, blocks: u32) {
    let buffer = host.buffer(PAGE);
    buffer.write(0, &[7; PAGE]);
    for slba in (0..u64::from(blocks)).step_by(8) {
        done(host, pair, transfer(NvmOpcode::WRITE, slba, 8, &buffer));
    }
}

/// Returns which of the first `blocks` blocks are zero; the others must be as [`fill`] left them.
fn zero_blocks(host: &Host, pair: &mut Pair, blocks: u32) -> Vec<u64> {
    let buffer = host.buffer(512);
    let mut zero = Vec::new();
    for slba in 0..u64::from(blocks) {
        buffer.write(0, &[9; 512]);
        done(host, pair, transfer(NvmOpcode::READ, slba, 1, &buffer));
        let block = bytes(&buffer, 0, 512);
        assert!(block.iter().all(|&byte| byte == block[0]), "block {slba}");
        match block[0] {
            0 => zero.push(slba),
            byte => assert_eq!(byte, 7, "block {slba}"),
        }
    }
    zero
}

/// Makes a Dataset Management command with its ranges in `buffer`.
fn dataset(buffer: &DmaMemory, ranges: &[(u64, u32)], deallocate: bool) -> Command {
    let list: Vec<DsmRange> = ranges
        .iter()
        .map(|&(slba, blocks)| DsmRange::new(slba, blocks))
        .collect();
    buffer.write(0, list.as_bytes());
    let attributes = DsmAttributes::new().with_ad(deallocate).with_idr(true);
    let mut command = Command::dataset_management(ONE, ranges.len(), attributes);
    command.prp1.set(buffer.iova().0);
    command
}

/// Runs a claim for a namespace in memory and for one in a file.
fn on_both(claim: impl Fn(&mut Host)) {
    claim(&mut Host::stepped(&options()));
    let dir = tempfile::tempdir().unwrap();
    claim(&mut Host::stepped(&on_file(
        &dir.path().join("disk"),
        false,
    )));
}

#[test]
fn write_zeroes_zeroes_its_blocks_and_no_others() {
    on_both(|host| {
        for deallocate in [false, true] {
            let mut pair = host.pair(1 + u16::from(deallocate), 8, None);
            fill(host, &mut pair, 64);
            let zeroes = Command::write_zeroes(ONE, 5, 30, deallocate);
            done(host, &mut pair, zeroes);
            done(host, &mut pair, zeroes.with_fua().with_limited_retry());
            let expected: Vec<u64> = (5..35).collect();
            assert_eq!(zero_blocks(host, &mut pair, 64), expected);
        }
        let activity = host.device.activity();
        assert_eq!((activity.other.ios, activity.other.bytes), (4, 0));
    });
}

#[test]
fn write_zeroes_has_no_data_and_is_not_limited_by_mdts() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    fill(&host, &mut pair, 8);
    let mut zeroes = Command::write_zeroes(ONE, 0, 65536, true);
    zeroes.prp1.set(u64::MAX);
    done(&host, &mut pair, zeroes);
    assert_eq!(zero_blocks(&host, &mut pair, 8).len(), 8);
}

#[test]
fn deallocated_ranges_read_as_zeroes() {
    on_both(|host| {
        let mut pair = host.pair(1, 8, None);
        let buffer = host.buffer(PAGE);
        fill(host, &mut pair, 64);
        let hints = dataset(&buffer, &[(0, 64)], false);
        done(host, &mut pair, hints);
        assert!(zero_blocks(host, &mut pair, 64).is_empty());
        let ranges = [(3, 1), (16, 24), (0, 0), (u64::MAX, 0), (20, 2)];
        let deallocate = dataset(&buffer, &ranges, true);
        done(host, &mut pair, deallocate);
        let expected: Vec<u64> = [3].into_iter().chain(16..40).collect();
        assert_eq!(zero_blocks(host, &mut pair, 64), expected);
    });
}

#[test]
fn a_range_outside_leaves_every_range_alone() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    fill(&host, &mut pair, 8);
    for outside in [(BLOCKS, 1), (BLOCKS - 1, 2), (1, u32::MAX), (u64::MAX, 1)] {
        let command = dataset(&buffer, &[(0, 8), outside], true);
        assert_eq!(status(&host, &mut pair, command), NEVER_RANGE);
    }
    assert!(zero_blocks(&host, &mut pair, 8).is_empty());
    let mut lost = dataset(&buffer, &[(0, 8)], true);
    lost.prp1.set(0);
    let refused = status(&host, &mut pair, lost);
    assert_eq!(refused, Status::DATA_TRANSFER_ERROR);
}

#[test]
fn all_256_ranges_count() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    fill(&host, &mut pair, 512);
    let ranges: Vec<(u64, u32)> = (0..256).map(|index| (index * 2, 1)).collect();
    done(&host, &mut pair, dataset(&buffer, &ranges, true));
    let expected: Vec<u64> = (0..256).map(|index| index * 2).collect();
    assert_eq!(zero_blocks(&host, &mut pair, 512), expected);
}

#[test]
fn compare_fails_on_any_byte_that_differs() {
    on_both(|host| {
        let mut pair = host.pair(1, 8, None);
        let buffer = host.buffer(16 * PAGE);
        let data: Vec<u8> = (0..16 * PAGE).map(|at| (at % 251) as u8).collect();
        let lists = host.buffer(PAGE);
        for page in 1..16 {
            let at = buffer.iova().0 + (page * PAGE) as u64;
            lists.write((page - 1) * 8, &at.to_le_bytes());
        }
        let command = |opcode| {
            let mut command = transfer(opcode, 3, 128, &buffer);
            command.prp2.set(lists.iova().0);
            command
        };
        buffer.write(0, &data);
        done(host, &mut pair, command(NvmOpcode::WRITE));
        done(host, &mut pair, command(NvmOpcode::COMPARE));
        done(host, &mut pair, command(NvmOpcode::COMPARE).with_fua());
        for at in [0, 1, 511, 4096, 40_000, 16 * PAGE - 1] {
            buffer.write(at, &[data[at] ^ 0x80]);
            let differs = status(host, &mut pair, command(NvmOpcode::COMPARE));
            assert_eq!(differs, Status::COMPARE_FAILURE, "{at}");
            buffer.write(at, &data[at..=at]);
        }
        assert_eq!(host.device.activity().read.ios, 2);
        assert_eq!(bytes(&buffer, 0, 16 * PAGE), data);
    });
}

#[test]
fn verify_reads_without_a_buffer() {
    on_both(|host| {
        let mut pair = host.pair(1, 8, None);
        let verify = |slba, blocks| Command::transfer(NvmOpcode::VERIFY, ONE, slba, blocks);
        done(host, &mut pair, verify(0, 2048).with_fua());
        assert_eq!(host.device.activity().read.bytes, 1 << 20);
        let never = |status: Status| status.do_not_retry();
        for (command, expected) in [
            (verify(BLOCKS, 1), NEVER_RANGE),
            (verify(0, 2049), never(Status::INVALID_FIELD)),
        ] {
            assert_eq!(status(host, &mut pair, command), expected);
        }
    });
}

#[test]
fn the_new_commands_are_refused_where_they_cannot_be() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    for command in [
        Command::write_zeroes(ONE, 0, 1, false),
        dataset(&buffer, &[(0, 1)], true),
        transfer(NvmOpcode::COMPARE, 0, 1, &buffer),
        Command::transfer(NvmOpcode::VERIFY, ONE, 0, 1),
    ] {
        for nsid in [0, 2, u32::MAX] {
            let mut command = command;
            command.nsid.set(nsid);
            let refused = status(&host, &mut pair, command);
            assert_eq!(refused, Status::INVALID_NAMESPACE.do_not_retry());
        }
        let mut fused = command;
        fused.cdw0.set(command.cdw0.get() | 1 << 8);
        let refused = status(&host, &mut pair, fused);
        assert_eq!(refused, Status::INVALID_FIELD.do_not_retry());
    }
    for slba in [BLOCKS, BLOCKS - 1, u64::MAX] {
        let zeroes = Command::write_zeroes(ONE, slba, 2, true);
        assert_eq!(status(&host, &mut pair, zeroes), NEVER_RANGE);
    }
}

#[test]
fn a_write_protected_namespace_keeps_its_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let mut host = Host::stepped(&on_file(&path, true));
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    for command in [
        Command::write_zeroes(ONE, 0, 8, false),
        Command::write_zeroes(ONE, 0, 8, true),
        dataset(&buffer, &[(0, 8)], true),
    ] {
        let refused = status(&host, &mut pair, command);
        assert_eq!(refused, Status::NAMESPACE_WRITE_PROTECTED.do_not_retry());
    }
    // Nothing is written by a hint, a comparison, or a forced reading.
    done(&host, &mut pair, dataset(&buffer, &[(0, 8)], false));
    buffer.write(0, &[7; PAGE]);
    let compare = transfer(NvmOpcode::COMPARE, 0, 8, &buffer);
    done(&host, &mut pair, compare.with_fua());
    let read = transfer(NvmOpcode::READ, 0, 8, &buffer);
    done(&host, &mut pair, read.with_fua());
    let namespace: IdentifyNamespace = identify(&mut host, Cns::NAMESPACE, ONE);
    assert!(namespace.is_write_protected());
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn a_file_gives_up_the_room_of_what_is_deallocated() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    let mut host = Host::stepped(&on_file(&path, false));
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    fill(&host, &mut pair, 2048);
    done(&host, &mut pair, Command::nvm(NvmOpcode::FLUSH, ONE));
    let room = || std::fs::metadata(&path).unwrap().blocks();
    let before = room();
    done(&host, &mut pair, dataset(&buffer, &[(0, 2048)], true));
    if zero_blocks(&host, &mut pair, 1).is_empty() {
        eprintln!("skipped: this file system has no holes");
        return;
    }
    assert!(before >= 2048 && room() < before / 2, "{before} {}", room());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
}

#[test]
fn each_takes_the_time_of_the_io_that_it_is_like() {
    let mut options = slow_options();
    options.profile.service.read[0].us.value = 20.0;
    options.profile.service.flush_us.value = 50.0;
    options.profile.service.parallelism.value = 8.0;
    let mut host = Host::stepped(&options);
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(PAGE);
    pair.submit(1, Command::write_zeroes(ONE, 0, 65536, true));
    pair.submit(2, dataset(&buffer, &[(0, 8)], true));
    pair.submit(3, Command::transfer(NvmOpcode::VERIFY, ONE, 0, 8));
    pair.submit(4, transfer(NvmOpcode::COMPARE, 0, 8, &buffer));
    host.step(0);
    host.step(9_999);
    assert_eq!(pair.reap_all(), []);
    host.step(10_000);
    assert_eq!(pair.reap_all(), [1, 2].map(CommandId));
    buffer.write(0, &[0; PAGE]);
    host.step(20_000);
    assert_eq!(pair.reap_all(), [3, 4].map(CommandId));
    let activity = host.device.activity();
    assert_eq!(activity.other.service.0, 20_000);
    assert_eq!(activity.read.service.0, 40_000);
    assert_eq!((activity.read.ios, activity.other.ios), (2, 2));
    assert_eq!((activity.write.ios, activity.flush.ios), (0, 0));
}

fn identify<T: FromBytes>(host: &mut Host, cns: Cns, nsid: NamespaceId) -> T {
    let buffer = host.buffer(PAGE);
    let mut command = Command::identify(cns, nsid);
    command.prp1.set(buffer.iova().0);
    command.cdw10[1].set(0);
    host.admin.submit(0x77, command);
    let completion = loop {
        host.step(0);
        if let Some(completion) = host.admin.reap() {
            break completion;
        }
    };
    assert!(completion.status().is_success(), "{}", completion.status());
    T::read_from_bytes(&bytes(&buffer, 0, PAGE)).expect("a page")
}

#[test]
fn identify_reports_what_there_is() {
    let mut options = options();
    options.namespaces = vec![ram(512), ram(4096)];
    let mut host = Host::stepped(&options);
    let controller: IdentifyController = identify(&mut host, Cns::CONTROLLER, NamespaceId::NONE);
    let has = Oncs::new().with_compare(true).with_verify(true);
    let has = has.with_dsm(true).with_write_zeroes(true);
    assert_eq!(controller.optional_commands(), has);
    assert!(controller.sgl_support().supported() && !controller.sgl_support().longer());
    let limits: IdentifyNvmController =
        identify(&mut host, Cns::COMMAND_SET_CONTROLLER, NamespaceId::NONE);
    assert_eq!((limits.vsl, limits.wzsl), (controller.mdts, 0));
    for nsid in [1, 2] {
        let page: IdentifyNamespace = identify(&mut host, Cns::NAMESPACE, NamespaceId(nsid));
        let dealloc = page.deallocation();
        assert_eq!(dealloc.read_behaviour(), Dlfeat::READS_ZEROES);
        assert!(dealloc.write_zeroes_deallocate() && !page.is_write_protected());
    }
    let buffer = host.buffer(PAGE);
    let mut other = Command::identify(Cns::COMMAND_SET_CONTROLLER, NamespaceId::NONE);
    other.prp1.set(buffer.iova().0);
    other.cdw10[1].set(2 << 24);
    let refused = host.admin(other).status();
    assert_eq!(refused, Status::INVALID_FIELD.do_not_retry());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn zeroed_and_deallocated_ranges_are_zero_and_the_rest_is_not(
        zeroes in prop::collection::vec((0u64..256, 1u32..40, any::<bool>()), 0..6),
        ranges in prop::collection::vec((0u64..256, 0u32..40), 1..20),
        block in prop::sample::select(vec![512u32, 4096]),
    ) {
        let mut options = options();
        options.namespaces = vec![ram(block)];
        let mut host = Host::stepped(&options);
        let mut pair = host.pair(1, 8, None);
        let size = block as usize;
        let buffer = host.buffer(PAGE);
        buffer.write(0, &[7; PAGE]);
        for slba in 0..300 {
            done(&host, &mut pair, transfer(NvmOpcode::WRITE, slba, 1, &buffer));
        }
        for &(slba, blocks, deallocate) in &zeroes {
            let command = Command::write_zeroes(ONE, slba, blocks, deallocate);
            done(&host, &mut pair, command);
        }
        done(&host, &mut pair, dataset(&buffer, &ranges, true));
        let gone = |block: u64| {
            let inside = |slba: u64, blocks: u32| (slba..slba + u64::from(blocks)).contains(&block);
            zeroes.iter().any(|&(slba, blocks, _)| inside(slba, blocks))
                || ranges.iter().any(|&(slba, blocks)| inside(slba, blocks))
        };
        for slba in 0..300 {
            done(&host, &mut pair, transfer(NvmOpcode::READ, slba, 1, &buffer));
            let expected = if gone(slba) { 0 } else { 7 };
            prop_assert!(bytes(&buffer, 0, size).iter().all(|&b| b == expected), "block {}", slba);
        }
    }
}
