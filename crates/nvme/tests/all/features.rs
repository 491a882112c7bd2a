//! Features that were set are set again after a reset, or are reported as lost.

use crate::common::{Seen, Spy, instant, open_stepped_as};
use joulio_device::Device;
use joulio_emulator::{Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::spec::Status;
use joulio_nvme::spec::command::QueuePriority;
use joulio_nvme::spec::feature::{ApstTable, Arbitration, FeatureId, InterruptCoalescing};
use joulio_nvme::spec::register::{CC, Cc};
use joulio_nvme::wait::now;
use joulio_nvme::{Controller, ControllerOptions, PollGroup, PowerControl};
use joulio_units::Nanos;
use zerocopy::FromZeros;

const SET_FEATURES: u8 = 0x09;

/// Opens a controller with several power states.
fn open() -> (Controller<Spy>, Stepper, Seen) {
    let make = Options {
        profile: DeviceProfile::builtin("samsung-960-evo").unwrap(),
        ..instant()
    };
    open_stepped_as(&make, Seen::default(), ControllerOptions::default())
}

/// Sets a power state, a table of transitions, and coalescing.
fn set_some<D: Device>(controller: &Controller<D>) -> (Box<ApstTable>, InterruptCoalescing) {
    let mut table = Box::new(ApstTable::new_zeroed());
    // A transition to state 0 after 7 ms.
    table.entries[0] = (7u64 << 8).into();
    let coalescing = InterruptCoalescing::new().with_thr(3).with_time(2);
    controller.set_power_state(2).unwrap();
    controller.set_apst(true, &table).unwrap();
    controller.set_interrupt_coalescing(coalescing).unwrap();
    (table, coalescing)
}

#[test]
fn power_states_transitions_and_coalescing_outlive_a_reset() {
    let (controller, _stepper, _) = open();
    let (table, coalescing) = set_some(&controller);
    for _ in 0..2 {
        controller.reset().unwrap();
        assert_eq!(controller.power_state().unwrap(), 2);
        assert_eq!(controller.interrupt_coalescing().unwrap(), coalescing);
        let (enabled, found) = controller.apst().unwrap();
        assert!(enabled && found.entries == table.entries);
        assert_eq!(controller.lost_features(), [""; 0]);
    }
    // The values that are set last come back.
    let none = InterruptCoalescing::new();
    controller.set_interrupt_coalescing(none).unwrap();
    controller.reset().unwrap();
    assert_eq!(controller.interrupt_coalescing().unwrap(), none);
}

#[test]
fn what_is_of_a_vector_is_set_again_once_its_queue_is_there() {
    let (controller, stepper, seen) = open();
    let mut queues: Vec<_> = (0..2)
        .map(|_| controller.create_queue_pair(1).unwrap())
        .collect();
    let id = FeatureId::INTERRUPT_VECTOR_CONFIGURATION;
    for vector in [1, 2] {
        controller.set_feature(id, vector | 1 << 16).unwrap();
    }
    controller.reset().unwrap();
    assert_eq!(seen.feature_values(id.0), [0x1_0001, 0x1_0002]);
    // A queue notices the reset when it is used.
    let namespace = controller.namespace(1).unwrap();
    let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
    let mut group = PollGroup::new(vec![queues.remove(0)]);
    group.queues()[0].read(&namespace, 0, 1, buffer, 0).unwrap();
    group.queues()[0].ring();
    let (mut ended, mut at) = (0, Nanos::ZERO);
    while ended == 0 {
        at += Nanos::from_millis(100);
        stepper.step(at);
        let soon = now() + Nanos::from_millis(10);
        ended += group.reap(1, Some(soon), |_, _| {}).unwrap();
    }
    assert_eq!(seen.feature_values(id.0)[2..], [0x1_0001]);
    // So does a queue that takes the place of another.
    drop(queues);
    let _second = controller.create_queue_pair(1).unwrap();
    assert_eq!(seen.feature_values(id.0)[3..], [0x1_0002]);
    assert_eq!(controller.lost_features(), [""; 0]);
}

#[test]
fn what_cannot_be_set_again_is_said_to_be_gone_and_the_rest_is_not() {
    let (controller, _stepper, seen) = open();
    let (table, _) = set_some(&controller);
    seen.refuse_one(SET_FEATURES, 0x08, Status::INTERNAL_ERROR);
    controller.reset().unwrap();
    let lost = controller.lost_features();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(lost[0].contains("Interrupt Coalescing") && lost[0].contains("Internal Error"));
    let (enabled, found) = controller.apst().unwrap();
    assert!(enabled && found.entries == table.entries);
    // One report is enough.
    controller.reset().unwrap();
    assert_eq!(controller.lost_features(), lost);
    // It is reported until somebody sets it again.
    seen.refuse_nothing();
    let some = InterruptCoalescing::new().with_thr(1);
    controller.set_interrupt_coalescing(some).unwrap();
    assert_eq!(controller.lost_features(), [""; 0]);
}

#[test]
fn what_one_reset_took_and_the_next_gave_back_is_not_gone() {
    let (controller, _stepper, seen) = open();
    let (_, coalescing) = set_some(&controller);
    seen.refuse_one(SET_FEATURES, 0x08, Status::INTERNAL_ERROR);
    controller.reset().unwrap();
    assert_eq!(controller.lost_features().len(), 1);
    seen.refuse_nothing();
    controller.reset().unwrap();
    assert_eq!(controller.interrupt_coalescing().unwrap(), coalescing);
    assert_eq!(controller.lost_features(), [""; 0]);
}

#[test]
fn a_measurement_that_a_reset_ended_is_gone_and_one_that_had_ended_is_not() {
    let (controller, _stepper, _) = open();
    controller.start_power_measurement(0).unwrap();
    controller.stop_power_measurement().unwrap();
    controller.reset().unwrap();
    assert_eq!(controller.lost_features(), [""; 0]);
    controller.start_power_measurement(0).unwrap();
    controller.reset().unwrap();
    let lost = controller.lost_features();
    assert!(
        lost.len() == 1 && lost[0].contains("ended by a reset"),
        "{lost:?}"
    );
}

/// Opens a controller that has weighted round robin if `weighted`, with these weights requested.
fn open_with_weights(weighted: bool) -> (Controller<Spy>, Stepper, Seen) {
    let make = Options {
        weighted_round_robin: weighted,
        ..instant()
    };
    let weights = Arbitration::new().with_ab(7).with_hpw(7).with_mpw(3);
    let how = ControllerOptions {
        arbitration: Some(weights),
        ..ControllerOptions::default()
    };
    open_stepped_as(&make, Seen::default(), how)
}

#[test]
fn weights_are_set_where_the_controller_has_them_and_outlive_a_reset() {
    let (controller, _stepper, seen) = open_with_weights(true);
    assert!(controller.is_weighted());
    let set = 0x0703_0007;
    assert_eq!(seen.feature_values(FeatureId::ARBITRATION.0), [set]);
    let _queue = controller
        .create_queue_pair_of(QueuePriority::LOW, 4)
        .unwrap();
    controller.reset().unwrap();
    assert_eq!(controller.feature(FeatureId::ARBITRATION).unwrap(), set);
    assert_eq!(controller.lost_features(), [""; 0]);
    let ams = Cc::from(controller.device().read32(CC)).ams();
    assert_eq!(ams, Cc::WEIGHTED, "the reset has chosen it again");
}

#[test]
fn a_controller_without_weights_serves_queues_in_turn() {
    let (controller, _stepper, seen) = open_with_weights(false);
    assert!(!controller.is_weighted());
    assert_eq!(seen.feature_values(FeatureId::ARBITRATION.0), [0; 0]);
    assert_eq!(Cc::from(controller.device().read32(CC)).ams(), 0);
    let queue = controller.create_queue_pair_of(QueuePriority::URGENT, 4);
    assert!(queue.is_ok(), "a class of which nobody takes notice");
}

#[test]
fn each_temperature_threshold_outlives_a_reset() {
    let (controller, _stepper, seen) = open();
    let id = FeatureId(0x04);
    // Over, and under (THSEL), of the composite temperature.
    let thresholds = [0x150, 1 << 20 | 0x111];
    for value in thresholds {
        controller.set_feature(id, value).unwrap();
    }
    controller.reset().unwrap();
    assert_eq!(seen.feature_values(id.0)[2..], thresholds);
}
