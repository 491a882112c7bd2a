//! The flags of `joulio bench` beside those of the work.

use super::settings::Flags;
use crate::failure::Failure;
use crate::output::Format;
use crate::times::seconds;
use crate::work::{Length, WorkArgs};
use joulio_host::power_states::coalescing;
use joulio_lab::experiment::EnergyOptions;
use joulio_lab::virtual_time::IdleState;
use joulio_lab::virtual_time::{CoreFrequency, VirtualOptions};
use joulio_nvme::wait::{AnyPolicy, Hybrid, Policy};
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_units::Nanos;
use joulio_workload::{
    CompletionMode, EngineName, Job, JobKind, Method, RingOptions, Verify, parse_count,
};
use std::path::PathBuf;

/// How long a run is when neither --runtime nor --number_ios says.
const RUNTIME: Nanos = Nanos::from_millis(5_000);
/// And how long it warms up before that.
const RAMP: Nanos = Nanos::from_millis(1_000);

/// fio's options of io_uring.
#[derive(clap::Args)]
struct Ring {
    /// io_uring: buffers are registered
    #[arg(long)]
    fixedbufs: bool,
    /// io_uring: the file is registered
    #[arg(long)]
    registerfiles: bool,
    /// io_uring: the CPU of the kernel's thread of sqpoll
    #[arg(
        long = "sqthread_poll_cpu",
        alias = "sqthread-poll-cpu",
        value_name = "CPU"
    )]
    sqthread_poll_cpu: Option<u32>,
    /// io_uring: milliseconds after which the kernel's thread of sqpoll sleeps
    #[arg(
        long = "sqthread_poll_idle",
        alias = "sqthread-poll-idle",
        value_name = "MS",
        default_value_t = 0,
        hide_default_value = true
    )]
    sqthread_poll_idle: u32,
}

/// Flags that fio has mean what they mean there.
#[derive(clap::Args)]
pub struct BenchArgs {
    /// Engines, a list: nvme (joulio's own driver, in user space) or the kernel's psync, libaio and
    /// io_uring. Default: nvme on a controller, io_uring on a block device or a file
    #[arg(long, value_delimiter = ',')]
    engine: Vec<EngineName>,
    /// Completion modes, a list: poll, interrupt, hybrid (sleep half the mean time, then poll),
    /// hybrid=4us (sleep that long); of nvme also poll-pause, poll-pause=4 (so many PAUSE
    /// instructions between polls), uring-hybrid, ehp, pas, dpas, dpas=3 (sleeps that are learnt,
    /// see docs/policies.md), ski-rental=2us (poll that long, then interrupt) and, where the CPU
    /// has user-level waits, tpause, tpause=500ns (that long between polls), hybrid-tpause, umwait
    /// (until the completion is written), uintr and uintr-block=100us (until the device's interrupt
    /// comes straight to the thread; after that long, by the kernel), adaptive (the least energy within
    /// a promise, see docs/adaptive.md); with --twin active-check and
    /// active-check=poll (uintr or poll, and interrupt while another thread is runnable on the CPU);
    /// of io_uring also sqpoll and
    /// sqpoll+poll (a thread of the kernel submits). Default: poll,interrupt,hybrid,adaptive of nvme,
    /// interrupt of the kernel's engines
    #[arg(long, value_delimiter = ',')]
    completion: Vec<CompletionMode>,
    #[command(flatten)]
    pub work: WorkArgs,
    /// Jobs are processes instead of threads, each with what it opens to itself. For the kernel's
    /// engines
    #[arg(long)]
    process: bool,
    /// Seconds to measure (or 500ms, 2m). Default: 5, unless --number_ios is given
    #[arg(long, value_parser = seconds)]
    runtime: Option<Nanos>,
    /// I/Os of each job (or 10k, 1M)
    #[arg(long = "number_ios", alias = "number-ios", value_parser = parse_count)]
    number_ios: Option<u64>,
    /// Seconds to run before measuring. Default: 1; with --number_ios 0, but for a policy that
    /// learns twice the time that it learns in
    #[arg(long = "ramp_time", alias = "ramp-time", value_parser = seconds)]
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
    pub settings: Flags,
    #[command(flatten)]
    ring: Ring,
    /// Play it in virtual time: --machine and the devices' profiles are the machine, and all
    /// figures are modelled. The kernel's engines are simulated on emulated devices too
    #[arg(long)]
    pub twin: bool,
    /// The clock of the jobs' cores in virtual time, a list: 2.1GHz or 800MHz. Default: the one
    /// that the machine's figures were taken at
    #[arg(long, value_delimiter = ',', requires = "twin")]
    frequency: Vec<CoreFrequency>,
    /// In virtual time, interrupt for so many completions at once, or after so many microseconds,
    /// as 8,200. A real device's: joulio power-states
    #[arg(long, value_name = "COUNT,US", value_parser = coalescing::parse, requires = "twin")]
    coalescing: Option<InterruptCoalescing>,
    /// Exit status 1 when the machine spoiled a run: a CPU that others ran on, steal time,
    /// throttling, a stop. The table marks such runs by !, and the JSON has the reasons as spoiled
    #[arg(long)]
    pub strict: bool,
    /// normal or json
    #[arg(long, alias = "output-format", value_enum, default_value = "normal")]
    pub output: Format,
    /// Read the meters of the tree under this folder, captured on another machine, in place of /
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub root: Option<PathBuf>,
}

