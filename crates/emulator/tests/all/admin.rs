//! Identify, features, log pages and the rest of the admin commands.

use crate::common::{Host, bytes, options, ram, transfer};
use joulio_device::{Device, Doorbell};
use joulio_nvme_spec::feature::{ApstTable, FeatureId, NumberOfQueues};
use joulio_nvme_spec::identify::{ActiveNamespaces, Cns, IdentifyController, IdentifyNamespace};
use joulio_nvme_spec::log::{ErrorInformation, LogId, SmartHealth};
use joulio_nvme_spec::register::CC;
use joulio_nvme_spec::{AdminOpcode, Command, NamespaceId, NvmOpcode, Status, ascii};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

fn identify(host: &mut Host, cns: Cns, nsid: u32) -> Result<Vec<u8>, Status> {
    let buffer = host.buffer(4096);
    let mut command = Command::identify(cns, NamespaceId(nsid));
    command.prp1.set(buffer.iova().0);
    let status = host.admin(command).status();
    if status.is_success() {
        Ok(bytes(&buffer, 0, 4096))
    } else {
        Err(status)
    }
}

fn log(host: &mut Host, id: LogId, len: usize) -> Vec<u8> {
    let buffer = host.buffer(4096);
    let mut command = Command::get_log_page(id, NamespaceId::ALL, len);
    command.prp1.set(buffer.iova().0);
    host.must(command);
    bytes(&buffer, 0, len)
}

#[test]
fn the_controller_identifies_itself_by_its_profile() {
    let mut host = Host::stepped(&options());
    let page = identify(&mut host, Cns::CONTROLLER, 0).unwrap();
    let page = IdentifyController::read_from_bytes(&page).unwrap();
    assert_eq!(ascii(&page.mn), "joulio emulated instant");
    assert!(ascii(&page.sn).starts_with("JOULIO"));
    assert_eq!(page.mdts, 8);
    assert_eq!((page.sqes, page.cqes), (0x66, 0x44));
    assert_eq!(page.nn.get(), 1);
    assert!(page.subnqn.starts_with(b"nqn.2026-01.io.joulio:"));
    assert_eq!(page.oncs.get(), 0x8d);
    assert_eq!(page.oacs.get(), 0);
}

#[test]
fn the_serial_number_follows_the_seed_and_nothing_else() {
    let serial = |seed| {
        let mut options = options();
        options.seed = seed;
        let mut host = Host::stepped(&options);
        identify(&mut host, Cns::CONTROLLER, 0).unwrap()[4..24].to_vec()
    };
    assert_eq!(serial(1), serial(1));
    assert_ne!(serial(1), serial(2));
}

#[test]
fn power_states_are_those_of_the_profile() {
    let mut options = options();
    let mut doze = options.profile.power.states[0].clone();
    doze.operational = false;
    doze.max_power_watts.value = 0.005;
    doze.exit_latency_us.value = 1500.0;
    options.profile.power.states[0].max_power_watts.value = 25.0;
    options.profile.power.states.push(doze);
    let mut host = Host::stepped(&options);
    let page = identify(&mut host, Cns::CONTROLLER, 0).unwrap();
    let page = IdentifyController::read_from_bytes(&page).unwrap();
    assert_eq!(page.npss, 1);
    assert_eq!(page.psd[0].max_power_microwatts(), 25_000_000);
    assert_eq!(page.psd[1].max_power_microwatts(), 5_000);
    assert!(page.psd[1].power_state_flags().nops());
    assert_eq!(page.psd[1].exlat.get(), 1500);

    // I/O brings the controller back to the state that does I/O, after the exit latency.
    host.must(Command::set_features(FeatureId::POWER_MANAGEMENT, 1));
    let get = Command::get_features(FeatureId::POWER_MANAGEMENT);
    assert_eq!(host.must(get).dw0.get(), 1);
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4096);
    pair.submit(1, transfer(NvmOpcode::READ, 0, 1, &buffer));
    assert_eq!(host.step(0).next.unwrap().0, 1_500_000);
    assert_eq!(host.must(get).dw0.get(), 0);
}

