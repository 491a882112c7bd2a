//! Faults of a command: it fails, is dropped, is late, or returns wrong data.

use super::back_ends::BackEnd;
use super::scenario::{Scenario, of_status};
use crate::on_back_ends;
use joulio_nvme::spec::Status;

on_back_ends! {
    failed_commands_fail_with_the_devices_status on in_process InProcess, over_a_socket Mapped;
    commands_that_may_be_retried_are_and_succeed on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    dropped_commands_are_aborted_once_each on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    late_commands_are_waited_for on in_process InProcess, over_a_socket Mapped;
    flipped_bits_are_seen_by_who_checks_and_by_nobody_else on in_process InProcess, over_a_socket Mapped;
    a_full_disk_fails_writes_and_reads_go_on on in_process InProcess, over_a_socket Mapped;
}

fn failed_commands_fail_with_the_devices_status<B: BackEnd>() {
    Scenario::of("status=2/81@0.02,seed=1").all::<B>(|_, endured, faulted| {
        assert_eq!(of_status(endured, Status::UNRECOVERED_READ), faulted.status);
        assert!(faulted.status > 0 && endured.failures() == faulted.status);
    });
}

fn commands_that_may_be_retried_are_and_succeed<B: BackEnd>() {
    let scenario = Scenario {
        retries: 5,
        ..Scenario::of("status=0/06@0.02,seed=2")
    };
    scenario.all::<B>(|_, endured, faulted| {
        assert_eq!((endured.failures(), endured.wrong_reads), (0, 0));
        assert_eq!(endured.faults.retries, faulted.status);
        assert!(faulted.status > 0);
    });
    let scenario = Scenario {
        retries: 5,
        ..Scenario::of("status=0/06/dnr@0.02,seed=2")
    };
    scenario.all::<B>(|_, endured, faulted| {
        assert_eq!(endured.failures(), faulted.status);
        assert_eq!(endured.faults.retries, 0);
    });
}

fn dropped_commands_are_aborted_once_each<B: BackEnd>() {
    Scenario::of("drop@#100,drop@#101,drop@#2000,seed=3").all::<B>(|_, endured, faulted| {
        assert_eq!(faulted.dropped, 3);
        assert_eq!(endured.faults.timeouts, 3);
        assert_eq!(of_status(endured, Status::ABORT_REQUESTED), 3);
        assert_eq!((endured.failures(), endured.faults.resets), (3, 0));
    });
}

fn late_commands_are_waited_for<B: BackEnd>() {
    Scenario::of("late=20ms@0.005,seed=4").all::<B>(|_, endured, faulted| {
        assert!(faulted.late > 0);
        assert_eq!((endured.failures(), endured.faults.timeouts), (0, 0));
    });
}

fn flipped_bits_are_seen_by_who_checks_and_by_nobody_else<B: BackEnd>() {
    Scenario::of("flip@0.02,seed=12").all::<B>(|_, endured, faulted| {
        assert!(faulted.flipped > 0);
        assert_eq!(endured.failures(), 0);
        // A block that was never written has no known content.
        assert!(endured.wrong_reads > 0 && endured.wrong_reads <= faulted.flipped);
    });
}

fn a_full_disk_fails_writes_and_reads_go_on<B: BackEnd>() {
    Scenario::of("full@#1000,seed=19").all::<B>(|_, endured, faulted| {
        let full = of_status(endured, Status::CAPACITY_EXCEEDED);
        assert_eq!((full, endured.failures()), (faulted.full, faulted.full));
        assert!(full > 0 && endured.wrong_reads == 0);
    });
}
