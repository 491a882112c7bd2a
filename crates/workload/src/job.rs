//! What to do, in fio's words.

use joulio_energy::MIN_WINDOW;
use joulio_units::{Direction, Nanos};
use std::fmt;
use std::str::FromStr;

/// `--rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Closed loop: as soon as one completes, the next goes out.
    Closed,
    /// Open loop: one each interval, by the clock, whether the last has completed or not. Latency
    /// counts from the arrival.
    Every(Nanos),
}

/// A workload, valid for any device once [`Job::area`] has accepted it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Pattern and direction.
    pub rw: ReadWrite,
    /// Percent of reads in a mixed workload.
    pub rwmixread: u8,
    /// Bytes of an I/O.
    pub bs: u64,
    /// I/Os in flight, each job.
    pub iodepth: usize,
    /// Threads.
    pub numjobs: usize,
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

/// The part of a device that a job uses, in units of its block size `bs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Blocks of `bs` bytes, from offset 0.
    pub blocks: u64,
}

/// Verification keeps 4 bytes a block in memory: 1 GiB at most.
const MOST_VERIFIED: u64 = 1 << 28;

impl Job {
    /// Checks what does not depend on the device.
    pub fn check(&self) -> Result<(), JobError> {
        let wrong = |flag, problem: &str| {
            Err(JobError {
                flag,
                problem: problem.into(),
            })
        };
        if self.bs == 0 {
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

    /// The part of a device of `size` bytes in logical blocks of `block` bytes that this job uses.
    pub fn area(&self, size: u64, block: u32, max_transfer: u32) -> Result<Area, JobError> {
        let wrong = |flag, problem| Err(JobError { flag, problem });
        if !self.bs.is_multiple_of(block.into()) {
            return wrong(
                "--bs",
                format!(
                    "{} is not a multiple of the device's block of {block} bytes",
                    self.bs
                ),
            );
        }
        if self.bs > max_transfer.into() {
            return wrong(
                "--bs",
                format!(
                    "{} is more than the device transfers at once: at most {max_transfer}",
                    self.bs
                ),
            );
        }
        let used = self.size.unwrap_or(size);
        if used > size {
            return wrong(
                "--size",
                format!("{used} is past the end of the namespace: it has {size} bytes"),
            );
        }
        let blocks = used / self.bs;
        if blocks == 0 {
            return wrong(
                "--size",
                format!("{used} bytes hold no block of {} bytes", self.bs),
            );
        }
        if self.verify != Verify::None {
            if blocks > MOST_VERIFIED {
                return wrong(
                    "--size",
                    format!(
                        "verification of more than {MOST_VERIFIED} blocks: name a smaller size"
                    ),
                );
            }
            if blocks < (self.numjobs * self.iodepth) as u64 {
                return wrong(
                    "--size",
                    format!(
                        "{blocks} blocks are too few to verify {} jobs of depth {}: no two I/Os may meet on a block",
                        self.numjobs, self.iodepth
                    ),
                );
            }
        }
        Ok(Area { blocks })
    }

    /// The blocks of job `index`: all of them, or its share when data is verified, so that no job
    /// overwrites what another is to find.
    pub(crate) fn share(&self, area: Area, index: usize) -> std::ops::Range<u64> {
        if self.verify == Verify::None {
            return 0..area.blocks;
        }
        let jobs = self.numjobs as u64;
        let index = index as u64;
        let each = area.blocks / jobs;
        let end = if index + 1 == jobs {
            area.blocks
        } else {
            (index + 1) * each
        };
        index * each..end
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
            bs: 4096,
            iodepth: 4,
            numjobs: 1,
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
        assert_eq!(flag(|j| j.bs = 0), "--bs");
        assert_eq!(flag(|j| j.bs = 1000), "--bs");
        assert_eq!(flag(|j| j.bs = 1 << 18), "--bs");
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

    #[test]
    fn verified_jobs_share_the_area_without_overlap_or_gap() {
        let job = Job {
            verify: Verify::Crc32c,
            numjobs: 3,
            ..job()
        };
        let area = Area { blocks: 100 };
        let shares: Vec<_> = (0..3).map(|i| job.share(area, i)).collect();
        assert_eq!(shares, [0..33, 33..66, 66..100]);
    }
}
