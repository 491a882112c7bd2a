//! Runs of other programs: fio and SPDK's `spdk_nvme_perf`, for figures to compare with joulio's own, and RocksDB's
//! `db_bench`. joulio reads the meters and the machine's counters; the program reports rates and latencies.

mod db_bench;
mod done;
mod error;
mod fio;
mod program;
mod spdk;

pub use error::ExternalError;
pub(crate) use fio::filename as fio_filename;

use crate::device_name::{DeviceKind, DeviceName};
use crate::experiment::{EnergyOptions, EnergySources, Experiment, ExperimentError, Observer};
use crate::open::open_kernel;
use crate::target_name::TargetName;
use crate::targets::{TargetOptions, refuse_data_loss};
use db_bench::{Database, MakeDatabase, is_db_bench};
use done::ProgramReport;
use joulio_kernel_io::{Disk, Release, expect};
use joulio_units::{Direction, Nanos};
use joulio_workload::{
    Arrivals, CompletionResult, Counts, EnergyResult, EngineName, ExternalWindow, Job, JobKind,
    LatencyDetail, Member, Method, RandomDistribution, RunProgress, RunResult, Stop, Target,
    Threads, Verify, WorkDone,
};
use program::Program;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A run of another program.
#[derive(Clone, Copy)]
pub struct ExternalRun<'a> {
    /// The job.
    pub job: &'a Job,
    /// Engine, which names the program, and completion mode.
    pub method: Method,
    /// Devices of the run, and whether their data may be lost.
    pub targets: &'a TargetOptions,
}

/// Runner of other programs, with the meters to read and the database that was created for them.
pub struct External {
    sources: EnergySources,
    root: PathBuf,
    /// False if no meter should be read.
    metered: bool,
    database: Option<Database>,
}

impl<'a> ExternalRun<'a> {
    /// Returns the run of `experiment`, which has one method; `None` if joulio does it itself.
    pub fn of(experiment: &'a Experiment) -> Option<ExternalRun<'a>> {
        let method = *experiment.methods().first()?;
        method.engine.is_external().then(|| ExternalRun {
            job: experiment.job(),
            method,
            targets: &experiment.options().targets,
        })
    }

    /// Checks the run as far as possible before anything is started.
    ///
    /// # Errors
    /// The program is not installed, or does not support the run.
    pub fn check(&self) -> Result<(), ExternalError> {
        let wrong = |problem: String| ExternalError::Unfit {
            engine: self.method.engine,
            problem,
        };
        let (job, engine, mode) = (self.job, self.method.engine, self.method.mode);
        if !engine.takes(mode) {
            let modes = engine.completion_modes();
            return Err(wrong(format!("no completion mode {mode}: it has {modes}")));
        }
        let stalls = matches!(job.arrivals, Arrivals::Think { .. });
        let closed = job.arrivals == Arrivals::Closed || stalls && engine.is_fio();
        if !closed || !job.phases.is_empty() {
            return Err(wrong(
                "a closed loop alone: leave --rate_iops, --thinktime, --bursts and --phases out"
                    .into(),
            ));
        }
        if !job.batches.is_usual(job.iodepth) && !engine.is_fio() {
            return Err(wrong("it has no batches: leave --iodepth_batch_submit and --iodepth_batch_complete_* out".into()));
        }
        if job.queue_priority.is_some() {
            return Err(wrong(
                "its queues are all alike: leave --queue_priority out".into(),
            ));
        }
        let anywhere = job.offset == 0
            && job.block_align.is_none()
            && job.random_distribution == RandomDistribution::Uniform;
        if !anywhere && !engine.is_fio() {
            return Err(wrong(
                "all blocks of the device alike: leave --offset, --blockalign and --random_distribution out"
                    .into(),
            ));
        }
        if job.steady_state.is_some() {
            return Err(wrong(
                "joulio does not end it early: leave --steadystate out".into(),
            ));
        }
        if job.rw.trims() || job.flushes.any() {
            return Err(wrong(
                "its report here is of reads and writes: leave trims, --fsync, --fdatasync and --end_fsync out"
                    .into(),
            ));
        }
        if job.log_ios {
            return Err(wrong(
                "it writes no log here: leave --write_lat_log out".into(),
            ));
        }
        if job.latency != LatencyDetail::default() {
            return Err(wrong(
                "its report has the usual percentiles alone: leave --percentile_list and json+ out"
                    .into(),
            ));
        }
        if job.verify != Verify::None || job.window.is_some() {
            return Err(wrong(
                "it does not verify here, nor fill a window: leave --verify and --window out"
                    .into(),
            ));
        }
        if job.start_delay > Nanos::ZERO || job.exitall && job.numjobs > 1 {
            return Err(wrong(
                "its jobs begin at once and end by themselves: leave --startdelay and --exitall out".into(),
            ));
        }
        let [device] = self.targets.devices.as_slice() else {
            return Err(wrong("one device a run: name one".into()));
        };
        device.check(engine)?;
        let member = Member::alone(job.clone(), self.method, 1);
        refuse_data_loss(self.targets, &[member])?;
        match (engine, device) {
            (engine, TargetName::Kernel(path)) if engine.is_fio() => {
                fio::job_file(job, self.method, path)?;
                Program::find("fio", fio::REMEDY)?;
            }
            (engine, device) if is_db_bench(engine) => {
                db_bench::check(engine, job, device, self.targets.allow_write)?;
            }
            _ => {
                self.spdk_words(job)?;
                Program::find("spdk_nvme_perf", spdk::REMEDY)?;
            }
        }
        Ok(())
    }

    /// Returns SPDK's arguments for the controller.
    fn spdk_words(&self, job: &Job) -> Result<Vec<OsString>, ExternalError> {
        match self.targets.devices.first() {
            Some(TargetName::Own(DeviceName {
                kind: DeviceKind::Own(controller),
                nsid,
                ..
            })) => spdk::words(job, controller, *nsid),
            _ => Err(ExternalError::Unfit {
                engine: self.method.engine,
                problem: "it drives a controller outside of this process: --device pcie:ADDRESS, or vfio-user:FOLDER/cntrl, which joulio serve offers"
                    .into(),
            }),
        }
    }

    /// Returns the path of the block device or file.
    fn path(&self) -> &'a Path {
        match self.targets.devices.first() {
            Some(TargetName::Kernel(path)) => path,
            _ => Path::new(""),
        }
    }

