//! Measurement of an open target, and a profile of it.

use super::error::DeviceMeasureError;
use super::plan::{RatePlan, measure_rates};
use super::point::{PointRuns, RatePoint};
use super::real::RealRates;
use super::text::rates_text;
use crate::device_rates::parse_rates;
use crate::target_name::TargetName;
use crate::targets::{Demand, TargetOptions, open_unchecked, refuse_data_loss};
use joulio_model::{DeviceProfile, Figure, FigureKind, MachineProfile};
use joulio_nvme::Cancel;
use joulio_twin::TwinError;
use joulio_twin::device_fit::{DeviceFitError, FittedRate, MeasuredBy, fit_device};
use joulio_units::{Direction, Nanos};
use joulio_workload::{
    CompletionMode, EngineName, Job, Member, Method, ReadWrite, Stop, Target, TargetInfo, check,
};

/// I/O sizes in bytes that are measured at depth 1 by default, if the device transfers them in one command.
const SIZES: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 128 << 10];

/// Largest number of jobs: with several jobs more than one core submits, which few devices need.
const MAX_JOBS: usize = 16;

/// Largest number of jobs of an engine that has only one I/O in flight per job.
const MAX_JOBS_FOR_DEPTH: usize = 64;

/// Largest number of I/Os in flight per job.
const MAX_IODEPTH: usize = 256;

/// Options of a device's measurement.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The device.
    pub device: TargetName,
    /// Engine of every run; `None`: the device's default.
    pub engine: Option<EngineName>,
    /// I/O sizes in bytes; empty: the default sizes that the device transfers in one command.
    pub sizes: Vec<u64>,
    /// Time of each run.
    pub runtime: Nanos,
    /// Number of runs of each point.
    pub loops: u32,
    /// True if data on the device may be lost; writes are then measured too.
    pub allow_write: bool,
    /// True if the measurement ends as soon as most runs of a point are spoiled.
    pub strict: bool,
    /// Cancellation of waits for the device's controller.
    pub cancel: Cancel,
}

/// Results of a device's measurement.
#[derive(Debug)]
pub struct DeviceMeasurement {
    /// Engine and completion mode of every run.
    pub method: Method,
    /// Reason why the runs do not poll, if they do not.
    pub not_polled: Option<String>,
    /// Rates at each point.
    pub points: Vec<PointRuns>,
    /// Description of the device from when it was opened.
    pub info: TargetInfo,
    options: MeasureOptions,
}

impl DeviceMeasurement {
    /// Measures the device that `options` name, for a profile that is used with `machine` and takes its other figures
    /// from `base`. `begun` is called before each run.
    ///
    /// # Errors
    /// The device cannot be opened or does not support a size, `machine` has no times, a run failed or was stopped, or
    /// (with `strict`) most runs of a point were spoiled.
    pub fn measure(
        options: &MeasureOptions,
        machine: &MachineProfile,
        base: &DeviceProfile,
        stop: &Stop,
        begun: &mut dyn FnMut(RatePoint),
    ) -> Result<DeviceMeasurement, DeviceMeasureError> {
        if machine.costs.is_none() {
            let machine = machine.name.clone();
            return Err(DeviceMeasureError::Machine(TwinError::NoCosts { machine }));
        }
        let engine = options.engine.unwrap_or(options.device.engine());
        options.device.check(engine)?;
        let job = Job {
            rw: match options.allow_write {
                true => ReadWrite::RandWrite,
                false => ReadWrite::RandRead,
            },
            numjobs: MAX_JOBS.min(cpus()),
            ..Job::random_reads(1)
        };
        let how = options.targets();
        let mode = CompletionMode::Interrupt;
        let method = Method { engine, mode };
        let demand = |job| -> Demand { vec![Member::alone(job, method, how.devices.len())] };
        let most = demand(job.clone());
        refuse_data_loss(&how, &most)?;
        let targets = open_unchecked(&how, &[most])?;
        check(&demand(Job { numjobs: 1, ..job }), &targets)?;
        let Some(info) = targets.first().map(|target| target.info().clone()) else {
            return Err(DeviceMeasureError::Interrupted);
        };
        let plan = RatePlan {
            sizes: options.checked_sizes(&info, base)?,
            ..options.plan(engine, &info)
        };
        let (points, method, not_polled) = options.run(&plan, &targets, engine, stop, begun)?;
        Ok(DeviceMeasurement {
            method,
            not_polled,
            points,
            info,
            options: options.clone(),
        })
    }

    /// Returns the text of a CSV file with the rates, after `notes`, one comment line each.
    pub fn csv(&self, notes: &[String]) -> String {
        let MeasureOptions { runtime, loops, .. } = self.options;
        let what = format!(
            "Random I/O of {}, {} bytes, by {} {}; each rate the median of {loops} runs of {} s or more, \
             in turn.",
            self.info.name,
            self.info.size,
            self.method.engine,
            self.method.mode,
            runtime.seconds(),
        );
        let why = self.not_polled.iter();
        let why = why.map(|why| format!("Not by polling: {why}."));
        let writes = match self.options.allow_write {
            true => None,
            false => Some("No writes: data on the device was to be kept.".into()),
        };
        let first = [what].into_iter().chain(why).chain(writes);
        let all: Vec<_> = first.chain(notes.iter().cloned()).collect();
        rates_text(&all, &self.points)
    }

