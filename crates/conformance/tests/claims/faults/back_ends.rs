//! The controller with faults, and the driver's path to it.

use joulio_device::Device;
use joulio_device::vfio_user::VfioUserDevice;
use joulio_emulator::serve::{DoorbellMode, Injector, ServeOptions, Server};
use joulio_emulator::{EmulatedDevice, Faulted, Options};
use std::os::fd::AsFd;
use std::thread::JoinHandle;

/// A controller, and the driver's path to it.
pub trait BackEnd: Sized {
    /// The driver's end of the path.
    type Device: Device;

    /// Creates a controller, and a path to it.
    fn start(options: &Options) -> (Self, Self::Device);

    /// Returns the numbers of faults committed so far.
    fn faulted(&self) -> Faulted;
}

/// A device in this process, with a thread of its own.
pub struct InProcess(EmulatedDevice);

impl BackEnd for InProcess {
    type Device = EmulatedDevice;

    fn start(options: &Options) -> (InProcess, EmulatedDevice) {
        let device = EmulatedDevice::spawn(options).unwrap();
        (InProcess(device.clone()), device)
    }

    fn faulted(&self) -> Faulted {
        self.0.activity().faults
    }
}

/// A device behind a vfio-user socket, whose doorbells are mapped into the driver.
pub struct Mapped(Served);

impl BackEnd for Mapped {
    type Device = VfioUserDevice;

    fn start(options: &Options) -> (Mapped, VfioUserDevice) {
        let (served, device) = Served::start(options, DoorbellMode::Mapped);
        (Mapped(served), device)
    }

    fn faulted(&self) -> Faulted {
        self.0.injector.faulted()
    }
}

/// A device behind a vfio-user socket, to which each ring of a doorbell is a message.
pub struct Trapped(Served);

impl BackEnd for Trapped {
    type Device = VfioUserDevice;

    fn start(options: &Options) -> (Trapped, VfioUserDevice) {
        let (served, device) = Served::start(options, DoorbellMode::Trapped);
        (Trapped(served), device)
    }

    fn faulted(&self) -> Faulted {
        self.0.injector.faulted()
    }
}

/// A server in a thread of its own. It must be dropped after its client.
struct Served {
    injector: Injector,
    stop: Option<std::io::PipeWriter>,
    thread: Option<JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

impl Served {
    fn start(options: &Options, doorbells: DoorbellMode) -> (Served, VfioUserDevice) {
        let serve = ServeOptions {
            doorbells,
            ..ServeOptions::default()
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nvme.sock");
        let mut server = Server::bind(&path, options, &serve).unwrap();
        let injector = server.injector();
        let (end, stop) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || server.run(end.as_fd()).unwrap());
        let served = Served {
            injector,
            stop: Some(stop),
            thread: Some(thread),
            _directory: directory,
        };
        (served, VfioUserDevice::connect(&path).unwrap())
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
