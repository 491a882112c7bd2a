//! Opening of a run's devices.

use crate::arbitration::DEFAULT_ARBITRATION;
use crate::device_name::{DeviceKind, DeviceName};
use crate::emulated::{Emulated, EmulatedUse};
use crate::error::OpenError;
use crate::experiment::cpus::cpus_beside;
use crate::memory::check_memory;
use crate::open::open_kernel;
use crate::target_name::TargetName;
use joulio_device::Device;
use joulio_emulator::{EmulatedDevice, FaultPlan};
use joulio_host::controller::{OwnAddress, open_pcie, open_vfio_user};
use joulio_nvme::{Cancel, Controller, ControllerOptions};
use joulio_nvme_spec::feature::Arbitration;
use joulio_units::{Direction, Nanos};
use joulio_workload::{
    EmulatedInfo, Job, Member, NvmeTarget, RingOptions, Target, TargetActivity, Verify, check,
};
use std::fs::remove_file;
use std::path::PathBuf;

/// Smallest time limit for an admin command: many of them take longer than any I/O.
const MIN_ADMIN_TIMEOUT: Nanos = Nanos::from_millis(1_000);

/// Devices of a run, and options for opening them.
#[derive(Clone, Debug)]
pub struct TargetOptions {
    /// Devices. Jobs are spread over them; if there are fewer jobs than devices, each job has several.
    pub devices: Vec<TargetName>,
    /// True if data on the devices may be lost.
    pub allow_write: bool,
    /// Faults that emulated devices inject.
    pub faults: FaultPlan,
    /// Time in nanoseconds after which an I/O is aborted; `None`: the driver's defaults.
    pub io_timeout: Option<Nanos>,
    /// Number of retries of an I/O that a reset ended, or whose status allows a retry.
    pub max_retries: u8,
    /// Weights of the queues' priority classes, if a job's queues have classes; `None`: [`DEFAULT_ARBITRATION`].
    pub arbitration: Option<Arbitration>,
    /// Options of io_uring's rings for what the kernel drives.
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
            arbitration: None,
            ring: RingOptions::default(),
            cancel: Cancel::default(),
        }
    }
}

impl TargetOptions {
    /// Returns true if all devices may be written.
    pub fn may_write(&self) -> bool {
        let mut devices = self.devices.iter();
        devices.all(|device| may_write(device, self.allow_write))
    }

    /// Returns the options of a controller with `queues` I/O queue pairs, some of which have priority classes if
    /// `weighted`.
    fn controller(&self, queues: u16, weighted: bool) -> ControllerOptions {
        let usual = ControllerOptions::default();
        let admin_timeout = self.io_timeout.map(|time| time.max(MIN_ADMIN_TIMEOUT));
        ControllerOptions {
            queues,
            io_timeout: self.io_timeout.unwrap_or(usual.io_timeout),
            admin_timeout: admin_timeout.unwrap_or(usual.admin_timeout),
            retries: self.max_retries,
            arbitration: weighted.then(|| self.arbitration.unwrap_or(DEFAULT_ARBITRATION)),
            cancel: self.cancel.clone(),
            ..usual
        }
    }
}

/// Members of a run for which devices are opened.
pub type Demand = Vec<Member>;

/// Opens every device with queues for all `demands`, and checks that each of them can run there. Before anything is
/// opened, it refuses writes that the user has not allowed.
///
/// # Errors
/// A device cannot be opened, or a job cannot run on it. Files that were created are removed.
pub fn open_targets(
    options: &TargetOptions,
    demands: &[Demand],
) -> Result<Vec<Box<dyn Target>>, OpenError> {
    for demand in demands {
        refuse_data_loss(options, demand)?;
    }
    let mut created = Created::default();
    let targets = open_each(options, demands, &mut created)?;
    for demand in demands {
        check(demand, &targets)?;
        check_buffers(demand)?;
    }
    created.0.clear();
    Ok(targets)
}

/// Opens every device with queues for all `demands`, without checking that they can run there.
///
/// # Errors
/// A device cannot be opened.
pub fn open_unchecked(
    options: &TargetOptions,
    demands: &[Demand],
) -> Result<Vec<Box<dyn Target>>, OpenError> {
    let mut created = Created::default();
    let targets = open_each(options, demands, &mut created)?;
    created.0.clear();
    Ok(targets)
}

fn open_each(
    options: &TargetOptions,
    demands: &[Demand],
    created: &mut Created,
) -> Result<Vec<Box<dyn Target>>, OpenError> {
    refuse_faults(options)?;
    let mut targets = Vec::new();
    for (number, device) in options.devices.iter().enumerate() {
        let missing = emulated(device).and_then(Emulated::missing_file);
        targets.push(open_one(options, demands, number)?);
        created.0.extend(missing);
    }
    Ok(targets)
}

/// Returns an error if the buffers of all `members` together take more than half of the free memory.
pub(crate) fn check_buffers(members: &[Member]) -> Result<(), OpenError> {
    let sizes = members.iter().flat_map(|Member { job, devices, .. }| {
        (0..job.numjobs).map(|index| {
            let devices = job.assignments(index, devices.len()).len();
            let each = job.max_bs(index).saturating_mul(job.iodepth as u64);
            each.saturating_mul(devices as u64)
        })
    });
    let buffers = sizes.fold(0, u64::saturating_add);
    check_memory("buffers", buffers, "lower --iodepth, --numjobs or --bs")
}

