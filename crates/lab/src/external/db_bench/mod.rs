//! RocksDB's `db_bench`: a database on a file system is created once and then read with `readrandom`. The file system
//! is one of the kernel's on a block device, or joulio's own on a controller that joulio drives.

mod file_system;
mod report;
mod volume;

use super::done::ProgramReport;
use super::error::ExternalError;
use super::program::{Program, ProgramEnd, whole_seconds};
use crate::target_name::TargetName;
use file_system::FileSystem;
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, EngineName, Job, ReadWrite, Stop};
use std::ffi::OsString;
use volume::VolumePlace;

/// Advice on how to install db_bench.
const REMEDY: &str = "Debian's package rocksdb-tools has it: apt install rocksdb-tools";

/// Bytes of a key.
const KEY: u64 = 16;

/// Largest number of bytes that a pair takes beside key and value: index, checksums, file system.
const BESIDE: u64 = 96;

/// Bytes that the file system and the database's own files take in addition to the data.
const RESERVE: u64 = 160 << 20;

/// A database on a file system on a device.
#[derive(Debug)]
pub struct Database {
    device: String,
    place: Place,
    pairs: u64,
    value: u64,
    db_bench: Program,
}

/// Place of a database.
#[derive(Debug)]
enum Place {
    /// A file system of the kernel.
    Kernel(FileSystem),
    /// A volume of joulio.
    Joulio(VolumePlace),
}

/// Request to create a database.
#[derive(Clone, Copy)]
pub struct MakeDatabase<'a> {
    /// Job that will read it.
    pub job: &'a Job,
    /// True if data on the device may be lost.
    pub allow_write: bool,
    /// Stops the creation.
    pub stop: &'a Stop,
}

/// Use of a database.
#[derive(Clone, Copy)]
pub enum DatabaseUse<'a> {
    /// Filling the database.
    Fill,
    /// A run of reads.
    Read {
        /// The job.
        job: &'a Job,
        /// Completion mode of the driver, if the driver is joulio's.
        mode: CompletionMode,
        /// True if the device's energy should be metered.
        metered: bool,
    },
}

/// Returns true for the engines that run db_bench.
pub fn is_db_bench(engine: EngineName) -> bool {
    matches!(engine, EngineName::DbBench | EngineName::DbBenchJoulio)
}

/// Checks that `readrandom` can run `job`, and that `engine` on `device` has everything it needs.
///
/// # Errors
/// The job does not fit, or something is not allowed or not installed.
pub fn check(
    engine: EngineName,
    job: &Job,
    device: &TargetName,
    allow_write: bool,
) -> Result<(), ExternalError> {
    check_job(engine, job)?;
    match engine {
        EngineName::DbBenchJoulio => volume::check(device, allow_write).map(drop),
        _ => file_system::check_permission(&device.text(), allow_write),
    }
}

fn check_job(engine: EngineName, job: &Job) -> Result<Program, ExternalError> {
    if job.rw != ReadWrite::RandRead {
        return Err(unfit(engine, "readrandom reads: --rw randread"));
    }
    if job.iodepth > 1 {
        return Err(unfit(
            engine,
            "each of its threads reads one key at a time: --iodepth 1, and --numjobs",
        ));
    }
    if job.bs.iter().count() > 1 {
        return Err(unfit(engine, "values have one size: give one --bs"));
    }
    Program::find("db_bench", REMEDY)
}

fn unfit(engine: EngineName, problem: impl Into<String>) -> ExternalError {
    ExternalError::Unfit {
        engine,
        problem: problem.into(),
    }
}

