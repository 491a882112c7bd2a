//! Workloads that are observed instead of described.

use crate::disk_activity::{DiskError, WatchedDisks};
use crate::pause::pause;
use joulio_kernel_io::{DiskUse, Disks};
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use joulio_workload::{Arrivals, Job, ReadWrite, Stop};
use serde::Serialize;

/// Fraction of the time with an I/O in flight from which on a disk counts as never idle: the workload is a closed loop.
const SATURATED: f64 = 0.95;
/// I/Os in flight of an open-loop workload, whose depth cannot be observed.
const OPEN_DEPTH: usize = 32;
/// Smallest and largest I/O size, in bytes, that is derived from observations.
const SIZES: (u64, u64) = (512, 1 << 20);

/// A workload as it was observed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    /// Name of the disk or the file that it was observed by.
    pub from: String,
    /// Seconds for which it was observed; `None`: times are not known.
    pub seconds: Option<f64>,
    /// I/Os that were observed.
    pub ios: u64,
    /// Percent of reads among the I/Os.
    pub read_percent: u8,
    /// Bytes of an I/O: the mean, as a power of two.
    pub bs: u64,
    /// True if most I/Os follow the one before.
    pub sequential: bool,
    /// I/Os a second, if they come by themselves; `None`: as soon as one completes.
    pub rate: Option<u64>,
    /// I/Os in flight, at most.
    pub iodepth: usize,
}

impl Workload {
    /// Returns `job` on `devices` devices with this workload in place of its own. The workload is divided among the
    /// jobs and devices: together they have its rate, or in a closed loop its depth.
    pub fn applied_to(&self, job: &Job, devices: usize) -> Job {
        let parts = job.numjobs.max(devices).max(1) as u64;
        let part = |all: u64| (all.saturating_add(parts / 2) / parts).max(1);
        let rw = match (self.sequential, self.read_percent) {
            (true, 100) => ReadWrite::Read,
            (true, 0) => ReadWrite::Write,
            (true, _) => ReadWrite::Rw,
            (false, 100) => ReadWrite::RandRead,
            (false, 0) => ReadWrite::RandWrite,
            (false, _) => ReadWrite::RandRw,
        };
        Job {
            rw,
            rwmixread: self.read_percent,
            bs: self.bs.into(),
            iodepth: match self.rate {
                // It was not observed, but leaves room for I/Os that arrive together.
                Some(_) => self.iodepth,
                None => part(self.iodepth as u64) as usize,
            },
            arrivals: match self.rate {
                Some(rate) => Arrivals::Poisson(Nanos(1_000_000_000 / part(rate))),
                None => Arrivals::Closed,
            },
            ..job.clone()
        }
    }

    /// Returns this workload with reads only, for a device whose data must be kept.
    pub fn read_alone(&self) -> Workload {
        Workload {
            read_percent: 100,
            ..self.clone()
        }
    }

    /// Returns the power of two that is nearest to a mean of `bytes` an I/O.
    pub(super) fn size(bytes: f64) -> u64 {
        let exponent = bytes.max(1.0).log2().round().clamp(0.0, 62.0) as u32;
        (1_u64 << exponent).clamp(SIZES.0, SIZES.1)
    }

    /// Returns the workload of `interval` on the disk `from`; `None` if it had no I/O.
    fn of(from: &str, interval: &DiskUse) -> Option<Workload> {
        let ios = interval.reads.saturating_add(interval.writes);
        if ios == 0 {
            return None;
        }
        let bytes = interval.read_bytes.saturating_add(interval.write_bytes);
        let reads = 100.0 * interval.reads as f64 / ios as f64;
        let closed = interval.utilisation >= SATURATED;
        Some(Workload {
            from: from.into(),
            seconds: Some(interval.seconds),
            ios,
            read_percent: reads.round() as u8,
            bs: Workload::size(bytes as f64 / ios as f64),
            sequential: false,
            rate: (!closed).then(|| (interval.iops().round() as u64).max(1)),
            iodepth: match closed {
                true => (interval.queue.round() as usize).clamp(1, 1 << 10),
                false => OPEN_DEPTH,
            },
        })
    }
}

/// A disk under observation.
pub struct Observation(WatchedDisks);

impl Observation {
    /// Begins to observe the disk `name` through the kernel's counters.
    ///
    /// # Errors
    /// There is no such disk, or its counters cannot be read.
    pub fn begin(disks: Disks, name: &str) -> Result<Observation, DiskError> {
        WatchedDisks::new(disks, &[name.into()], now()).map(Observation)
    }

    /// Observes the disk for `time` and returns its workload; `None` if it had no I/O, or `stop` was requested.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn watch(mut self, time: Nanos, stop: &Stop) -> Result<Option<Workload>, DiskError> {
        if !pause(time, stop, |_| {}) {
            return Ok(None);
        }
        let seen = self.0.snapshot(now()).map_err(DiskError::Stats)?;
        let mut devices = seen.devices.iter();
        Ok(devices.find_map(|device| Workload::of(&device.name, &device.interval)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(utilisation: f64) -> DiskUse {
        DiskUse {
            ios: 4_000,
            reads: 3_000,
            writes: 1_000,
            read_bytes: 3_000 * 4_096,
            write_bytes: 1_000 * 8_192,
            seconds: 2.0,
            queue: 3.7,
            utilisation,
            ..DiskUse::default()
        }
    }

    #[test]
    fn counters_make_a_workload() {
        let seen = Workload::of("sda", &interval(0.4)).unwrap();
        assert_eq!((seen.read_percent, seen.bs), (75, 4_096));
        assert_eq!((seen.rate, seen.iodepth), (Some(2_000), OPEN_DEPTH));
        let busy = Workload::of("sda", &interval(0.99)).unwrap();
        assert_eq!((busy.rate, busy.iodepth), (None, 4));
        assert_eq!(Workload::of("sda", &DiskUse::default()), None);
        let most = DiskUse {
            reads: u64::MAX,
            writes: u64::MAX,
            read_bytes: u64::MAX,
            write_bytes: u64::MAX,
            ..interval(0.4)
        };
        assert_eq!(
            Workload::of("sda", &most).map(|seen| seen.ios),
            Some(u64::MAX)
        );
    }

    #[test]
    fn jobs_and_devices_share_what_was_observed() {
        let of = |rate, iodepth, numjobs, devices| {
            let workload = Workload {
                rate,
                iodepth,
                ..Workload::of("sda", &interval(0.4)).unwrap()
            };
            let job = Job {
                numjobs,
                ..Job::random_reads(10)
            };
            let job = workload.applied_to(&job, devices);
            (job.arrivals, job.iodepth)
        };
        let every = |ms| Arrivals::Poisson(Nanos::from_millis(ms));
        let open = Some(2_000);
        assert_eq!(of(open, 32, 4, 1), (every(2), 32));
        assert_eq!(of(open, 32, 1, 4), (every(2), 32));
        assert_eq!(of(open, 32, 4, 2), (every(2), 32));
        assert_eq!(of(Some(1), 32, 4, 1), (every(1_000), 32));
        assert_eq!(of(None, 8, 4, 1), (Arrivals::Closed, 2));
        assert_eq!(of(None, 1, 4, 1), (Arrivals::Closed, 1));
    }

    #[test]
    fn sizes_are_powers_of_two_that_an_io_can_have() {
        for (bytes, size) in [
            (0.0, 512),
            (4_096.0, 4_096),
            (5_000.0, 4_096),
            (6_000.0, 8_192),
            (1e9, 1 << 20),
        ] {
            assert_eq!(Workload::size(bytes), size, "{bytes}");
        }
    }
}