    /// Returns the job as the program runs it: db_bench and SPDK use threads, and a run of a number of I/Os has no
    /// ramp.
    fn job(&self) -> Job {
        let mut job = self.job.clone();
        if !self.method.engine.is_fio() {
            job.kind = JobKind::Thread;
        }
        if job.number_ios.is_some() || is_db_bench(self.method.engine) {
            job.ramp_time = Nanos::ZERO;
        }
        job
    }
}

impl External {
    /// Opens the meters of the machine. Meters in devices are not read, because the program uses the device.
    ///
    /// # Errors
    /// A selected meter is unavailable, or a file cannot be read.
    pub fn open(
        energy: &EnergyOptions,
        targets: &TargetOptions,
    ) -> Result<External, ExperimentError> {
        Ok(External {
            sources: EnergySources::open(&energy.without_devices(), &targets.faults, &[])?,
            root: energy.root.clone().unwrap_or_else(|| "/".into()),
            metered: energy.meters != ["none"],
            database: None,
        })
    }

    /// Replaces the baseline of the idle machine.
    pub fn set_baseline(&mut self, baseline: joulio_energy::Baseline) {
        self.sources.baseline = Some((baseline, Vec::new()));
    }

    /// Executes `run`, which has been checked, on a device that nothing else uses.
    ///
    /// # Errors
    /// The program failed.
    pub fn run(
        &mut self,
        run: &ExternalRun<'_>,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<RunResult, ExternalError> {
        let (job, method) = (run.job(), run.method);
        let device = run.targets.devices.first().map(TargetName::text);
        let disk = disk(run)?;
        let result = |completion, counts| {
            RunResult::new(
                &job,
                method,
                device.into_iter().collect(),
                completion,
                counts,
            )
        };
        let mut completion = CompletionResult {
            requested: method.mode.to_string(),
            effective: None,
            reason: None,
        };
        if let Some(why) = unavailable(method, disk.as_ref()) {
            completion.reason = Some(why);
            return Ok(result(completion, None));
        }
        if is_db_bench(method.engine) {
            self.make_database(run, &job, stop, observer)?;
        }
        observer.begin(&[Member::alone(job.clone(), method, 1)]);
        let window = ExternalWindow::open(&mut self.sources.meters, &self.root)?;
        let done = match (method.engine, &self.database) {
            (engine, Some(database)) if is_db_bench(engine) => {
                let how = (&job, method.mode, self.metered);
                database.read(how, stop, || observer.progress(RunProgress::default()))
            }
            (engine, _) if engine.is_fio() => by_fio(run, &job, stop, observer),
            _ => by_spdk(run, &job, stop, observer),
        };
        let baseline = self.sources.baseline.as_ref();
        let measured = window.close(baseline.map(|(baseline, _)| baseline), disk.as_ref());
        observer.end();
        let done = done?;
        let work = WorkDone {
            ios: done.all.ios,
            bytes: (done.all.bandwidth_bytes_per_second * done.seconds) as u64,
            window: Nanos::from_seconds(done.seconds),
        };
        let (mut energy, mut unmetered) = measured.energy(work);
        energy.extend(done.energy.iter().map(|one| EnergyResult::new(one, work)));
        unmetered.extend(done.unmetered);
        completion.effective = Some(completion.requested.clone());
        let spoiled = measured.spoiled;
        let counts = Counts {
            begin: Some(measured.begin),
            end: Some(measured.end),
            seconds: done.seconds,
            read: done.read,
            write: done.write,
            all: done.all,
            threads: Threads {
                submitter: done.usage,
                ..Threads::default()
            },
            machine: measured.machine,
            energy,
            unmetered,
            ..Counts::default()
        };
        let mut result = result(completion, Some(counts));
        result.spoiled = spoiled;
        if let Some(database) = self
            .database
            .as_ref()
            .filter(|_| is_db_bench(method.engine))
        {
            let name = database.file_system().to_owned();
            result.settings.insert("file-system".into(), name);
        }
        Ok(result)
    }