/// Returns an error if a job would write without the user's permission.
///
/// # Errors
/// One of `members` writes and data would be lost, or a device cannot be written.
pub(crate) fn refuse_data_loss(
    options: &TargetOptions,
    members: &[Member],
) -> Result<(), OpenError> {
    for member in members {
        let devices = member.devices.iter();
        let devices: Vec<_> = devices.map(|&device| &options.devices[device]).collect();
        refuse_to_overwrite(options, &devices, &member.job)?;
        refuse_under_loops(options, &devices, &member.job)?;
    }
    Ok(())
}

/// Files that were created by opening, and that are removed if the command is refused afterwards.
#[derive(Default)]
struct Created(Vec<PathBuf>);

impl Drop for Created {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = remove_file(path);
        }
    }
}

fn refuse_to_overwrite(
    options: &TargetOptions,
    devices: &[&TargetName],
    job: &Job,
) -> Result<(), OpenError> {
    if !job.does(Direction::Write) {
        return Ok(());
    }
    for device in devices {
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

/// Returns an error if a job would write to a file that a loop device uses, which another user may need. Targets that
/// the kernel drives are checked when they are opened.
fn refuse_under_loops(
    options: &TargetOptions,
    devices: &[&TargetName],
    job: &Job,
) -> Result<(), OpenError> {
    // With verification, jobs that only read write their data first where there is none.
    if !job.does(Direction::Write) && job.verify == Verify::None {
        return Ok(());
    }
    let written = devices.iter();
    let written = written.filter(|device| may_write(device, options.allow_write));
    written
        .filter_map(|device| emulated(device))
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

/// Returns an error if faults are requested for a device that is not emulated in this process.
fn refuse_faults(options: &TargetOptions) -> Result<(), OpenError> {
    let outside = |device: &&TargetName| emulated(device).is_none();
    match options.devices.iter().find(outside) {
        Some(device) if !options.faults.is_empty() => Err(OpenError::NoFaults(device.text())),
        _ => Ok(()),
    }
}

fn open_one(
    options: &TargetOptions,
    demands: &[Demand],
    number: usize,
) -> Result<Box<dyn Target>, OpenError> {
    let device = &options.devices[number];
    let here = |member: &&Member| member.devices.contains(&number);
    let jobs = || {
        demands
            .iter()
            .flatten()
            .filter(here)
            .map(|member| &member.job)
    };
    let together = |demand: &Demand| demand.iter().map(|member| member.jobs_on(number)).sum();
    let jobs_each = demands.iter().map(together).max();
    let jobs_each: usize = jobs_each.unwrap_or(1).max(1);
    let jobs_each = jobs_each.min(u16::MAX.into()) as u16;
    let may_write = may_write(device, options.allow_write);
    let weighted = jobs().any(|job| job.queue_priority.is_some());
    let how = options.controller(jobs_each, weighted);
    let name = match device {
        TargetName::Own(name) => name,
        TargetName::Kernel(path) => {
            // A mounted device can be opened for reading, but not for writing.
            let writes = jobs().any(|job| job.does(Direction::Write));
            let target = open_kernel(path, may_write && writes)?;
            return Ok(Box::new(target));
        }
    };
    match &name.kind {
        DeviceKind::Emulated(emulated) => {
            let seed = jobs().next().map_or(1, |job| job.seed);
            let all = demands.iter().flatten();
            let here = EmulatedUse {
                seed,
                faults: options.faults.clone(),
                cpus: cpus_beside(all.map(|member| &member.job)),
            };
            let holds_data = emulated.holds_data();
            let controller = emulated.open(&name.text, how, here)?;
            inside(name, emulated, controller, (may_write, holds_data))
        }
        DeviceKind::Own(OwnAddress::Pcie(address)) => {
            outside(name, open_pcie(*address, how)?, may_write)
        }
        DeviceKind::Own(OwnAddress::VfioUser(path)) => {
            outside(name, open_vfio_user(path, how)?, may_write)
        }
    }
}

/// Returns true if the device may be written; one in memory, or a file without data, has nothing to lose.
fn may_write(device: &TargetName, allowed: bool) -> bool {
    match emulated(device) {
        Some(emulated) => {
            emulated.read_only_file().is_none() && (allowed || !emulated.holds_data())
        }
        None => allowed,
    }
}

/// Creates the target of a controller outside of this process.
fn outside<D: Device>(
    name: &DeviceName,
    controller: Controller<D>,
    may_write: bool,
) -> Result<Box<dyn Target>, OpenError> {
    let target = NvmeTarget::new(name.text.clone(), controller, name.nsid, may_write, None);
    Ok(Box::new(target?))
}

/// Creates the target of a controller that is emulated in this process, which may be written and may have older data.
fn inside(
    name: &DeviceName,
    emulated: &Emulated,
    controller: Controller<EmulatedDevice>,
    (may_write, holds_data): (bool, bool),
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
    )?;
    Ok(match holds_data {
        true => Box::new(target),
        false => Box::new(target.without_data()),
    })
}

/// Returns what an emulated device did.
pub fn activity(device: &EmulatedDevice) -> TargetActivity {
    let activity = device.activity();
    let mut write = activity.write;
    // Like the device's own meter, counts trims with the power that writes draw for their service time.
    write.service += activity.other.service;
    TargetActivity {
        read: activity.read,
        write,
        idle: Some(device.power().idle_energy),
    }
}
