//! Flags of `joulio bench`, in addition to those of the workload.

use super::settings::Flags;
use super::{means, table};
use crate::columns::{Chosen, is_named};
use crate::failure::Failure;
use crate::output::Output;
use crate::power_states::Switch;
use crate::times::seconds;
use crate::work::{WorkArgs, whole};
use clap::ValueEnum;
use joulio_host::power_states::coalescing;
use joulio_lab::experiment::{
    EnergyOptions, ExperimentOptions, ExperimentSettings, IoLogs, WorkloadOptions,
};
use joulio_lab::sweep::{Order, SweepOptions, TERSE_PERCENTILES};
use joulio_lab::virtual_time::{CoreFrequency, TwinOptions, VirtualSurroundings};
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_units::{Nanos, proposal};
use joulio_workload::{
    Batches, CompletionMode, EngineName, Flushes, JobKind, LatencyDetail, ParseError, RingOptions,
    SteadyCriterion, SteadyState, Verify, parse_count, parse_percentiles,
};
use std::path::PathBuf;
use std::str::FromStr;

/// fio's options of io_uring.
#[derive(clap::Args)]
#[command(next_help_heading = "io_uring")]
struct Ring {
    /// io_uring: register the buffers
    #[arg(long)]
    fixedbufs: bool,
    /// io_uring: register the file
    #[arg(long)]
    registerfiles: bool,
    /// io_uring: CPU of the kernel's sqpoll thread
    #[arg(long = "sqthread_poll_cpu", value_name = "CPU")]
    sqthread_poll_cpu: Option<u32>,
    /// io_uring: milliseconds without I/O after which the kernel's sqpoll thread sleeps
    #[arg(
        long = "sqthread_poll_idle",
        value_name = "MS",
        default_value_t = 0,
        hide_default_value = true
    )]
    sqthread_poll_idle: u32,
}