impl Database {
    /// Creates a file system on `device`, and on it a database with values of the job's I/O size that fills nine tenths
    /// of it or the job's size. All data on the device is lost.
    ///
    /// # Errors
    /// Writing is not allowed, the device is not usable, is in use or too small, or a program fails.
    pub fn make(
        device: &TargetName,
        make: MakeDatabase<'_>,
        progress: impl Fn() + Copy,
    ) -> Result<Database, ExternalError> {
        let job = make.job;
        let (engine, (place, size)) = match device {
            TargetName::Kernel(path) => {
                let (place, size) = FileSystem::make(path, &make, progress)?;
                (EngineName::DbBench, (Place::Kernel(place), size))
            }
            TargetName::Own(name) => {
                let (place, size) = VolumePlace::make(name, &make)?;
                (EngineName::DbBenchJoulio, (Place::Joulio(place), size))
            }
        };
        let value = job.bs.of_job(0);
        let data = size - (size / 10).max(RESERVE);
        let data = job.size.map_or(data, |bytes| bytes.min(data));
        let database = Database {
            device: device.text(),
            place,
            pairs: (data / (KEY + value + BESIDE)).max(1),
            value,
            db_bench: check_job(engine, job)?,
        };
        // Keys are filled in order, each once, so that nothing is compacted afterwards.
        let words = ["--benchmarks=fillseq", "--disable_wal=1"];
        database.bench(DatabaseUse::Fill, &words, make.stop, progress)?;
        Ok(database)
    }

    /// Returns true if this is the database that `job` reads on `device`.
    pub fn is_for(&self, device: &TargetName, job: &Job) -> bool {
        self.device == device.text() && self.value == job.bs.of_job(0)
    }

    /// Returns the name of the file system.
    pub fn file_system(&self) -> &'static str {
        match &self.place {
            Place::Kernel(place) => place.name(),
            Place::Joulio(_) => "joulio",
        }
    }

    /// Runs `readrandom` for `job`, with one thread for each of its jobs.
    ///
    /// # Errors
    /// The program fails, does not find keys that it reads, or was stopped by `stop`.
    pub fn read(
        &self,
        (job, mode, metered): (&Job, CompletionMode, bool),
        stop: &Stop,
        progress: impl Fn() + Copy,
    ) -> Result<ProgramReport, ExternalError> {
        let mut words = vec![
            "--benchmarks=readrandom".to_owned(),
            "--use_existing_db=1".into(),
            "--use_direct_reads=1".into(),
            "--disable_auto_compactions=1".into(),
            "--histogram=1".into(),
            format!("--threads={}", job.numjobs),
            format!("--seed={}", job.seed),
        ];
        match (job.number_ios, job.runtime) {
            (Some(reads), _) => words.push(format!("--reads={reads}")),
            (None, runtime) => words.push(format!("--duration={}", seconds(runtime))),
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let how = DatabaseUse::Read { job, mode, metered };
        let ended = self.bench(how, &words, stop, progress)?;
        let mut done = report::read(&self.db_bench, &ended, KEY + self.value)?;
        if let Place::Joulio(_) = self.place {
            (done.energy, done.unmetered) =
                volume::energy(&self.db_bench, &ended.stderr, done.seconds)?;
        }
        Ok(done)
    }

    fn bench(
        &self,
        how: DatabaseUse<'_>,
        words: &[&str],
        stop: &Stop,
        progress: impl Fn(),
    ) -> Result<ProgramEnd, ExternalError> {
        let (program, begin) = match &self.place {
            Place::Kernel(place) => place.command(&self.db_bench),
            Place::Joulio(place) => place.command(&self.db_bench, how),
        };
        let common = [
            format!("--num={}", self.pairs),
            format!("--key_size={KEY}"),
            format!("--value_size={}", self.value),
            "--compression_type=none".into(),
        ];
        let all = begin.into_iter().chain(common.map(OsString::from));
        let all = all.chain(words.iter().map(OsString::from));
        let all: Vec<OsString> = all.collect();
        let ended = program.run(&all, stop, progress);
        ended.map_err(|error| match error {
            // The messages of the program that starts db_bench are attributed to db_bench.
            ExternalError::Failed { why, .. } => self.db_bench.failed(why),
            other => other,
        })
    }
}

/// Returns the whole seconds of a run, at least one.
fn seconds(runtime: Option<Nanos>) -> u64 {
    whole_seconds(runtime.unwrap_or_default()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readrandom_reads_one_key_at_a_time() {
        for (job, hint) in [
            (
                Job {
                    iodepth: 2,
                    ..Job::random_reads(1)
                },
                "--iodepth 1",
            ),
            (
                Job {
                    rw: ReadWrite::RandWrite,
                    ..Job::random_reads(1)
                },
                "randread",
            ),
        ] {
            let error = check_job(EngineName::DbBench, &job).unwrap_err();
            assert!(
                error.is_unfit() && error.to_string().contains(hint),
                "{error}"
            );
        }
    }
}
