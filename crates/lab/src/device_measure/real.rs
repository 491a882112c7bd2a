//! Runs of points on a device.

use super::error::DeviceMeasureError;
use super::point::{RatePoint, RateRun, RateSource};
use joulio_energy::Meters;
use joulio_units::{Direction, Nanos};
use joulio_workload::{
    CompletionMode, Counts, EngineName, Job, Member, Method, ReadWrite, RunResult, Setup, Stop,
    Target, run,
};
use std::path::Path;

/// Smallest number of I/Os that a rate is computed from.
const MIN_IOS: u64 = 10;

/// Largest number of times that a run with fewer I/Os is repeated, each time for twice as long.
const MAX_LONGER: u32 = 8;

/// Device on which points are run.
pub struct RealRates<'a> {
    targets: &'a [Box<dyn Target>],
    method: Method,
    runtime: Nanos,
    stop: &'a Stop,
}

impl<'a> RealRates<'a> {
    /// Uses the device `targets` with `engine` and runs of length `runtime`. The runs poll; if the engine or the device
    /// does not support that, they use interrupts, and the reason is the second result.
    ///
    /// # Errors
    /// The run that tries polling failed.
    pub fn new(
        targets: &'a [Box<dyn Target>],
        engine: EngineName,
        runtime: Nanos,
        stop: &'a Stop,
    ) -> Result<(RealRates<'a>, Option<String>), DeviceMeasureError> {
        let by = |mode| RealRates {
            targets,
            method: Method { engine, mode },
            runtime,
            stop,
        };
        let poll = by(CompletionMode::Poll);
        if engine == EngineName::Nvme {
            return Ok((poll, None));
        }
        if !engine.takes(CompletionMode::Poll) {
            let why = format!("{engine} has no polling");
            return Ok((by(CompletionMode::Interrupt), Some(why)));
        }
        let tried = poll.result(&Job {
            number_ios: Some(100),
            runtime: None,
            ..poll.job(RatePoint {
                direction: Direction::Read,
                bytes: 4096,
                iodepth: 1,
                numjobs: 1,
            })
        })?;
        let completion = tried.completion;
        if completion.effective.as_deref() == Some(&completion.requested) {
            return Ok((poll, None));
        }
        let why = completion.reason.unwrap_or_default();
        Ok((by(CompletionMode::Interrupt), Some(why)))
    }

    /// Returns the engine and the completion mode of every run.
    pub fn method(&self) -> Method {
        self.method
    }

    fn job(&self, point: RatePoint) -> Job {
        Job {
            rw: ReadWrite::random(point.direction),
            bs: u64::from(point.bytes).into(),
            iodepth: point.iodepth,
            numjobs: point.numjobs,
            runtime: Some(self.runtime),
            number_ios: None,
            // The first I/Os run with cold caches, and may have to wake the device.
            ramp_time: Nanos(self.runtime.0 / 5),
            ..Job::random_reads(1)
        }
    }

    fn result(&self, job: &Job) -> Result<RunResult, DeviceMeasureError> {
        let member = Member::alone(job.clone(), self.method, self.targets.len());
        let setup = Setup {
            targets: self.targets,
            machine: None,
            at_home: false,
            baseline: None,
            // After a mode that is unavailable comes another run.
            stop: &self.stop.of_another_run(),
            root: Path::new("/"),
            progress: &|_| {},
            trace: None,
        };
        let done = run(&[member], &setup, &mut Meters::default());
        // A run that was stopped fails for that reason.
        if self.stop.is_requested() {
            return Err(DeviceMeasureError::Interrupted);
        }
        Ok(done?)
    }
}

impl RateSource for RealRates<'_> {
    fn run(&mut self, point: RatePoint) -> Result<RateRun, DeviceMeasureError> {
        let mut job = self.job(point);
        let mut result = self.result(&job)?;
        // A run on a slow or disturbed device is repeated for longer.
        for _ in 0..MAX_LONGER {
            let ios = |counts: &Counts| counts.all.ios + counts.all.errors;
            if result.counts.as_ref().is_none_or(|all| ios(all) >= MIN_IOS) {
                break;
            }
            job.runtime = job.runtime.map(|time| time + time);
            result = self.result(&job)?;
        }
        let Some(counts) = result.counts else {
            return Err(DeviceMeasureError::Unavailable {
                method: self.method,
                reason: result.completion.reason.unwrap_or_default(),
            });
        };
        if counts.all.errors > 0 {
            return Err(DeviceMeasureError::Failed {
                ios: counts.all.errors,
                first: counts.first_error.unwrap_or_default(),
            });
        }
        Ok(RateRun {
            iops: counts.all.iops,
            spoiled: result.spoiled.into_iter().next(),
        })
    }
}
