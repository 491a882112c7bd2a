//! `joulio bench`: workloads under each completion mode, a row for each combination of the lists.

mod args;
mod figures;
mod job_file;
mod legend;
mod means;
mod parts;
mod progress;
mod settings;
mod sides;
mod table;

pub use args::BenchArgs;
pub use legend::legend;
pub use progress::BenchTerminal;

use self::args::BenchFormat;
use crate::Outcome;
use crate::columns::Chosen;
use crate::failure::Failure;
use crate::output::{print, print_begin, print_data, print_json};
use crate::signals::stop_on_signals;
use joulio_lab::output_file::{Existing, same_file};
use joulio_lab::record::{RecordStore, RunRecord};
use joulio_lab::report::{Plot, PlotFile};
use joulio_lab::results::Varied;
use joulio_lab::sweep::{
    Axes, Sweep, SweepOptions, SweepReport, SweepSession, Unfit, check_unspoiled, sweep_csv,
    sweep_terse,
};
use joulio_workload::{RingOptions, Stop};

/// Name of a bench's sweep in its records.
const SWEEP: &str = "bench";

/// Points of a bench: nobody reads a table of more.
const MAX_POINTS: u64 = 10_000;

/// `joulio bench`.
pub fn run(args: &BenchArgs) -> Outcome {
    if args.legend {
        return print(&legend());
    }
    let Some(path) = &args.job_file else {
        return run_one(args, "");
    };
    // After the command's name and the subcommand's.
    let typed: Vec<_> = std::env::args_os().skip(2).collect();
    let benches = job_file::benches(path, &args.section, &typed)?;
    if benches.len() > 1 && args.output.format() != BenchFormat::Normal {
        return Err(Failure::input(
            "--output-format json, json+, terse and csv are of one section: choose it by --section NAME",
        ));
    }
    if benches.len() > 1 && args.state.is_some() {
        return Err(Failure::input(
            "--state is of one section: choose it by --section NAME",
        ));
    }
    if benches.len() > 1 && args.plot.is_some() {
        return Err(Failure::input(
            "--plot is of one section: choose it by --section NAME",
        ));
    }
    for (nth, bench) in benches.iter().enumerate() {
        let above = if nth > 0 { "\n" } else { "" };
        run_one(&bench.args, &format!("{above}[{}]\n", bench.name))?;
    }
    Ok(())
}

