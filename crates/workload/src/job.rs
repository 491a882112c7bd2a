//! What to do, in fio's words.

use crate::process::Tenants;
use crate::sizes::BlockSizes;
use joulio_energy::MIN_WINDOW;
use joulio_units::{Direction, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// `--rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadWrite {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Random reads and writes.
    RandRw,
    /// Sequential reads and writes.
    Rw,
}

impl ReadWrite {
    const ALL: [(ReadWrite, &'static str); 6] = [
        (ReadWrite::Read, "read"),
        (ReadWrite::Write, "write"),
        (ReadWrite::RandRead, "randread"),
        (ReadWrite::RandWrite, "randwrite"),
        (ReadWrite::RandRw, "randrw"),
        (ReadWrite::Rw, "rw"),
    ];

    /// Whether the offsets are random.
    pub fn is_random(self) -> bool {
        matches!(
            self,
            ReadWrite::RandRead | ReadWrite::RandWrite | ReadWrite::RandRw
        )
    }

    /// Whether it ever does I/O in `direction`.
    pub fn does(self, direction: Direction) -> bool {
        match direction {
            Direction::Read => !matches!(self, ReadWrite::Write | ReadWrite::RandWrite),
            Direction::Write => !matches!(self, ReadWrite::Read | ReadWrite::RandRead),
            Direction::Other => false,
        }
    }
}

impl fmt::Display for ReadWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(rw, _)| rw == self)
            .map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for ReadWrite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = if text == "readwrite" { "rw" } else { text };
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(rw, _)| *rw)
            .ok_or_else(|| {
                format!("'{text}' is none of read, write, randread, randwrite, randrw, rw")
            })
    }
}

/// `--verify`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verify {
    /// Data is not looked at.
    #[default]
    None,
    /// Each block carries where and when it was written, and a CRC-32C.
    Crc32c,
}

impl FromStr for Verify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" | "0" => Ok(Verify::None),
            "crc32c" | "crc32c-intel" => Ok(Verify::Crc32c),
            _ => Err(format!("'{text}' is not offered: crc32c or none")),
        }
    }
}

/// When I/Os come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrivals {
    /// Closed loop: as soon as one completes, the next goes out.
    Closed,
    /// Open loop: one each interval, by the clock, whether the last has completed or not. Latency
    /// counts from the arrival.
    Every(Nanos),
}

/// A workload, valid for any device once [`Job::area`] has accepted it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Pattern and direction.
    pub rw: ReadWrite,
    /// Percent of reads in a mixed workload.
    pub rwmixread: u8,
    /// Bytes of an I/O.
    pub bs: BlockSizes,
    /// I/Os in flight, each job.
    pub iodepth: usize,
    /// Threads or processes.
    pub numjobs: usize,
    /// Which of them.
    pub tenants: Tenants,
    /// Bytes of the device that are used, from its start; `None` is all.
    pub size: Option<u64>,
    /// How long to run, the ramp not included; `None` is until `number_ios` are done.
    pub runtime: Option<Nanos>,
    /// I/Os of each job, the ramp's not counted; `None` is until `runtime` is over.
    pub number_ios: Option<u64>,
    /// Energy is counted for so long from the beginning of the measured part: whoever is done
    /// earlier races to idle. `None` is to the end of the work. Goes with `number_ios`.
    pub window: Option<Nanos>,
    /// How long to run before measuring.
    pub ramp_time: Nanos,
    /// Closed or open loop.
    pub arrivals: Arrivals,
    /// CPUs for the jobs' threads, in turn; empty is anywhere.
    pub cpus_allowed: Vec<usize>,
    /// Data verification.
    pub verify: Verify,
    /// Where every random number comes from.
    pub seed: u64,
}

