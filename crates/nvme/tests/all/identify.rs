//! Drives of NVMe 1.0 to 2.0 by their Identify pages, which public listings of `nvme id-ctrl`, `nvme id-ns` and
//! `smartctl` show: the driver's results for each are those of the specification.

mod drive;

use crate::common::{Seen, Spy, instant, open_stepped_as};
use drive::{directory, options, store_of};
use joulio_device::DmaBuffer;
use joulio_emulator::{EmulatedDevice, EmulatorError, Options, Stepper};
use joulio_nvme::spec::feature::FeatureId;
use joulio_nvme::spec::identify::Cns;
use joulio_nvme::spec::{AdminOpcode, Status};
use joulio_nvme::{
    Controller, ControllerOptions, HostMemory, Namespace, NvmeError, PowerControl, QueuePair,
    SubmitError,
};
use joulio_units::Nanos;

const MIB: u64 = 1 << 20;
const VOLATILE_WRITE_CACHE: FeatureId = FeatureId(0x06);

/// Results that the driver should get from a drive's data, determined by hand.
struct Expected {
    name: &'static str,
    /// VS, as major and minor version; since 1.1 there is a list of active namespaces.
    version: (u16, u8),
    lists: bool,
    /// Bytes: 4 KiB << MDTS, at most the 1 MiB of the driver.
    max_transfer: u32,
    /// ONCS: Compare, Dataset Management, Write Zeroes, Verify.
    commands: [bool; 4],
    /// VWC bit 0.
    cache: bool,
    /// Number of Asynchronous Event Requests: AERL + 1, at most the 4 of the driver.
    events: usize,
    /// NPSS + 1.
    states: usize,
    /// Power states in the listing: MP in microwatts, and true if they are operational.
    power: &'static [(u64, bool)],
    /// APSTA bit 0.
    apst: bool,
    /// HMPRE and HMMIN in bytes; 0: none.
    host_memory: u64,
    /// Bytes of a block, number of blocks, and the boundary of I/Os (NOIOB, or by a quirk).
    namespace: Option<(u32, u64, u16)>,
}

