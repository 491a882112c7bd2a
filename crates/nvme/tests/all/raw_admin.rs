//! Admin commands that the caller has built.

use crate::common::{Spy, open};
use joulio_nvme::spec::command::Cdw0;
use joulio_nvme::spec::feature::FeatureId;
use joulio_nvme::spec::identify::Cns;
use joulio_nvme::spec::log::LogId;
use joulio_nvme::spec::{AdminOpcode, Command, NamespaceId, QueueId};
use joulio_nvme::{AdminData, Controller, DmaBuffer, NvmeError, PowerControl, SubmitError};
use zerocopy::little_endian::{U32, U64};

fn refused(controller: &Controller<Spy>, command: Command, len: usize) -> SubmitError {
    let buffer = controller.allocate_buffers(1, len).unwrap().remove(0);
    let rejected = controller
        .submit_admin_with_data(command, buffer)
        .err()
        .unwrap();
    assert_eq!(rejected.buffer.map(|buffer| buffer.len()), Some(len));
    match rejected.reason {
        NvmeError::Submit(reason) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_buffer_has_what_the_command_returned_wherever_it_begins() {
    let (controller, _stepper, _) = open();
    let arena = controller.allocate_arena(1 << 16).unwrap();
    let identify = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
    // Aligned to a page; and within one, so that the data takes two.
    for offset in [0, 512] {
        let mut buffer = arena.take(8192).unwrap();
        let own = buffer.split_off(offset);
        let done = controller.submit_admin_with_data(identify, own).unwrap();
        assert!(done.status.is_success());
        let mut serial = [0; 20];
        done.buffer.unwrap().read(4, &mut serial);
        assert_eq!(serial, controller.identity().sn);
    }
}

#[test]
fn a_status_is_no_error_and_the_buffer_comes_back() {
    let (controller, _stepper, _) = open();
    let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
    let log = Command::get_log_page(LogId(0xc7), NamespaceId::ALL, 4096);
    let done = controller.submit_admin_with_data(log, buffer).unwrap();
    assert!(!done.status.is_success() && done.buffer.is_some());
    let feature = Command::get_features(FeatureId::POWER_MANAGEMENT);
    let done = controller.submit_admin(feature).unwrap();
    assert!(done.status.is_success() && done.buffer.is_none());
}

#[test]
fn a_feature_that_is_read_without_its_data_writes_nothing_of_anybody() {
    let (controller, _stepper, _) = open();
    // Its table is not written to address 0, where nothing is mapped.
    let apst = FeatureId::AUTONOMOUS_POWER_STATE_TRANSITION;
    controller.feature(apst).unwrap();
    let get = Command::get_features(apst);
    PowerControl::admin(&controller, "get", get, AdminData::None).unwrap();
    for feature in [0x0c, 0x81] {
        let set = Command::set_features(FeatureId(feature), 0);
        assert!(controller.submit_admin(set).is_err());
        assert!(controller.set_feature(FeatureId(feature), 0).is_err());
    }
}

#[test]
fn more_pages_than_a_log_has_leave_the_rest_of_the_buffer() {
    let (controller, _stepper, _) = open();
    let bytes = 5 * 4096;
    let mut buffer = controller.allocate_buffers(1, bytes).unwrap().remove(0);
    buffer.write(0, &vec![0xa5; bytes]);
    let log = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, bytes);
    let done = controller.submit_admin_with_data(log, buffer).unwrap();
    assert!(done.status.is_success(), "{}", done.status);
    let mut read = vec![1; bytes];
    done.buffer.unwrap().read(0, &mut read);
    assert!(read[..512].iter().any(|&byte| byte != 0xa5));
}

#[test]
fn what_would_break_the_driver_or_reach_past_the_buffer_is_refused() {
    let (controller, _stepper, _) = open();
    let identify = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
    let opcode = AdminOpcode::IDENTIFY.0;
    let dword0 = Cdw0::new().with_opc(opcode);
    for dword0 in [dword0.with_cid(3), dword0.with_psdt(1), dword0.with_fuse(1)] {
        let cdw0 = U32::new(dword0.into());
        let reason = refused(&controller, Command { cdw0, ..identify }, 4096);
        assert_eq!(reason, SubmitError::DriverFields { opcode });
    }
    let aimed = Command {
        prp1: U64::new(0x1000),
        ..identify
    };
    let reason = refused(&controller, aimed, 4096);
    assert_eq!(reason, SubmitError::DriverFields { opcode });
    // Nor through the functions for power states and features.
    let mut page = [0; 4096];
    let by_power = controller.admin("Identify", aimed, AdminData::In(&mut page));
    assert!(matches!(by_power, Err(NvmeError::Submit(_))));
    let short = refused(&controller, identify, 2048);
    assert_eq!(short, SubmitError::Buffer { bytes: 4096 });
    let unknown = refused(&controller, Command::admin(AdminOpcode(0x1d)), 4096);
    assert_eq!(unknown, SubmitError::UnknownLength { opcode: 0x1d });
    let max = controller.max_transfer();
    let long = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, max as usize + 4);
    let bytes = u64::from(max) + 4;
    assert_eq!(
        refused(&controller, long, 4096),
        SubmitError::Length { bytes, max }
    );
    let own = [
        Command::create_submission_queue(QueueId(5), 2, QueueId(5)),
        Command::create_completion_queue(QueueId(5), 2, None),
        Command::admin(AdminOpcode::SANITIZE),
        Command::admin(AdminOpcode::FORMAT_NVM),
        Command::admin(AdminOpcode::ABORT),
        Command::set_features(FeatureId::NUMBER_OF_QUEUES, 0),
        Command::set_features(FeatureId(0x0d), 1),
    ];
    for command in own {
        let refused = controller.submit_admin(command).err();
        let Some(NvmeError::Submit(SubmitError::DriverCommand { opcode, .. })) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(opcode, command.dword0().opc());
    }
    let data = controller.submit_admin(identify).err();
    assert!(matches!(
        data,
        Some(NvmeError::Submit(SubmitError::Data { moves: true, .. }))
    ));
    let (other, _stepper, _) = open();
    let foreign = other.allocate_buffers(1, 4096).unwrap().remove(0);
    let rejected = controller.submit_admin_with_data(identify, foreign).err();
    assert!(matches!(
        rejected.unwrap().reason,
        NvmeError::Submit(SubmitError::Foreign)
    ));
}