/// Flags that fio has mean what they mean there, and fio's other words are taken too: --filename, --ioengine,
/// --name, which begins a section as in fio (docs/fio.md).
#[derive(clap::Args)]
pub struct BenchArgs {
    /// A fio job file (docs/fio.md). Its sections run at the same time, or one after the other where a section has
    /// stonewall. Flags on the command line override all sections
    #[arg(value_name = "JOBFILE")]
    pub job_file: Option<PathBuf>,
    /// Run only this section of the job file. Repeatable
    #[arg(long, value_name = "NAME", requires = "job_file")]
    pub section: Vec<String>,
    /// Engines, a list: nvme (joulio's user-space driver) or the kernel's psync, libaio, io_uring and io_uring_cmd
    /// (which bypasses the block layer). Default: nvme on a controller, io_uring on a block device or a file
    #[arg(long, value_delimiter = ',')]
    engine: Vec<EngineName>,
    #[arg(long, value_delimiter = ',', help = completion_help())]
    completion: Vec<CompletionMode>,
    #[command(flatten)]
    work: WorkArgs,
    /// Run each job as a process instead of a thread; only with the kernel's engines
    #[arg(long)]
    process: bool,
    /// Seconds to measure (or with a unit: 500ms, 2m). Default: 5, unless --number_ios is given
    #[arg(long, value_parser = seconds)]
    runtime: Option<Nanos>,
    /// Number of I/Os of each job on each of its devices (10k, 1M)
    #[arg(long = "number_ios", value_parser = parse_count)]
    number_ios: Option<u64>,
    /// Seconds to run before the measurement. Default: 1; with --number_ios twice the learning time of the policy, or
    /// 0 if it does not learn
    #[arg(long = "ramp_time", value_parser = seconds)]
    ramp_time: Option<Nanos>,
    /// none or crc32c: mark every block with where and when it was written, and check it. A job that only reads checks
    /// what is there; if it also writes, or the device had no data, blocks to be read are written once before the run.
    /// Blocks that the run wrote are read back after it
    #[arg(long, default_value = "none", hide_default_value = true)]
    verify: Verify,
    /// With --number_ios, count energy for this many seconds (or 2m) from the start, including the idle time after
    /// the last I/O (race to idle)
    #[arg(long, value_parser = seconds)]
    window: Option<Nanos>,
    /// Meters to read, a list as for joulio power: names, sources, boundaries, all or none. Default: every readable
    /// meter, including the devices' own
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// File with the watts of the idle machine. Default: where joulio power --idle writes it
    #[arg(long, value_name = "FILE")]
    idle_baseline: Option<PathBuf>,
    /// Machine profile for the energy model: a name, or a path to a .toml file. Default: the profile of this
    /// processor. If there is none and no meter covers the machine, a generic server
    #[arg(long)]
    machine: Option<String>,
    #[command(flatten)]
    settings: Flags,
    #[command(flatten)]
    ring: Ring,
    /// Simulate the run in virtual time, on the profiles of --machine and the devices; all figures are modelled. The
    /// kernel's engines are simulated too, on emulated devices
    #[arg(long)]
    twin: bool,
    /// Clock of the jobs' cores in virtual time, a list: 2.1GHz or 800MHz. Default: the clock at which the machine's
    /// profile was measured
    #[arg(long, value_delimiter = ',', requires = "twin")]
    frequency: Vec<CoreFrequency>,
    /// Interrupt coalescing: an interrupt after COUNT completions or US microseconds, such as 8,200; or off. Sets
    /// feature 08h of devices that joulio drives, and restores it at the end; also in virtual time
    #[arg(long, value_name = "COUNT,US", value_parser = coalescing::parse)]
    coalescing: Option<InterruptCoalescing>,
    /// Power state (feature 02h) of devices that joulio drives, one in which they do I/Os; restored at the end
    #[arg(long = "power-state", value_name = "PS", conflicts_with = "twin", value_parser = clap::value_parser!(u8).range(0..=31))]
    power_state: Option<u8>,
    /// Autonomous power state transitions (APST, feature 0Ch) of devices that joulio drives; restored at the end. If a
    /// drive has no table, Linux's default table is used. Opening a drive resets it, and most then have them off
    #[arg(long, value_enum, conflicts_with = "twin")]
    apst: Option<Switch>,
    /// In virtual time: interrupts per second of other queues and devices on each of the jobs' CPUs, at random times.
    /// Their handlers take CPU time from the jobs and wake an idle CPU
    #[arg(long, value_name = "RATE", default_value = "0", hide_default_value = true, value_parser = rate, requires = "twin")]
    other_irqs: u32,
    /// In virtual time: the interrupt remapper posts the interrupts of all of a job's devices into one descriptor,
    /// whose notification is the thread's user interrupt. Without this flag the first device has the user interrupt
    /// and the kernel raises it for the others, as in real runs. For modes that take user interrupts
    #[arg(long, requires = "twin")]
    posted_interrupts: bool,
    /// Repetitions of the whole set of runs, each with another seed. The table then has means with 95 % intervals,
    /// and says which results cannot be told from the best
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    replicates: u32,
    /// Order of the runs: listed, or random (another order in each repetition, drawn from --seed, so that drift
    /// favours no run)
    #[arg(long, default_value = "listed", value_parser = Order::from_str, hide_default_value = true)]
    order: Order,
    /// Save each run in this file as a line of JSON, and skip runs that it already has. The lists and --replicates
    /// may change between calls
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Exit with status 1 if the machine spoiled a run: another program on the CPU, steal time, throttling, a stop.
    /// The table marks such a run with !, and the JSON lists the reasons in spoiled
    #[arg(long)]
    pub strict: bool,
    /// Columns of the table: a list of headings, such as IOPS,p99,uJ/IO, or all. Default: as many as fit the
    /// terminal, or all if standard output is not a terminal
    #[arg(long, value_name = "LIST", value_parser = chosen)]
    pub columns: Option<Chosen>,
    /// Below the table, a line for each job and, if there are several, for each device. The JSON always has them
    #[arg(long)]
    pub per_job: bool,
    /// Print nothing but errors to standard error
    #[arg(long)]
    pub quiet: bool,
    /// Explain each column and exit
    #[arg(long)]
    pub legend: bool,
    /// Delay before the jobs start, in seconds (or 500ms)
    #[arg(long, value_name = "TIME", default_value = "0", hide_default_value = true, value_parser = seconds)]
    startdelay: Nanos,
    /// End all jobs when the first one ends
    #[arg(long)]
    exitall: bool,
    /// Accepted for fio's sake: every I/O is direct. Overrides direct=0 of a job file
    #[arg(long, value_name = "1", value_parser = direct)]
    direct: Option<u8>,
    /// One row for all sections that run at the same time
    #[arg(long = "group_reporting")]
    pub group_reporting: bool,
    /// Most I/Os to submit at once. Default: all that are due
    #[arg(long = "iodepth_batch_submit", aliases = ["iodepth_batch", "iodepth-batch"], value_name = "IOS", value_parser = whole::<usize>)]
    iodepth_batch_submit: Option<usize>,
    /// Completions to wait for before any is taken, or all in flight if these are fewer. Default: 1
    #[arg(long = "iodepth_batch_complete_min", aliases = ["iodepth_batch_complete", "iodepth-batch-complete"], value_name = "IOS", value_parser = whole::<usize>)]
    iodepth_batch_complete_min: Option<usize>,
    /// Most completions to take at once, at least --iodepth_batch_complete_min. Default: all that there are
    #[arg(long = "iodepth_batch_complete_max", value_name = "IOS", value_parser = whole::<usize>)]
    iodepth_batch_complete_max: Option<usize>,
    /// Flush after this many writes: fsync(2), or the Flush command with joulio's driver. 0: never
    #[arg(long, value_name = "WRITES", default_value_t = 0, hide_default_value = true, value_parser = whole::<u32>)]
    fsync: u32,
    /// As --fsync, with fdatasync(2). If both are due, only --fsync's flush is done
    #[arg(long, value_name = "WRITES", default_value_t = 0, hide_default_value = true, value_parser = whole::<u32>)]
    fdatasync: u32,
    /// Flush after the last write or trim, as part of the measurement
    #[arg(long = "end_fsync")]
    end_fsync: bool,
    /// End a run when its rate is steady. iops:2% or bw:2%: each rate in the window is within 2 percent of their
    /// mean. iops_slope:0.5% or bw_slope:0.5%: the fitted line changes by less than that from one rate to the next.
    /// --runtime limits the run
    #[arg(long, aliases = ["ss"], value_name = "CRITERION", requires = "steadystate_duration")]
    steadystate: Option<SteadyCriterion>,
    /// Length of the window that is judged, in seconds
    #[arg(long = "steadystate_duration", aliases = ["ss_dur"], value_name = "TIME", requires = "steadystate", value_parser = seconds)]
    steadystate_duration: Option<Nanos>,
    /// Seconds of the measurement before the first window
    #[arg(long = "steadystate_ramp_time", aliases = ["ss_ramp"], value_name = "TIME", requires = "steadystate", value_parser = seconds)]
    steadystate_ramp_time: Option<Nanos>,
    /// Seconds over which each rate of the window is taken. Default: 1
    #[arg(long = "steadystate_check_interval", aliases = ["ss_interval"], value_name = "TIME", requires = "steadystate", value_parser = seconds)]
    steadystate_check_interval: Option<Nanos>,
    /// Print a run's figures so far to standard error, at this interval in seconds
    #[arg(long = "status-interval", value_name = "TIME", value_parser = interval)]
    pub status_interval: Option<Nanos>,
    /// Log each I/O's latency in fio's format to PREFIX_lat.1.log (the first job; with several runs
    /// PREFIX-poll_lat.1.log). The log is kept in memory until the run ends. As in fio, it replaces an earlier one
    #[arg(long = "write_lat_log", value_name = "PREFIX")]
    write_lat_log: Option<PathBuf>,
    /// Log bandwidth in KiB/s in the same way: PREFIX_bw.1.log
    #[arg(long = "write_bw_log", value_name = "PREFIX")]
    write_bw_log: Option<PathBuf>,
    /// Log I/Os per second in the same way: PREFIX_iops.1.log
    #[arg(long = "write_iops_log", value_name = "PREFIX")]
    write_iops_log: Option<PathBuf>,
    /// Milliseconds to average for each line of a log; 0: a line for each I/O
    #[arg(
        long = "log_avg_msec",
        value_name = "MS",
        default_value_t = 0,
        hide_default_value = true
    )]
    log_avg_msec: u32,
    /// Add each I/O's offset to the logs, before the last column
    #[arg(long = "log_offset")]
    log_offset: bool,
    /// Further latency percentiles to print, a line for each run: 50:95:99.99
    #[arg(long = "percentile_list", value_name = "PERCENTILES", value_parser = percentiles)]
    percentile_list: Option<Percentiles>,
    #[command(flatten)]
    pub output: Output<BenchFormat>,
    /// Draw latency, IOPS and uJ/IO over the varying factor, and the distribution of latency, to this file (.svg or
    /// .html). An existing file is kept unless --force is given
    #[arg(long, value_name = "FILE.svg|html")]
    pub plot: Option<PathBuf>,
    /// Overwrite existing files of --plot and --output
    #[arg(long)]
    pub force: bool,
    /// Read the meters of the tree under this folder, captured on another machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true)]
    root: Option<PathBuf>,
}

