//! RocksDB's `db_bench`: a file system and a database on a block device, made once, and read by
//! `readrandom`.
//!
//! The file system is mounted in a mount namespace of each program's own, so that it is gone when the
//! program is, however that ends.

use super::done::{ProgramReport, summary};
use super::error::ExternalError;
use super::program::{Program, ProgramEnd, whole_seconds};
use crate::open::open_kernel;
use joulio_units::Nanos;
use joulio_workload::{DirectionResult, EngineName, Job, ReadWrite, Stop, Target};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Source of db_bench.
pub const REMEDY: &str = "Debian's package rocksdb-tools has it: apt install rocksdb-tools";

/// Bytes of a key.
const KEY: u64 = 16;

/// Bytes beside keys and values that a pair takes at most: index, checksums, the file system's.
const BESIDE: u64 = 96;

/// Bytes that the file system and the database's own files take beside the data.
const RESERVE: u64 = 160 << 20;

/// Bytes of the smallest device: xfs takes no less than 300 MiB.
const SMALLEST: u64 = 512 << 20;

/// Mounts, and becomes the program: `sh -c MOUNT joulio TYPE DEVICE FOLDER PROGRAM...`.
const MOUNT: &str = r#"mount -t "$1" -o noatime -- "$2" "$3" && shift 3 && exec "$@""#;

/// A database on a file system on a block device.
#[derive(Debug)]
pub struct Database {
    device: PathBuf,
    file_system: &'static str,
    /// Mount point.
    folder: TempDir,
    pairs: u64,
    value: u64,
    unshare: Program,
    db_bench: Program,
}

/// Refuses a `job` that `readrandom` is not.
///
/// # Errors
/// What does not fit, or db_bench is not installed.
pub fn check(job: &Job) -> Result<Program, ExternalError> {
    if job.rw != ReadWrite::RandRead {
        return Err(wrong("readrandom reads: --rw randread"));
    }
    if job.iodepth > 1 {
        return Err(wrong(
            "each of its threads reads one key at a time: --iodepth 1, and --numjobs",
        ));
    }
    if job.bs.iter().count() > 1 {
        return Err(wrong("values have one size: give one --bs"));
    }
    Program::find("db_bench", REMEDY)
}

/// Refuses to lose the data of the device `name` unless that was allowed.
///
/// # Errors
/// It was not, or this process may not mount.
pub fn check_permission(name: &str, allow_write: bool) -> Result<(), ExternalError> {
    if !allow_write {
        return Err(wrong(format!(
            "it makes a file system on {name}: the data there will be lost; say --allow-write if that is meant"
        )));
    }
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(wrong("making and mounting a file system takes root")),
    }
}

fn wrong(problem: impl Into<String>) -> ExternalError {
    ExternalError::Unfit {
        engine: EngineName::DbBench,
        problem: problem.into(),
    }
}

impl Database {
    /// Makes a file system on `device` and a database that fills nine tenths of it, or `job`'s size, with
    /// values of the size of `job`'s I/Os. All data that is there is lost.
    ///
    /// # Errors
    /// That was not allowed, the device is none, is in use or too small, or a program fails.
    pub fn make(
        device: &Path,
        job: &Job,
        allow_write: bool,
        stop: &Stop,
        progress: impl Fn() + Copy,
    ) -> Result<Database, ExternalError> {
        let db_bench = check(job)?;
        let name = device.display();
        check_permission(&name.to_string(), allow_write)?;
        let size = size_of(device)?;
        if size < SMALLEST {
            let (has, least) = (size >> 20, SMALLEST >> 20);
            return Err(wrong(format!(
                "{name} has {has} MiB: a file system with a database takes {least}"
            )));
        }
        let util = "it is in the package util-linux";
        let unshare = Program::find("unshare", util)?;
        let value = job.bs.of_job(0);
        let data = size - (size / 10).max(RESERVE);
        let data = job.size.map_or(data, |bytes| bytes.min(data));
        let system = |source| ExternalError::System {
            program: "db_bench",
            source,
        };
        let file_system = make_file_system(device, stop, progress)?;
        let database = Database {
            device: device.into(),
            file_system,
            folder: TempDir::with_prefix("joulio-db-").map_err(system)?,
            pairs: (data / (KEY + value + BESIDE)).max(1),
            value,
            unshare,
            db_bench,
        };
        // In the keys' order: each once, and nothing is moved afterwards.
        database.bench(&["--benchmarks=fillseq", "--disable_wal=1"], stop, progress)?;
        Ok(database)
    }

