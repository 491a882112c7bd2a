//! The host memory buffer: the memory that a host may lend, and the controller's map in it.

use crate::common::{Host, PAGE, bytes, options, transfer};
use joulio_device::{Device, DmaMemory};
use joulio_emulator::{HostMemoryDemand, Options};
use joulio_nvme_spec::feature::{
    FeatureId, HostMemoryAttributes, HostMemoryBuffer, HostMemoryDescriptor,
};
use joulio_nvme_spec::identify::{Cns, IdentifyController};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

/// Makes a controller that prefers 16 pages, and needs at least 4.
fn demanding() -> Options {
    let mut options = options();
    options.host_memory = Some(HostMemoryDemand {
        preferred: 16 * PAGE as u64,
        minimum: 4 * PAGE as u64,
    });
    options
}

fn lent() -> HostMemoryBuffer {
    HostMemoryBuffer::new().with_ehm(true)
}

/// A list of ranges: address, and pages.
fn list(host: &Host, ranges: &[(u64, u32)]) -> DmaMemory {
    let list = host.buffer(PAGE);
    for (index, &(address, pages)) in ranges.iter().enumerate() {
        let range = HostMemoryDescriptor {
            badd: U64::new(address),
            bsize: U32::new(pages),
            ..HostMemoryDescriptor::default()
        };
        list.write(index * 16, range.as_bytes());
    }
    list
}

fn set(host: &mut Host, control: HostMemoryBuffer, pages: u32, list: (u64, u32)) -> Status {
    host.admin(Command::set_host_memory(control, pages, list))
        .status()
}

/// Reads a block that is in its own page of 4096 bytes.
fn read(host: &Host, pair: &mut crate::common::Pair, page: u64, buffer: &DmaMemory) -> Status {
    pair.submit(1, transfer(NvmOpcode::READ, page * 8, 8, buffer));
    host.step(0);
    pair.reap().unwrap().status()
}

#[test]
fn its_demand_is_in_identify_and_nobody_elses() {
    for (options, pages) in [(options(), (0, 0)), (demanding(), (16, 4))] {
        let mut host = Host::stepped(&options);
        let page = host.buffer(PAGE);
        let mut command = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
        command.prp1.set(page.iova().0);
        host.must(command);
        let identity = IdentifyController::read_from_bytes(&bytes(&page, 0, PAGE)).unwrap();
        assert_eq!((identity.hmpre.get(), identity.hmmin.get()), pages);
    }
    let mut host = Host::stepped(&options());
    let memory = host.buffer(16 * PAGE);
    let list = list(&host, &[(memory.iova().0, 16)]);
    let refused = set(&mut host, lent(), 16, (list.iova().0, 1));
    assert_eq!(refused, Status::INVALID_FIELD.do_not_retry());
}

#[test]
fn ranges_are_checked_before_anything_is_written() {
    let mut host = Host::stepped(&demanding());
    let memory = host.buffer(32 * PAGE);
    memory.write(0, &[0x5a; PAGE]);
    let at = memory.iova().0;
    let bad: [(&[(u64, u32)], u32); 8] = [
        // Too few, more than are there, more than it wants.
        (&[(at, 3)], 3),
        (&[(at, 8)], 9),
        (&[(at, 17)], 16),
        (&[(at, 8), (at, 8), (at, 8)], 16),
        // No page, none that is mapped, none at all.
        (&[(at + 64, 8)], 8),
        (&[(at, 8), (0xdead_0000_0000, 8)], 16),
        (&[(at, 16), (at, 0)], 16),
        (&[(u64::MAX - 4095, 16)], 16),
    ];
    for (ranges, pages) in bad {
        let list = list(&host, ranges);
        let status = set(
            &mut host,
            lent(),
            pages,
            (list.iova().0, ranges.len() as u32),
        );
        assert_eq!(status, Status::INVALID_FIELD.do_not_retry(), "{ranges:x?}");
    }
    // Lists that are none.
    let good = list(&host, &[(at, 16)]).iova().0;
    for list in [(good, 0), (good, 65), (good + 8, 1), (0xdead_0000_0000, 1)] {
        let status = set(&mut host, lent(), 16, list);
        assert_eq!(status, Status::INVALID_FIELD.do_not_retry(), "{list:x?}");
    }
    assert_eq!(bytes(&memory, 0, PAGE), [0x5a; PAGE]);
}

