//! The flags of `joulio bench` beside those of the work.

use super::settings::Flags;
use super::{means, table};
use crate::columns::{Chosen, is_named};
use crate::failure::Failure;
use crate::output::Output;
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
    Batches, CompletionMode, EngineName, Flushes, JobKind, LatencyDetail, RingOptions,
    SteadyCriterion, SteadyState, Verify, parse_count, parse_percentiles,
};
use std::path::PathBuf;
use std::str::FromStr;

/// fio's options of io_uring.
#[derive(clap::Args)]
#[command(next_help_heading = "io_uring")]
struct Ring {
    /// io_uring: buffers are registered
    #[arg(long)]
    fixedbufs: bool,
    /// io_uring: the file is registered
    #[arg(long)]
    registerfiles: bool,
    /// io_uring: the CPU of the kernel's thread of sqpoll
    #[arg(long = "sqthread_poll_cpu", value_name = "CPU")]
    sqthread_poll_cpu: Option<u32>,
    /// io_uring: milliseconds after which the kernel's thread of sqpoll sleeps
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
    /// A job file of fio's: its sections are run beside each other, or after each other where one has
    /// stonewall (docs/fio.md). Flags count for all sections, in place of theirs
    #[arg(value_name = "JOBFILE")]
    pub job_file: Option<PathBuf>,
    /// Only this section of the job file, and those named beside it. Repeatable
    #[arg(long, value_name = "NAME", requires = "job_file")]
    pub section: Vec<String>,
    /// Engines, a list: nvme (joulio's own driver, in user space) or the kernel's psync, libaio, io_uring
    /// and io_uring_cmd (past the block layer). Default: nvme on a controller, io_uring on a block device
    /// or a file
    #[arg(long, value_delimiter = ',')]
    engine: Vec<EngineName>,
    /// Completion modes, a list: poll, interrupt, hybrid (sleep half the mean time, then poll),
    /// hybrid=4us (sleep that long); of nvme also poll-pause, poll-pause=4 (so many PAUSE
    /// instructions between polls), uring-hybrid, ehp, pas, dpas, dpas=3 (sleeps that are learnt,
    /// see docs/policies.md), ski-rental=2us (poll that long, then interrupt) and, where the CPU
    /// has user-level waits, tpause, tpause=500ns (that long between polls), hybrid-tpause, umwait
    /// (until the completion is written), uintr and uintr-block=100us (until the device's interrupt
    /// comes straight to the thread; after that long, by the kernel), hybrid-uintr (until the completion is
    /// predicted or its interrupt comes, then poll), spdk-plus (uintr as SPDK+ does it), adaptive (the least energy within
    /// a promise, see docs/adaptive.md); with --twin active-check and
    /// active-check=poll (uintr or poll, and interrupt while another thread is runnable on the CPU);
    /// of io_uring also sqpoll and
    /// sqpoll+poll (a thread of the kernel submits). Default: poll,interrupt,hybrid,adaptive of nvme,
    /// interrupt of the kernel's engines
    #[arg(long, value_delimiter = ',')]
    completion: Vec<CompletionMode>,
    #[command(flatten)]
    work: WorkArgs,
    /// Jobs are processes instead of threads, each with what it opens to itself. For the kernel's
    /// engines
    #[arg(long)]
    process: bool,
    /// Seconds to measure (or 500ms, 2m). Default: 5, unless --number_ios is given
    #[arg(long, value_parser = seconds)]
    runtime: Option<Nanos>,
    /// I/Os of each job on each of its devices (or 10k, 1M)
    #[arg(long = "number_ios", value_parser = parse_count)]
    number_ios: Option<u64>,
    /// Seconds to run before measuring. Default: 1; with --number_ios 0, but for a policy that
    /// learns twice the time that it learns in
    #[arg(long = "ramp_time", value_parser = seconds)]
    ramp_time: Option<Nanos>,
    /// none or crc32c: every block says where and when it was written. Blocks that are read are
    /// written once before the run; what was written is read back after it
    #[arg(long, default_value = "none", hide_default_value = true)]
    verify: Verify,
    /// Fixed work in a fixed window: with --number_ios, energy is counted for so many seconds (or
    /// 2m) from the beginning, idle after the work: a race to idle
    #[arg(long, value_parser = seconds)]
    window: Option<Nanos>,
    /// Only these meters, a list, as joulio power takes it: names, sources, boundaries, all or
    /// none. Default: every one that can be read, the devices' own among them
    #[arg(long, value_name = "METER", value_delimiter = ',')]
    meter: Vec<String>,
    /// File of the idle machine's watts, as joulio power --idle keeps it. Default: where that keeps
    /// it
    #[arg(long, value_name = "FILE")]
    idle_baseline: Option<PathBuf>,
    /// The machine whose watts the energy model uses: a name, or a path to a .toml file. Default:
    /// the one that fits this processor; without one, a generic server, where no meter measures
    /// what the machine draws
    #[arg(long)]
    machine: Option<String>,
    #[command(flatten)]
    settings: Flags,
    #[command(flatten)]
    ring: Ring,
    /// Run it in virtual time: --machine and the devices' profiles are the machine, and all
    /// figures are modelled. The kernel's engines are simulated on emulated devices too
    #[arg(long)]
    twin: bool,
    /// The clock of the jobs' cores in virtual time, a list: 2.1GHz or 800MHz. Default: the one
    /// that the machine's figures were taken at
    #[arg(long, value_delimiter = ',', requires = "twin")]
    frequency: Vec<CoreFrequency>,
    /// Interrupt for so many completions at once, or after so many microseconds, as 8,200; or off.
    /// Feature 08h of devices that joulio drives, put back at the end; in virtual time too
    #[arg(long, value_name = "COUNT,US", value_parser = coalescing::parse)]
    coalescing: Option<InterruptCoalescing>,
    /// In virtual time, interrupts a second of other queues and devices on each CPU of the jobs, at random
    /// times: their handlers take the CPU from the jobs, and wake it where it is idle
    #[arg(long, value_name = "RATE", default_value = "0", hide_default_value = true, value_parser = rate, requires = "twin")]
    other_irqs: u32,
    /// In virtual time, the interrupt remapper posts the interrupts of all devices of a job into one
    /// descriptor, whose notification is the thread's user interrupt. Without it the first device's is, and
    /// the kernel raises it for the others, as real runs do. For modes that take user interrupts
    #[arg(long, requires = "twin")]
    posted_interrupts: bool,
    /// How often each run is done: all of them, then all again, each time with another seed. The table
    /// has the means with their 95 % intervals, and what cannot be told from the best
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    replicates: u32,
    /// listed, or random: in each repetition another order, by --seed, so that what drifts meanwhile
    /// favours no run
    #[arg(long, default_value = "listed", value_parser = Order::from_str, hide_default_value = true)]
    order: Order,
    /// Keep each run in this file, a line of JSON each, and go on from what it has: lists and
    /// --replicates may be others than before
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Exit status 1 when the machine spoiled a run: a CPU that others ran on, steal time,
    /// throttling, a stop. The table marks such runs by !, and the JSON has the reasons as spoiled
    #[arg(long)]
    pub strict: bool,
    /// Columns of the runs' table: a list of headings, as IOPS,p99,uJ/IO, or all. Default: as many as the
    /// terminal has room for, all elsewhere
    #[arg(long, value_name = "LIST", value_parser = chosen)]
    pub columns: Option<Chosen>,
    /// The jobs, and several devices, a line each below the table; in the JSON they always are
    #[arg(long)]
    pub per_job: bool,
    /// No progress and no notes on standard error, but errors
    #[arg(long)]
    pub quiet: bool,
    /// Say what each column is, and run nothing
    #[arg(long)]
    pub legend: bool,
    /// Seconds (or 500ms) from the start of the run to that of the jobs
    #[arg(long, value_name = "TIME", default_value = "0", hide_default_value = true, value_parser = seconds)]
    startdelay: Nanos,
    /// End all jobs when the first has ended
    #[arg(long)]
    exitall: bool,
    /// 1: every I/O is direct, as is always so here. In place of a job file's direct=0
    #[arg(long, value_name = "1", value_parser = direct)]
    direct: Option<u8>,
    /// One row for all sections that run beside each other
    #[arg(long = "group_reporting")]
    pub group_reporting: bool,
    /// I/Os that are submitted together at most. Default: all that are due
    #[arg(long = "iodepth_batch_submit", aliases = ["iodepth_batch", "iodepth-batch"], value_name = "IOS", value_parser = whole::<usize>)]
    iodepth_batch_submit: Option<usize>,
    /// Completions that are waited for before any is taken; where fewer are in flight, those. Default: 1
    #[arg(long = "iodepth_batch_complete_min", aliases = ["iodepth_batch_complete", "iodepth-batch-complete"], value_name = "IOS", value_parser = whole::<usize>)]
    iodepth_batch_complete_min: Option<usize>,
    /// A flush after so many writes, as fsync(2); by joulio's own driver the command Flush. 0: none
    #[arg(long, value_name = "WRITES", default_value_t = 0, hide_default_value = true, value_parser = whole::<u32>)]
    fsync: u32,
    /// The same as fdatasync(2); where a flush of --fsync is due too, that one alone
    #[arg(long, value_name = "WRITES", default_value_t = 0, hide_default_value = true, value_parser = whole::<u32>)]
    fdatasync: u32,
    /// A flush after the last write or trim, within the measured part
    #[arg(long = "end_fsync")]
    end_fsync: bool,
    /// End a run when its rate is steady, iops or bw: iops:2%, no rate of a window is further than that from
    /// their mean; iops_slope:0.5%, their line rises or falls by less from one to the next. --runtime is the most
    #[arg(long, aliases = ["ss"], value_name = "CRITERION", requires = "steadystate_duration")]
    steadystate: Option<SteadyCriterion>,
    /// Seconds of the window that is judged
    #[arg(long = "steadystate_duration", aliases = ["ss_dur"], value_name = "TIME", requires = "steadystate", value_parser = seconds)]
    steadystate_duration: Option<Nanos>,
    /// Seconds of the measured part before the first window
    #[arg(long = "steadystate_ramp_time", aliases = ["ss_ramp"], value_name = "TIME", requires = "steadystate", value_parser = seconds)]
    steadystate_ramp_time: Option<Nanos>,
    /// Seconds that each rate of the window is of. Default: 1
    #[arg(long = "steadystate_check_interval", aliases = ["ss_interval"], value_name = "TIME", requires = "steadystate", value_parser = seconds)]
    steadystate_check_interval: Option<Nanos>,
    /// Print a run's figures so far each so many seconds, a line on standard error
    #[arg(long = "status-interval", value_name = "TIME", value_parser = interval)]
    pub status_interval: Option<Nanos>,
    /// A file of each I/O's latency: PREFIX_lat.1.log of the first job, as fio writes it; of several runs
    /// PREFIX-poll_lat.1.log. A log keeps its I/Os in memory up to the end of the run
    #[arg(long = "write_lat_log", value_name = "PREFIX")]
    write_lat_log: Option<PathBuf>,
    /// The same of each I/O's bandwidth in KiB/s: PREFIX_bw.1.log
    #[arg(long = "write_bw_log", value_name = "PREFIX")]
    write_bw_log: Option<PathBuf>,
    /// The same of I/Os a second: PREFIX_iops.1.log
    #[arg(long = "write_iops_log", value_name = "PREFIX")]
    write_iops_log: Option<PathBuf>,
    /// Milliseconds that a line of a log is the mean of; 0: a line an I/O
    #[arg(
        long = "log_avg_msec",
        value_name = "MS",
        default_value_t = 0,
        hide_default_value = true
    )]
    log_avg_msec: u32,
    /// Lines of a log have the I/O's offset, before the last column
    #[arg(long = "log_offset")]
    log_offset: bool,
    /// Percentiles of the latency to show beside the usual ones, a line a run: 50:95:99.99
    #[arg(long = "percentile_list", value_name = "PERCENTILES", value_parser = percentiles)]
    percentile_list: Option<Percentiles>,
    #[command(flatten)]
    pub output: Output<BenchFormat>,
    /// After the table, draw latency, IOPS and uJ/IO over the number that varies, and the distribution of
    /// latency: a drawing or a page, for light and dark, in this file, which must not be there, or be one to
    /// overwrite by --force
    #[arg(long, value_name = "FILE.svg|html")]
    pub plot: Option<PathBuf>,
    /// Overwrite the files of --plot and --output
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
    /// For programs, with the histograms of the latencies.
    #[value(name = "json+")]
    JsonPlus,
    /// For programs that read fio's version 3, semicolons between the fields: a line a run.
    Terse,
    /// For spreadsheets: a line a run.
    Csv,
}