#[test]
fn namespaces_are_listed_and_described() {
    let mut options = options();
    options.namespaces = vec![ram(512), ram(4096)];
    let mut host = Host::stepped(&options);
    for (nsid, lbads) in [(1, 9), (2, 12)] {
        let page = identify(&mut host, Cns::NAMESPACE, nsid).unwrap();
        let page = IdentifyNamespace::read_from_bytes(&page).unwrap();
        assert_eq!(page.format().lbads, lbads);
        assert_eq!(page.nsze.get(), crate::common::CAPACITY >> lbads);
        let page = identify(&mut host, Cns::NAMESPACE_DESCRIPTORS, nsid).unwrap();
        assert_eq!(page[..2], [3, 16]);
    }
    let list = |host: &mut Host, after| {
        let page = identify(host, Cns::ACTIVE_NAMESPACES, after)?;
        let page = ActiveNamespaces::read_from_bytes(&page).unwrap();
        Ok::<_, Status>(page.nsid.map(|nsid| nsid.get())[..3].to_vec())
    };
    assert_eq!(list(&mut host, 0).unwrap(), [1, 2, 0]);
    assert_eq!(list(&mut host, 1).unwrap(), [2, 0, 0]);
    assert_eq!(list(&mut host, 2).unwrap(), [0, 0, 0]);
    assert!(list(&mut host, u32::MAX).is_err());
}

#[test]
fn what_cannot_be_identified_is_refused() {
    let mut host = Host::stepped(&options());
    for (cns, nsid, status) in [
        (Cns::NAMESPACE, 0, Status::INVALID_NAMESPACE),
        (Cns::NAMESPACE, 2, Status::INVALID_NAMESPACE),
        (Cns::NAMESPACE, u32::MAX, Status::INVALID_NAMESPACE),
        (Cns::NAMESPACE_DESCRIPTORS, 2, Status::INVALID_NAMESPACE),
        (Cns(0x1c), 0, Status::INVALID_FIELD),
    ] {
        let refused = identify(&mut host, cns, nsid).unwrap_err();
        assert_eq!(refused, status.do_not_retry(), "{cns:?} {nsid}");
    }
}

#[test]
fn a_controller_with_all_command_sets_identifies_the_one_that_it_has() {
    let mut options = options();
    options.namespaces = vec![ram(512), ram(4096)];
    options.command_sets = true;
    let mut host = Host::stepped(&options);
    let page = identify(&mut host, Cns::COMMAND_SETS, 0).unwrap();
    assert!(page[0] == 1 && page[1..].iter().all(|&byte| byte == 0));
    let page = identify(&mut host, Cns::NAMESPACE_DESCRIPTORS, 2).unwrap();
    // A UUID, then CSI 0, then the end of the list.
    assert_eq!(
        (page[..2].to_vec(), page[20..26].to_vec()),
        (vec![3, 16], vec![4, 1, 0, 0, 0, 0])
    );
    let page = identify(&mut host, Cns::COMMAND_SET_NAMESPACE, 1).unwrap();
    assert!(page.iter().all(|&byte| byte == 0));
    let page = identify(&mut host, Cns::COMMAND_SET_ACTIVE_NAMESPACES, 1).unwrap();
    let list = ActiveNamespaces::read_from_bytes(&page).unwrap();
    assert_eq!(list.nsid.map(|nsid| nsid.get())[..2], [2, 0]);
    let refused = identify(&mut host, Cns::COMMAND_SET_NAMESPACE, 3).unwrap_err();
    assert_eq!(refused, Status::INVALID_NAMESPACE.do_not_retry());
    let buffer = host.buffer(4096);
    for cns in [
        Cns::COMMAND_SET_NAMESPACE,
        Cns::COMMAND_SET_CONTROLLER,
        Cns::COMMAND_SET_ACTIVE_NAMESPACES,
    ] {
        // The zoned command set.
        let mut command = Command::identify(cns, NamespaceId(1));
        command.cdw10[1].set(2 << 24);
        command.prp1.set(buffer.iova().0);
        let status = host.admin(command).status();
        assert_eq!(status, Status::INVALID_FIELD.do_not_retry(), "{cns:?}");
    }
}

#[test]
fn identify_data_may_cross_into_a_second_page() {
    let mut host = Host::stepped(&options());
    let buffer = host.buffer(3 * 4096);
    let mut command = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
    command.prp1.set(buffer.iova().0 + 0xf00);
    command.prp2.set(buffer.iova().0 + 0x2000);
    host.must(command);
    let mut page = bytes(&buffer, 0xf00, 0x100);
    page.extend(bytes(&buffer, 0x2000, 0xf00));
    assert_eq!(page, identify(&mut host, Cns::CONTROLLER, 0).unwrap());
}

