//! Enabling, resetting and shutting down by the registers.

use crate::common::{Host, Pair, enabled, options, slow_options, transfer};
use joulio_device::Device;
use joulio_emulator::EmulatedDevice;
use joulio_nvme_spec::register::{
    ACQ, AQA, ASQ, Aqa, CAP, CC, CSTS, Cap, Cc, Csts, NSSR, VS, Version,
};
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode};

#[test]
fn the_capabilities_are_those_of_the_profile() {
    let (device, _stepper) = EmulatedDevice::stepped(&options()).unwrap();
    let cap = Cap::from(device.read64(CAP));
    assert_eq!(cap.mqes(), 4095);
    assert!(cap.cqr());
    assert_eq!((cap.to(), cap.dstrd(), cap.css()), (20, 0, 1));
    assert_eq!((cap.mpsmin(), cap.mpsmax()), (0, 0));
    let version = Version::from(device.read32(VS));
    assert_eq!((version.major(), version.minor()), (1, 4));
    assert_eq!(Csts::from(device.read32(CSTS)), Csts::new());
}

#[test]
fn a_register_reads_as_it_was_written_and_the_others_ignore_writes() {
    let (device, _stepper) = EmulatedDevice::stepped(&options()).unwrap();
    device.write64(ASQ, 0x1234_5678_9abc_d000);
    device.write32(ACQ + 4, 0x1_0000);
    assert_eq!(device.read64(ASQ), 0x1234_5678_9abc_d000);
    assert_eq!(device.read32(ASQ + 4), 0x1234_5678);
    assert_eq!(device.read64(ACQ), 0x0001_0000_0000_0000);
    let cap = device.read64(CAP);
    for offset in [
        CAP,
        VS,
        0x0c,
        0x10,
        0x18,
        CSTS,
        NSSR,
        0x38,
        0x3c,
        0xffc,
        0xfff,
        u32::MAX,
    ] {
        device.write32(offset, u32::MAX);
    }
    device.write64(u32::MAX, u64::MAX);
    assert_eq!(device.read64(CAP), cap);
    assert_eq!(device.read32(CSTS), 0);
    assert_eq!(device.read64(u32::MAX), 0);
}

#[test]
fn a_controller_that_cannot_be_enabled_fails_until_it_is_reset() {
    let good = Aqa::new().with_asqs(15).with_acqs(15);
    let cases: [(&str, Cc, Aqa, u64, u64); 9] = [
        (
            "a submission queue of one",
            enabled(),
            good.with_asqs(0),
            0,
            0,
        ),
        (
            "a completion queue of one",
            enabled(),
            good.with_acqs(0),
            0,
            0,
        ),
        ("ASQ inside a page", enabled(), good, 64, 0),
        ("ACQ inside a page", enabled(), good, 0, 16),
        ("ASQ not mapped", enabled(), good, 1 << 40, 0),
        ("ACQ not mapped", enabled(), good, 0, 1 << 40),
        ("8 KiB pages", enabled().with_mps(1), good, 0, 0),
        ("another command set", enabled().with_css(6), good, 0, 0),
        ("weighted round robin", enabled().with_ams(1), good, 0, 0),
    ];
    for (what, cc, aqa, asq, acq) in cases {
        let (device, stepper) = EmulatedDevice::stepped(&options()).unwrap();
        let mut host = Host::disabled(device, Some(stepper));
        let pair = Pair::new(&host.device, 0, 16);
        host.device.write32(AQA, aqa.into());
        host.device.write64(ASQ, pair.submission.iova().0 + asq);
        host.device.write64(ACQ, pair.completion.iova().0 + acq);
        host.device.write32(CC, cc.into());
        assert!(host.status().cfs() && !host.status().rdy(), "{what}");
        host.step(0);
        host.device.write32(CC, 0);
        assert_eq!(host.status(), Csts::new(), "{what}");
        host.enable();
    }
}

#[test]
fn all_command_sets_are_chosen_where_the_controller_has_them() {
    let mut options = options();
    options.command_sets = true;
    let (device, stepper) = EmulatedDevice::stepped(&options).unwrap();
    let mut host = Host::disabled(device, Some(stepper));
    let css = |host: &Host| Cap::from(host.device.read64(CAP)).css();
    let both = Cap::NVM_COMMAND_SET | Cap::ALL_COMMAND_SETS;
    for chosen in [Cc::NVM_COMMAND_SET, Cc::ALL_COMMAND_SETS] {
        assert_eq!(css(&host), both);
        host.enable_as(enabled().with_css(chosen));
        assert!(host.status().rdy() && !host.status().cfs());
        host.device.write32(CC, 0);
    }
    host.enable_as(enabled().with_css(1));
    assert!(host.status().cfs() && !host.status().rdy());
    host.device.write32(CC, 0);
    host.device.reset_function().unwrap();
    assert_eq!(css(&host), both);
}

#[test]
fn a_reset_drops_queues_and_what_is_outstanding() {
    let mut host = Host::stepped(&slow_options());
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(4096);
    pair.submit(1, transfer(NvmOpcode::READ, 0, 8, &buffer));
    assert!(host.step(0).next.is_some());
    host.device.write32(CC, 0);
    assert!(!host.status().rdy());
    assert_eq!(host.step(1_000_000), Default::default());
    assert!(pair.reap().is_none());

    host.enable();
    let step = host.step(2_000_000);
    assert_eq!((step.fetched, step.posted, step.next), (0, 0, None));
    let mut pair = host.pair(1, 16, None);
    pair.submit(2, transfer(NvmOpcode::READ, 0, 8, &buffer));
    host.step(3_000_000);
    host.step(4_000_000);
    assert!(pair.reap().unwrap().status().is_success());
}

#[test]
fn a_disabled_controller_does_nothing() {
    let (device, stepper) = EmulatedDevice::stepped(&options()).unwrap();
    let mut host = Host::disabled(device, Some(stepper));
    host.admin
        .submit(1, Command::nvm(NvmOpcode::FLUSH, NamespaceId(1)));
    assert_eq!(host.step(0), Default::default());
    assert!(host.admin.reap().is_none());
    host.enable();
    host.step(0);
    assert_eq!(host.device.activity().invalid_doorbells, 0);
}

#[test]
fn a_shutdown_is_complete_and_a_reset_ends_it() {
    for notification in [1, 2] {
        let mut host = Host::stepped(&options());
        host.device
            .write32(CC, enabled().with_shn(notification).into());
        assert_eq!(host.status().shst(), 2);
        host.device.write32(CC, 0);
        assert_eq!(host.status(), Csts::new());
        host.enable();
    }
}

#[test]
fn an_admin_queue_that_is_unmapped_is_fatal() {
    let mut host = Host::stepped(&options());
    let other = Pair::new(&host.device, 0, 16);
    drop(std::mem::replace(&mut host.admin, other));
    host.admin.submit(1, Command::default());
    assert!(host.status().cfs());
    host.device.write32(CC, 0);
    host.enable();
}