/// A job that cannot be run on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag}: {problem}")]
pub struct JobError {
    /// The flag to change.
    pub flag: &'static str,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

impl Job {
    /// Checks what does not depend on the device.
    pub fn check(&self) -> Result<(), JobError> {
        let wrong = |flag, problem: &str| {
            Err(JobError {
                flag,
                problem: problem.into(),
            })
        };
        if self.bs.iter().any(|size| size == 0) {
            return wrong("--bs", "must be above zero");
        }
        if self.iodepth == 0 {
            return wrong("--iodepth", "must be at least 1");
        }
        if self.numjobs == 0 {
            return wrong("--numjobs", "must be at least 1");
        }
        if self.numjobs > 256 {
            return wrong("--numjobs", "at most 256 jobs");
        }
        if self.bs.count() > self.numjobs {
            return Err(JobError {
                flag: "--bs",
                problem: format!(
                    "{} sizes for {} job(s): jobs take them in turn, and one would have none; raise --numjobs",
                    self.bs.count(),
                    self.numjobs
                ),
            });
        }
        if self.rwmixread > 100 {
            return wrong("--rwmixread", "a percentage: 0 to 100");
        }
        if self.runtime == Some(Nanos::ZERO) {
            return wrong("--runtime", "must be above zero");
        }
        if self.number_ios == Some(0) {
            return wrong("--number_ios", "must be above zero");
        }
        if let Some(window) = self.window {
            if self.number_ios.is_none() {
                return wrong(
                    "--window",
                    "fixed work in a fixed window: say how much by --number_ios",
                );
            }
            if window < MIN_WINDOW {
                return wrong("--window", "meters say nothing of less than a second");
            }
        }
        if self.arrivals == Arrivals::Every(Nanos::ZERO) {
            return wrong(
                "--rate_iops",
                "at most one I/O a nanosecond can arrive: use a lower rate",
            );
        }
        Ok(())
    }

    /// `closed` or `open`.
    pub fn loop_name(&self) -> &'static str {
        match self.arrivals {
            Arrivals::Closed => "closed",
            Arrivals::Every(_) => "open",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn job() -> Job {
        Job {
            rw: ReadWrite::RandRead,
            rwmixread: 50,
            bs: 4096.into(),
            iodepth: 4,
            numjobs: 1,
            tenants: Tenants::Threads,
            size: None,
            runtime: None,
            number_ios: Some(100),
            window: None,
            ramp_time: Nanos::ZERO,
            arrivals: Arrivals::Closed,
            cpus_allowed: vec![],
            verify: Verify::None,
            seed: 1,
        }
    }

    #[test]
    fn a_bad_job_names_its_flag() {
        let flag = |change: fn(&mut Job)| {
            let mut job = job();
            change(&mut job);
            let area = job.check().and_then(|()| job.area(1 << 20, 512, 1 << 17));
            area.unwrap_err().flag
        };
        assert_eq!(flag(|j| j.bs = 0.into()), "--bs");
        assert_eq!(flag(|j| j.bs = 1000.into()), "--bs");
        assert_eq!(flag(|j| j.bs = (1 << 18).into()), "--bs");
        assert_eq!(flag(|j| j.bs = "4k:8k".parse().unwrap()), "--bs");
        fn two(j: &mut Job, bs: &str) {
            (j.numjobs, j.bs) = (2, bs.parse().unwrap());
        }
        assert_eq!(flag(|j| two(j, "4k:0")), "--bs");
        assert_eq!(flag(|j| two(j, "4k:1000")), "--bs");
        assert_eq!(flag(|j| two(j, "4k:256k")), "--bs");
        assert_eq!(flag(|j| j.size = Some(1 << 21)), "--size");
        assert_eq!(flag(|j| j.size = Some(4095)), "--size");
        assert_eq!(flag(|j| j.runtime = Some(Nanos::ZERO)), "--runtime");
        assert_eq!(flag(|j| j.number_ios = Some(0)), "--number_ios");
        assert_eq!(flag(|j| j.window = Some(Nanos(999_999_999))), "--window");
        let by_time = |j: &mut Job| {
            (j.number_ios, j.runtime) = (None, Some(MIN_WINDOW));
            j.window = Some(MIN_WINDOW);
        };
        assert_eq!(flag(by_time), "--window");
        assert_eq!(flag(|j| j.iodepth = 0), "--iodepth");
        assert_eq!(flag(|j| j.numjobs = 0), "--numjobs");
        assert_eq!(flag(|j| j.rwmixread = 101), "--rwmixread");
    }
}
