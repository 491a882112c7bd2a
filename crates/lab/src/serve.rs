//! Emulated controllers served at a vfio-user socket.

use crate::device_name::{DeviceKind, DeviceName};
use crate::emulated::Emulated;
use crate::error::OpenError;
use joulio_emulator::serve::{DoorbellMode, ServeError, ServeOptions, Server};
use joulio_emulator::{FaultPlan, Options, SyncFailed};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{OpenOptions, remove_file, symlink_metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf, absolute};
use std::thread::available_parallelism;

/// Reason why a controller cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// The device is not emulated.
    #[error("'{0}': only an emulated device can be served")]
    NotEmulated(String),
    /// Interrupts by joulio_uintr, which go to threads of this process.
    #[error(
        "interrupts=joulio_uintr: the client of a served controller takes its interrupts: leave this out"
    )]
    OwnInterrupts,
    /// The device's profile, size or file cannot be used.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The controller or the socket cannot be created.
    #[error(transparent)]
    Server(#[from] ServeError),
}

/// Options of a served controller.
#[derive(Clone, Debug)]
pub struct ServedOptions {
    /// Device to serve, which is emulated.
    pub device: DeviceName,
    /// Socket to listen at.
    pub socket: PathBuf,
    /// Number of I/O queue pairs; `None`: the profile's.
    pub queues: Option<u16>,
    /// CPU of the thread that executes I/O; `None`: any.
    pub cpu: Option<usize>,
    /// Faults that the controller injects.
    pub faults: FaultPlan,
    /// Called once when a sync of the device's file has failed.
    pub sync_failed: SyncFailed,
    /// Doorbells, permissions and limits of the server.
    pub serve: ServeOptions,
}

/// A controller with valid options.
#[derive(Debug)]
pub struct Served {
    emulated: Emulated,
    socket: PathBuf,
    options: Options,
    serve: ServeOptions,
}

impl ServedOptions {
    /// Checks the device; nothing is created before [`Served::bind`].
    ///
    /// # Errors
    /// The device is not emulated, or its parameters are not valid.
    pub fn check(&self) -> Result<Served, ServedError> {
        let DeviceKind::Emulated(emulated) = &self.device.kind else {
            return Err(ServedError::NotEmulated(self.device.text.clone()));
        };
        let mut options = emulated.options(&self.device.text, seed(&self.socket))?;
        if options.real_interrupts {
            return Err(ServedError::OwnInterrupts);
        }
        options.cpus = self.cpu.into_iter().collect();
        options.faults = self.faults.clone();
        options.sync_failed = self.sync_failed;
        if let Some(queues) = self.queues {
            options.queue_pairs = queues;
            options.vectors = queues + 1;
        }
        Ok(Served {
            emulated: emulated.clone(),
            socket: self.socket.clone(),
            options,
            serve: self.serve,
        })
    }
}

impl Served {
    /// Creates the controller and its socket. If that fails, a file that it created is removed again.
    ///
    /// # Errors
    /// A loop device uses the file, or the controller or the socket cannot be created.
    pub fn bind(&self) -> Result<Server, ServedError> {
        if self.emulated.read_only_file().is_none() {
            self.emulated.check_loops()?;
        }
        let missing = self.emulated.missing_file();
        let server = Server::bind(&self.socket, &self.options, &self.serve);
        if let (Err(_), Some(path)) = (&server, missing) {
            remove_made(&path);
        }
        Ok(server?)
    }
}

/// Removes the file `path`, which did not exist before a call that failed. A dangling symbolic link stays, and so does
/// a file that another process has created since then and uses.
fn remove_made(path: &Path) {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags.bits() as i32);
    let Ok(file) = opened.open(path) else {
        return;
    };
    let is_free = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    if file.metadata().is_ok_and(|found| found.is_file()) && is_free() {
        let _ = remove_file(path);
    }
}

/// Returns the doorbell mode with the lowest latency on this machine: mapped if there are two CPUs or more, so that the
/// thread that polls doorbells does not take CPU time from the host.
pub fn usual_doorbells() -> DoorbellMode {
    match available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        true => DoorbellMode::Mapped,
        false => DoorbellMode::Trapped,
    }
}

/// Returns the seed of the controller at `socket`. Two controllers on one host must not have the same serial number, so
/// it is derived from the socket's path, which is unique, with FNV-1a, which gives the same number every time.
fn seed(socket: &Path) -> u64 {
    let path = absolute(socket).unwrap_or_else(|_| socket.into());
    let bytes = path.as_os_str().as_bytes();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns a function that removes the file `socket`, unless another program has replaced it.
pub fn socket_remover(socket: &Path) -> impl FnOnce() + Send + 'static + use<> {
    let (path, made) = (socket.to_path_buf(), identity(socket));
    move || {
        if made.is_some() && identity(&path) == made {
            let _ = remove_file(&path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_somebody_uses_and_a_link_are_not_removed() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("disk");
        symlink(room.path().join("not mounted"), &path).unwrap();
        remove_made(&path);
        assert!(path.is_symlink());
        remove_file(&path).unwrap();
        let used = File::create(&path).unwrap();
        flock(&used, FlockOperation::NonBlockingLockExclusive).unwrap();
        remove_made(&path);
        assert!(path.exists());
        drop(used);
        remove_made(&path);
        assert!(!path.exists());
    }
}
