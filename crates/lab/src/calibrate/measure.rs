//! Measurement of what each step of an I/O costs on this machine.

use super::driver::{self, CalibrateCpus, Shares};
use super::error::CalibrateError;
use super::pair::{event, raise, settle, there_and_back, wait};
use super::reads::{CalibratePlace, Reads, median, reads};
use super::scheduler::CpuSchedulerTimes;
use super::spread::Spread;
use super::watch::Watch;
use joulio_model::DeviceProfile;
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, Stop};
use rustix::process::getppid;

/// Measured times of this machine, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct StepTimes {
    /// An empty system call.
    pub crossing: Spread,
    /// poll(2) and read(2) of an eventfd that is already signalled.
    pub block: Spread,
    /// Context switch from one thread to another on the same CPU.
    pub switch: Spread,
    /// Nanoseconds by which a read with interrupts takes longer than one with polling, for a device latency of each of
    /// [`WAITS`].
    pub woken: [f64; WAITS.len()],
    /// Nanoseconds that the shortest possible sleep of a queue lasts.
    pub sleep: f64,
    /// Times of the driver.
    pub shares: Shares,
    /// Nanoseconds that the run loop takes between one I/O and the next.
    pub app: f64,
    /// Nanoseconds that the emulated device's thread adds to the service time: it has to see the doorbell and to post
    /// the completion.
    pub device: f64,
    /// Times of the kernel's scheduler.
    pub scheduler: CpuSchedulerTimes,
}

/// Device latencies in microseconds: the longer a core is idle, the longer it takes to wake.
pub const WAITS: [u64; 8] = [4, 8, 16, 32, 64, 256, 1_024, 4_096];
/// Sleep so short that its timer fires while the core enters the idle state: it lasts as long as entering and leaving
/// that state.
const SLEEP: Nanos = Nanos::from_micros(1);
/// Service time shorter than that sleep.
const SLEPT_THROUGH: Nanos = Nanos(500);

/// Times of system calls, and of a switch between two threads on one CPU.
struct Calls {
    crossing: Spread,
    raising: Spread,
    /// An eventfd is signalled and then waited for.
    whole: Spread,
    hops: Spread,
}

fn calls(cpus: CalibrateCpus) -> Result<Calls, CalibrateError> {
    let crossing = Spread::of_calls(|| {
        let _ = getppid();
    });
    let fd = event()?;
    let mut failed = Ok(());
    let raising = Spread::of_calls(|| failed = raise(&fd));
    wait(&fd)?;
    let whole = Spread::of_calls(|| failed = raise(&fd).and_then(|()| wait(&fd)));
    failed?;
    let hops = Spread::of_nanos(there_and_back(cpus.job, 10_000)?).map(|time| time / 2.0);
    Ok(Calls {
        crossing,
        raising,
        whole,
        hops,
    })
}

/// Measures all times; ten rounds take about 15 seconds.
pub fn measure(
    rounds: u32,
    cpus: CalibrateCpus,
    stop: &Stop,
    watch: &mut Watch,
) -> Result<StepTimes, CalibrateError> {
    settle(cpus.job)?;
    let Calls {
        crossing,
        raising,
        whole,
        hops,
    } = watch.alone(|| calls(cpus))?;
    let shares = driver::shares(cpus)?;
    let waits = waits(rounds, cpus, stop)?;
    let loops = instant(cpus, stop)?;
    let own = shares.submit.median + shares.complete.median;
    Ok(StepTimes {
        crossing,
        block: whole.map(|time| time - raising.median),
        switch: hops.map(|time| time - whole.median),
        woken: waits.woken,
        sleep: f64::max(waits.slept - own, 0.0),
        app: f64::max(loops.period - loops.latency, 0.0),
        device: f64::max(loops.latency - own - shares.poll.median / 2.0, 0.0),
        shares,
        scheduler: CpuSchedulerTimes::now(),
    })
}

/// Times of waits in the kernel, in nanoseconds.
struct Waits {
    woken: [f64; WAITS.len()],
    slept: f64,
}

/// Measures the waits. Polling takes the same time more than the device for each latency, so it is measured for the
/// first only and subtracted.
fn waits(rounds: u32, cpus: CalibrateCpus, stop: &Stop) -> Result<Waits, CalibrateError> {
    let by = |mode, service: Nanos| {
        let even = driver::even(service)?;
        Ok::<_, CalibrateError>(Reads {
            profile: even,
            mode,
            adaptive: None,
            // Reads for a tenth of a second with their wake-ups, but enough for a median.
            ios: (100_000_000 / (service.0 + 10_000)).clamp(30, 10_000),
            learns: Nanos::ZERO,
        })
    };
    let all = WAITS.map(Nanos::from_micros);
    let mut kinds = vec![
        by(CompletionMode::HybridFixed(SLEEP), SLEPT_THROUGH)?,
        by(CompletionMode::Poll, all[0])?,
    ];
    for wait in all {
        kinds.push(by(CompletionMode::Interrupt, wait)?);
    }
    let done = reads(&kinds, rounds, CalibratePlace::alone(cpus), stop)?;
    let median = |index: usize| done.get(index).map_or(0.0, |round| median(&round.reads));
    let polled = median(1) - all[0].0 as f64;
    let woken = std::array::from_fn(|i| f64::max(median(2 + i) - all[i].0 as f64 - polled, 0.0));
    Ok(Waits {
        woken,
        slept: median(0),
    })
}

/// Times of reads from a device with no service time.
struct Loops {
    /// Nanoseconds from the start of an I/O to the start of the next.
    period: f64,
    latency: f64,
}

fn instant(cpus: CalibrateCpus, stop: &Stop) -> Result<Loops, CalibrateError> {
    const IOS: u64 = 40_000;
    let profile = DeviceProfile::builtin("instant")?;
    let counts = driver::quietest(&profile, IOS, cpus, stop)?;
    let ios = counts.all.ios.max(1) as f64;
    // The difference of the two means, so that rare long I/Os count in both and cancel.
    let (period, mean) = (counts.seconds * 1e9 / ios, counts.all.latency_ns.mean);
    let median = counts.all.latency_ns.p50 as f64;
    Ok(Loops {
        period: period - mean + median,
        latency: median,
    })
}
