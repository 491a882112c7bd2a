//! Memory that is lent to a controller without memory of its own.

use crate::common::{Seen, Spy, instant, open_stepped_as};
use joulio_emulator::{HostMemoryDemand, Options, Stepper};
use joulio_nvme::spec::Status;
use joulio_nvme::spec::feature::FeatureId;
use joulio_nvme::{Controller, ControllerOptions, HostMemory, PollGroup};
use joulio_units::Nanos;

const SET_FEATURES: u8 = 0x09;
const FID: u8 = FeatureId::HOST_MEMORY_BUFFER.0;
const MIB: u64 = 1 << 20;

/// Opens a controller that prefers 1 MiB, and needs at least a quarter of it, on a host that lends up to `max`
/// bytes.
fn open(max: u64, seen: Seen) -> (Controller<Spy>, Stepper, Seen) {
    open_preferring(MIB, max, seen)
}

/// Opens a controller that prefers `preferred` bytes, and needs at least 256 KiB, on a host that lends up to `max`
/// bytes.
fn open_preferring(preferred: u64, max: u64, seen: Seen) -> (Controller<Spy>, Stepper, Seen) {
    let make = Options {
        host_memory: Some(HostMemoryDemand {
            preferred,
            minimum: MIB / 4,
        }),
        ..instant()
    };
    let how = ControllerOptions {
        host_memory_max: max,
        ..ControllerOptions::default()
    };
    open_stepped_as(&make, seen, how)
}

/// Reads one block through a new queue pair.
fn read_one(controller: &Controller<Spy>, stepper: &Stepper) {
    let queue = controller.create_queue_pair(1).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let buffer = controller.allocate_buffers(1, 4096).unwrap().remove(0);
    let mut group = PollGroup::new(vec![queue]);
    group.queues()[0].read(&namespace, 0, 1, buffer, 0).unwrap();
    group.queues()[0].ring();
    stepper.step(Nanos::from_millis(1));
    let reaped = group.reap(1, None, |_, completed| {
        assert!(completed.status.is_success())
    });
    assert_eq!(reaped.unwrap(), 1);
}

#[test]
fn what_it_prefers_is_lent_and_used() {
    let (controller, stepper, _) = open(128 * MIB, Seen::default());
    assert_eq!(controller.host_memory(), HostMemory::Lent(MIB));
    read_one(&controller, &stepper);
    read_one(&controller, &stepper);
    let activity = controller.device().emulated().activity();
    let counts = (activity.host_memory_hits, activity.host_memory_misses);
    assert_eq!(counts, (1, 1));
}

#[test]
fn the_limit_holds_and_too_little_is_none_with_a_reason() {
    let (controller, ..) = open(MIB / 2, Seen::default());
    assert_eq!(controller.host_memory(), HostMemory::Lent(MIB / 2));
    let (controller, stepper, _) = open(MIB / 8, Seen::default());
    let HostMemory::Missing(why) = controller.host_memory() else {
        panic!("{:?}", controller.host_memory());
    };
    assert!(why.contains("262144") && why.contains("131072"), "{why}");
    read_one(&controller, &stepper);
    let (controller, _, seen) = open(0, Seen::default());
    assert_eq!(controller.host_memory(), HostMemory::None);
    assert_eq!(seen.feature_values(FID), [0; 0]);
}

#[test]
fn without_an_iommu_it_is_lent_in_the_pieces_that_there_are() {
    for piece in [256 << 10, 16 << 10] {
        let (controller, stepper, seen) = open(128 * MIB, Seen::without_iommu(piece));
        assert_eq!(controller.host_memory(), HostMemory::Lent(MIB));
        let mapped = seen.mapped();
        assert!(mapped.len() > MIB as usize / piece);
        read_one(&controller, &stepper);
        controller.reset().unwrap();
        assert!(seen.mapped().is_superset(&mapped));
        read_one(&controller, &stepper);
        let activity = controller.device().emulated().activity();
        let counts = (activity.host_memory_hits, activity.host_memory_misses);
        assert_eq!(counts, (1, 1));
        drop(controller);
        assert!(seen.mapped().is_empty());
    }
}

#[test]
fn no_more_ranges_are_lent_than_the_controller_takes() {
    // HMMAXD is 64: of 2 MiB in pieces of 16 KiB there would be 128.
    let seen = Seen::without_iommu(16 << 10);
    let (controller, stepper, _) = open_preferring(2 * MIB, 128 * MIB, seen);
    assert_eq!(controller.host_memory(), HostMemory::Lent(MIB));
    read_one(&controller, &stepper);
}

#[test]
fn a_controller_that_wants_none_is_not_asked() {
    let how = ControllerOptions::default();
    let (controller, _, seen) = open_stepped_as(&instant(), Seen::default(), how);
    assert_eq!(controller.host_memory(), HostMemory::None);
    assert_eq!(seen.feature_values(FID), [0; 0]);
}

#[test]
fn the_same_memory_is_returned_after_a_reset() {
    let (controller, stepper, seen) = open(MIB, Seen::default());
    read_one(&controller, &stepper);
    let mapped = seen.mapped();
    controller.reset().unwrap();
    assert_eq!(seen.mapped(), mapped);
    // First EHM, then EHM and MR.
    assert_eq!(seen.feature_values(FID), [1, 3]);
    read_one(&controller, &stepper);
    let activity = controller.device().emulated().activity();
    let counts = (activity.host_memory_hits, activity.host_memory_misses);
    assert_eq!(counts, (1, 1), "the map was still there");
}

#[test]
fn what_is_refused_is_said_and_the_controller_works_without() {
    let seen = Seen::default();
    seen.refuse_one(SET_FEATURES, FID, Status::INTERNAL_ERROR);
    let (controller, stepper, seen) = open(MIB, seen);
    let HostMemory::Missing(why) = controller.host_memory() else {
        panic!("{:?}", controller.host_memory());
    };
    assert!(why.contains("Internal Error"), "{why}");
    // Memory that was never lent is not lent after a reset.
    controller.reset().unwrap();
    assert_eq!(seen.feature_values(FID), [1]);
    read_one(&controller, &stepper);
}

#[test]
fn what_a_reset_took_is_said_until_another_gives_it_back() {
    let (controller, _stepper, seen) = open(MIB, Seen::default());
    seen.refuse_one(SET_FEATURES, FID, Status::INTERNAL_ERROR);
    controller.reset().unwrap();
    assert_eq!(controller.lost_features().len(), 1);
    assert!(matches!(controller.host_memory(), HostMemory::Missing(_)));
    seen.refuse_nothing();
    controller.reset().unwrap();
    assert_eq!(controller.host_memory(), HostMemory::Lent(MIB));
    assert_eq!(controller.lost_features(), [""; 0]);
}

#[test]
fn memory_is_unmapped_when_the_controller_has_let_go_of_it() {
    let (controller, _stepper, seen) = open(MIB, Seen::default());
    assert!(!seen.mapped().is_empty());
    drop(controller);
    assert!(seen.mapped().is_empty());
}