    /// True if it is the one that `job` reads on `device`.
    pub fn is_for(&self, device: &Path, job: &Job) -> bool {
        self.device == device && self.value == job.bs.of_job(0)
    }

    /// Name of the file system.
    pub fn file_system(&self) -> &'static str {
        self.file_system
    }

    /// Runs `readrandom` as `job` says, a thread for each of its jobs.
    ///
    /// # Errors
    /// It fails, reads keys that it does not find, or `stop`.
    pub fn read(
        &self,
        job: &Job,
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
        let ended = self.bench(&words, stop, progress)?;
        read(&self.db_bench, &ended, self.value)
    }

    fn bench(
        &self,
        words: &[&str],
        stop: &Stop,
        progress: impl Fn(),
    ) -> Result<ProgramEnd, ExternalError> {
        let folder = self.folder.path();
        let mut db = OsString::from("--db=");
        db.push(folder.join("db"));
        let mount = [
            "--mount".into(),
            "--".into(),
            "/bin/sh".into(),
            "-c".into(),
            MOUNT.into(),
            "joulio".into(),
            OsString::from(self.file_system),
            self.device.clone().into(),
            folder.into(),
            self.db_bench.path().into(),
            db,
        ];
        let common = [
            format!("--num={}", self.pairs),
            format!("--key_size={KEY}"),
            format!("--value_size={}", self.value),
            "--compression_type=none".into(),
        ];
        let all = mount.into_iter().chain(common.map(OsString::from));
        let all = all.chain(words.iter().map(OsString::from));
        let all: Vec<OsString> = all.collect();
        let ended = self.unshare.run(&all, stop, progress);
        ended.map_err(|error| match error {
            // Its own words are db_bench's.
            ExternalError::Failed { why, .. } => self.db_bench.failed(why),
            other => other,
        })
    }
}

/// Whole seconds of a run, at least one.
fn seconds(runtime: Option<Nanos>) -> u64 {
    whole_seconds(runtime.unwrap_or_default()).max(1)
}

/// Bytes of the block device, which nothing else has.
fn size_of(device: &Path) -> Result<u64, ExternalError> {
    let target = open_kernel(device, true)?;
    let info = target.info();
    let is_device = std::fs::metadata(device).is_ok_and(|found| {
        use std::os::unix::fs::FileTypeExt;
        found.file_type().is_block_device()
    });
    match is_device {
        true => Ok(info.size),
        false => Err(wrong(format!(
            "{} is no block device: losetup --find --show makes one of a file",
            device.display()
        ))),
    }
}

/// Makes the paper's file system where its tools are there, or else the usual one; its name.
fn make_file_system(
    device: &Path,
    stop: &Stop,
    progress: impl Fn(),
) -> Result<&'static str, ExternalError> {
    let xfs = Program::find("mkfs.xfs", "").map(|program| (program, "xfs", ["-q", "-f"]));
    let (program, name, force) = xfs.or_else(|_| {
        let remedy = "Debian's package xfsprogs has mkfs.xfs, e2fsprogs mkfs.ext4";
        let program = Program::find("mkfs.ext4", remedy)?;
        Ok::<_, ExternalError>((program, "ext4", ["-q", "-F"]))
    })?;
    let words = force.map(OsString::from).into_iter();
    let words: Vec<_> = words.chain([device.into()]).collect();
    program.run(&words, stop, progress)?;
    Ok(name)
}

