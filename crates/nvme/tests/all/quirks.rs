//! Drives that deviate from the specification, by their PCI identifiers or their models.

use crate::common::{Seen, Spy, instant, open_stepped_as};
use joulio_device::pci::PciId;
use joulio_emulator::{EmulatedDevice, IdentifyPages, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::spec::AdminOpcode;
use joulio_nvme::spec::identify::{Cns, IdentifyController};
use joulio_nvme::spec::register::Version;
use joulio_nvme::{
    Cancel, Controller, ControllerOptions, IdleStates, NvmeError, PowerControl, SubmitError,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zerocopy::FromZeros;
use zerocopy::little_endian::{U16, U32};

fn with_id(vendor: u16, device: u16) -> Options {
    Options {
        pci_id: PciId { vendor, device },
        ..instant()
    }
}

/// Returns a drive with the model number `model`, and one namespace.
fn with_model(vendor: u16, device: u16, model: &str) -> Options {
    let mut controller = IdentifyController::new_zeroed();
    controller.vid = U16::new(vendor);
    controller.mn.fill(b' ');
    controller.mn[..model.len()].copy_from_slice(model.as_bytes());
    controller.nn = U32::new(1);
    Options {
        identify: Some(Box::new(IdentifyPages {
            controller,
            namespace: None,
        })),
        ..with_id(vendor, device)
    }
}

fn open(make: &Options) -> (Controller<Spy>, Stepper, Seen) {
    open_stepped_as(make, Seen::default(), ControllerOptions::default())
}

#[test]
fn csts_is_left_alone_for_as_long_as_the_drive_needs() {
    // Samsung PM1725, by its identifiers; X5, which has those of the 970 EVO Plus, by its model.
    for drive in [
        with_id(0x144d, 0xa821),
        with_model(0x144d, 0xa808, "Samsung Portable SSD X5"),
    ] {
        let (controller, _stepper, seen) = open(&drive);
        controller.reset().unwrap();
        let least = seen.csts_delay().unwrap();
        assert!(least >= Duration::from_millis(2_300), "{least:?}");
    }
}

#[test]
fn an_mqes_of_0_is_64_entries_where_the_drive_has_them() {
    let open = |options: &Options| {
        let how = ControllerOptions::default();
        open_stepped_as(options, Seen::with_mqes(0), how)
    };
    // Samsung PM1725 and PM1725a.
    for device in [0xa821, 0xa822] {
        let (controller, _stepper, seen) = open(&with_id(0x144d, device));
        assert_eq!(controller.max_depth(), 63);
        let _queue = controller.create_queue_pair(63).unwrap();
        for opcode in [
            AdminOpcode::CREATE_IO_COMPLETION_QUEUE,
            AdminOpcode::CREATE_IO_SUBMISSION_QUEUE,
        ] {
            // QSIZE, 0's based: bits 31:16 of dword 10.
            assert_eq!(seen.admin(opcode.0)[0].0 >> 16, 63);
        }
        let refused = controller.create_queue_pair(64).err();
        assert!(matches!(refused, Some(NvmeError::Depth { max: 63, .. })));
    }
    assert_eq!(open(&instant()).0.max_depth(), 1);
}

#[test]
fn an_mqes_that_such_a_drive_reports_counts() {
    let how = ControllerOptions::default();
    let drive = with_id(0x144d, 0xa822);
    let (controller, ..) = open_stepped_as(&drive, Seen::with_mqes(127), how);
    assert_eq!(controller.max_depth(), 127);
}

#[test]
fn that_delay_can_be_cancelled() {
    let flag = Arc::new(AtomicBool::new(false));
    let how = ControllerOptions {
        cancel: Cancel::on(Arc::clone(&flag)),
        ..ControllerOptions::default()
    };
    let make = with_id(0x1c58, 0x0003);
    let (controller, _stepper, seen) = open_stepped_as(&make, Seen::default(), how);
    flag.store(true, Ordering::Relaxed);
    assert!(controller.reset().is_err());
    drop(controller);
    let least = seen.csts_delay();
    assert!(
        least.is_none_or(|least| least < Duration::from_millis(2_300)),
        "{least:?}"
    );
}

#[test]
fn a_striped_drive_has_the_boundary_of_its_largest_transfer() {
    let make = |vendor, device| {
        // MDTS of 128 KiB.
        Options {
            profile: DeviceProfile::builtin("optane-900p").unwrap(),
            ..with_id(vendor, device)
        }
    };
    let boundary = |options: &Options| {
        let (controller, _stepper, _) = open(options);
        let namespace = controller.namespace(1).unwrap();
        (
            namespace.attributes().io_boundary,
            controller.max_transfer(),
        )
    };
    // Intel P3700.
    let (blocks, bytes) = boundary(&make(0x8086, 0x0953));
    assert_eq!(u32::from(blocks) * 512, bytes);
    assert_eq!(boundary(&make(0x8086, 0x0b60)), (0, bytes));
}

#[test]
fn a_drive_without_lists_is_asked_for_none_whatever_its_version() {
    let cns = |options: &Options| {
        let (controller, _stepper, seen) = open(options);
        assert_eq!(controller.active_namespaces().unwrap(), [1]);
        let sent = seen.admin(AdminOpcode::IDENTIFY.0).into_iter();
        sent.map(|(dword10, _)| dword10 as u8).collect::<Vec<_>>()
    };
    let list = Cns::ACTIVE_NAMESPACES.0;
    assert!(!cns(&with_id(0x8086, 0x5845)).contains(&list));
    assert!(cns(&instant()).contains(&list));
    let old = Options {
        version: Version::new().with_major(1),
        ..instant()
    };
    assert!(!cns(&old).contains(&list));
}

#[test]
fn write_zeroes_that_do_harm_are_not_sent() {
    // Two of Kingston's.
    for device in [0x501a, 0x502f] {
        let (controller, _stepper, seen) = open(&with_id(0x2646, device));
        let namespace = controller.namespace(1).unwrap();
        assert!(!namespace.attributes().write_zeroes);
        let mut queue = controller.create_queue_pair(4).unwrap();
        let rings = seen.rings();
        let refused = queue.write_zeroes(&namespace, 0, 8, false, 0).unwrap_err();
        assert!(
            matches!(refused, SubmitError::Unsupported { .. }),
            "{refused:?}"
        );
        assert_eq!(seen.rings(), rings);
    }
    let (controller, ..) = open(&instant());
    assert!(controller.namespace(1).unwrap().attributes().write_zeroes);
}

#[test]
fn a_queue_is_of_medium_priority_where_the_drive_needs_it() {
    let priority = |options: &Options| {
        let (controller, _stepper, seen) = open(options);
        let _queue = controller.create_queue_pair(4).unwrap();
        let sent = seen.admin(AdminOpcode::CREATE_IO_SUBMISSION_QUEUE.0);
        // QPRIO: bits 2:1 of dword 11.
        sent[0].1 >> 1 & 3
    };
    // Intel 600p.
    assert_eq!(priority(&with_id(0x8086, 0xf1a5)), 2);
    assert_eq!(priority(&instant()), 0);
}

#[test]
fn no_list_of_pages_ends_with_a_page_where_the_drive_needs_that() {
    // Ends of the lists of 16 reads of 128 KiB, which is also the largest transfer, in their pages.
    let ends = |vendor, device| {
        let make = Options {
            profile: DeviceProfile::builtin("optane-900p").unwrap(),
            ..with_id(vendor, device)
        };
        let how = ControllerOptions {
            sgls: false,
            ..ControllerOptions::default()
        };
        let (controller, _stepper, seen) = open_stepped_as(&make, Seen::default(), how);
        assert_eq!(controller.max_transfer(), 128 << 10);
        let namespace = controller.namespace(1).unwrap();
        let mut queue = controller.create_queue_pair(16).unwrap();
        let memory = seen.last_memory();
        let buffers = controller.allocate_buffers(16, 128 << 10).unwrap();
        let mut ends = Vec::new();
        for (index, buffer) in buffers.into_iter().enumerate() {
            queue.read(&namespace, 0, 256, buffer, 0).unwrap();
            // The low half of PRP2, and room for the pointers to 32 pages.
            let list = memory.load_u32(index * 64 + 32);
            ends.push(list % 4096 + 32 * 8);
        }
        ends
    };
    // The Steam Deck's of 64 GB.
    let spaced = ends(0x1217, 0x8760);
    assert!(spaced.iter().all(|end| *end < 4096), "{spaced:?}");
    let PciId { vendor, device } = instant().pci_id;
    assert!(ends(vendor, device).contains(&4096));
}

#[test]
fn a_drive_has_the_power_states_that_it_comes_back_from() {
    let states = |options: &Options| open(options).0.idle_states();
    // Intel 600p; SanDisk SN550; Kingston KC2000, A2000; ADATA SX8200; Silicon Motion's; Zhitai's; Solidigm P44.
    for (vendor, device) in [
        (0x8086, 0xf1a5),
        (0x15b7, 0x5009),
        (0x2646, 0x2262),
        (0x2646, 0x2263),
        (0x1cc1, 0x8201),
        (0x126f, 0x1001),
        (0x126f, 0x2262),
        (0x1e49, 0x0021),
        (0x1e49, 0x0041),
        (0x025e, 0xf1ac),
    ] {
        let found = states(&with_id(vendor, device));
        assert_eq!(found, IdleStates::NotDeepest, "{vendor:04x}:{device:04x}");
    }
    let emulated = instant().pci_id;
    for (vid, model, expected) in [
        (0x144d, "Samsung Portable SSD X5", IdleStates::NotDeepest),
        (0x1179, "THNSF5256GPUK TOSHIBA", IdleStates::None),
        (0x1e0f, "KCD6XVUL6T40", IdleStates::None),
        (0x1e0f, "KCD6XVUL3T20", IdleStates::All),
    ] {
        let mut drive = with_model(vid, emulated.device, model);
        drive.pci_id = emulated;
        assert_eq!(states(&drive), expected, "{model}");
    }
    assert_eq!(states(&instant()), IdleStates::All);
}

#[test]
fn what_this_driver_would_get_wrong_is_left_to_the_kernels() {
    for device in [0x2001, 0x2005] {
        let (spied, _stepper) = EmulatedDevice::stepped(&with_id(0x106b, device)).unwrap();
        let refused = Controller::open(spied, ControllerOptions::default()).err();
        let Some(NvmeError::Unsupported { what, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(what.contains("leave it to the kernel's driver"), "{what}");
    }
}
