//! Opening the devices of a run.

use super::Args;
use crate::device::{DeviceName, Emulated, Kind, open_pcie};
use crate::failure::Failure;
use joulio_emulator::EmulatedDevice;
use joulio_units::Direction;
use joulio_workload::{Activity, Inside, Job, NvmeTarget, Target};

/// Opens every device. Refuses to write where that takes a word, before anything is opened.
pub fn open(args: &Args, job: &Job) -> Result<Vec<Box<dyn Target>>, Failure> {
    for name in &args.device {
        if job.rw.does(Direction::Write) && !may_write(name, args.allow_write) {
            return Err(Failure::input(format!(
                "--rw={} on {}: the data there will be lost; say --allow-write if that is meant",
                job.rw, name.text
            )));
        }
    }
    let jobs_each = job.numjobs.div_ceil(args.device.len()).min(u16::MAX.into()) as u16;
    args.device
        .iter()
        .map(|name| {
            let may_write = may_write(name, args.allow_write);
            match &name.kind {
                Kind::Emulated(emulated) => {
                    open_emulated(args, name, emulated, jobs_each, may_write)
                }
                Kind::Pcie(address) => {
                    let controller = open_pcie(*address, jobs_each)?;
                    let target =
                        NvmeTarget::new(name.text.clone(), controller, name.nsid, may_write, None);
                    Ok(Box::new(target.map_err(Failure::input)?) as Box<dyn Target>)
                }
            }
        })
        .collect()
}

/// A device in memory, or a file without data, has nothing to lose.
fn may_write(name: &DeviceName, allowed: bool) -> bool {
    allowed
        || match &name.kind {
            Kind::Emulated(emulated) => !emulated.holds_data(),
            Kind::Pcie(_) => false,
        }
}

fn open_emulated(
    args: &Args,
    name: &DeviceName,
    emulated: &Emulated,
    queues: u16,
    may_write: bool,
) -> Result<Box<dyn Target>, Failure> {
    let controller = emulated.open(name, queues, args.seed)?;
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

fn activity(device: &EmulatedDevice) -> Activity {
    let activity = device.activity();
    Activity {
        read: activity.read,
        write: activity.write,
    }
}