/// `--output-format` of a bench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BenchFormat {
    /// For people.
    #[default]
    #[value(alias = "table")]
    Normal,
    /// For programs.
    Json,
    /// For programs, with the latency histograms.
    #[value(name = "json+")]
    JsonPlus,
    /// fio's terse format, version 3: a line for each run, fields separated by semicolons.
    Terse,
    /// For spreadsheets: a line for each run.
    Csv,
}

/// Value of `--percentile_list`.
#[derive(Clone, Debug)]
struct Percentiles(Vec<f64>);

/// Returns the help of `--completion`.
fn completion_help() -> String {
    format!(
        "Completion modes, a list (docs/policies.md): {} Default: poll,interrupt,hybrid,adaptive for nvme, interrupt for the kernel's engines",
        CompletionMode::described()
    )
}

fn percentiles(text: &str) -> Result<Percentiles, ParseError> {
    parse_percentiles(text).map(Percentiles)
}

impl BenchArgs {
    /// Returns the sweep that the flags describe.
    pub fn options(&self) -> Result<SweepOptions, Failure> {
        Ok(SweepOptions {
            base: self.base(),
            axes: self.work.axes()?,
            order: self.order,
            ..SweepOptions::default()
        })
    }

    /// Returns true if results go to files beside the report.
    pub fn writes_files(&self) -> bool {
        let files = [
            &self.plot,
            &self.state,
            &self.write_lat_log,
            &self.write_bw_log,
            &self.write_iops_log,
        ];
        files.into_iter().any(Option::is_some)
    }

