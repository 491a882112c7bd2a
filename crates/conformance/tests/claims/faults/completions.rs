//! Faults of a completion, and of its interrupt.

use super::back_ends::BackEnd;
use super::scenario::Scenario;
use crate::alone;
use crate::on_back_ends;
use joulio_conformance::{Bench, Modes, endure};
use joulio_emulator::{Options, StoreOptions};
use joulio_job::CompletionMode;
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};

on_back_ends! {
    completions_that_belong_to_no_command_are_counted_and_never_delivered on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    completions_out_of_order_find_their_commands on in_process InProcess, over_a_socket Mapped;
    lost_interrupts_are_found_and_the_mode_is_kept on in_process InProcess, over_a_socket Mapped;
    a_lost_interrupt_at_depth_one_is_counted on in_process InProcess, over_a_socket Mapped, by_messages Trapped;
    spurious_interrupts_wake_at_most_and_deliver_nothing on in_process InProcess, over_a_socket Mapped;
}

fn never_blocks(modes: Modes) -> bool {
    matches!(
        modes,
        Modes::One(CompletionMode::Poll | CompletionMode::HybridFixed(_))
    )
}

fn completions_that_belong_to_no_command_are_counted_and_never_delivered<B: BackEnd>() {
    for plan in [
        "double@0.02,seed=5",
        "stale@0.02,seed=6",
        "unknown@0.02,seed=7",
        "double@0.01,stale@0.01,unknown@0.01,reorder@0.02,seed=8",
    ] {
        Scenario::of(plan).all::<B>(|modes, endured, faulted| {
            let bad = endured.faults.stale + endured.faults.doubled + endured.faults.unknown;
            let posted = faulted.doubled + faulted.stale + faulted.unknown;
            assert_eq!(bad, posted, "{plan} under {modes:?}");
            assert!(posted > 0 && endured.reported == bad);
            assert_eq!((endured.failures(), endured.wrong_reads), (0, 0));
        });
    }
}

fn completions_out_of_order_find_their_commands<B: BackEnd>() {
    Scenario::of("reorder@0.1,seed=9").all::<B>(|_, endured, faulted| {
        assert!(faulted.reordered > 0);
        assert_eq!((endured.failures(), endured.wrong_reads), (0, 0));
        assert_eq!(endured.faults, Default::default());
    });
}

/// Tests the back ends without messages: a message for each doorbell gives the device time to complete everything
/// by the first poll, so that no queue waits for an interrupt.
fn lost_interrupts_are_found_and_the_mode_is_kept<B: BackEnd>() {
    Scenario::of("lost-irq@0.01,seed=10").all::<B>(|modes, endured, faulted| {
        assert_eq!(endured.failures(), 0);
        assert_eq!(endured.faults, Default::default());
        // At this depth the interrupt of another completion often replaces the lost one.
        let max = match never_blocks(modes) {
            true => 0,
            false => faulted.lost_irqs,
        };
        assert!(endured.counters.lost_interrupts <= max);
        if modes == Modes::One(CompletionMode::Interrupt) {
            assert!(endured.counters.interrupts > 0 && endured.counters.blocks > 0);
        }
    });
}

fn a_lost_interrupt_at_depth_one_is_counted<B: BackEnd>() {
    let _alone = alone();
    // So slow that the core waits for each I/O, and for every tenth without an interrupt.
    let mut profile = DeviceProfile::builtin("optane-900p").unwrap();
    for point in &mut profile.service.read {
        point.us.value = 5_000.0;
        point.us.band = None;
    }
    profile.service.write = profile.service.read.clone();
    let mut options = Options::new(profile);
    options.faults = "lost-irq@#5,lost-irq@#20,lost-irq@#21".parse().unwrap();
    options.namespaces[0].store = StoreOptions::Ram {
        bytes: Some(16 << 20),
    };
    let (_back_end, device) = B::start(&options);
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    let bench = Bench::new(controller, 1, 42).unwrap();
    let endured = endure(&bench, CompletionMode::Interrupt.into(), 1, 40).unwrap();
    assert_eq!(endured.counters.lost_interrupts, 3, "{endured:?}");
    assert_eq!(endured.failures(), 0);
    assert!(
        endured.counters.wakes >= 30,
        "the mode was kept: {endured:?}"
    );
}

fn spurious_interrupts_wake_at_most_and_deliver_nothing<B: BackEnd>() {
    Scenario::of("spurious-irq@0.05,seed=11").all::<B>(|modes, endured, faulted| {
        assert!(faulted.spurious_irqs > 0);
        assert_eq!((endured.failures(), endured.wrong_reads), (0, 0));
        assert_eq!(endured.faults, Default::default());
        if never_blocks(modes) {
            assert_eq!(endured.counters.interrupts, 0);
        }
    });
}
