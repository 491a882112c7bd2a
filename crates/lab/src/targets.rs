//! Opening the devices of a run.

use crate::device_name::{DeviceKind, DeviceName};
use crate::emulated::Emulated;
use crate::error::OpenError;
use crate::memory::check_memory;
use crate::open::open_kernel;
use crate::target_name::TargetName;
use joulio_device::Device;
use joulio_emulator::{EmulatedDevice, FaultPlan};
use joulio_host::controller::{OwnAddress, open_pcie, open_vfio_user};
use joulio_nvme::{Cancel, Controller, ControllerOptions};
use joulio_units::{Direction, Nanos};
use joulio_workload::{
    EmulatedInfo, EngineName, Job, NvmeTarget, RingOptions, Target, TargetActivity, Verify, check,
};
use std::fs::remove_file;
use std::path::PathBuf;

/// The least time of an admin command: many of them are slower than any I/O.
const MIN_ADMIN_TIMEOUT: Nanos = Nanos::from_millis(1_000);

/// Devices of a run, and how they are opened.
#[derive(Clone, Debug)]
pub struct TargetOptions {
    /// The devices. Jobs are spread over them, or they over fewer jobs.
    pub devices: Vec<TargetName>,
    /// Data on the devices may be lost.
    pub allow_write: bool,
    /// Faults that emulated devices commit.
    pub faults: FaultPlan,
    /// Nanoseconds that an I/O may take before it is aborted; `None`: the driver's usual time limits.
    pub io_timeout: Option<Nanos>,
    /// Times that an I/O is sent again whose status allows it, or that a reset ended.
    pub max_retries: u8,
    /// Options of the rings on what the kernel drives.
    pub ring: RingOptions,
    /// Flag that ends waits for a controller.
    pub cancel: Cancel,
}

impl Default for TargetOptions {
    fn default() -> TargetOptions {
        TargetOptions {
            devices: vec![TargetName::default()],
            allow_write: false,
            faults: FaultPlan::default(),
            io_timeout: None,
            max_retries: 0,
            ring: RingOptions::default(),
            cancel: Cancel::default(),
        }
    }
}

impl TargetOptions {
    /// Options of a controller with `queues` queue pairs for I/O.
    fn controller(&self, queues: u16) -> ControllerOptions {
        let usual = ControllerOptions::default();
        let admin_timeout = self.io_timeout.map(|time| time.max(MIN_ADMIN_TIMEOUT));
        ControllerOptions {
            queues,
            io_timeout: self.io_timeout.unwrap_or(usual.io_timeout),
            admin_timeout: admin_timeout.unwrap_or(usual.admin_timeout),
            retries: self.max_retries,
            cancel: self.cancel.clone(),
            ..usual
        }
    }
}

/// Opens every device, and checks that the job can run there. Refuses to write where that takes a
/// word, before anything is opened.
///
/// # Errors
/// A device cannot be opened, or the job cannot run on it. Files that opening created are removed.
pub fn open_targets(
    options: &TargetOptions,
    job: &Job,
    engines: &[EngineName],
) -> Result<Vec<Box<dyn Target>>, OpenError> {
    refuse_to_overwrite(options, job)?;
    refuse_under_loops(options, job)?;
    refuse_faults(options)?;
    let mut created = Created::default();
    let mut targets = Vec::new();
    for device in &options.devices {
        let missing = emulated(device).and_then(Emulated::missing_file);
        targets.push(open_one(options, job, device)?);
        created.0.extend(missing);
    }
    for engine in engines {
        check(job, *engine, &targets)?;
    }
    let sizes = (0..job.numjobs).map(|index| {
        let devices = job.assignments(index, targets.len()).len();
        job.max_bs(index).saturating_mul(devices as u64)
    });
    let buffers = sizes.fold(0, |sum: u64, bs| {
        sum.saturating_add(bs.saturating_mul(job.iodepth as u64))
    });
    check_memory("buffers", buffers, "lower --iodepth, --numjobs or --bs")?;
    created.0.clear();
    Ok(targets)
}

/// Files that opening created, removed again when the command is refused after all.
#[derive(Default)]
struct Created(Vec<PathBuf>);

impl Drop for Created {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = remove_file(path);
        }
    }
}