static DRIVES: [Expected; 13] = [
    Expected {
        name: "amazon-ebs",
        version: (1, 0),
        lists: false,
        max_transfer: 256 << 10,
        commands: [false; 4],
        cache: true,
        events: 1,
        states: 2,
        power: &[(10_000, true), (0, true)],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 20_971_520, 0)),
    },
    Expected {
        name: "intel-905p",
        version: (1, 0),
        lists: false,
        max_transfer: 128 << 10,
        commands: [false, true, false, false],
        cache: false,
        events: 1,
        states: 1,
        power: &[(20_000_000, true)],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 2_930_277_168, 0)),
    },
    // By a quirk: 128 KiB are 256 blocks.
    Expected {
        name: "intel-p3700",
        version: (1, 0),
        lists: false,
        max_transfer: 128 << 10,
        commands: [false, true, false, false],
        cache: false,
        events: 1,
        states: 1,
        power: &[(25_000_000, true)],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 3_125_627_568, 256)),
    },
    // The same quirk; 1 of 128 namespaces is active.
    Expected {
        name: "intel-p4510",
        version: (1, 2),
        lists: true,
        max_transfer: 128 << 10,
        commands: [false, true, false, false],
        cache: false,
        events: 1,
        states: 1,
        power: &[(14_000_000, true)],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 3_907_029_168, 256)),
    },
    Expected {
        name: "kingston-nv2",
        version: (1, 4),
        lists: true,
        max_transfer: 256 << 10,
        commands: [true, true, false, false],
        cache: true,
        events: 4,
        states: 5,
        power: &[],
        apst: true,
        host_memory: 64 * MIB,
        namespace: Some((512, 488_397_168, 0)),
    },
    Expected {
        name: "micron-9200",
        version: (1, 2),
        lists: true,
        max_transfer: 128 << 10,
        commands: [false, true, false, false],
        cache: false,
        events: 4,
        states: 1,
        power: &[(25_000_000, true)],
        apst: false,
        host_memory: 0,
        namespace: None,
    },
    // MDTS is 2 MiB.
    Expected {
        name: "samsung-960-evo",
        version: (1, 2),
        lists: true,
        max_transfer: 1 << 20,
        commands: [true, true, true, false],
        cache: true,
        events: 4,
        states: 5,
        power: &[(6_040_000, true), (5_090_000, true), (4_080_000, true)],
        apst: true,
        host_memory: 0,
        namespace: None,
    },
    Expected {
        name: "samsung-990-evo",
        version: (2, 0),
        lists: true,
        max_transfer: 512 << 10,
        commands: [true; 4],
        cache: false,
        events: 1,
        states: 5,
        power: &[
            (7_470_000, true),
            (7_470_000, true),
            (7_470_000, true),
            (80_000, false),
            (7_000, false),
        ],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 1_953_525_168, 0)),
    },
    // By a quirk: Write Zeroes is not used.
    Expected {
        name: "samsung-pm1725a",
        version: (1, 2),
        lists: true,
        max_transfer: 128 << 10,
        commands: [false, true, false, false],
        cache: false,
        events: 1,
        states: 1,
        power: &[(25_000_000, true)],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 3_125_627_568, 0)),
    },
    // 1 of 32 namespaces is active, with the third of five formats.
    Expected {
        name: "samsung-pm1733",
        version: (1, 3),
        lists: true,
        max_transfer: 1 << 20,
        commands: [true, true, true, false],
        cache: false,
        events: 4,
        states: 1,
        power: &[(25_000_000, true)],
        apst: false,
        host_memory: 0,
        namespace: Some((4096, 536_870_912, 0)),
    },
    Expected {
        name: "t-force-tm8fpl",
        version: (1, 4),
        lists: true,
        max_transfer: 256 << 10,
        commands: [true, true, true, false],
        cache: true,
        events: 4,
        states: 5,
        power: &[
            (5_000_000, true),
            (2_400_000, true),
            (1_900_000, true),
            (50_000, false),
            (5_000, false),
        ],
        apst: true,
        host_memory: 64 * MIB,
        namespace: Some((512, 976_773_168, 0)),
    },
    // MDTS 0: no limit.
    Expected {
        name: "toshiba-xg3",
        version: (1, 0),
        lists: false,
        max_transfer: 1 << 20,
        commands: [false, true, true, false],
        cache: false,
        events: 1,
        states: 6,
        power: &[
            (6_000_000, true),
            (4_200_000, true),
            (3_200_000, true),
            (160_000, false),
            (12_000, false),
            (6_000, false),
        ],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 1_000_215_216, 0)),
    },
    Expected {
        name: "wd-sn850",
        version: (1, 4),
        lists: true,
        max_transfer: 512 << 10,
        commands: [true, true, true, false],
        cache: false,
        events: 1,
        states: 5,
        power: &[
            (9_000_000, true),
            (4_100_000, true),
            (3_500_000, true),
            (25_000, false),
            (5_000, false),
        ],
        apst: false,
        host_memory: 0,
        namespace: Some((512, 1_953_525_168, 0)),
    },
];

type Opened = (Controller<Spy>, Stepper, Seen);

fn open(make: &Options, host_memory_max: u64) -> Opened {
    let how = ControllerOptions {
        host_memory_max,
        sgls: true,
        ..ControllerOptions::default()
    };
    open_stepped_as(make, Seen::default(), how)
}

/// Checks each drive, opened without host memory and without its quirks, since one of them makes closing take
/// seconds.
fn each(check: impl Fn(&Expected, &Opened)) {
    for expected in &DRIVES {
        check(expected, &open(&without_quirks(expected.name), 0));
    }
}

fn each_with_its_quirks(check: impl Fn(&Expected, &Opened)) {
    for expected in &DRIVES {
        check(expected, &open(&options(expected.name), 0));
    }
}

