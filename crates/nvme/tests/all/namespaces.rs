//! Namespaces of controllers with a list of them, with a wrong list, and with none.

use crate::common::{Seen, Spy, instant, open_stepped, open_stepped_as};
use joulio_device::DmaDomain;
use joulio_emulator::{Fault, NamespaceOptions, Options, Stepper, StoreOptions};
use joulio_nvme::spec::Status;
use joulio_nvme::spec::register::Version;
use joulio_nvme::{Controller, ControllerOptions, NvmeError, SubmitError};

const IDENTIFY: u8 = 0x06;

/// Returns four namespaces of 1 MiB.
fn four(version: (u16, u8)) -> Options {
    let namespace = NamespaceOptions {
        store: StoreOptions::Ram {
            bytes: Some(1 << 20),
        },
        block: Some(512),
    };
    Options {
        namespaces: vec![namespace; 4],
        version: Version::new().with_major(version.0).with_minor(version.1),
        ..instant()
    }
}

fn open(options: &Options, seen: Seen) -> (Controller<Spy>, Stepper, Seen) {
    open_stepped_as(options, seen, ControllerOptions::default())
}

#[test]
fn a_controller_of_nvme_1_0_is_queried_one_by_one() {
    let (controller, stepper, _) = open(&four((1, 0)), Seen::default());
    assert_eq!(controller.active_namespaces().unwrap(), [1, 2, 3, 4]);
    assert_eq!(controller.namespace(3).unwrap().blocks(), 2048);
    // Identify returns zeroes for an inactive namespace.
    stepper.inject(Fault::NamespaceRemoved(2));
    assert_eq!(controller.active_namespaces().unwrap(), [1, 3, 4]);
    for nsid in [0, 2, 5] {
        match controller.namespace(nsid) {
            Err(NvmeError::NoNamespace { active, .. }) => assert_eq!(active, "1, 3, 4"),
            other => panic!("{nsid}: {other:?}"),
        }
    }
}

#[test]
fn a_later_controller_that_refuses_the_list_is_queried_one_by_one_too() {
    for status in [Status::INVALID_FIELD, Status::INVALID_NAMESPACE] {
        let (controller, _stepper, seen) = open(&four((1, 4)), Seen::default());
        seen.refuse_one(IDENTIFY, 2, status);
        assert_eq!(controller.active_namespaces().unwrap(), [1, 2, 3, 4]);
        assert_eq!(controller.namespace(4).unwrap().blocks(), 2048);
    }
}

#[test]
fn a_list_refused_for_another_reason_is_an_error() {
    let (controller, _stepper, seen) = open(&four((1, 4)), Seen::default());
    seen.refuse_one(IDENTIFY, 2, Status::INTERNAL_ERROR);
    let error = controller.active_namespaces().unwrap_err();
    assert!(matches!(error, NvmeError::Admin { .. }), "{error}");
}

#[test]
fn a_controller_that_claims_four_thousand_million_namespaces_is_queried_for_a_thousand() {
    let (controller, _stepper, seen) = open(&four((1, 0)), Seen::claiming(u32::MAX));
    let before = seen.rings();
    assert_eq!(controller.active_namespaces().unwrap(), [1, 2, 3, 4]);
    // Two doorbells per command: the submission queue's tail, and the head that frees its completion.
    assert_eq!(seen.rings() - before, 2 * 1024);
}

#[test]
fn a_list_that_is_out_of_order_or_repeats_itself_is_put_right() {
    let (controller, _stepper, seen) = open(&four((1, 4)), Seen::default());
    seen.list_namespaces(&[3, 1, 3, u32::MAX, 1, 0xffff_fffe, 2]);
    assert_eq!(controller.active_namespaces().unwrap(), [1, 2, 3]);
    seen.list_namespaces(&[7; 1024]);
    assert_eq!(controller.active_namespaces().unwrap(), [7]);
}

#[test]
fn a_namespace_of_another_controller_of_the_group_is_refused() {
    let group = DmaDomain::unique();
    let open = || open_stepped(Seen::of_group(group), ControllerOptions::default());
    let ((own, _stepper, _), (other, _other_stepper, _)) = (open(), open());
    let theirs = other.namespace(1).unwrap();
    let mut queue = own.create_queue_pair(1).unwrap();
    let buffer = own.allocate_buffers(1, 4096).unwrap().remove(0);
    let rejected = queue.read(&theirs, 0, 8, buffer, 0).unwrap_err();
    assert_eq!(rejected.reason, SubmitError::Foreign);
    assert_eq!(queue.serve(&theirs), Err(SubmitError::Foreign));
    assert_eq!(queue.flush(&theirs, 0), Err(SubmitError::Foreign));
}
