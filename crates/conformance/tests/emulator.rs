//! The claims on the emulated controller in process, with blocks of 512 and 4096 bytes, at once
//! and at a device's pace.

use joulio_conformance::{Bench, claims};
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use std::sync::{Mutex, PoisonError};

fn bench(profile: &str, block: u32) -> Bench<EmulatedDevice> {
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
        ..ControllerOptions::default()
    };
    Bench::new(Controller::open(device, options).unwrap(), 1, 42).unwrap()
}

/// A device's thread and a spinning queue want a CPU each: one bench at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn all_hold(profile: &str, block: u32) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = bench(profile, block);
    for claim in claims() {
        match (claim.check)(&bench) {
            Ok(told) => println!("{}: {told}", claim.name),
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