impl BenchArgs {
    /// The engines, each of which has to work on every device.
    pub fn engines(&self) -> Result<Vec<EngineName>, Failure> {
        let places = &self.work.device;
        let engines = match (self.engine.as_slice(), places.first()) {
            ([], Some(place)) => vec![place.engine()],
            (engines, _) => engines.to_vec(),
        };
        for engine in engines.iter().filter(|_| !self.twin) {
            for place in places {
                place.check(*engine)?;
            }
        }
        Ok(engines)
    }

    /// Every engine in every completion mode, in turn.
    pub fn methods(&self) -> Result<Vec<Method>, Failure> {
        let mut methods = Vec::new();
        for engine in self.engines()? {
            let modes: &[CompletionMode] = match (self.completion.as_slice(), engine) {
                ([], EngineName::Nvme) => &[
                    CompletionMode::Poll,
                    CompletionMode::Interrupt,
                    CompletionMode::Hybrid,
                    CompletionMode::Adaptive,
                ],
                ([], _) => &[CompletionMode::Interrupt],
                (modes, _) => modes,
            };
            methods.extend(modes.iter().map(|&mode| Method { engine, mode }));
        }
        let modes = methods.iter().map(|method| method.mode);
        self.work.goal.check(modes)?;
        Ok(methods)
    }

    /// Returns the requested options of io_uring.
    pub fn ring(&self) -> RingOptions {
        RingOptions {
            poller_idle_ms: self.ring.sqthread_poll_idle,
            poller_cpu: self.ring.sqthread_poll_cpu,
            fixed_buffers: self.ring.fixedbufs,
            registered_file: self.ring.registerfiles,
        }
    }

    /// The job that the flags describe.
    pub fn job(&self) -> Result<Job, Failure> {
        let by_time = self.number_ios.is_none();
        let length = Length {
            runtime: self.runtime.or(by_time.then_some(RUNTIME)),
            number_ios: self.number_ios,
            window: self.window,
            ramp_time: self.ramp(Nanos::ZERO),
        };
        let kind = match self.process {
            true => JobKind::Process,
            false => JobKind::Thread,
        };
        let job = match self.twin {
            true => self.work.job_anywhere(length, self.verify)?,
            false => self.work.job(length, self.verify)?,
        };
        Ok(Job { kind, ..job })
    }

    /// How long a run is to warm up, whose policy learns for `learning`: an epoch may begin late,
    /// so that it takes as long again.
    fn ramp(&self, learning: Nanos) -> Nanos {
        let usual = match self.number_ios {
            None => RAMP,
            Some(_) => learning + learning,
        };
        self.ramp_time.unwrap_or(usual)
    }

