//! Opening the devices of a run.

use crate::device::{DeviceName, Emulated, Kind, check_memory, open_pcie, open_vfio_user};
use crate::failure::Failure;
use crate::place::{Place, open_kernel};
use crate::work::Work;
use joulio_device::Device;
use joulio_emulator::EmulatedDevice;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_units::Direction;
use joulio_workload::{
    Activity, EngineName, Inside, Job, NvmeTarget, RingOptions, Target, Verify, check,
};
use std::fs::remove_file;
use std::path::PathBuf;

/// Opens every device, and checks that the job can run there. Refuses to write where that takes a
/// word, before anything is opened.
pub fn open(
    work: &Work,
    job: &Job,
    engines: &[EngineName],
    ring: RingOptions,
) -> Result<Vec<Box<dyn Target>>, Failure> {
    refuse_to_overwrite(work, job)?;
    refuse_under_loops(work, job)?;
    refuse_faults(work)?;
    let mut created = Created::default();
    let mut targets = Vec::new();
    for place in &work.device {
        let missing = emulated(place).and_then(Emulated::missing_file);
        targets.push(open_one(work, job, place, ring)?);
        created.0.extend(missing);
    }
    for engine in engines {
        check(job, *engine, &targets).map_err(Failure::input)?;
    }
    let sizes = (0..job.numjobs).map(|index| job.bs.of_job(index));
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

fn refuse_to_overwrite(work: &Work, job: &Job) -> Result<(), Failure> {
    if !job.rw.does(Direction::Write) {
        return Ok(());
    }
    for place in &work.device {
        if let Some(path) = emulated(place).and_then(Emulated::read_only_file) {
            return Err(Failure::input(format!(
                "--rw={} on {}: {} cannot be written to: choose a way that only reads, or another file",
                job.rw,
                place.text(),
                path.display()
            )));
        }
        if !may_write(place, work.allow_write) {
            return Err(Failure::input(format!(
                "--rw={} on {}: the data there will be lost; say --allow-write if that is meant",
                job.rw,
                place.text()
            )));
        }
    }
    Ok(())
}

/// A loop device's data is somebody's, whatever may be lost. What the kernel drives is looked at
/// when it is opened.
fn refuse_under_loops(work: &Work, job: &Job) -> Result<(), Failure> {
    // What reads are to find is written before.
    if !job.rw.does(Direction::Write) && job.verify == Verify::None {
        return Ok(());
    }
    let written = work
        .device
        .iter()
        .filter(|place| may_write(place, work.allow_write));
    written
        .filter_map(emulated)
        .try_for_each(Emulated::check_loops)
}

/// What is emulated in this process.
fn emulated(place: &Place) -> Option<&Emulated> {
    match place {
        Place::Own(DeviceName {
            kind: Kind::Emulated(emulated),
            ..
        }) => Some(emulated),
        _ => None,
    }
}

/// Only a device that is ours can be made to fail.
fn refuse_faults(work: &Work) -> Result<(), Failure> {
    let outside = |place: &&Place| emulated(place).is_none();
    match work.device.iter().find(outside) {
        Some(place) if !work.faults.is_empty() => Err(Failure::input(format!(
            "--faults on {}: only an emulated device commits faults",
            place.text()
        ))),
        _ => Ok(()),
    }
}

fn open_one(
    work: &Work,
    job: &Job,
    place: &Place,
    ring: RingOptions,
) -> Result<Box<dyn Target>, Failure> {
    let jobs_each = job.numjobs.div_ceil(work.device.len()).min(u16::MAX.into()) as u16;
    let may_write = may_write(place, work.allow_write);
    let how = work.controller(jobs_each);
    let name = match place {
        Place::Own(name) => name,
        Place::Kernel(path) => {
            // Opening for writing is refused while it is mounted: reading need not be.
            let writes = job.rw.does(Direction::Write);
            let target = open_kernel(path, may_write && writes, ring)?;
            return Ok(Box::new(target));
        }
    };
    match &name.kind {
        Kind::Emulated(emulated) => open_emulated(work, name, emulated, how, may_write),
        Kind::Pcie(address) => outside(name, open_pcie(*address, how)?, may_write),
        Kind::VfioUser(path) => outside(name, open_vfio_user(path, how)?, may_write),
    }
}

/// A device in memory, or a file without data, has nothing to lose.
fn may_write(place: &Place, allowed: bool) -> bool {
    match emulated(place) {
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
) -> Result<Box<dyn Target>, Failure> {
    let target = NvmeTarget::new(name.text.clone(), controller, name.nsid, may_write, None);
    Ok(Box::new(target.map_err(Failure::input)?))
}

fn open_emulated(
    work: &Work,
    name: &DeviceName,
    emulated: &Emulated,
    how: ControllerOptions,
    may_write: bool,
) -> Result<Box<dyn Target>, Failure> {
    let controller = emulated.open(name, how, work.seed, &work.faults)?;
    let inside = Inside {
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
    Ok(Box::new(target.map_err(Failure::input)?))
}

/// What an emulated device did.
pub fn activity(device: &EmulatedDevice) -> Activity {
    let activity = device.activity();
    Activity {
        read: activity.read,
        write: activity.write,
        idle: Some(device.power().idle_energy),
    }
}