    /// Fits a profile called `name` to the rates in `csv`, the text of the file `file`, so that the twin reproduces
    /// them; all other figures come from `base`. Returns the profile and each rate with the twin's.
    ///
    /// # Errors
    /// The rates contradict `machine`, or the fit was stopped.
    pub fn profile(
        &self,
        name: &str,
        (csv, file): (&str, &str),
        machine: &MachineProfile,
        base: &DeviceProfile,
        stop: &Stop,
    ) -> Result<(DeviceProfile, Vec<FittedRate>), DeviceMeasureError> {
        let rates = parse_rates(csv, file)?;
        let by = MeasuredBy {
            machine,
            method: self.method,
            stop: Some(stop.flag()),
        };
        let fitted = fit_device(name, base, &by, &rates);
        let (mut profile, beside) = fitted.map_err(|error| match error {
            DeviceFitError::Twin(TwinError::Stopped) => DeviceMeasureError::Interrupted,
            error => error.into(),
        })?;
        profile.description = format!(
            "{}: {} rates measured on {}, fitted.",
            crate::printable(&self.info.name),
            rates.len(),
            machine.name
        );
        take_size(
            &mut profile,
            &self.info.name,
            self.info.size,
            self.info.block_size,
        );
        profile.validate()?;
        Ok((profile, beside))
    }
}

/// Sets the size and the block size of `profile` to those of the device `name`. The size is rounded down to whole
/// blocks, because a file's size need not be a multiple.
fn take_size(profile: &mut DeviceProfile, name: &str, size: u64, block_size: u32) {
    let source = format!("{} reports it", crate::printable(name));
    if matches!(block_size, 512 | 4096) {
        profile.lba.sizes_bytes = vec![block_size];
        profile.lba.default_bytes = block_size;
        profile.lba.source = source.clone();
    }
    let block = profile.lba.sizes_bytes.iter().copied().max().unwrap_or(1);
    profile.capacity_bytes = Figure {
        value: (size - size % u64::from(block.max(1))) as f64,
        kind: FigureKind::Measured,
        source,
        band: None,
    };
}

impl MeasureOptions {
    fn targets(&self) -> TargetOptions {
        TargetOptions {
            devices: vec![self.device.clone()],
            allow_write: self.allow_write,
            cancel: self.cancel.clone(),
            ..TargetOptions::default()
        }
    }

    fn plan(&self, engine: EngineName, info: &TargetInfo) -> RatePlan {
        let max_iodepth = info.max_depth(engine).min(MAX_IODEPTH);
        // The thread of an emulated device needs a CPU too.
        let emulated = usize::from(info.profile.is_some());
        let jobs = match max_iodepth {
            1 => MAX_JOBS_FOR_DEPTH,
            _ => cpus().saturating_sub(emulated).clamp(1, MAX_JOBS),
        };
        RatePlan {
            directions: match self.allow_write {
                true => vec![Direction::Read, Direction::Write],
                false => vec![Direction::Read],
            },
            sizes: Vec::new(),
            max_iodepth,
            max_jobs: jobs.min(info.max_jobs),
            loops: self.loops,
            strict: self.strict,
        }
    }

    /// Returns the sizes in rising order, after checking that the device and the twin of `base` support each.
    fn checked_sizes(
        &self,
        info: &TargetInfo,
        base: &DeviceProfile,
    ) -> Result<Vec<u32>, DeviceMeasureError> {
        let block = base.lba.sizes_bytes.iter().min().copied().unwrap_or(1);
        let problem = |bytes: u64| {
            let max = u64::from(info.max_transfer);
            let at_once = u64::from(base.max_transfer());
            if bytes == 0 || !bytes.is_multiple_of(info.block_size.into()) {
                return Some(format!(
                    "give a multiple of {}'s {} B",
                    info.name, info.block_size
                ));
            }
            if bytes > max {
                return Some(format!("{} transfers at most {max} B", info.name));
            }
            if bytes > at_once || !bytes.is_multiple_of(block.into()) {
                return Some(format!(
                    "{} does multiples of {block} B, at most {at_once} B: name another --base",
                    base.name
                ));
            }
            None
        };
        let mut sizes = match self.sizes.is_empty() {
            true => SIZES
                .into_iter()
                .filter(|&bytes| problem(bytes).is_none())
                .collect(),
            false => self.sizes.clone(),
        };
        sizes.sort_unstable();
        sizes.dedup();
        // If none of the default sizes is possible, the check of the smallest gives the error.
        if sizes.is_empty() {
            sizes.push(SIZES[0]);
        }
        let checked = sizes.into_iter().map(|bytes| match problem(bytes) {
            Some(problem) => Err(DeviceMeasureError::Size { bytes, problem }),
            None => Ok(bytes as u32),
        });
        checked.collect()
    }

    fn run(
        &self,
        plan: &RatePlan,
        targets: &[Box<dyn Target>],
        engine: EngineName,
        stop: &Stop,
        begun: &mut dyn FnMut(RatePoint),
    ) -> Result<(Vec<PointRuns>, Method, Option<String>), DeviceMeasureError> {
        let (mut source, not_polled) = RealRates::new(targets, engine, self.runtime, stop)?;
        let points = measure_rates(plan, &mut source, begun)?;
        Ok((points, source.method(), not_polled))
    }
}

/// Returns the number of CPUs that this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_ends_within_a_block_has_a_profile_too() {
        for (size, block, capacity) in [
            (100_000_005, 512, 99_999_744),
            (100_000_005, 4096, 99_999_744),
            // With another block size the base's block sizes stay, and the capacity becomes a multiple of them.
            (100_000_512, 1, 99_999_744),
            (64 << 20, 4096, 64 << 20),
        ] {
            let mut profile = DeviceProfile::builtin("samsung-980-pro").unwrap();
            profile.lba.sizes_bytes = vec![512, 4096];
            take_size(&mut profile, "./disk.img", size, block);
            assert_eq!(profile.capacity(), capacity);
            profile.validate().unwrap();
        }
    }
}