#[test]
fn a_vendors_command_has_the_length_that_its_caller_gives() {
    let (controller, _stepper, _) = open();
    let run = |opcode: u8, len: u32, buffer: DmaBuffer| {
        controller.submit_admin_vendor(Command::admin(AdminOpcode(opcode)), len, buffer)
    };
    let buffer = controller.allocate_buffers(1, 8192).unwrap().remove(0);
    let done = run(0xc1, 8192, buffer).unwrap();
    assert!(!done.status.is_success());
    assert_eq!((done.dw0, done.dw1), (0, 0));
    let mut buffer = done.buffer;
    let mut refusal = |opcode, len| {
        let rejected = run(opcode, len, buffer.take().unwrap()).err().unwrap();
        buffer = rejected.buffer;
        match rejected.reason {
            NvmeError::Submit(reason) => reason,
            other => panic!("{other}"),
        }
    };
    let max = controller.max_transfer();
    for opcode in [AdminOpcode::IDENTIFY.0, AdminOpcode::SECURITY_RECEIVE.0] {
        let first = 0xc0;
        let reason = refusal(opcode, 512);
        assert_eq!(reason, SubmitError::NotVendor { opcode, first });
    }
    let moves = false;
    let opcode = 0xc0;
    assert_eq!(refusal(opcode, 512), SubmitError::Data { opcode, moves });
    assert_eq!(refusal(0xc2, 2), SubmitError::Alignment);
    assert_eq!(refusal(0xc2, 8196), SubmitError::Buffer { bytes: 8196 });
    for len in [0, max + 4] {
        let bytes = len.into();
        assert_eq!(refusal(0xc2, len), SubmitError::Length { bytes, max });
    }
    let (other, _stepper, _) = open();
    let foreign = other.allocate_buffers(1, 512).unwrap().remove(0);
    let rejected = run(0xc2, 512, foreign).err().unwrap();
    let NvmeError::Submit(SubmitError::Foreign) = rejected.reason else {
        panic!("{rejected}");
    };
}

#[test]
fn what_does_not_fit_the_drivers_page_is_refused() {
    let (controller, _stepper, _) = open();
    let mut page = [0; 4096];
    let long = Command::get_log_page(LogId::SMART_HEALTH, NamespaceId::ALL, 8192);
    let refused = controller
        .admin("log", long, AdminData::In(&mut page))
        .err();
    let Some(NvmeError::Submit(SubmitError::Length { bytes: 8192, .. })) = refused else {
        panic!("{refused:?}");
    };
    let identify = Command::identify(Cns::CONTROLLER, NamespaceId::NONE);
    let refused = controller
        .admin("identify", identify, AdminData::None)
        .err();
    let Some(NvmeError::Submit(SubmitError::Data { moves: true, .. })) = refused else {
        panic!("{refused:?}");
    };
}

#[test]
fn features_that_are_the_drivers_are_set_by_no_function() {
    let (controller, _stepper, seen) = open();
    for fid in [
        FeatureId::NUMBER_OF_QUEUES,
        FeatureId(0x0f),
        FeatureId(0x19),
    ] {
        let sent = seen.feature_values(fid.0).len();
        let refused = controller.set_feature(fid, 1).err();
        let Some(NvmeError::Submit(SubmitError::DriverCommand { .. })) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(seen.feature_values(fid.0).len(), sent);
    }
}
