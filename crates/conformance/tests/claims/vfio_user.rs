//! The claims through a vfio-user socket: joulio's client and joulio's server, in this process, with blocks of 512
//! and 4096 bytes, with mapped doorbells and with doorbells that are messages.

use crate::{alone, ios};
use joulio_conformance::{Bench, claims};
use joulio_device::vfio_user::VfioUserDevice;
use joulio_emulator::serve::{DoorbellMode, ServeOptions, Server};
use joulio_emulator::{NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::thread::JoinHandle;

/// A server in a thread of its own, with its socket.
struct Served {
    path: PathBuf,
    stop: Option<std::io::PipeWriter>,
    thread: Option<JoinHandle<()>>,
    _directory: tempfile::TempDir,
    /// Lock for one bench at a time: a device's thread and a spinning queue need a CPU each.
    _alone: MutexGuard<'static, ()>,
}

impl Served {
    fn start(profile: &str, block: u32, doorbells: DoorbellMode) -> Served {
        let alone = alone();
        let mut options = Options::new(DeviceProfile::builtin(profile).unwrap());
        options.namespaces = vec![NamespaceOptions {
            store: StoreOptions::Ram {
                bytes: Some(64 << 20),
            },
            block: Some(block),
        }];
        let serve = ServeOptions {
            doorbells,
            ..ServeOptions::default()
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nvme.sock");
        let mut server = Server::bind(&path, &options, &serve).unwrap();
        let (end, stop) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || server.run(end.as_fd()).unwrap());
        Served {
            path,
            stop: Some(stop),
            thread: Some(thread),
            _directory: directory,
            _alone: alone,
        }
    }

    fn bench(&self) -> Bench<VfioUserDevice> {
        let device = VfioUserDevice::connect(&self.path).unwrap();
        let options = ControllerOptions {
            queues: 4,
            ..ControllerOptions::default()
        };
        let controller = Controller::open(device, options).unwrap();
        Bench::new(controller, 1, 42).unwrap().with_ios(ios())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // When the other end of a pipe is closed, the pipe becomes readable.
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn all_hold(profile: &str, block: u32, doorbells: DoorbellMode) {
    let served = Served::start(profile, block, doorbells);
    let bench = served.bench();
    for claim in claims() {
        match (claim.check)(&bench) {
            Ok(report) => println!("{}: {report}", claim.name),
            Err(error) => panic!(
                "{} on {profile}, {block} bytes, {doorbells:?}: {error:#}",
                claim.name
            ),
        }
    }
}

#[test]
fn every_claim_holds_with_mapped_doorbells() {
    all_hold("instant", 512, DoorbellMode::Mapped);
}

#[test]
fn every_claim_holds_with_mapped_doorbells_and_large_blocks() {
    all_hold("instant", 4096, DoorbellMode::Mapped);
}

#[test]
fn every_claim_holds_with_trapped_doorbells() {
    all_hold("instant", 512, DoorbellMode::Trapped);
}

#[test]
fn every_claim_holds_with_trapped_doorbells_and_large_blocks() {
    all_hold("instant", 4096, DoorbellMode::Trapped);
}

#[test]
fn every_claim_holds_at_a_devices_pace() {
    all_hold("optane-900p", 512, DoorbellMode::Mapped);
}

#[test]
fn a_second_client_is_refused_while_there_is_a_first_and_comes_in_after_it() {
    let served = Served::start("instant", 512, DoorbellMode::Mapped);
    let first = VfioUserDevice::connect(&served.path).unwrap();
    let error = VfioUserDevice::connect(&served.path).err().unwrap();
    assert!(error.to_string().contains("another client"), "{error}");
    drop(first);
    served.bench();
}