/// Value of `--percentile_list`.
#[derive(Clone, Debug)]
struct Percentiles(Vec<f64>);

fn percentiles(text: &str) -> Result<Percentiles, String> {
    parse_percentiles(text).map(Percentiles)
}

impl BenchArgs {
    /// The sweep that the flags describe.
    pub fn options(&self) -> Result<SweepOptions, Failure> {
        Ok(SweepOptions {
            base: self.base(),
            axes: self.work.axes()?,
            order: self.order,
            ..SweepOptions::default()
        })
    }

    /// Steady state that ends a run.
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

    /// Percentiles beside the usual ones: those asked for, or those that the format has.
    fn percentiles(&self) -> Vec<f64> {
        let format = match self.output.format() {
            BenchFormat::Terse => TERSE_PERCENTILES.to_vec(),
            _ => Vec::new(),
        };
        self.percentile_list.clone().map_or(format, |list| list.0)
    }

    /// The experiment that all runs are, but for what the lists say.
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

/// Time between two lines of `--status-interval`.
fn interval(text: &str) -> Result<Nanos, String> {
    match seconds(text)? {
        Nanos(0..100_000_000) => Err(format!("'{text}' is too short: give at least 100ms")),
        time => Ok(time),
    }
}

/// Columns of the runs' table.
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

/// Value of `--direct`.
fn direct(text: &str) -> Result<u8, String> {
    match text {
        "1" | "true" => Ok(1),
        _ => Err("every I/O is direct: the page cache is not what is measured".into()),
    }
}

/// A number of events a second, as 20k.
fn rate(text: &str) -> Result<u32, String> {
    let rate = parse_count(text)?;
    u32::try_from(rate).map_err(|_| format!("{rate} a second are more than any CPU handles"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use joulio_nvme::Cancel;

    #[derive(Parser)]
    struct Bench {
        #[command(flatten)]
        args: BenchArgs,
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