fn without_quirks(name: &str) -> Options {
    Options {
        pci_id: instant().pci_id,
        ..options(name)
    }
}

/// Submits one command through `send`, steps the device, and returns the command's buffer.
fn run(
    (queue, stepper): (&mut QueuePair<Spy>, &Stepper),
    send: impl FnOnce(&mut QueuePair<Spy>),
) -> Option<DmaBuffer> {
    send(queue);
    queue.ring();
    stepper.step(Nanos::ZERO);
    let mut done = None;
    queue.reap(1, |completed| done = Some(completed)).unwrap();
    let done = done.unwrap();
    assert!(done.status.is_success(), "{}", done.status);
    done.buffer
}

/// Writes `bytes` from `lba` on, reads them back, and flushes.
fn write_and_read_back(
    (controller, stepper, _): &Opened,
    namespace: &Namespace,
    lba: u64,
    bytes: u32,
) {
    let mut queue = controller.create_queue_pair(4).unwrap();
    let blocks = bytes / namespace.block_size();
    let content: Vec<u8> = (0..bytes).map(|at| (at / 512 + at) as u8).collect();
    let mut buffer = controller
        .allocate_buffers(1, bytes as usize)
        .unwrap()
        .remove(0);
    buffer.write(0, &content);
    let buffer = run((&mut queue, stepper), |queue| {
        queue.write(namespace, lba, blocks, buffer, 0).unwrap();
    });
    let mut buffer = buffer.unwrap();
    buffer.write(0, &vec![0xa5; bytes as usize]);
    run((&mut queue, stepper), |queue| {
        queue.flush(namespace, 0).unwrap()
    });
    let buffer = run((&mut queue, stepper), |queue| {
        queue.read(namespace, lba, blocks, buffer, 0).unwrap();
    });
    let mut found = vec![0; bytes as usize];
    buffer.unwrap().read(0, &mut found);
    assert!(
        found == content,
        "{bytes} bytes at {lba} came back as others"
    );
}

#[test]
fn every_listing_is_a_drive_here() {
    let mut listed: Vec<_> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    listed.sort();
    assert_eq!(listed, DRIVES.each_ref().map(|drive| drive.name));
}

#[test]
fn the_largest_transfer_is_mdts_up_to_the_drivers_limit_and_works() {
    each(|expected, opened| {
        let controller = &opened.0;
        assert_eq!(
            controller.max_transfer(),
            expected.max_transfer,
            "{}",
            expected.name
        );
        let namespace = controller.namespace(1).unwrap();
        write_and_read_back(opened, &namespace, 0, expected.max_transfer);
    });
}

#[test]
fn namespaces_are_found_by_a_list_or_one_by_one() {
    each(|expected, (controller, _, seen)| {
        let name = expected.name;
        let version = controller.version();
        assert_eq!(
            (version.major(), version.minor()),
            expected.version,
            "{name}"
        );
        assert_eq!(controller.active_namespaces().unwrap(), [1], "{name}");
        let sent = seen.admin(AdminOpcode::IDENTIFY.0);
        let listed = sent
            .iter()
            .any(|(cns, _)| *cns as u8 == Cns::ACTIVE_NAMESPACES.0);
        assert_eq!(listed, expected.lists, "{name}");
        for nsid in [2, 128, 129] {
            let Err(NvmeError::NoNamespace { active, .. }) = controller.namespace(nsid) else {
                panic!("{name}: {nsid}");
            };
            assert_eq!(active, "1", "{name}");
        }
    });
}

#[test]
fn of_many_namespaces_that_a_drive_without_a_list_has_the_active_ones_are_found() {
    // The P4510 with its 128 namespaces, as if it were of NVMe 1.0.
    let old = Options {
        version: options("intel-p3700").version,
        ..options("intel-p4510")
    };
    let (controller, _stepper, seen) = open(&old, 0);
    assert_eq!(controller.active_namespaces().unwrap(), [1]);
    let sent = seen.admin(AdminOpcode::IDENTIFY.0);
    let one = sent
        .iter()
        .filter(|(cns, _)| *cns as u8 == Cns::NAMESPACE.0);
    assert_eq!(one.count(), 128);
}