    /// `job` as `method` does it: a policy that learns has its time to.
    pub fn job_of(&self, job: &Job, method: Method) -> Job {
        let learning = match (method.engine, method.mode.policy()) {
            (EngineName::Nvme, Some(policy)) => policy.learning(),
            // The kernel's own is learnt over its epochs of 100 ms too.
            _ if method.mode == CompletionMode::Hybrid => {
                AnyPolicy::Hybrid(Hybrid::automatic()).learning()
            }
            _ => Nanos::ZERO,
        };
        Job {
            ramp_time: self.ramp(learning),
            ..job.clone()
        }
    }

    /// A flag that was given and has no meaning in virtual time, and why.
    pub fn senseless_in_the_twin(&self) -> Option<(&'static str, &'static str)> {
        let ring = self.ring();
        let meters = "nothing is measured in virtual time";
        let host = "it is a setting of this machine, which virtual time does not touch";
        let flags = [
            (
                self.process,
                "--process",
                "jobs are threads in virtual time",
            ),
            (
                self.verify != Verify::None,
                "--verify",
                "no data moves in virtual time",
            ),
            (self.window.is_some(), "--window", "not modelled"),
            (!self.meter.is_empty(), "--meter", meters),
            (self.idle_baseline.is_some(), "--idle-baseline", meters),
            (self.root.is_some(), "--root", meters),
            (
                self.strict,
                "--strict",
                "nothing spoils a run in virtual time",
            ),
            (
                !self.work.faults.is_empty(),
                "--faults",
                "devices make no faults in virtual time",
            ),
            (
                ring != RingOptions::default(),
                "--fixedbufs, --registerfiles and --sqthread_*",
                "not modelled",
            ),
            (self.settings.others(), "--set and --cpu_dma_latency", host),
            (
                self.settings.loops > 1,
                "--loops",
                "the same seed gives the same figures: change --seed",
            ),
        ];
        let given = flags.into_iter().find(|(given, ..)| *given);
        given.map(|(_, flag, why)| (flag, why))
    }

    /// The sources of energy figures that the flags choose.
    pub fn energy(&self) -> EnergyOptions {
        EnergyOptions {
            meters: self.meter.clone(),
            idle_baseline: self.idle_baseline.clone(),
            machine: self.machine.clone(),
            root: self.root.clone(),
            faults: self.work.faults.clone(),
        }
    }

    /// The experiment in virtual time that the flags describe.
    pub fn virtual_time(&self) -> Result<VirtualOptions, Failure> {
        let states = self.settings.max_cstates().iter();
        let states = states.map(|name| name.parse::<IdleState>());
        let states = states.collect::<Result<_, _>>();
        let max_cstates = states.map_err(|why| Failure::input(format!("--max-cstate: {why}")))?;
        Ok(VirtualOptions {
            devices: self.work.device.clone(),
            machine: self.machine.clone(),
            schedulers: self.settings.schedulers().to_vec(),
            frequencies: self.frequency.clone(),
            max_cstates,
            coalescing: self.coalescing.into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Bench {
        #[command(flatten)]
        args: BenchArgs,
    }

    /// The ramp of each of the completion modes in `line`, in milliseconds.
    fn ramps(line: &str) -> Vec<u64> {
        let words = ["bench"].into_iter().chain(line.split(' '));
        let args = Bench::try_parse_from(words).expect("flags").args;
        let job = args.job().expect("a job");
        let methods = args.methods().expect("methods").into_iter();
        let ramps = methods.map(|method| args.job_of(&job, method).ramp_time.0 / 1_000_000);
        ramps.collect()
    }

    #[test]
    fn learners_have_a_ramp_of_twice_what_they_learn_in() {
        let all = "--completion poll,interrupt,hybrid,hybrid=4us,ehp,pas,dpas,hybrid-tpause";
        let learnt = [0, 0, 200, 0, 20, 20, 20, 20];
        assert_eq!(ramps(&format!("{all} --number_ios 10")), learnt);
        assert_eq!(ramps(all), [1_000; 8]);
        assert_eq!(
            ramps(&format!("{all} --number_ios 10 --ramp_time 0")),
            [0; 8]
        );
        let kernel = "--device /dev/null --engine psync --completion interrupt,hybrid";
        assert_eq!(ramps(&format!("{kernel} --number_ios 10")), [0, 200]);
    }
}
