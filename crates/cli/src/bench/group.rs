//! A group of sections that run at the same time, or the single bench of the command line.

use super::args::{BenchArgs, BenchFormat};
use super::progress::BenchTerminal;
use super::report::{Report, borrowed};
use super::{means, parts, table};
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{print, print_begin};
use crate::signals::stop_on_signals;
use joulio_lab::output_file::{Existing, same_file};
use joulio_lab::record::{Point, RecordStore, RunRecord};
use joulio_lab::report::{Plot, PlotFile};
use joulio_lab::results::{EnergyColumn, MeanRow, Varied, rows, verdict};
use joulio_lab::sweep::{
    Axes, PlannedRun, Sweep, SweepOptions, SweepSession, Unfit, check_unspoiled,
};
use joulio_workload::{EngineName, RingOptions, Stop};

/// Name of the sweep in a bench's records.
const SWEEP: &str = "bench";

/// Largest number of points of a bench: a longer table would not be read.
const MAX_POINTS: u64 = 10_000;

/// A section of a job file, or the single bench of the command line.
pub(super) struct Section<'a> {
    /// Name of the section; empty: the command line's bench.
    pub(super) name: &'a str,
    pub(super) args: &'a BenchArgs,
    /// Number of its reporting group.
    pub(super) reporting_group: usize,
}

/// Sections that run at the same time, checked as far as possible without opening a device.
pub(super) struct Group<'a> {
    sections: Vec<Section<'a>>,
    /// True if all jobs are shown in one row, because the sections are one reporting group.
    grouped: bool,
    options: SweepOptions,
    axes: Axes,
    runs: Vec<PlannedRun>,
}

impl<'a> Group<'a> {
    /// Creates the group of `sections`, of which there is at least one. Flags that apply to the whole command are taken
    /// from the first.
    pub(super) fn new(sections: Vec<Section<'a>>) -> Result<Group<'a>, Failure> {
        let args = sections[0].args;
        let last = sections.last().map(|section| section.reporting_group);
        let grouped = sections.len() > 1 && last == Some(sections[0].reporting_group);
        let options = options(&sections)?;
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
        for section in options.sections() {
            check(section)?;
        }
        let runs = options.runs(&axes)?;
        Ok(Group {
            sections,
            grouped,
            options,
            axes,
            runs,
        })
    }

    /// Numbers the jobs of `groups`, which run one after the other, consecutively.
    pub(super) fn number_jobs(groups: &mut [Group<'a>]) -> Outcome {
        let mut before = 0;
        for group in groups {
            group.options.jobs_before = before;
            before += group.options.jobs()?;
        }
        Ok(())
    }

    fn args(&self) -> &'a BenchArgs {
        self.sections[0].args
    }

    /// Opens the devices as [`Group::run`] does, and closes them, to check that all runs are possible.
    pub(super) fn try_open(&self) -> Outcome {
        let stop = Stop::default();
        SweepSession::open(&self.options, &self.runs, &stop)?;
        Ok(())
    }

    /// Executes the runs, and prints their results or adds them to `report`; `above` is the beginning of the heading.
    pub(super) fn run(&self, above: &str, report: &mut Report) -> Outcome {
        let (args, options) = (self.args(), &self.options);
        let virtual_time = options.base.twin.is_some();
        let plot = plot_file(args)?;
        // Signals are handled before there is anything to restore or to wait for.
        let stop = stop_on_signals()?;
        let opened = SweepSession::open(options, &self.runs, &stop);
        let opened = opened.map_err(|error| Failure::from(error).after_signal())?;
        let mut store = RecordStore::open(args.state.as_deref(), &options.header())?;
        let mut heading = above.to_owned() + &self.heading(&opened.devices())?;
        let about = heading.clone();
        if let Some(machine) = opened.modelled_on() {
            heading += &format!("\nin virtual time on {machine}: every figure is modelled");
        }
        heading += "\n\n";
        let people = args.output.format() == BenchFormat::Normal;
        // Simulations are fast, so only real runs are announced.
        let begun = match people && !virtual_time {
            true => print_begin(&heading),
            false => Ok(()),
        };
        // If nobody reads the results and no file is requested, there is nothing to run for.
        if begun.is_err() && !args.writes_files() {
            return begun;
        }
        let sweep = Sweep {
            name: SWEEP,
            runs: &self.runs,
            replicates: options.base.replicates,
            unfit: Unfit::Refuse,
        };
        let terminal = BenchTerminal::new(args.quiet, args.status_interval);
        let (manifest, end) = opened.run(&sweep, &mut store, &stop, &terminal)?;
        let records = sweep.records(&store);
        let mut printed = begun;
        if !all_failed(&records) {
            if people {
                let heading = if virtual_time { heading } else { String::new() };
                let devices = manifest.on_devices().into_iter();
                let devices: String = devices.map(|said| format!("\n{said}\n")).collect();
                let text = heading + &self.text(&records) + &devices;
                printed = printed.and_then(|()| print(&text));
            } else {
                let names: Vec<_> = self
                    .sections
                    .iter()
                    .map(|one| one.name.to_owned())
                    .collect();
                report.add(manifest, &records, &names, self.grouped);
            }
            if let Some(file) = plot.filter(|_| !records.is_empty()) {
                let plot = Plot::new("joulio bench", &about, &self.axes, &records);
                let written = file.write(&plot);
                written.map_err(|error| Failure::run(format!("--plot: {error}")))?;
            }
        }
        end.judge(&records, &stop)?;
        if args.strict {
            check_unspoiled(&records)?;
        }
        printed
    }

    /// Describes what is about to run on `devices`; several sections are described one by one.
    fn heading(&self, devices: &[&str]) -> Result<String, Failure> {
        let several = self.sections.len() > 1;
        let sections = self.options.sections().zip(&self.sections);
        let each = sections.map(|(own, section)| {
            let axes = own.own_axes()?;
            let job = own.base.job().map_err(Failure::input)?;
            let names: Vec<_> = own
                .base
                .targets
                .devices
                .iter()
                .map(|one| one.text())
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let devices = if several { &names } else { devices };
            let heading = table::heading(own, &axes, &job, devices);
            Ok(match section.name {
                "" => heading,
                name => format!("[{name}]\n{heading}"),
            })
        });
        let each: Vec<String> = each.collect::<Result<_, Failure>>()?;
        Ok(each.join("\n"))
    }

    /// Returns the tables: a row for each run and section, or for each point if runs are repeated.
    fn text(&self, records: &[&RunRecord]) -> String {
        let (args, axes, grouped) = (self.args(), &self.axes, self.grouped);
        let whole = axes.points();
        // Runs of the same point are adjacent, whatever the order of execution was.
        let mut records = records.to_vec();
        records.sort_by_key(|record| whole.iter().position(|point| *point == record.point));
        let of_records = |grouped: bool| {
            let rows = records.iter().flat_map(|record| rows(record, grouped));
            rows.collect::<Vec<_>>()
        };
        let (varied, points, lines) = match self.options.beside.is_empty() {
            true => (Varied::new(axes), whole, of_records(false)),
            false => {
                let lines = of_records(grouped);
                let mut points: Vec<Point> = Vec::new();
                for row in &lines {
                    if !points.contains(&row.point) {
                        points.push(row.point.clone());
                    }
                }
                (Varied::new(axes).with_sections(), points, lines)
            }
        };
        let lines = borrowed(&lines);
        let chosen = args.columns.clone().unwrap_or_default();
        let mut text = match self.options.base.replicates {
            0 | 1 => table::table(&varied, &lines, &chosen),
            _ => means::table(&varied, &lines, &points, &chosen),
        };
        if args.per_job {
            // The row of all sections would list the sections' jobs a second time.
            let mut jobs = lines.clone();
            jobs.retain(|row| grouped || row.result.sections.is_empty());
            text += &parts::table(&varied, &jobs);
        }
        text += &parts::percentiles(&varied, &lines);
        text + &found(&varied, &lines, &points)
    }
}

/// Returns sentences that summarise the table of `lines`, printed last.
fn found(varied: &Varied, lines: &[&RunRecord], points: &[Point]) -> String {
    let runs: Vec<_> = lines.iter().map(|record| &record.result).collect();
    let rows = MeanRow::of(lines, points);
    let found = verdict(varied, &rows, EnergyColumn::of(&runs).as_ref());
    match found.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", found.join("\n")),
    }
}

