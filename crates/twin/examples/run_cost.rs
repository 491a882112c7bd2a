//! One run of reads in virtual time, for an instruction counter.
//!
//! `benches/twin-instructions` runs it under callgrind, as `run_cost MACHINE DEVICE ENGINE MODE IODEPTH NUMJOBS
//! IOS`.

use joulio_job::{CompletionMode, EngineName, Job, Method};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::{TwinSetup, run};
use joulio_units::Nanos;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [machine, device, engine, mode, iodepth, numjobs, ios] = arguments.as_slice() else {
        return Err("run_cost MACHINE DEVICE ENGINE MODE IODEPTH NUMJOBS IOS".into());
    };
    let machine = MachineProfile::builtin(machine)?;
    let devices = [DeviceProfile::builtin(device)?];
    let (ios, numjobs): (u64, usize) = (ios.parse()?, numjobs.parse()?);
    let job = Job {
        numjobs,
        iodepth: iodepth.parse()?,
        ramp_time: Nanos::ZERO,
        ..Job::random_reads((ios / numjobs as u64).max(1))
    };
    let engine: EngineName = engine.parse()?;
    let mode: CompletionMode = mode.parse()?;
    let done = run(
        &job,
        Method { engine, mode },
        &TwinSetup::new(&machine, &devices),
    )?;
    println!("{} I/Os, {:.0} IOPS", done.ios(), done.iops());
    Ok(())
}
