//! Faults of the controller itself.

use super::{Faulty, faulty, good};
use crate::common::{Host, PAGE, bytes, enabled, on_file, options, ram, slow_options, transfer};
use joulio_device::{Device, DeviceError, Doorbell};
use joulio_emulator::Fault;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::identify::{ActiveNamespaces, Cns, IdentifyController};
use joulio_nvme_spec::log::LogId;
use joulio_nvme_spec::register::{CAP, CC, CSTS, VS};
use joulio_nvme_spec::{Command, CommandId, NamespaceId, NvmOpcode, Status};
use joulio_units::Nanos;
use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};
use zerocopy::FromBytes;

#[test]
fn a_failed_controller_does_nothing_until_it_is_reset() {
    let mut faulty = Faulty::new("cfs@#2");
    assert_eq!(faulty.read(1), [good(1)]);
    assert_eq!(faulty.read(2), []);
    assert!(faulty.host.status().rdy() && faulty.host.status().cfs());
    assert_eq!(faulty.read(3), []);
    faulty.start_again();
    assert!(!faulty.host.status().cfs());
    assert_eq!(faulty.read(4), [good(4)]);
    assert_eq!(faulty.done().cfs, 1);
}

#[test]
fn a_controller_that_fails_reports_no_event_any_more() {
    let mut faulty = Faulty::new("cfs@#1");
    let other = faulty.host.pair(2, 8, None);
    faulty
        .host
        .admin
        .submit(9, Command::asynchronous_event_request());
    // Found in the same step, after the failure: queue 2 has its turn after queue 1.
    other.tail.ring(99);
    assert_eq!(faulty.read(1), []);
    assert!(faulty.host.status().cfs());
    assert_eq!(faulty.host.device.activity().invalid_doorbells, 1);
    assert!(faulty.host.admin.reap().is_none());
}

#[test]
fn a_controller_that_fails_leaves_what_is_in_service() {
    let mut faulty = Faulty::with(&slow_options());
    faulty.buffer.write(0, &[3; PAGE]);
    faulty.submit(NvmOpcode::READ, 1);
    assert_eq!(faulty.step(0), []);
    faulty.host.device.inject(Fault::Cfs);
    assert_eq!(faulty.step(1_000_000), []);
    assert_eq!(bytes(&faulty.buffer, 0, 1), [3]);
}