/// Returns the sweep of `sections`, which run at the same time.
fn options(sections: &[Section<'_>]) -> Result<SweepOptions, Failure> {
    let beside = sections.len() > 1;
    let each = sections.iter().map(|section| {
        let name = if beside { section.name } else { "" };
        Ok(SweepOptions {
            section: name.to_owned(),
            reporting_group: section.reporting_group,
            ..section.args.options()?
        })
    });
    let mut each: Vec<SweepOptions> = each.collect::<Result<_, Failure>>()?;
    let first = each.remove(0);
    Ok(SweepOptions {
        beside: each,
        ..first
    })
}

/// Opens the file of `--plot` before anything is run.
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

/// Returns an error if there are too many combinations, or options of an engine that is not used.
fn check(section: &SweepOptions) -> Outcome {
    let axes = section.own_axes()?;
    if axes.count() > MAX_POINTS {
        return Err(Failure::input(format!(
            "{} combinations are too many for a bench: at most {MAX_POINTS}",
            axes.count()
        )));
    }
    let given = section.base.targets.ring != RingOptions::default();
    let engines = axes.values(joulio_lab::sweep::Factor::Engine);
    let has_ring = |name: &String| name.parse().is_ok_and(EngineName::has_ring);
    if given && !engines.iter().any(has_ring) {
        return Err(Failure::input(
            "--fixedbufs, --registerfiles and --sqthread_* are of io_uring, which is not among the engines: add it to --engine, or leave them out",
        ));
    }
    Ok(())
}

/// Returns true if all runs failed; the reasons are already on standard error.
fn all_failed(records: &[&RunRecord]) -> bool {
    !records.is_empty() && records.iter().all(|one| one.result.failure.is_some())
}
