//! `joulio bench --twin`: the same flags, table and JSON, in virtual time.

use super::{BenchArgs, BenchReport, table};
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use joulio_lab::experiment::{BadResults, EnergyNote, Manifest};
use joulio_lab::virtual_time::VirtualExperiment;

/// `joulio bench --twin`.
pub fn run(args: &BenchArgs) -> Outcome {
    if let Some((flag, why)) = args.senseless_in_the_twin() {
        return Err(Failure::input(format!("{flag} with --twin: {why}")));
    }
    let (job, methods) = (args.job()?, args.methods()?);
    let experiment = VirtualExperiment::new(&args.virtual_time()?, &job, methods);
    let experiment = experiment.map_err(Failure::input)?;
    let runs = experiment.run(|method| args.job_of(&job, method));
    let runs = runs.map_err(Failure::input)?;
    match args.output {
        Format::Normal => {
            let devices = experiment.devices.iter();
            let names: Vec<_> = devices.map(|device| device.name.as_str()).collect();
            let heading = table::heading(&job, &names, &args.work.faults);
            let machine = &experiment.machine.name;
            print(&format!(
                "{}\nin virtual time on {machine}: every figure is modelled\n\n",
                heading.trim_end()
            ))?;
            print(&table::table(&runs))?;
        }
        Format::Json => {
            let energy = EnergyNote::modelled(&experiment.machine);
            print_json(&BenchReport {
                manifest: &Manifest::modelled(&job, experiment.devices.clone(), energy),
                runs: &runs,
            })?;
        }
    }
    if runs.iter().all(|run| run.counts.is_none()) {
        return Err(Failure::run(BadResults::Unavailable));
    }
    Ok(())
}
