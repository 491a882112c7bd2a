//! The claims on the emulated controller in process, with blocks of 512 and 4096 bytes, without latency and with a
//! device's latencies.

use crate::{alone, ios};
use joulio_conformance::{Bench, claims, one_line};
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, StoreOptions};
use joulio_job::CompletionMode;
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{AnyPolicy, Hybrid};
use joulio_nvme::{Controller, ControllerOptions, PollGroup};
use joulio_units::Nanos;

fn bench(profile: &str, block: u32, sgls: bool) -> Bench<EmulatedDevice> {
    let mut options = Options::new(DeviceProfile::builtin(profile).unwrap());
    options.namespaces = vec![NamespaceOptions {
        store: StoreOptions::Ram {
            bytes: Some(64 << 20),
        },
        block: Some(block),
    }];
    let device = EmulatedDevice::spawn(&options).unwrap();
    let options = ControllerOptions {
        queues: 4,
        sgls,
        ..ControllerOptions::default()
    };
    let controller = Controller::open(device, options).unwrap();
    Bench::new(controller, 1, 42).unwrap().with_ios(ios())
}

fn all_hold(profile: &str, block: u32) {
    let _alone = alone();
    let bench = bench(profile, block, true);
    for claim in claims() {
        match (claim.check)(&bench) {
            Ok(report) => println!("{}: {report}", claim.name),
            Err(error) => panic!("{} on {profile}, {block} bytes: {error:#}", claim.name),
        }
    }
}

#[test]
fn every_claim_holds_on_an_instant_device() {
    all_hold("instant", 512);
}

#[test]
fn every_claim_holds_with_large_blocks() {
    all_hold("instant", 4096);
}

#[test]
fn every_claim_holds_at_a_devices_pace() {
    all_hold("optane-900p", 512);
}

#[test]
fn two_controllers_raise_one_line() {
    let _alone = alone();
    let (one, two) = (bench("instant", 512, true), bench("instant", 512, true));
    let report = one_line(&[&one, &two], 250).unwrap();
    assert_eq!(
        report,
        "1000 of 1000, 4 queues of 2 controllers on one line"
    );
}

/// A transfer of more than two pages has an SGL or a list of PRPs, as the driver is configured.
#[test]
fn contents_are_the_same_without_sgls() {
    let _alone = alone();
    let about_contents = [
        "polling_delivers_every_io_and_raises_no_interrupt",
        "the_largest_transfer_comes_back_whole",
        "what_is_written_through_comes_back",
        "compare_distinguishes_equal_from_changed",
    ];
    for block in [512, 4096] {
        let bench = bench("instant", block, false);
        let support = bench.controller.identity().sgl_support().support();
        assert_ne!(support, 0, "it would have had them");
        let mut claims = claims();
        claims.retain(|claim| about_contents.contains(&claim.name));
        assert_eq!(claims.len(), about_contents.len());
        for claim in claims {
            let report = (claim.check)(&bench);
            let report =
                report.unwrap_or_else(|error| panic!("{}, {block}: {error:#}", claim.name));
            println!("{} without SGLs: {report}", claim.name);
        }
    }
}

/// Policies that every machine can run are run; the others are named with the reason.
#[test]
fn no_policy_is_left_out_in_silence() {
    let _alone = alone();
    let bench = bench("instant", 512, true).with_ios(200);
    let mut claims = claims();
    claims.retain(|claim| claim.name.starts_with("every_policy"));
    let report = (claims[0].check)(&bench).unwrap();
    println!("{report}");
    let of = |mode: CompletionMode| {
        let mut parts = report.split("; ");
        parts.find(|part| part.starts_with(&format!("{mode} ")))
    };
    let modes = CompletionMode::ALL.into_iter();
    for mode in modes.filter(|mode| mode.policy().is_some()) {
        assert!(of(mode).is_some(), "{mode} is not in: {report}");
    }
    for mode in [
        CompletionMode::PollPause(8),
        CompletionMode::Ehp,
        CompletionMode::Adaptive,
    ] {
        assert!(of(mode).is_some_and(|part| part.ends_with(" blocks")));
    }
    let uintr = of(CompletionMode::Uintr);
    assert_eq!(
        uintr,
        Some("uintr left out: claims take no user interrupts")
    );
}

/// The claim permits more than the emulated controller does, which deallocates at once.
#[test]
fn nothing_is_not_there_and_blocks_given_up_read_as_zero() {
    let _alone = alone();
    let bench = bench("instant", 512, true);
    let optional = ["zeroes", "given_up", "ranges", "compare", "verify"];
    let mut claims = claims();
    claims.retain(|claim| optional.iter().any(|part| claim.name.contains(part)));
    assert_eq!(claims.len(), optional.len());
    let report = claims.iter().map(|claim| (claim.check)(&bench).unwrap());
    let report: Vec<String> = report.collect();
    assert!(
        report.iter().all(|report| report != "not there"),
        "{report:?}"
    );
    assert!(
        report.contains(&"8 of 8 blocks read as zero".into()),
        "{report:?}"
    );
}

/// The claim permits more than the emulated controller does: a store masks its vectors, and it clears the pending
/// bit of consumed completions.
#[test]
fn in_process_nothing_is_left_pending_behind_the_mask() {
    let _alone = alone();
    let bench = bench("optane-900p", 512, true);
    let mut claims = claims();
    claims.retain(|claim| claim.name.starts_with("what_a_core_finds"));
    let report = (claims[0].check)(&bench).unwrap();
    println!("{report}");
    assert!(report.starts_with("0 left pending"), "{report}");
}

#[test]
fn hybrid_sleeps_once_an_io_on_a_device_slower_than_the_sleep() {
    let _alone = alone();
    let mut profile = DeviceProfile::builtin("optane-900p").unwrap();
    for point in &mut profile.service.read {
        point.us.value = 100_000.0;
        point.us.band = None;
    }
    let device = EmulatedDevice::spawn(&Options::new(profile)).unwrap();
    let controller = Controller::open(device, ControllerOptions::default()).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let mut queue = controller.create_queue_pair(1).unwrap();
    let sleep = Hybrid::fixed(Nanos::from_millis(50));
    queue.set_policy(AnyPolicy::Hybrid(sleep)).unwrap();
    let mut group = PollGroup::new(vec![queue]);
    let mut buffer = controller.allocate_buffers(1, 4096).unwrap().pop();
    for tag in 0..20 {
        let taken = buffer.take().unwrap();
        group.queues()[0]
            .read(&namespace, tag, 8, taken, tag)
            .unwrap();
        group.queues()[0].ring();
        group.reap(1, None, |_, done| buffer = done.buffer).unwrap();
    }
    let counters = group.counters();
    assert_eq!((counters.sleeps, counters.blocks), (20, 0), "{counters:?}");
    assert_eq!(counters.interrupts, 0);
}
