//! The speed of virtual time: a million I/Os, or as many as requested, with each policy that does not learn and one
//! that does; table 1 of HotStorage'22 is printed for comparison.

use joulio_job::{CompletionMode, EngineName, Job, Method};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::{TwinSetup, run};
use joulio_units::Nanos;
use std::error::Error;
use std::time::Instant;

/// Runs `ios` I/Os with each policy and number of jobs, and prints a line for each.
pub fn run_all(ios: u64) -> Result<(), Box<dyn Error>> {
    let machine = MachineProfile::builtin("xeon-e3-1230v5")?;
    let devices = [DeviceProfile::builtin("optane-900p")?];
    let modes = [
        CompletionMode::Poll,
        CompletionMode::Interrupt,
        CompletionMode::HybridFixed(Nanos::from_micros(4)),
        CompletionMode::Hybrid,
    ];
    let setup = TwinSetup::new(&machine, &devices);
    println!("jobs policy     latency us      IOPS  CPU us/IO    W     uJ/IO   host s");
    for numjobs in [1, 4, 8, 16] {
        for mode in modes {
            let job = Job {
                numjobs,
                ramp_time: Nanos::from_millis(200),
                ..Job::random_reads((ios / numjobs as u64).max(1))
            };
            // The path of the kernel.
            let engine = EngineName::Psync;
            let start = Instant::now();
            let done = run(&job, Method { engine, mode }, &setup)?;
            let host = start.elapsed().as_secs_f64();
            println!(
                "{numjobs:>4} {:<10} {:>10.2} {:>9.0} {:>10.2} {:>6.1} {:>8.1} {host:>8.3}",
                mode.to_string(),
                done.all().mean().unwrap_or(0.0) / 1e3,
                done.iops(),
                done.cpu_per_io().unwrap_or(0.0) / 1e3,
                done.energy.watts().0,
                done.energy.joules.0 / done.ios() as f64 * 1e6,
            );
        }
    }
    Ok(())
}

#[allow(dead_code, reason = "a test runs this file too, by `run_all`")]
fn main() -> Result<(), Box<dyn Error>> {
    let ios = std::env::args().nth(1);
    run_all(ios.map_or(Ok(1_000_000), |n| n.parse())?)
}
