//! Measurement of what joulio's own driver and run loop cost.

use super::error::CalibrateError;
use super::pair::settle;
use super::spread::Spread;
use crate::targets::activity;
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, StoreOptions};
use joulio_energy::Meters;
use joulio_model::DeviceProfile;
use joulio_nvme::wait::now;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, Namespace, PollGroup};
use joulio_units::Nanos;
use joulio_workload::{
    CompletionMode, Counts, EmulatedInfo, EngineName, Job, Member, Method, NvmeTarget, RunResult,
    Setup, Stop, Target, run as run_job,
};
use std::path::Path;

/// Bytes of every I/O.
pub const BS: u32 = 4096;

/// Time that the driver itself takes for an I/O, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Time from the call until the doorbell is written.
    pub submit: Spread,
    /// Time from the poll that finds the completion until the buffer is returned.
    pub complete: Spread,
    /// Time of an empty poll in a spin.
    pub poll: Spread,
}

/// The CPUs of a calibration.
#[derive(Clone, Copy, Debug)]
pub struct CalibrateCpus {
    /// CPU of the jobs' thread.
    pub job: usize,
    /// CPU of the emulated device's thread.
    pub device: usize,
}

/// A queue pair on an emulated device, and its buffers.
pub struct DriverBench {
    pub group: PollGroup<EmulatedDevice>,
    namespace: Namespace,
    pub buffers: Vec<DmaBuffer>,
}

/// Returns the profile of a device that takes `time` for every I/O.
pub fn even(time: Nanos) -> Result<DeviceProfile, CalibrateError> {
    let mut profile = DeviceProfile::builtin("instant")?;
    let points = profile.service.read.iter_mut();
    points.for_each(|point| point.us.value = time.0 as f64 / 1e3);
    Ok(profile)
}

fn open(
    profile: DeviceProfile,
    cpus: CalibrateCpus,
) -> Result<Controller<EmulatedDevice>, CalibrateError> {
    let mut options = Options::new(profile);
    options.cpus = vec![cpus.device];
    options.namespaces = vec![NamespaceOptions {
        store: StoreOptions::Ram {
            bytes: Some(64 << 20),
        },
        block: None,
    }];
    let device = EmulatedDevice::spawn(&options)?;
    Ok(Controller::open(device, ControllerOptions::default())?)
}

impl DriverBench {
    pub fn new(profile: DeviceProfile, cpus: CalibrateCpus) -> Result<DriverBench, CalibrateError> {
        let controller = open(profile, cpus)?;
        let namespace = controller.namespace(1)?;
        let queue = controller.create_queue_pair(4)?;
        let buffers = controller.allocate_buffers(1, BS as usize);
        Ok(DriverBench {
            group: PollGroup::new(vec![queue]),
            namespace,
            buffers: buffers?,
        })
    }

    /// Submits a read; returns the time at which its doorbell had been written.
    pub fn send(&mut self) -> Result<Nanos, CalibrateError> {
        let buffer = self.buffers.pop();
        let buffer = buffer.ok_or(CalibrateError::NoBuffer)?;
        let queue = &mut self.group.queues()[0];
        let blocks = BS / self.namespace.block_size();
        let sent = queue.read(&self.namespace, 0, blocks, buffer, 0);
        queue.ring();
        let rung = now();
        sent.map_err(|rejected| rejected.reason)?;
        Ok(rung)
    }

    /// Reaps completions; if there are none, waits for one until `deadline`.
    pub fn reap(&mut self, deadline: Option<Nanos>) -> Result<(), CalibrateError> {
        let buffers = &mut self.buffers;
        let reaped = self
            .group
            .reap(1, deadline, |_, done| buffers.extend(done.buffer));
        reaped?;
        Ok(())
    }
}

/// Measures the driver's times.
pub fn shares(cpus: CalibrateCpus) -> Result<Shares, CalibrateError> {
    settle(cpus.job)?;
    let clock = Spread::of_calls(|| {
        now();
    });
    let (submit, complete) = halves(cpus, clock.median)?;
    Ok(Shares {
        submit,
        complete,
        poll: polls(cpus)?,
    })
}