/// Report of db_bench of reads of values of `value` bytes.
///
/// # Errors
/// The output has another form, or keys were not found.
fn read(program: &Program, ended: &ProgramEnd, value: u64) -> Result<ProgramReport, ExternalError> {
    let lacks = |what: &str| program.failed(format!("its output has no {what}"));
    let rate = ended.stdout.lines().find_map(Rate::parse);
    let rate = rate.ok_or_else(|| lacks("line 'readrandom : ...'"))?;
    if rate.found.0 < rate.found.1 {
        let (found, of) = rate.found;
        return Err(program.failed(format!(
            "found {found} of {of} keys: the database is not whole"
        )));
    }
    let histogram = Histogram::parse(&ended.stdout).ok_or_else(|| lacks("histogram"))?;
    let at = |percent| {
        let us = histogram.percentile(percent);
        us.ok_or_else(|| lacks("buckets in its histogram"))
    };
    let values = [at(50.0)?, at(90.0)?, at(99.0)?, at(99.9)?].map(|us| (us * 1e3).round() as u64);
    let all = DirectionResult {
        ios: rate.operations,
        errors: 0,
        iops: rate.per_second,
        bandwidth_bytes_per_second: rate.per_second * (KEY + value) as f64,
        latency_ns: summary(
            histogram.average * 1e3,
            values,
            (histogram.max * 1e3).round() as u64,
        ),
    };
    Ok(ProgramReport {
        seconds: rate.seconds,
        usage: ended.usage,
        read: all.clone(),
        write: DirectionResult::default(),
        all,
    })
}

/// `readrandom : 51.6 micros/op 38041 ops/sec 1.051 seconds 40000 operations; ... (N of M found)`.
#[derive(Debug, PartialEq)]
struct Rate {
    per_second: f64,
    seconds: f64,
    operations: u64,
    found: (u64, u64),
}

impl Rate {
    fn parse(line: &str) -> Option<Rate> {
        // A terminal would have overwritten what stands before the last carriage return.
        let line = line.rsplit('\r').next()?;
        let (name, rest) = line.split_once(':')?;
        if name.trim() != "readrandom" {
            return None;
        }
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let before = |unit: &str| {
            let at = words
                .iter()
                .position(|word| word.trim_end_matches(';') == unit)?;
            words.get(at.checked_sub(1)?).copied()
        };
        let (_, found) = rest.rsplit_once('(')?;
        let (found, rest) = found.split_once(" of ")?;
        let (of, _) = rest.split_once(" found")?;
        Some(Rate {
            per_second: before("ops/sec")?.parse().ok()?,
            seconds: before("seconds")?.parse().ok()?,
            operations: before("operations")?.parse().ok()?,
            found: (found.parse().ok()?, of.parse().ok()?),
        })
    }
}

/// The histogram of latencies in microseconds.
#[derive(Debug)]
struct Histogram {
    average: f64,
    max: f64,
    /// Begin and end of each bucket, and percent up to its end.
    buckets: Vec<[f64; 3]>,
}

impl Histogram {
    fn parse(text: &str) -> Option<Histogram> {
        let after = |line: &str, name: &str| -> Option<f64> {
            let (_, rest) = line.split_once(name)?;
            rest.split_ascii_whitespace().next()?.parse().ok()
        };
        let find = |name: &str| text.lines().find_map(|line| after(line, name));
        let buckets: Vec<_> = text.lines().filter_map(bucket).collect();
        Some(Histogram {
            average: find("Average: ")?,
            max: find(" Max: ")?,
            buckets: (!buckets.is_empty()).then_some(buckets)?,
        })
    }