#[test]
fn optional_commands_are_those_of_oncs() {
    each_with_its_quirks(|expected, (controller, stepper, _)| {
        let name = expected.name;
        let namespace = controller.namespace(1).unwrap();
        let has = namespace.attributes();
        let found = [has.compare, has.deallocate, has.write_zeroes, has.verify];
        assert_eq!(found, expected.commands, "{name}");
        let mut queue = controller.create_queue_pair(4).unwrap();
        let mut sent = 0;
        for (result, has) in [
            (
                queue.write_zeroes(&namespace, 0, 1, false, 0),
                has.write_zeroes,
            ),
            (queue.verify(&namespace, 0, 1, 0), has.verify),
        ] {
            match result {
                Ok(()) => sent += 1,
                Err(SubmitError::Unsupported { .. }) => assert!(!has, "{name}"),
                Err(other) => panic!("{name}: {other}"),
            }
        }
        assert_eq!(
            sent,
            expected.commands[2..].iter().filter(|has| **has).count(),
            "{name}"
        );
        queue.ring();
        stepper.step(Nanos::ZERO);
        let reaped = queue.reap(sent, |done| assert!(done.status.is_success(), "{name}"));
        assert_eq!(reaped.unwrap(), sent, "{name}");
    });
}

#[test]
fn the_write_cache_is_a_feature_where_there_is_one() {
    each(|expected, (controller, ..)| {
        let name = expected.name;
        assert_eq!(controller.identity().vwc & 1 != 0, expected.cache, "{name}");
        let enabled = match controller.feature(VOLATILE_WRITE_CACHE) {
            Ok(enabled) => Some(enabled),
            Err(NvmeError::Admin { status, .. }) if status.kind() == Status::INVALID_FIELD => None,
            Err(other) => panic!("{name}: {other}"),
        };
        assert_eq!(enabled, expected.cache.then_some(1), "{name}");
    });
}

#[test]
fn as_many_events_are_requested_as_the_drive_takes() {
    each(|expected, (_, _, seen)| {
        let requests = seen.admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST.0);
        assert_eq!(requests.len(), expected.events, "{}", expected.name);
    });
}

#[test]
fn power_states_have_the_watts_that_are_listed_and_can_be_set() {
    each(|expected, (controller, ..)| {
        let name = expected.name;
        let states = controller.identity().power_states();
        assert_eq!(states.len(), expected.states, "{name}");
        let found = states.iter().map(|state| {
            let operational = !state.power_state_flags().nops();
            (state.max_power_microwatts(), operational)
        });
        let found: Vec<_> = found.take(expected.power.len()).collect();
        assert_eq!(found, expected.power, "{name}");
        let last = expected.states as u8 - 1;
        controller.set_power_state(last).unwrap();
        assert_eq!(controller.power_state().unwrap(), last, "{name}");
        let refused = controller.set_power_state(last + 1).unwrap_err();
        assert!(
            matches!(refused, NvmeError::Unsupported { .. }),
            "{name}: {refused}"
        );
    });
}

#[test]
fn transitions_by_idle_time_are_there_where_apsta_says_so() {
    each(|expected, (controller, ..)| {
        let name = expected.name;
        let enabled = match controller.apst() {
            Ok((enabled, _)) => Some(enabled),
            Err(NvmeError::NotSupported { .. }) => None,
            Err(other) => panic!("{name}: {other}"),
        };
        assert_eq!(enabled, expected.apst.then_some(false), "{name}");
    });
}