/// Measures submission and completion of I/Os that have completed long before they are polled for.
fn halves(cpus: CalibrateCpus, clock: f64) -> Result<(Spread, Spread), CalibrateError> {
    const IOS: usize = 2_000;
    const SERVICE: Nanos = Nanos::from_micros(20);
    let mut bench = DriverBench::new(even(SERVICE)?, cpus)?;
    let (mut submits, mut completes) = (Vec::new(), Vec::new());
    for _ in 0..IOS {
        let start = now();
        let rung = bench.send()?;
        // Waits twice the service time, so that the device's thread has finished the I/O.
        while now() < rung + SERVICE + SERVICE {
            std::hint::spin_loop();
        }
        let seen = now();
        bench.reap(None)?;
        submits.push((rung - start).0);
        completes.push((now() - seen).0);
    }
    let share = |times| Spread::of_nanos(times).map(|time| time - clock);
    Ok((share(submits), share(completes)))
}

/// Measures empty polls by the group's own counter.
fn polls(cpus: CalibrateCpus) -> Result<Spread, CalibrateError> {
    const ROUNDS: usize = 20;
    const POLLING: Nanos = Nanos::from_millis(2);
    let mut bench = DriverBench::new(even(POLLING + POLLING)?, cpus)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let rung = bench.send()?;
        let before = bench.group.counters().empty_polls;
        bench.reap(Some(rung + POLLING))?;
        let time = now() - rung;
        let polls = bench.group.counters().empty_polls - before;
        times.push(time.0 as f64 / polls.max(1) as f64);
        while bench.buffers.is_empty() {
            bench.reap(None)?;
        }
    }
    Ok(Spread::of(times))
}

/// Returns the quietest of three real runs of `ios` reads each with polling: other programs can only make them slower.
pub fn quietest(
    profile: &DeviceProfile,
    ios: u64,
    cpus: CalibrateCpus,
    stop: &Stop,
) -> Result<Counts, CalibrateError> {
    const RUNS: usize = 3;
    let mut best: Option<Counts> = None;
    for _ in 0..RUNS {
        let run = real(profile.clone(), ios, cpus, stop)?;
        let reason = run.completion.reason.unwrap_or_default();
        let counts = run.counts;
        let counts = counts.ok_or_else(|| CalibrateError::Unavailable {
            completion: CompletionMode::Poll,
            reason,
        })?;
        let median = |counts: &Counts| counts.all.latency_ns.p50;
        if best
            .as_ref()
            .is_none_or(|best| median(&counts) < median(best))
        {
            best = Some(counts);
        }
    }
    best.ok_or(CalibrateError::NoRun)
}

/// Runs `ios` reads, one at a time, with polling, on an emulated device of `profile`.
fn real(
    profile: DeviceProfile,
    ios: u64,
    cpus: CalibrateCpus,
    stop: &Stop,
) -> Result<RunResult, CalibrateError> {
    let name = format!("emulated:{}", profile.name);
    let inside = EmulatedInfo {
        profile: profile.clone(),
        activity,
        thread: EmulatedDevice::thread_id,
    };
    let target = NvmeTarget::new(name, open(profile, cpus)?, 1, true, Some(inside));
    let targets: [Box<dyn Target>; 1] = [Box::new(target?)];
    let job = Job {
        bs: u64::from(BS).into(),
        // The first I/Os run with cold caches.
        ramp_time: Nanos::from_millis(50),
        cpus_allowed: vec![cpus.job],
        ..Job::random_reads(ios)
    };
    let method = Method {
        engine: EngineName::Nvme,
        mode: CompletionMode::Poll,
    };
    let setup = Setup {
        targets: &targets,
        machine: None,
        at_home: false,
        baseline: None,
        stop,
        root: Path::new("/"),
        progress: &|_| {},
        trace: None,
    };
    Ok(run_job(
        &[Member::alone(job, method, 1)],
        &setup,
        &mut Meters::default(),
    )?)
}
