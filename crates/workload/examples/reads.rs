//! Runs random reads on an emulated controller with polling and with interrupts, and prints both latencies.

use joulio_emulator::{EmulatedDevice, Options};
use joulio_energy::Meters;
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_workload::{
    CompletionMode, EngineName, Job, Member, Method, NvmeTarget, Setup, Stop, run,
};
use std::path::Path;

/// Prints a line for each completion mode.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let target = NvmeTarget::new("optane-900p".into(), controller, 1, false, None)?;
    let stop = Stop::default();
    let setup = Setup {
        targets: &[Box::new(target)],
        machine: None,
        at_home: false,
        baseline: None,
        stop: &stop,
        root: Path::new("/"),
        progress: &|_| (),
        trace: None,
    };
    for name in ["poll", "interrupt"] {
        let mode: CompletionMode = name.parse()?;
        let engine = EngineName::Nvme;
        let method = Method { engine, mode };
        let member = Member::alone(Job::random_reads(10_000), method, 1);
        let result = run(&[member], &setup, &mut Meters::default())?;
        if let Some(counts) = result.counts {
            let latency = counts.all.latency_ns;
            println!("{name:10} p50 {} ns, p99 {} ns", latency.p50, latency.p99);
        }
    }
    Ok(())
}