    /// Returns the steady state that ends a run, if the flags request one.
    fn steady_state(&self) -> Option<SteadyState> {
        Some(SteadyState {
            criterion: self.steadystate?,
            duration: self.steadystate_duration?,
            ramp_time: self.steadystate_ramp_time.unwrap_or_default(),
            check_interval: self
                .steadystate_check_interval
                .unwrap_or(Nanos::from_millis(1_000)),
        })
    }

    /// Returns the additional percentiles: those that were requested, or those that the output format has.
    fn percentiles(&self) -> Vec<f64> {
        let format = match self.output.format() {
            BenchFormat::Terse => TERSE_PERCENTILES.to_vec(),
            _ => Vec::new(),
        };
        self.percentile_list.clone().map_or(format, |list| list.0)
    }

    /// Returns the options of every run, without the values from lists.
    fn base(&self) -> ExperimentOptions {
        let ring = RingOptions {
            poller_idle_ms: self.ring.sqthread_poll_idle,
            poller_cpu: self.ring.sqthread_poll_cpu,
            fixed_buffers: self.ring.fixedbufs,
            registered_file: self.ring.registerfiles,
        };
        let format = self.output.format();
        ExperimentOptions {
            targets: self.work.targets(ring),
            engines: self.engine.clone(),
            completion: self.completion.clone(),
            workload: WorkloadOptions {
                kind: match self.process {
                    true => JobKind::Process,
                    false => JobKind::Thread,
                },
                runtime: self.runtime,
                number_ios: self.number_ios,
                window: self.window,
                ramp_time: self.ramp_time,
                verify: self.verify,
                batches: Batches {
                    submit: self.iodepth_batch_submit.unwrap_or(0),
                    complete_min: self.iodepth_batch_complete_min.unwrap_or(1),
                    complete_max: self.iodepth_batch_complete_max,
                },
                flushes: Flushes {
                    fsync: self.fsync,
                    fdatasync: self.fdatasync,
                    end_fsync: self.end_fsync,
                },
                steady_state: self.steady_state(),
                start_delay: self.startdelay,
                exitall: self.exitall,
                latency: LatencyDetail {
                    percentiles: self.percentiles(),
                    bins: self.plot.is_some()
                        || matches!(format, BenchFormat::JsonPlus | BenchFormat::Terse),
                },
                ..self.work.workload()
            },
            settings: ExperimentSettings {
                coalescing: self.coalescing.filter(|_| !self.twin),
                power_state: self.power_state,
                apst: self.apst.map(Switch::is_on),
                ..self.settings.settings()
            },
            replicates: self.replicates,
            energy: EnergyOptions {
                meters: self.meter.clone(),
                idle_baseline: self.idle_baseline.clone(),
                machine: self.machine.clone(),
                root: self.root.clone(),
            },
            io_logs: IoLogs {
                latency: self.write_lat_log.clone(),
                bandwidth: self.write_bw_log.clone(),
                iops: self.write_iops_log.clone(),
                average: Nanos::from_millis(self.log_avg_msec.into()),
                offset: self.log_offset,
            },
            twin: self.twin.then(|| TwinOptions {
                frequencies: self.frequency.clone(),
                coalescing: self.coalescing.into_iter().collect(),
                surroundings: VirtualSurroundings {
                    other_irqs: self.other_irqs,
                    posted_interrupts: self.posted_interrupts,
                    ..VirtualSurroundings::default()
                },
            }),
        }
    }
}