#[test]
fn features_read_back_as_they_were_set() {
    let mut host = Host::stepped(&options());
    let _queue_of_vector_3 = host.pair(1, 8, Some(3));
    for (id, value) in [
        (FeatureId(0x01), 0x0102_0304),
        (FeatureId::INTERRUPT_COALESCING, 0x0203),
        (FeatureId::ASYNCHRONOUS_EVENT_CONFIGURATION, 0x1f),
        (FeatureId::INTERRUPT_VECTOR_CONFIGURATION, 0x1_0003),
    ] {
        host.must(Command::set_features(id, value));
        let mut get = Command::get_features(id);
        get.cdw10[1].set(value & 0xffff);
        assert_eq!(host.must(get).dw0.get(), value, "{id:?}");
    }
}

#[test]
fn temperatures_have_a_threshold_above_and_one_below() {
    const THRESHOLD: FeatureId = FeatureId(0x04);
    const UNDER: u32 = 1 << 20;
    let mut host = Host::stepped(&options());
    let get = |host: &mut Host, which: u32| {
        let mut get = Command::get_features(THRESHOLD);
        get.cdw10[1].set(which);
        host.must(get).dw0.get()
    };
    let warning = |host: &mut Host| log(host, LogId::SMART_HEALTH, 512)[0];
    let page = identify(&mut host, Cns::CONTROLLER, 0).unwrap();
    let page = IdentifyController::read_from_bytes(&page).unwrap();
    let (over, under) = (get(&mut host, 0), get(&mut host, UNDER));
    assert_eq!((over, under), (page.wctemp.get().into(), 0));
    assert_eq!(warning(&mut host), 0);
    host.must(Command::set_features(THRESHOLD, UNDER | 280));
    host.must(Command::set_features(THRESHOLD, 0xf << 16 | 290));
    assert_eq!((get(&mut host, 0), get(&mut host, UNDER)), (290, 280));
    assert_eq!(warning(&mut host), 1 << 1, "27 C are too warm now");
    // A sensor that is not there, and no kind of threshold.
    for which in [1 << 16, 2 << 20] {
        let refused = host.admin(Command::set_features(THRESHOLD, which | 300));
        assert_eq!(refused.status(), Status::INVALID_FIELD.do_not_retry());
    }
}

#[test]
fn features_refuse_what_is_not_there() {
    let mut host = Host::stepped(&options());
    let mut saved = Command::set_features(FeatureId::INTERRUPT_COALESCING, 0);
    saved.cdw10[0].set(saved.cdw10[0].get() | 1 << 31);
    for (command, status) in [
        (
            Command::set_features(FeatureId::POWER_MANAGEMENT, 1),
            Status::INVALID_FIELD,
        ),
        (
            Command::set_features(FeatureId::NUMBER_OF_QUEUES, 0xffff),
            Status::INVALID_FIELD,
        ),
        (
            Command::set_features(FeatureId::INTERRUPT_VECTOR_CONFIGURATION, 5000),
            Status::INVALID_FIELD,
        ),
        // A vector of no I/O completion queue (Base 5.27.1.7).
        (
            Command::set_features(FeatureId::INTERRUPT_VECTOR_CONFIGURATION, 3),
            Status::INVALID_FIELD,
        ),
        (
            Command::set_features(FeatureId(0x7f), 0),
            Status::INVALID_FIELD,
        ),
        (
            Command::get_features(FeatureId(0x7f)),
            Status::INVALID_FIELD,
        ),
        (saved, Status::from_field(0x10d)),
    ] {
        assert_eq!(host.admin(command).status(), status.do_not_retry());
    }
}

#[test]
fn as_many_queues_are_allocated_as_there_are() {
    let mut host = Host::stepped(&options());
    let request = |submission, completion| {
        let requested = NumberOfQueues::new()
            .with_submission(submission)
            .with_completion(completion);
        Command::set_features(FeatureId::NUMBER_OF_QUEUES, requested.into())
    };
    let granted = NumberOfQueues::from(host.must(request(1000, 2)).dw0.get());
    assert_eq!((granted.submission(), granted.completion()), (63, 2));
    let _pair = host.pair(1, 8, None);
    let late = host.admin(request(1, 1)).status();
    assert_eq!(late.kind(), Status::from_field(0x0c));
}