#[test]
fn a_controller_that_fails_writes_and_syncs_nothing_any_more() {
    static SYNCS: AtomicU32 = AtomicU32::new(0);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    let mut options = on_file(&path, false);
    options.profile = slow_options().profile;
    options.sync = |_: &File| {
        SYNCS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let mut faulty = Faulty::with(&options);
    faulty.buffer.write(0, &[7; PAGE]);
    let write = transfer(NvmOpcode::WRITE, 0, 8, &faulty.buffer);
    faulty.pair.submit(1, write.with_fua());
    assert_eq!(faulty.step(0), []);
    faulty.host.device.inject(Fault::Cfs);
    assert_eq!(faulty.step(1_000_000), []);
    assert!(std::fs::read(&path).unwrap().iter().all(|&byte| byte == 0));
    assert_eq!(SYNCS.load(Ordering::Relaxed), 0);
}

#[test]
fn a_controller_that_is_gone_reads_as_all_ones_and_touches_nothing() {
    let mut options = slow_options();
    options.faults = "removed@1ms".parse().unwrap();
    let mut host = Host::stepped(&options);
    let vectors = host.device.enable_vectors(2).unwrap();
    vectors[1].unmask().unwrap();
    let mut pair = host.pair(1, 8, Some(1));
    let buffer = host.buffer(PAGE);
    buffer.write(0, &[3; PAGE]);
    host.step(0);
    host.step(999_999);
    pair.submit(1, transfer(NvmOpcode::READ, 0, 8, &buffer));
    assert_eq!(host.step(999_999).next, Some(Nanos::from_millis(1)));
    host.step(2_000_000);
    for register in [CAP, VS, CC, CSTS, 0xffc] {
        assert_eq!(host.device.read32(register), u32::MAX);
    }
    assert_eq!(host.device.read64(CAP), u64::MAX);
    pair.submit(2, transfer(NvmOpcode::READ, 0, 8, &buffer));
    host.device.write32(CC, 0);
    host.device.write32(CC, enabled().into());
    assert_eq!(host.step(3_000_000), joulio_emulator::Progress::default());
    assert_eq!(pair.reap_all(), []);
    assert_eq!(bytes(&buffer, 0, PAGE), [3; PAGE]);
    vectors[1].mask().unwrap();
    vectors[1].unmask().unwrap();
    assert_eq!(vectors[1].take(), 0);
    assert_eq!(host.device.read32(CSTS), u32::MAX);
    assert_eq!(host.device.activity().faults.removed, 1);
}

#[test]
fn a_pending_interrupt_goes_with_the_controller() {
    let mut host = Host::stepped(&faulty(""));
    let vectors = host.device.enable_vectors(2).unwrap();
    let mut pair = host.pair(1, 8, Some(1));
    let buffer = host.buffer(PAGE);
    pair.submit(1, transfer(NvmOpcode::READ, 0, 8, &buffer));
    host.step(0);
    host.device.inject(Fault::Removed);
    vectors[1].unmask().unwrap();
    assert_eq!(vectors[1].take(), 0);
}

#[test]
fn stuck_admin_commands_include_requests_for_events() {
    let mut host = Host::stepped(&faulty(""));
    let pair = host.pair(1, 8, None);
    host.admin.submit(9, Command::asynchronous_event_request());
    host.device.inject(Fault::AdminStuck);
    pair.tail.ring(99);
    host.step(0);
    assert_eq!(host.device.activity().invalid_doorbells, 1);
    assert!(host.admin.reap().is_none());
}

#[test]
fn stuck_admin_commands_go_with_the_next_reset() {
    let mut faulty = Faulty::new("");
    faulty.host.device.inject(Fault::AdminStuck);
    let identify = Command::get_features(FeatureId::NUMBER_OF_QUEUES);
    for cid in 0..3 {
        faulty.host.admin.submit(cid, identify);
        faulty.host.step(0);
        assert!(faulty.host.admin.reap().is_none());
    }
    assert_eq!(faulty.read(1), [good(1)]);
    faulty.start_again();
    assert_eq!(faulty.read(1), [good(1)]);
    assert_eq!(faulty.done().admin_stuck, 3);
}

fn page(host: &mut Host, mut command: Command) -> Result<Vec<u8>, Status> {
    let buffer = host.buffer(PAGE);
    command.prp1.set(buffer.iova().0);
    let status = host.admin(command).status();
    if !status.is_success() {
        return Err(status);
    }
    Ok(bytes(&buffer, 0, PAGE))
}

fn active(host: &mut Host) -> Vec<u32> {
    let list = Command::identify(Cns::ACTIVE_NAMESPACES, NamespaceId(0));
    nsids(&page(host, list).unwrap())
}

fn nsids(page: &[u8]) -> Vec<u32> {
    let list = ActiveNamespaces::read_from_bytes(page).unwrap();
    let nsids = list.nsid.iter().map(|nsid| nsid.get());
    nsids.take_while(|&nsid| nsid != 0).collect()
}

fn changed(host: &mut Host) -> Vec<u32> {
    let log = Command::get_log_page(LogId::CHANGED_NAMESPACES, NamespaceId::ALL, PAGE);
    nsids(&page(host, log).unwrap())
}

#[test]
fn a_namespace_that_is_gone_is_inactive_and_the_host_is_notified() {
    let mut options = slow_options();
    options.namespaces = vec![ram(512), ram(512), ram(512)];
    let mut host = Host::stepped(&options);
    let mut pair = host.pair(1, 8, None);
    let identify = Command::identify(Cns::CONTROLLER, NamespaceId(0));
    let controller = page(&mut host, identify).unwrap();
    let controller = IdentifyController::read_from_bytes(&controller).unwrap();
    assert!(controller.optional_events().namespace_attribute());
    host.must(Command::set_features(
        FeatureId::ASYNCHRONOUS_EVENT_CONFIGURATION,
        1 << 8,
    ));
    host.admin
        .submit(0x50, Command::asynchronous_event_request());
    assert!(host.admin.reap().is_none());
    assert_eq!(active(&mut host), [1, 2, 3]);
    assert!(changed(&mut host).is_empty());

    let buffer = host.buffer(PAGE);
    let mut read = transfer(NvmOpcode::READ, 0, 8, &buffer);
    read.nsid.set(2);
    pair.submit(1, read);
    host.step(0);
    assert!(pair.reap().is_none());
    host.device.inject(Fault::NamespaceRemoved(2));
    let gone = Status::INVALID_NAMESPACE.do_not_retry();
    assert_eq!(pair.reap().unwrap().status(), gone);
    let event = host.admin.reap().unwrap();
    assert_eq!(event.command_id(), CommandId(0x50));
    assert_eq!(event.dw0.get(), 0x0004_0002);

    assert_eq!(active(&mut host), [1, 3]);
    let identify = Command::identify(Cns::NAMESPACE, NamespaceId(2));
    assert_eq!(page(&mut host, identify).unwrap(), [0; PAGE]);
    let describe = Command::identify(Cns::NAMESPACE_DESCRIPTORS, NamespaceId(2));
    assert_eq!(page(&mut host, describe), Err(gone));
    pair.submit(2, read);
    host.step(0);
    assert_eq!(pair.reap().unwrap().status(), gone);

    assert_eq!(changed(&mut host), [2]);
    assert!(changed(&mut host).is_empty());
    host.device.inject(Fault::NamespaceRemoved(3));
    host.device.inject(Fault::NamespaceRemoved(9));
    host.admin
        .submit(0x51, Command::asynchronous_event_request());
    assert_eq!(host.admin.reap().unwrap().dw0.get(), 0x0004_0002);
    assert_eq!(active(&mut host), [1]);
    assert_eq!(host.device.activity().faults.namespaces_removed, 2);
}

#[test]
fn a_host_that_requests_no_namespace_events_gets_none() {
    let mut host = Host::stepped(&options());
    host.admin
        .submit(0x50, Command::asynchronous_event_request());
    host.device.inject(Fault::NamespaceRemoved(1));
    assert!(host.admin.reap().is_none());
    assert_eq!(changed(&mut host), [1]);
}

#[test]
fn a_full_namespace_refuses_writes_and_still_reads() {
    let mut faulty = Faulty::new("full@#2");
    assert_eq!(faulty.write(1), [good(1)]);
    let full = Status::CAPACITY_EXCEEDED.do_not_retry();
    assert_eq!(faulty.write(2), [(CommandId(2), full)]);
    assert_eq!(faulty.read(3), [good(3)]);
    let mut zeroes = Command::write_zeroes(NamespaceId(1), 0, 8, true);
    zeroes.prp1.set(0);
    faulty.pair.submit(4, zeroes);
    assert_eq!(faulty.step(0), [(CommandId(4), full)]);
    faulty.start_again();
    assert_eq!(faulty.write(5), [(CommandId(5), full)]);
    assert_eq!(faulty.done().full, 3);
}

#[test]
fn a_stuck_reset_never_lets_go() {
    let mut faulty = Faulty::with(&slow_options());
    faulty.buffer.write(0, &[3; PAGE]);
    faulty.host.device.inject(Fault::StuckReset);
    faulty.submit(NvmOpcode::READ, 1);
    assert_eq!(faulty.step(0), []);
    faulty.host.device.write32(CC, 0);
    assert!(faulty.host.status().rdy());
    assert_eq!(bytes(&faulty.buffer, 0, 1), [3]);
    // It still has the host's memory, and uses it.
    assert_eq!(faulty.step(1_000_000), [good(1)]);
    assert_eq!(bytes(&faulty.buffer, 0, 1), [0]);
    faulty.host.device.write32(CC, enabled().into());
    faulty.submit(NvmOpcode::READ, 2);
    assert_eq!(faulty.step(1_000_000), []);
    assert_eq!(faulty.step(2_000_000), [good(2)]);
    // Nor does the admin queue begin anew: its commands are not fetched again.
    faulty
        .host
        .must(Command::get_features(FeatureId::NUMBER_OF_QUEUES));
    assert_eq!(faulty.host.device.activity().failed_commands, 0);
    faulty.host.device.write32(CC, 0);
    assert!(faulty.host.status().rdy());
    assert_eq!(faulty.done().stuck_resets, 2);
}

#[test]
fn faults_of_the_start_are_there_before_the_first_command() {
    let mut host = Host::stepped(&faulty("stuck-reset"));
    host.device.write32(CC, 0);
    assert!(host.status().rdy());

    host = Host::stepped(&faulty("admin-stuck"));
    host.admin
        .submit(1, Command::get_features(FeatureId::NUMBER_OF_QUEUES));
    assert!(host.admin.reap().is_none());
}

#[test]
fn a_stuck_reset_is_helped_by_one_of_the_function_and_a_stuck_function_is_not() {
    let mut host = Host::stepped(&faulty("stuck-reset"));
    host.device.write32(CC, 0);
    assert!(host.status().rdy());
    host.device.reset_function().unwrap();
    assert_eq!((host.device.read32(CSTS), host.device.read32(CC)), (0, 0));

    host = Host::stepped(&faulty("stuck-flr"));
    let refused = host.device.reset_function().unwrap_err();
    assert!(matches!(refused, DeviceError::NoFunctionReset { .. }));
    host.must(Command::get_features(FeatureId::NUMBER_OF_QUEUES));
    assert_eq!(host.device.activity().faults.stuck_flrs, 1);
}
