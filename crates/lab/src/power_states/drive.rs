//! Controllers whose power state is set and whose namespace is read, whichever driver has them.

use super::PowerStatesError;
use super::latency::StatefulDrive;
use crate::controller_name::{ControllerName, NamedController};
use crate::device_name::{DeviceKind, DeviceName};
use crate::emulated::EmulatedUse;
use crate::error::OpenError;
use crate::pause::pause;
use joulio_device::Device;
use joulio_host::controller::{OwnAddress, admin_options, open_pcie, open_vfio_user};
use joulio_host::{AdminController, ControllerAddress};
use joulio_kernel_io::Disks;
use joulio_nvme::wait::now;
use joulio_nvme::{Cancel, Controller, NvmeError, PollGroup};
use joulio_nvme_spec::feature::PowerManagement;
use joulio_units::Nanos;
use joulio_workload::Stop;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Function that reads a block of the drive.
type Read = Box<dyn FnMut() -> Result<(), PowerStatesError>>;

/// A controller whose namespace can be read, in addition to admin commands.
pub struct ReadableController {
    /// Admin commands of the controller.
    pub controller: NamedController,
    read: Read,
}

/// A controller under measurement, until `stop`.
pub(super) struct MeasuredDrive<'a> {
    pub drive: &'a mut ReadableController,
    /// Value of feature 02h for power state 0.
    pub awake: PowerManagement,
    pub stop: &'a Stop,
}

impl StatefulDrive for MeasuredDrive<'_> {
    type Error = PowerStatesError;

    fn now(&self) -> Nanos {
        now()
    }

    fn set(&mut self, ps: u8) -> Result<(), PowerStatesError> {
        let control = self.drive.controller.admin.control();
        Ok(control.set_power_management(self.awake.with_ps(ps))?)
    }

    fn read(&mut self) -> Result<(), PowerStatesError> {
        (self.drive.read)()
    }

    fn rest(&mut self, time: Nanos) -> Result<(), PowerStatesError> {
        match pause(time, self.stop, |_| {}) {
            true => Ok(()),
            false => Err(PowerStatesError::Interrupted),
        }
    }
}

impl ControllerName {
    /// Opens the controller as [`ControllerName::open`] does, and its namespace for reading.
    ///
    /// # Errors
    /// The controller is unavailable, or has no namespace that can be read.
    pub fn open_to_read(&self, cancel: Cancel) -> Result<ReadableController, PowerStatesError> {
        let name = match self {
            ControllerName::Kernel(path) => {
                let read = kernel_reads(path)?;
                let controller = self.open(cancel).map_err(Box::new)?;
                return Ok(ReadableController { controller, read });
            }
            ControllerName::Own(name) => name,
        };
        let how = admin_options(cancel);
        match &name.kind {
            DeviceKind::Emulated(emulated) => {
                let opened = emulated.open(&name.text, how, EmulatedUse::default());
                let opened = Arc::new(opened.map_err(Box::new)?);
                let read = own_reads(&opened, name.nsid)?;
                let device = opened.device().clone();
                let admin = AdminController::of_this_process(&name.text, opened);
                let controller = NamedController {
                    admin,
                    emulated: Some(device),
                };
                Ok(ReadableController { controller, read })
            }
            DeviceKind::Own(address) => match address {
                OwnAddress::Pcie(at) => {
                    let opened = open_pcie(*at, how).map_err(OpenError::from);
                    outside(name, address, opened.map_err(Box::new)?)
                }
                OwnAddress::VfioUser(path) => {
                    let opened = open_vfio_user(path, how).map_err(OpenError::from);
                    outside(name, address, opened.map_err(Box::new)?)
                }
            },
        }
    }
}

fn outside<D: Device + 'static>(
    name: &DeviceName,
    address: &OwnAddress,
    opened: Controller<D>,
) -> Result<ReadableController, PowerStatesError> {
    let opened = Arc::new(opened);
    let read = own_reads(&opened, name.nsid)?;
    let address = ControllerAddress::Own(address.clone());
    let controller = NamedController {
        admin: AdminController::opened(&name.text, address, opened),
        emulated: None,
    };
    Ok(ReadableController { controller, read })
}

/// Returns a function that reads the first block of namespace `nsid` with joulio's own driver, by polling.
fn own_reads<D: Device + 'static>(
    controller: &Controller<D>,
    nsid: u32,
) -> Result<Read, NvmeError> {
    const DEPTH: usize = 4;
    let namespace = controller.namespace(nsid)?;
    let bytes = namespace.block_size() as usize;
    let mut buffers = controller.allocate_buffers(1, bytes)?;
    let queue = controller.create_queue_pair(DEPTH.min(controller.max_depth()))?;
    let mut group = PollGroup::new(vec![queue]);
    Ok(Box::new(move || {
        let failed = |why: String| PowerStatesError::Read(io::Error::other(why));
        let buffer = buffers.pop();
        let buffer = buffer.ok_or_else(|| failed("an earlier read still has the buffer".into()))?;
        let queue = &mut group.queues()[0];
        let sent = queue.read(&namespace, 0, 1, buffer, 0);
        queue.ring();
        sent.map_err(|rejected| failed(rejected.reason.to_string()))?;
        let mut status = None;
        while status.is_none() {
            group.reap(1, None, |_, done| {
                status = Some(done.status);
                buffers.extend(done.buffer);
            })?;
        }
        match status {
            Some(status) if !status.is_success() => Err(failed(status.to_string())),
            _ => Ok(()),
        }
    }))
}

/// Returns a function that reads the first bytes of a namespace that the kernel drives.
fn kernel_reads(controller: &Path) -> Result<Read, PowerStatesError> {
    let name = controller.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let disks = Disks::at("/");
    let all = disks.read().unwrap_or_default();
    let disk = all.keys().find(|disk| disks.is_of(disk, &name));
    let disk = disk.ok_or_else(|| PowerStatesError::NoNamespace(name.clone().into()))?;
    direct_reads(&Path::new("/dev").join(disk))
}

/// Size and alignment of a read in bytes: no logical block is larger.
const BLOCK: usize = 4096;

/// Returns a function that reads the first bytes of `path`, bypassing the page cache.
fn direct_reads(path: &Path) -> Result<Read, PowerStatesError> {
    let mut options = OpenOptions::new();
    let flags = OFlags::DIRECT.bits() as i32;
    let file = options.read(true).custom_flags(flags).open(path);
    let file: File = file.map_err(|error| {
        let named = format!("{}: {error}", path.display());
        PowerStatesError::Read(io::Error::new(error.kind(), named))
    })?;
    let mut memory = vec![0; 2 * BLOCK];
    let begin = memory.as_ptr().align_offset(BLOCK);
    Ok(Box::new(move || {
        let read = file.read_exact_at(&mut memory[begin..begin + BLOCK], 0);
        read.map_err(PowerStatesError::Read)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_past_the_page_cache_or_refused_by_name() {
        let room = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a room");
        let path = room.path().join("disk");
        std::fs::write(&path, [7; 2 * BLOCK]).expect("written");
        let mut read = direct_reads(&path).expect("opened");
        read().expect("read");
        std::fs::write(&path, [7; 100]).expect("written");
        assert!(read().is_err(), "there is no whole block any more");
        let error = direct_reads(&room.path().join("none"))
            .err()
            .expect("no file");
        assert!(error.to_string().contains("none: "), "{error}");
        let none = kernel_reads(Path::new("/dev/nvme99")).err().expect("none");
        assert!(none.to_string().contains("nvme99"), "{none}");
    }
}