fn refuse_to_overwrite(options: &TargetOptions, job: &Job) -> Result<(), OpenError> {
    if !job.does(Direction::Write) {
        return Ok(());
    }
    for device in &options.devices {
        if let Some(path) = emulated(device).and_then(Emulated::read_only_file) {
            return Err(OpenError::ReadOnly {
                rw: job.rw,
                name: device.text(),
                file: path.into(),
            });
        }
        if !may_write(device, options.allow_write) {
            return Err(OpenError::WouldLoseData {
                rw: job.rw,
                name: device.text(),
            });
        }
    }
    Ok(())
}

/// A loop device's data is somebody's, whatever may be lost. What the kernel drives is checked
/// when it is opened.
fn refuse_under_loops(options: &TargetOptions, job: &Job) -> Result<(), OpenError> {
    // What reads are to find is written before.
    if !job.does(Direction::Write) && job.verify == Verify::None {
        return Ok(());
    }
    let written = options
        .devices
        .iter()
        .filter(|device| may_write(device, options.allow_write));
    written
        .filter_map(emulated)
        .try_for_each(Emulated::check_loops)
}

/// Returns the emulated device that `device` names, if it is emulated in this process.
fn emulated(device: &TargetName) -> Option<&Emulated> {
    match device {
        TargetName::Own(DeviceName {
            kind: DeviceKind::Emulated(emulated),
            ..
        }) => Some(emulated),
        _ => None,
    }
}

/// Only a device that is ours can be made to fail.
fn refuse_faults(options: &TargetOptions) -> Result<(), OpenError> {
    let outside = |device: &&TargetName| emulated(device).is_none();
    match options.devices.iter().find(outside) {
        Some(device) if !options.faults.is_empty() => Err(OpenError::NoFaults(device.text())),
        _ => Ok(()),
    }
}

fn open_one(
    options: &TargetOptions,
    job: &Job,
    device: &TargetName,
) -> Result<Box<dyn Target>, OpenError> {
    let jobs_each = job.jobs_on(0, options.devices.len());
    let jobs_each = jobs_each.min(u16::MAX.into()) as u16;
    let may_write = may_write(device, options.allow_write);
    let how = options.controller(jobs_each);
    let name = match device {
        TargetName::Own(name) => name,
        TargetName::Kernel(path) => {
            // Opening for writing is refused while it is mounted: reading need not be.
            let writes = job.does(Direction::Write);
            let target = open_kernel(path, may_write && writes, options.ring)?;
            return Ok(Box::new(target));
        }
    };
    match &name.kind {
        DeviceKind::Emulated(emulated) => {
            let controller = emulated.open(&name.text, how, job.seed, &options.faults)?;
            inside(name, emulated, controller, may_write)
        }
        DeviceKind::Own(OwnAddress::Pcie(address)) => {
            outside(name, open_pcie(*address, how)?, may_write)
        }
        DeviceKind::Own(OwnAddress::VfioUser(path)) => {
            outside(name, open_vfio_user(path, how)?, may_write)
        }
    }
}

/// A device in memory, or a file without data, has nothing to lose.
fn may_write(device: &TargetName, allowed: bool) -> bool {
    match emulated(device) {
        Some(emulated) => {
            emulated.read_only_file().is_none() && (allowed || !emulated.holds_data())
        }
        None => allowed,
    }
}

/// A controller whose inside is not ours to see.
fn outside<D: Device>(
    name: &DeviceName,
    controller: Controller<D>,
    may_write: bool,
) -> Result<Box<dyn Target>, OpenError> {
    let target = NvmeTarget::new(name.text.clone(), controller, name.nsid, may_write, None);
    Ok(Box::new(target?))
}

/// A controller that is emulated in this process.
fn inside(
    name: &DeviceName,
    emulated: &Emulated,
    controller: Controller<EmulatedDevice>,
    may_write: bool,
) -> Result<Box<dyn Target>, OpenError> {
    let inside = EmulatedInfo {
        profile: emulated.profile()?,
        activity,
        thread: EmulatedDevice::thread_id,
    };
    let target = NvmeTarget::new(
        name.text.clone(),
        controller,
        name.nsid,
        may_write,
        Some(inside),
    );
    Ok(Box::new(target?))
}

/// Returns what an emulated device did.
pub fn activity(device: &EmulatedDevice) -> TargetActivity {
    let activity = device.activity();
    TargetActivity {
        read: activity.read,
        write: activity.write,
        idle: Some(device.power().idle_energy),
    }
}