#[test]
fn memory_is_lent_to_the_drives_that_want_it() {
    for expected in &DRIVES {
        let (name, bytes) = (expected.name, expected.host_memory);
        let limit = ControllerOptions::default().host_memory_max;
        let opened = open(&without_quirks(name), limit);
        let controller = &opened.0;
        let lent = match bytes {
            0 => HostMemory::None,
            bytes => HostMemory::Lent(bytes),
        };
        assert_eq!(controller.host_memory(), lent, "{name}");
        if bytes == 0 {
            assert!(controller.host_memory_bytes().is_err(), "{name}");
            continue;
        }
        assert_eq!(controller.host_memory_bytes().unwrap(), bytes, "{name}");
        let namespace = controller.namespace(1).unwrap();
        write_and_read_back(&opened, &namespace, 0, 4096);
        let activity = controller.device().emulated().activity();
        let counts = (activity.host_memory_hits, activity.host_memory_misses);
        assert_eq!(counts, (1, 1), "{name}");
        // HMMIN equals HMPRE.
        let (controller, ..) = open(&without_quirks(name), bytes - 4096);
        let HostMemory::Missing(why) = controller.host_memory() else {
            panic!("{name}: {:?}", controller.host_memory());
        };
        assert!(why.contains(&bytes.to_string()), "{name}: {why}");
    }
}

#[test]
fn a_namespace_is_as_large_as_it_says_and_its_last_block_is_there() {
    each_with_its_quirks(|expected, opened| {
        let name = expected.name;
        let namespace = opened.0.namespace(1).unwrap();
        let boundary = namespace.attributes().io_boundary;
        let found = (namespace.block_size(), namespace.blocks(), boundary);
        if let Some(expected) = expected.namespace {
            assert_eq!(found, expected, "{name}");
        }
        for lba in [0, namespace.blocks() - 1] {
            write_and_read_back(opened, &namespace, lba, namespace.block_size());
        }
    });
}

#[test]
fn every_format_that_a_drive_has_works_or_is_refused_for_its_metadata() {
    let mut tried = (0, 0);
    for name in DRIVES.each_ref().map(|drive| drive.name) {
        let mut drive = without_quirks(name);
        let Some(listed) = drive.identify.as_ref().and_then(|pages| pages.namespace) else {
            continue;
        };
        for (index, format) in listed.lbaf[..=usize::from(listed.nlbaf)].iter().enumerate() {
            let mut page = listed;
            page.flbas = index as u8;
            drive.namespaces = vec![store_of(&page)];
            drive.identify.as_mut().unwrap().namespace = Some(page);
            let opened = open(&drive, 0);
            match (format.ms.get(), opened.0.namespace(1)) {
                (0, Ok(namespace)) => {
                    assert_eq!(namespace.block_size(), 1 << format.lbads, "{name}: {index}");
                    write_and_read_back(&opened, &namespace, 1, namespace.block_size());
                    tried.0 += 1;
                }
                (ms, Err(NvmeError::Format { what, .. })) if ms > 0 => {
                    let clear = format!("carry {ms} bytes of metadata");
                    assert!(what.contains(&clear), "{name}: {index}: {what}");
                    tried.1 += 1;
                }
                (_, other) => panic!("{name}: {index}: {other:?}"),
            }
        }
    }
    assert_eq!(tried, (18, 10));
}

#[test]
fn only_what_is_zero_of_the_sizes_of_entries_is_the_emulators_own() {
    let mut drive = options("amazon-ebs");
    let mut refused = |sqes, cqes| {
        let page = &mut drive.identify.as_mut().unwrap().controller;
        (page.sqes, page.cqes) = (sqes, cqes);
        EmulatedDevice::stepped(&drive).err()
    };
    assert!(refused(0, 0).is_none());
    // 64 to 128 bytes, as on Apple's drives; then only 128.
    assert!(refused(0x76, 0x44).is_none());
    for (sqes, cqes, named) in [(0x77, 0x44, "SQES"), (0x66, 0x55, "CQES")] {
        let Some(EmulatorError::IdentifyPage { field, .. }) = refused(sqes, cqes) else {
            panic!("{sqes:#x} {cqes:#x}");
        };
        assert_eq!(field, named);
    }
}