/// One bench; `above`: what its heading begins with.
fn run_one(args: &BenchArgs, above: &str) -> Outcome {
    let options = args.options()?;
    let virtual_time = options.base.twin.is_some();
    if args.strict && virtual_time {
        return Err(Failure::input(
            "--strict with --twin: nothing spoils a run in virtual time",
        ));
    }
    if args.status_interval.is_some() && virtual_time {
        return Err(Failure::input(
            "--status-interval with --twin: a run in virtual time is over at once",
        ));
    }
    let axes = options.all_axes()?;
    check(&options, &axes)?;
    let runs = options.runs(&axes)?;
    let job = options.base.job().map_err(Failure::input)?;
    let plot = plot_file(args)?;
    // Before there is anything that a signal would leave behind, or that is waited for.
    let stop = match virtual_time {
        true => Stop::default(),
        false => stop_on_signals()?,
    };
    let opened = SweepSession::open(&options, &runs, &stop);
    let opened = opened.map_err(|error| Failure::from(error).after_signal())?;
    let mut store = RecordStore::open(args.state.as_deref(), &options.header())?;
    let mut heading = above.to_owned() + &table::heading(&options, &axes, &job, &opened.devices());
    let about = heading.clone();
    if let Some(machine) = opened.modelled_on() {
        heading += &format!("\nin virtual time on {machine}: every figure is modelled");
    }
    heading += "\n\n";
    let people = args.output.format() == BenchFormat::Normal;
    // What takes its time is announced.
    if people && !virtual_time {
        print_begin(&heading)?;
    }
    let sweep = Sweep {
        name: SWEEP,
        runs: &runs,
        replicates: options.base.replicates,
        unfit: Unfit::Refuse,
    };
    let terminal = BenchTerminal::new(args.quiet, args.status_interval);
    let (manifest, end) = opened.run(&sweep, &mut store, &stop, &terminal)?;
    let records = sweep.records(&store);
    match args.output.format() {
        _ if all_failed(&records) => {}
        BenchFormat::Normal => {
            let heading = if virtual_time { heading } else { String::new() };
            let chosen = args.columns.clone().unwrap_or_default();
            let mut tables = heading + &text(&options, &axes, &records, &chosen);
            if args.per_job {
                tables += &parts::table(&Varied::new(&axes), &records);
            }
            tables += &parts::percentiles(&Varied::new(&axes), &records);
            print(&tables)?;
        }
        BenchFormat::Json | BenchFormat::JsonPlus => {
            print_json(&SweepReport::new(&manifest, &records))?
        }
        BenchFormat::Terse => print_data(&sweep_terse(&records))?,
        BenchFormat::Csv => print_data(&sweep_csv(&records))?,
    }
    if let Some(file) = plot.filter(|_| !records.is_empty() && !all_failed(&records)) {
        let plot = Plot::new("joulio bench", &about, &axes, &records);
        let written = file.write(&plot);
        written.map_err(|error| Failure::run(format!("--plot: {error}")))?;
    }
    end.judge(&records, &stop)?;
    if args.strict {
        check_unspoiled(&records)?;
    }
    Ok(())
}

/// The file of `--plot`, before anything is run.
fn plot_file(args: &BenchArgs) -> Result<Option<PlotFile>, Failure> {
    let Some(path) = &args.plot else {
        return Ok(None);
    };
    let refused = |error: String| Failure::input(format!("--plot: {error}"));
    if let Some(state) = &args.state
        && same_file(path, state)
    {
        return Err(refused(format!(
            "{} is the file of --state: name another",
            path.display()
        )));
    }
    if let Some(report) = args.output.file()
        && same_file(path, report)
    {
        return Err(refused(format!(
            "{} is the file of --output: name another",
            path.display()
        )));
    }
    let file = PlotFile::open(path, Existing::forced(args.force));
    file.map(Some).map_err(|error| refused(error.to_string()))
}

/// Refuses lists that nobody wants crossed, and options of an engine that is not there.
fn check(options: &SweepOptions, axes: &Axes) -> Outcome {
    if axes.count() > MAX_POINTS {
        return Err(Failure::input(format!(
            "{} combinations are too many for a bench: at most {MAX_POINTS}",
            axes.count()
        )));
    }
    let given = options.base.targets.ring != RingOptions::default();
    let engines = axes.values(joulio_lab::sweep::Factor::Engine);
    if given && !engines.iter().any(|engine| engine.starts_with("io_uring")) {
        return Err(Failure::input(
            "--fixedbufs, --registerfiles and --sqthread_* are of io_uring, which is not among the engines: add it to --engine, or leave them out",
        ));
    }
    Ok(())
}

/// True if there are no figures, and the reason is on standard error.
fn all_failed(records: &[&RunRecord]) -> bool {
    !records.is_empty() && records.iter().all(|one| one.result.failure.is_some())
}

/// The table for people: a line a run, or a point where runs are repeated.
fn text(options: &SweepOptions, axes: &Axes, records: &[&RunRecord], chosen: &Chosen) -> String {
    let varied = Varied::new(axes);
    let points = axes.points();
    if options.base.replicates > 1 {
        return means::table(&varied, records, &points, chosen);
    }
    // Whatever the order of the runs, equal ones stand together.
    let mut records = records.to_vec();
    records.sort_by_key(|record| points.iter().position(|point| *point == record.point));
    table::table(&varied, &records, &points, chosen)
}
