//! Faults of the controller itself: those that a reset ends, and permanent ones.

use super::back_ends::BackEnd;
use super::scenario::{Scenario, ios, of_status};
use crate::alone;
use crate::on_back_ends;
use joulio_conformance::Modes;
use joulio_job::CompletionMode;
use joulio_nvme::NvmeError;
use joulio_nvme::spec::Status;

on_back_ends! {
    a_failed_controller_is_reset_and_io_goes_on on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    with_retries_a_reset_costs_no_command on in_process InProcess, over_a_socket Mapped;
    a_stuck_admin_queue_ends_in_a_reset_and_io_goes_on on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    a_removed_device_ends_every_command_with_its_buffer on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    a_device_that_never_lets_go_keeps_the_buffers_and_nothing_else on in_process InProcess, over_a_socket Mapped;
    a_reset_that_the_controller_does_not_notice_is_done_by_the_function on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    a_namespace_that_vanishes_fails_its_io_and_is_reported on in_process InProcess, over_a_socket Mapped;
}

fn a_failed_controller_is_reset_and_io_goes_on<B: BackEnd>() {
    Scenario::of("cfs@#500,cfs@#1500,cfs@#1501,seed=13").all::<B>(|_, endured, faulted| {
        assert!(faulted.cfs >= 2, "{faulted:?}");
        assert_eq!(endured.faults.resets, faulted.cfs);
        let ended = of_status(endured, Status::ABORTED_BY_HOST);
        assert_eq!(
            (ended, endured.failures()),
            (endured.faults.ended_by_reset, ended)
        );
        assert!(ended > 0 && endured.wrong_reads == 0);
    });
}

fn with_retries_a_reset_costs_no_command<B: BackEnd>() {
    let scenario = Scenario {
        retries: 3,
        ..Scenario::of("cfs@#500,cfs@#1500,seed=14")
    };
    scenario.all::<B>(|_, endured, faulted| {
        assert_eq!((faulted.cfs, endured.faults.resets), (2, 2));
        assert_eq!((endured.failures(), endured.wrong_reads), (0, 0));
        assert!(endured.faults.retries > 0);
    });
}

fn a_stuck_admin_queue_ends_in_a_reset_and_io_goes_on<B: BackEnd>() {
    // The Abort of the dropped command finds the admin queue stuck.
    Scenario::of("admin-stuck@#900,drop@#1000,seed=15").all::<B>(|_, endured, faulted| {
        assert_eq!(faulted.dropped, 1);
        assert_eq!((endured.faults.timeouts, endured.faults.resets), (1, 1));
        assert_eq!(endured.failures(), endured.faults.ended_by_reset);
    });
}

fn a_removed_device_ends_every_command_with_its_buffer<B: BackEnd>() {
    Scenario::of("removed@#1000,seed=16").all::<B>(|_, endured, _| {
        assert!(matches!(endured.ended, Some(NvmeError::Removed { .. })));
        assert_eq!(endured.kept, 0);
        assert!(endured.faults.ended_by_reset > 0);
    });
}

fn a_device_that_never_lets_go_keeps_the_buffers_and_nothing_else<B: BackEnd>() {
    let _alone = alone();
    // One completion mode is enough, since giving up takes CAP.TO.
    let (endured, faulted) = Scenario::of("stuck-reset@#900,stuck-flr@#900,cfs@#1000,seed=17")
        .run_all::<B>(CompletionMode::Interrupt.into());
    assert!(faulted.stuck_resets > 0);
    let ended = endured.ended.expect("there is no controller any more");
    assert!(matches!(ended, NvmeError::ResetFailed { .. }), "{ended}");
    assert_eq!(endured.kept, endured.faults.ended_by_reset);
    assert!(endured.kept > 0);
}

fn a_reset_that_the_controller_does_not_notice_is_done_by_the_function<B: BackEnd>() {
    let _alone = alone();
    // Again only one completion mode, since the function is reset after CAP.TO. Interrupts, which must arrive again
    // after the reset.
    let (endured, faulted) = Scenario::of("stuck-reset@#900,cfs@#1000,seed=19")
        .run_all::<B>(CompletionMode::Interrupt.into());
    assert_eq!((faulted.stuck_resets, faulted.cfs), (1, 1));
    assert!(endured.ended.is_none(), "{endured:?}");
    assert_eq!((endured.faults.resets, endured.kept), (1, 0));
    assert_eq!(endured.failures(), endured.faults.ended_by_reset);
}

fn a_namespace_that_vanishes_fails_its_io_and_is_reported<B: BackEnd>() {
    let _alone = alone();
    for modes in Modes::EVERY_STEP {
        let scenario = Scenario::of("namespace-removed@#1000,seed=18");
        let (_back_end, bench) = scenario.start::<B>();
        let endured = scenario.run(&bench, modes, ios());
        let gone = of_status(&endured, Status::INVALID_NAMESPACE);
        assert!(gone > 0 && gone == endured.failures(), "{endured:?}");
        let events = bench.controller.events().unwrap();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(bench.controller.active_namespaces().unwrap(), [0u32; 0]);
        assert!(matches!(
            bench.controller.namespace(1),
            Err(NvmeError::NoNamespace { .. })
        ));
    }
}