/// Parses the interval of `--status-interval`.
fn interval(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        Nanos(0..100_000_000) => Err(format!("'{text}' is too short: give at least 100ms")),
        time => Ok(time),
    }
}

/// Parses the columns of the table of runs.
fn chosen(text: &str) -> Result<Chosen, String> {
    if text == "all" {
        return Ok(Chosen::All);
    }
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    let all = || table::headings().chain(means::headings());
    match names
        .iter()
        .find(|name| !all().any(|heading| is_named(heading, name)))
    {
        Some(name) => {
            let mut known: Vec<_> = table::headings().collect();
            known.extend(
                means::headings().filter(|name| !table::headings().any(|other| other == *name)),
            );
            let near = proposal(name, &known);
            Err(format!(
                "'{name}' is not a column: {near}there are {}, or all",
                known.join(", ")
            ))
        }
        None => Ok(Chosen::Named(names)),
    }
}

/// Parses the value of `--direct`.
fn direct(text: &str) -> Result<u8, String> {
    match text {
        "1" | "true" => Ok(1),
        _ => Err("every I/O is direct: the page cache is not measured".into()),
    }
}

/// Parses a number of events per second, such as 20k.
fn rate(text: &str) -> Result<u32, String> {
    let rate = parse_count(text).map_err(|error| error.to_string())?;
    u32::try_from(rate).map_err(|_| format!("{rate} a second are more than any CPU handles"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};
    use joulio_nvme::Cancel;

    #[derive(Parser)]
    struct Bench {
        #[command(flatten)]
        args: BenchArgs,
    }

    #[test]
    fn the_help_has_every_completion_mode() {
        let help = Bench::command().render_long_help().to_string();
        // Lines are broken at spaces.
        let words: Vec<_> = help.split([' ', '\n', ',']).collect();
        for mode in CompletionMode::ALL {
            for spelling in mode.summary().spellings {
                assert!(words.contains(spelling), "{spelling}: {help}");
            }
        }
    }

    #[test]
    fn without_flags_the_experiment_is_the_default_one() {
        let args = Bench::try_parse_from(["bench"]).unwrap().args;
        let mut options = args.options().unwrap().base;
        let timeout = options.targets.io_timeout.take();
        assert_eq!(timeout, Some(Nanos::from_millis(30_000)));
        options.targets.cancel = Cancel::default();
        let default = ExperimentOptions::default();
        assert_eq!(format!("{options:?}"), format!("{default:?}"));
    }
}