#[test]
fn the_map_is_in_the_ranges_and_nowhere_else() {
    let mut host = Host::stepped(&demanding());
    let memory = host.buffer(32 * PAGE);
    memory.write(0, &vec![0x5a; 32 * PAGE]);
    let at = |page: usize| memory.iova().0 + (page * PAGE) as u64;
    let list = list(&host, &[(at(3), 1), (at(20), 3)]);
    assert!(set(&mut host, lent(), 4, (list.iova().0, 2)).is_success());
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(PAGE);
    // The first entry of each of the four pages.
    for page in [0, 512, 1024, 1536] {
        assert!(read(&host, &mut pair, page, &buffer).is_success());
    }
    for page in 0..32 {
        let lent = page == 3 || (20..23).contains(&page);
        let found = bytes(&memory, page * PAGE, PAGE);
        let expected = if lent { 0 } else { 0x5a };
        assert!(
            found[8..].iter().all(|&byte| byte == expected),
            "page {page}"
        );
        assert_eq!(found[..8] == [expected; 8], !lent, "page {page}");
    }
}

#[test]
fn it_is_lent_once_and_given_back_by_a_reset_or_a_command() {
    let mut host = Host::stepped(&demanding());
    let memory = host.buffer(16 * PAGE);
    let ranges = list(&host, &[(memory.iova().0, 16)]);
    let other = list(&host, &[(memory.iova().0, 8)]);
    let returned = lent().with_mr(true);
    let good = (ranges.iova().0, 1);
    // Nothing was lent before.
    assert!(!set(&mut host, returned, 16, good).is_success());
    assert!(set(&mut host, lent(), 16, good).is_success());
    let again = set(&mut host, lent(), 16, good);
    assert_eq!(again, Status::from_field(0x0c).do_not_retry());
    let page = host.buffer(PAGE);
    let mut get = Command::get_features(FeatureId::HOST_MEMORY_BUFFER);
    get.prp1.set(page.iova().0);
    assert_eq!(host.must(get).dw0.get(), 1);
    let found = HostMemoryAttributes::read_from_bytes(&bytes(&page, 0, PAGE)).unwrap();
    let found = (found.hsize.get(), found.list.get(), found.hmdlec.get());
    assert_eq!(found, (16, good.0, 1));
    // Other memory is not the same.
    assert!(set(&mut host, HostMemoryBuffer::new(), 0, (0, 0)).is_success());
    assert_eq!(host.must(get).dw0.get(), 0);
    assert!(!set(&mut host, returned, 8, (other.iova().0, 1)).is_success());
    assert!(set(&mut host, returned, 16, good).is_success());
    host.device.write32(joulio_nvme_spec::register::CC, 0);
    host.enable();
    assert_eq!(host.must(get).dw0.get(), 0);
    assert!(set(&mut host, returned, 16, good).is_success());
}

#[test]
fn an_entry_that_somebody_else_wrote_is_found_out() {
    let mut host = Host::stepped(&demanding());
    let memory = host.buffer(16 * PAGE);
    let ranges = list(&host, &[(memory.iova().0, 16)]);
    assert!(set(&mut host, lent(), 16, (ranges.iova().0, 1)).is_success());
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(PAGE);
    assert!(read(&host, &mut pair, 5, &buffer).is_success());
    memory.write(5 * 8 + 4, &[1]);
    assert_eq!(read(&host, &mut pair, 5, &buffer), Status::INTERNAL_ERROR);
    // The controller has put its own entry there.
    assert!(read(&host, &mut pair, 5, &buffer).is_success());
    let activity = host.device.activity();
    let counts = (activity.host_memory_hits, activity.host_memory_misses);
    assert_eq!(counts, (1, 2));
    // Once disabled, the memory is not accessed, and no other is either.
    drop(memory);
    assert_eq!(read(&host, &mut pair, 5, &buffer), Status::INTERNAL_ERROR);
}