    /// Microseconds that `percent` of the reads took at most: on the line between the ends of a bucket, as
    /// RocksDB itself has it.
    fn percentile(&self, percent: f64) -> Option<f64> {
        let mut below = 0.0;
        for [begin, end, up_to] in &self.buckets {
            if *up_to >= percent {
                let share = (percent - below) / (up_to - below).max(f64::MIN_POSITIVE);
                return Some((begin + (end - begin) * share.clamp(0.0, 1.0)).min(self.max));
            }
            below = *up_to;
        }
        // Percents are rounded: the last bucket has the rest.
        Some(self.max)
    }
}

/// `( 22, 34 ]  7133  17.832%  31.650% ####`: the first begins with `[`.
fn bucket(line: &str) -> Option<[f64; 3]> {
    let line = line.trim_start().strip_prefix(['(', '['])?;
    let (bounds, rest) = line.split_once(']')?;
    let (begin, end) = bounds.split_once(',')?;
    let up_to = rest.split_ascii_whitespace().nth(2)?;
    let number = |text: &str| text.trim().parse::<f64>().ok();
    Some([
        number(begin)?,
        number(end)?,
        number(up_to.strip_suffix('%')?)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of a run of ours, shortened.
    const OUTPUT: &str = "\
DB path: [/mnt/db]
readrandom   :      51.621 micros/op 38041 ops/sec 1.051 seconds 40000 operations;  149.2 MB/s (20000 of 20000 found)

Microseconds per read:
Count: 40000 Average: 51.6285  StdDev: 72.43
Min: 1  Median: 46.0619  Max: 4097
Percentiles: P50: 46.06 P75: 65.26 P99: 152.84 P99.9: 638.00 P99.99: 3650.00
------------------------------------------------------
[       0,       1 ]        5   0.013%   0.013% \n\
(      22,      34 ]    12655  31.638%  31.650% ####
(      34,      51 ]    10345  25.863%  57.513% #####
(      51,      76 ]    12264  30.660%  88.172% ######
(      76,     110 ]     3899   9.748%  97.920% ##
(     110,     170 ]      605   1.512%  99.433% \n\
(     580,     870 ]      198   0.495%  99.927% \n\
(    2900,    4400 ]       29   0.073% 100.000% \n";

    fn ended(text: &str) -> ProgramEnd {
        ProgramEnd {
            stdout: text.into(),
            ..ProgramEnd::default()
        }
    }

    #[test]
    fn rate_and_percentiles_are_those_of_the_output() {
        let program = Program::find("sh", "").unwrap();
        let done = read(&program, &ended(OUTPUT), 4096).unwrap();
        assert_eq!((done.seconds, done.all.ios), (1.051, 40_000));
        assert_eq!(done.all.iops, 38_041.0);
        let latency = &done.all.latency_ns;
        // RocksDB's own percentiles of the same buckets.
        assert!((latency.p50 as f64 - 46_060.0).abs() < 100.0, "{latency:?}");
        assert!(
            (latency.p99 as f64 - 152_840.0).abs() < 200.0,
            "{latency:?}"
        );
        assert!((76_000..110_000).contains(&latency.p90), "{latency:?}");
        assert_eq!((latency.mean, latency.max), (51_628.5, 4_097_000));
    }

    #[test]
    fn keys_that_are_not_found_and_other_output_are_no_figures() {
        let program = Program::find("sh", "").unwrap();
        let lost = OUTPUT.replace("(20000 of", "(19999 of");
        let error = read(&program, &ended(&lost), 4096).unwrap_err();
        assert!(error.to_string().contains("19999 of 20000"), "{error}");
        for cut in ["readrandom", "Average: ", " ops/sec", "%"] {
            let text = OUTPUT.replace(cut, "");
            assert!(read(&program, &ended(&text), 4096).is_err(), "{cut}");
        }
    }

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
            let error = check(&job).unwrap_err();
            assert!(
                error.is_unfit() && error.to_string().contains(hint),
                "{error}"
            );
        }
    }
}