#[test]
fn the_transition_table_is_kept() {
    let mut host = Host::stepped(&options());
    let buffer = host.buffer(4096);
    let mut table = ApstTable::new_zeroed();
    table.entries[0].set(100 << 8);
    buffer.write(0, table.as_bytes());
    let mut set = Command::set_features(FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION, 1);
    set.prp1.set(buffer.iova().0);
    host.must(set);
    let mut get = Command::get_features(FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION);
    get.prp1.set(buffer.iova().0 + 1024);
    assert_eq!(host.must(get).dw0.get(), 1);
    assert_eq!(bytes(&buffer, 1024, 256), table.as_bytes());

    table.entries[3].set(7 << 3);
    buffer.write(0, table.as_bytes());
    assert_eq!(host.admin(set).status().kind(), Status::INVALID_FIELD);
}

#[test]
fn health_counts_what_was_done() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4096);
    for cid in 0..3 {
        pair.submit(cid, transfer(NvmOpcode::WRITE, 0, 8, &buffer));
        host.step(2 * 3_600_000_000_000);
    }
    pair.submit(9, transfer(NvmOpcode::READ, u64::MAX, 8, &buffer));
    host.step(0);
    let page = log(&mut host, LogId::SMART_HEALTH, 512);
    let page = SmartHealth::read_from_bytes(&page).unwrap();
    assert_eq!(page.host_write_commands.get(), 3);
    assert_eq!(page.data_units_written.get(), 1);
    assert_eq!(page.data_units_read.get(), 0);
    assert_eq!(page.power_on_hours.get(), 2);
    assert_eq!(page.composite_temperature.get(), 300);
    assert_eq!(page.error_log_entries.get(), 1);
}

#[test]
fn the_error_log_reports_failed_commands() {
    let mut host = Host::stepped(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(4096);
    pair.submit(5, transfer(NvmOpcode::READ, CAPACITY_BLOCKS, 1, &buffer));
    host.step(0);
    let page = log(&mut host, LogId::ERROR_INFORMATION, 128);
    let entry = ErrorInformation::read_from_bytes(&page[..64]).unwrap();
    assert_eq!(entry.error_count.get(), 1);
    assert_eq!((entry.sqid.get(), entry.cid.get()), (1, 5));
    assert_eq!(entry.lba.get(), CAPACITY_BLOCKS);
    let status = Status::from_field(entry.status.get() >> 1);
    assert_eq!(status.kind(), Status::LBA_OUT_OF_RANGE);
    assert!(page[64..].iter().all(|&byte| byte == 0));
}

#[test]
fn a_reset_empties_the_error_log_and_its_count_goes_on() {
    let mut host = Host::stepped(&options());
    let buffer = host.buffer(4096);
    let fail = |host: &mut Host| {
        let mut pair = host.pair(1, 8, None);
        pair.submit(5, transfer(NvmOpcode::READ, CAPACITY_BLOCKS, 1, &buffer));
        host.step(0);
        let page = log(host, LogId::ERROR_INFORMATION, 64);
        let entry = ErrorInformation::read_from_bytes(&page).unwrap();
        entry.error_count.get()
    };
    assert_eq!(fail(&mut host), 1);
    host.device.write32(CC, 0);
    host.enable();
    assert_eq!(log(&mut host, LogId::ERROR_INFORMATION, 64), [0; 64]);
    assert_eq!(fail(&mut host), 2);
    let page = log(&mut host, LogId::SMART_HEALTH, 512);
    let page = SmartHealth::read_from_bytes(&page).unwrap();
    assert_eq!(page.error_log_entries.get(), 2);
}

const CAPACITY_BLOCKS: u64 = crate::common::CAPACITY / 512;

#[test]
fn a_log_page_can_be_read_in_parts_and_no_further_than_its_end() {
    let mut host = Host::stepped(&options());
    let whole = log(&mut host, LogId::SMART_HEALTH, 512);
    let buffer = host.buffer(4096);
    let mut part = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, 4096);
    part.prp1.set(buffer.iova().0);
    part.cdw10[2].set(192);
    host.must(part);
    assert_eq!(bytes(&buffer, 0, 320), whole[192..]);
    for offset in [2, 512, u32::MAX] {
        part.cdw10[2].set(offset);
        assert_eq!(host.admin(part).status().kind(), Status::INVALID_FIELD);
    }
    let unknown = Command::get_log_page(LogId(0x70), NamespaceId::ALL, 512);
    assert_eq!(
        host.admin(unknown).status().kind(),
        Status::INVALID_LOG_PAGE
    );
}