    /// Creates the database of `run` if it does not exist yet.
    fn make_database(
        &mut self,
        run: &ExternalRun<'_>,
        job: &Job,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<(), ExternalError> {
        // The check ensures that a run has one device.
        let Some(device) = run.targets.devices.first() else {
            return Ok(());
        };
        let same = |database: &&Database| database.is_for(device, job);
        if self.database.as_ref().filter(same).is_none() {
            let tick = || observer.progress(RunProgress::default());
            observer.note(&format!(
                "db_bench: making a file system and a database on {}",
                device.text()
            ));
            self.database = None;
            let make = MakeDatabase {
                job,
                allow_write: run.targets.allow_write,
                stop,
            };
            self.database = Some(Database::make(device, make, tick)?);
        }
        Ok(())
    }
}

/// Returns the disk of the run's device, if the kernel drives it, after checking that it can be opened.
fn disk(run: &ExternalRun<'_>) -> Result<Option<Disk>, ExternalError> {
    if !run.method.engine.takes_block_devices() {
        return Ok(None);
    }
    let writes = run.job.does(Direction::Write) || run.method.engine == EngineName::DbBench;
    let target = open_kernel(run.path(), writes && run.targets.allow_write);
    Ok(target?.info().disk.clone())
}

/// Returns the reason why this kernel and disk do not support the completion mode of `method`.
fn unavailable(method: Method, disk: Option<&Disk>) -> Option<String> {
    if method.engine != EngineName::Fio {
        return None;
    }
    let queue = disk.map(|disk| disk.queue).unwrap_or_default();
    let effective = expect(EngineName::IoUring, method.mode, Release::running(), &queue);
    effective.reason.map(|why| why.to_string())
}

fn by_fio(
    run: &ExternalRun<'_>,
    job: &Job,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<ProgramReport, ExternalError> {
    let program = Program::find("fio", fio::REMEDY)?;
    let system = |source| ExternalError::System {
        program: "fio",
        source,
    };
    let text = fio::job_file(job, run.method, run.path())?;
    let file = tempfile::NamedTempFile::with_suffix(".fio").map_err(system)?;
    std::fs::write(file.path(), text).map_err(system)?;
    let words = [OsString::from("--output-format=json"), file.path().into()];
    let ended = program.run(&words, stop, || observer.progress(RunProgress::default()))?;
    fio::read(&program, run.method.engine, &ended)
}

fn by_spdk(
    run: &ExternalRun<'_>,
    job: &Job,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<ProgramReport, ExternalError> {
    let program = Program::find("spdk_nvme_perf", spdk::REMEDY)?;
    let words = run.spdk_words(job)?;
    let tick = || observer.progress(RunProgress::default());
    let ended = program.run_to_any_end(&words, spdk::longest(job), stop, tick)?;
    spdk::read(&program, &ended, job)
}
