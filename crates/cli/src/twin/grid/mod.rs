//! `joulio twin grid`: every policy on every load.

mod args;
mod maps;
mod report;
mod simulate;
mod state;
mod tiles;

pub use args::Args;

use crate::Outcome;
use crate::failure::{Failure, say};
use crate::output::{print, print_json};
use crate::signals::{cancel, stop_on_signals};
use args::Format;
use joulio_lab::machine_profile;
use joulio_lab::output_file::Existing;
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::TwinError;
use joulio_twin::grid::{Axes, Candidate, Row, Scenario, Sweep};
use joulio_workload::CompletionMode;
use serde::Serialize;
use state::State;

/// What is written before the rows: the same command gives the same.
#[derive(Serialize)]
struct Header<'a> {
    joulio: &'static str,
    modelled: bool,
    axes: &'a Axes,
    number_ios: u64,
    ramp_seconds: f64,
    seed: u64,
    slo_ns: Option<u64>,
    policies: Vec<&'a str>,
    machine: &'a MachineProfile,
    devices: &'a [DeviceProfile],
}

#[derive(Serialize)]
struct Report<'a> {
    grid: &'a Header<'a>,
    cells: &'a [Row],
}

/// `joulio twin grid`.
pub fn run(args: &Args) -> Outcome {
    if let Some((flag, value)) = args.doubled() {
        return Err(Failure::input(format!(
            "{flag}: {value} is there twice: leave one out"
        )));
    }
    let machine = machine_profile(args.machine.as_deref()).map_err(Failure::input)?;
    let axes = args.axes().on(&machine);
    if machine.costs.is_none() {
        let machine = machine.name;
        return Err(Failure::input(TwinError::NoCosts { machine }));
    }
    let devices = axes.devices.iter().map(|name| DeviceProfile::load(name));
    let devices: Vec<_> = devices.collect::<Result<_, _>>().map_err(Failure::input)?;
    let sweep = Sweep {
        // What signals set, once they are heeded.
        stop: cancel().flag().cloned().unwrap_or_default(),
        candidates: candidates(&machine),
        machine,
        ios: args.number_ios(),
        ramp_time: args.ramp_time(),
        slo: args.slo,
        seed: args.seed,
    };
    let scenarios = axes.scenarios();
    let of = |scenario: &Scenario| {
        let at = axes
            .devices
            .iter()
            .position(|name| *name == scenario.device);
        at.and_then(|at| devices.get(at))
    };
    let placed: Vec<_> = scenarios
        .iter()
        .filter_map(|scenario| Some((scenario, of(scenario)?)))
        .collect();
    for (scenario, device) in &placed {
        sweep.check(scenario, device).map_err(Failure::input)?;
    }
    if args.svg.is_some() && args.svg == args.state {
        return Err(Failure::input(
            "--svg and --state name the same file: name two",
        ));
    }
    let existing = Existing::forced(args.force);
    let picture = args.svg.as_deref();
    let picture = picture.map(|path| maps::open(&axes, path, existing));
    let picture = picture.transpose()?;
    let header = Header {
        joulio: env!("CARGO_PKG_VERSION"),
        modelled: true,
        axes: &axes,
        number_ios: sweep.ios,
        ramp_seconds: sweep.ramp_time.seconds(),
        seed: sweep.seed,
        slo_ns: sweep.slo.map(|slo| slo.0),
        policies: sweep
            .candidates
            .iter()
            .map(|one| one.name.as_str())
            .collect(),
        machine: &sweep.machine,
        devices: &devices,
    };
    let mut state = State::open(args.state.as_deref(), &header, axes.views.len())?;
    // Not before: opening the files may wait for whoever reads them.
    let stop = stop_on_signals()?;
    simulate::simulate(
        &sweep,
        &placed,
        &axes.views,
        args.threads(),
        &mut state,
        &stop,
    )?;
    let done = state.rows(&scenarios);
    let drawn = match &picture {
        Some(file) => maps::write(file, &sweep.machine.name, &axes, &done),
        None => Ok(()),
    };
    match args.output {
        Format::Normal => print(&report::text(&header, &axes, &done))?,
        Format::Json => print_json(&Report {
            grid: &header,
            cells: &done,
        })?,
        Format::Csv => print(&report::csv(&done)?)?,
    }
    // The rows are shown, whatever became of the picture.
    drawn?;
    if stop.stopped() {
        let (done, all) = (done.len(), axes.cells());
        return Err(Failure::interrupted(match &args.state {
            Some(_) => format!("{done} of {all} cells are done: the same command goes on"),
            None => format!("{done} of {all} cells are done: with --state=FILE it could go on"),
        }));
    }
    if done.iter().all(|row| row.best.is_none()) {
        say("nobody keeps the promise in any cell");
    }
    Ok(())
}

/// Every policy that there is, ski-rental by this machine's own break-even.
fn candidates(machine: &MachineProfile) -> Vec<Candidate> {
    use joulio_nvme::wait::{Policy, SkiRental, StepKind, StepSet};
    let watts = &machine.core_watts;
    let even = SkiRental::break_even(
        watts.spin.watts(),
        watts.c1.watts(),
        machine.wake.interrupt_joules.joules(),
    );
    let own = |way: CompletionMode| match (way, even) {
        (CompletionMode::SkiRental(_), Some(even)) => CompletionMode::SkiRental(even),
        (way, _) => way,
    };
    let ways = CompletionMode::ALL.into_iter().map(own);
    // The oracle's own baseline is a spin: what only spins is no candidate beside it.
    let spins = StepSet::NONE.with(StepKind::Spin);
    let ways = ways.filter(|way| way.policy().is_some_and(|policy| policy.steps() != spins));
    ways.map(|way| {
        Candidate::new(move || way.policy().unwrap_or(joulio_nvme::wait::AnyPolicy::POLL))
    })
    .collect()
}