#[test]
fn commands_that_destroy_data_do_not_exist() {
    let mut host = Host::stepped(&options());
    for opcode in [
        AdminOpcode::FORMAT_NVM,
        AdminOpcode::SANITIZE,
        AdminOpcode::DOORBELL_BUFFER_CONFIG,
        AdminOpcode(0xc0),
    ] {
        let status = host.admin(Command::admin(opcode)).status();
        assert_eq!(status, Status::INVALID_OPCODE.do_not_retry());
    }
}

#[test]
fn scatter_gather_lists_and_fused_commands_are_refused() {
    let mut host = Host::stepped(&options());
    for bits in [1 << 8, 1 << 14] {
        let mut command = Command::admin(AdminOpcode::ABORT);
        command.cdw0.set(command.cdw0.get() | bits);
        assert_eq!(host.admin(command).status().kind(), Status::INVALID_FIELD);
    }
}

#[test]
fn abort_says_that_it_did_not() {
    let mut host = Host::stepped(&options());
    let abort = host.must(Command::admin(AdminOpcode::ABORT));
    assert_eq!(abort.dw0.get() & 1, 1);
}

#[test]
fn an_invalid_doorbell_completes_an_event_request() {
    let mut host = Host::stepped(&options());
    let request = Command::admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST);
    for cid in 0..4 {
        host.admin.submit(cid, request);
        assert!(host.admin.reap().is_none());
    }
    host.admin.submit(4, request);
    let fifth = host.admin.reap().unwrap();
    assert_eq!(fifth.status().kind(), Status::ASYNC_EVENT_LIMIT);

    let pair = host.pair(1, 8, None);
    pair.tail.ring(8);
    host.step(0);
    let event = host.admin.reap().unwrap();
    assert_eq!((event.cid.get(), event.dw0.get()), (0, 0x0001_0100));

    // Until the log is read no other error is reported.
    pair.tail.ring(9);
    host.step(1);
    assert!(host.admin.reap().is_none());
    log(&mut host, LogId::ERROR_INFORMATION, 64);
    let unused = joulio_device::Device::doorbell(&host.device, 0x1000 + 8 * 5).unwrap();
    unused.ring(1);
    host.step(2);
    let event = host.admin.reap().unwrap();
    assert_eq!((event.cid.get(), event.dw0.get()), (1, 0x0001_0000));
    assert_eq!(host.device.activity().invalid_doorbells, 3);
}

#[test]
fn a_temperature_that_reaches_a_threshold_completes_an_event_request() {
    const REACHED: u32 = 0x0002_0101;
    let mut host = Host::stepped(&options());
    for cid in 0..4 {
        let request = Command::asynchronous_event_request();
        host.admin.submit(cid, request);
    }
    let event = |host: &mut Host, fid: u8, value: u32| {
        host.must(Command::set_features(FeatureId(fid), value));
        let event = host.admin.reap()?;
        Some((event.cid.get(), event.dw0.get()))
    };
    // The controller has 300 K. A host that did not ask for the warning is not told.
    assert_eq!(event(&mut host, 0x04, 290), None);
    assert_eq!(event(&mut host, 0x0b, 1 << 0), None);
    assert_eq!(event(&mut host, 0x04, 340), None);
    assert_eq!(event(&mut host, 0x0b, 1 << 1), None);
    assert_eq!(event(&mut host, 0x04, 290), Some((0, REACHED)));

    // Until the log is read no other is reported.
    assert_eq!(event(&mut host, 0x04, 340), None);
    assert_eq!(event(&mut host, 0x04, 290), None);
    let buffer = host.buffer(4096);
    let mut retain = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, 512);
    retain.prp1.set(buffer.iova().0);
    retain.cdw10[0].set(retain.cdw10[0].get() | 1 << 15);
    host.must(retain);
    assert_eq!(event(&mut host, 0x04, 340), None);
    assert_eq!(event(&mut host, 0x04, 290), None);
    assert_eq!(log(&mut host, LogId::SMART_HEALTH, 512)[0], 1 << 1);
    assert_eq!(event(&mut host, 0x04, 340), None);
    assert_eq!(event(&mut host, 0x04, 290), Some((1, REACHED)));

    // A warning that is there already is reported when its event is enabled.
    log(&mut host, LogId::SMART_HEALTH, 512);
    assert_eq!(event(&mut host, 0x0b, 0), None);
    assert_eq!(event(&mut host, 0x0b, 1 << 1), Some((2, REACHED)));
}
