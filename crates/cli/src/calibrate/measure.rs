//! What this machine takes for the steps of an I/O, measured.

use super::driver::{self, Cpus, Shares};
use super::pair::{event, raise, settle, there_and_back, wait, wakes};
use super::spread::Spread;
use crate::failure::Failure;
use joulio_model::DeviceProfile;
use joulio_units::Nanos;
use joulio_workload::{Stop, Way};
use rustix::process::getppid;

/// The times of this machine, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// A system call that does nothing.
    pub crossing: Spread,
    /// poll(2) and read(2) of an eventfd that is raised.
    pub block: Spread,
    /// What a read by interrupts takes longer than one by polling.
    pub blocked: f64,
    /// From one thread to another on the same CPU.
    pub switch: Spread,
    /// From a write on another CPU to the next instruction of a thread that blocks, idle for a few
    /// microseconds.
    pub wake: Spread,
    /// The same, idle for milliseconds.
    pub late_wake: Spread,
    /// How much later than asked a sleep of a queue ends.
    pub oversleep: f64,
    /// The driver's.
    pub shares: Shares,
    /// What the run loop takes between an I/O and the next.
    pub app: f64,
    /// What the emulated device's thread takes beside the service time: it has to see the doorbell,
    /// and to post.
    pub device: f64,
}

/// Idle for less than any state but the shallowest pays.
const SHORT: Nanos = Nanos::from_micros(10);
/// Idle for long.
pub const LONG: Nanos = Nanos::from_millis(5);
/// So long that a thread has long been blocked, and so short that no deep idle state pays.
const BLOCKED: Nanos = Nanos::from_micros(20);
/// As short as a sleep of use; a longer one may end in another idle state.
const SLEEP: Nanos = Nanos::from_micros(5);
/// Less than that.
const SLEPT_THROUGH: Nanos = Nanos::from_micros(2);

/// Measures all of it; about two seconds.
pub fn measure(cpus: Cpus, stop: &Stop) -> Result<Times, Failure> {
    settle(cpus.job)?;
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
    let wake = |idle, rounds| wakes(cpus.device, cpus.job, idle, rounds).map(Spread::of_nanos);
    let (short, long) = (wake(SHORT, 4_000)?, wake(LONG, 60)?);
    settle(cpus.job)?;
    let shares = driver::shares(cpus)?;
    let loops = instant(cpus, stop)?;
    let own = shares.submit.median + shares.complete.median;
    Ok(Times {
        crossing,
        block: whole.map(|time| time - raising.median),
        blocked: blocked(cpus, stop)?,
        switch: hops.map(|time| time - whole.median),
        wake: short,
        late_wake: long,
        oversleep: f64::max(beyond_sleep(cpus, stop)? - own, 0.0),
        app: f64::max(loops.period - loops.latency, 0.0),
        device: f64::max(loops.latency - own - shares.look.median / 2.0, 0.0),
        shares,
    })
}

/// What reads that are slept for too long take beyond the sleep.
fn beyond_sleep(cpus: Cpus, stop: &Stop) -> Result<f64, Failure> {
    let slept = median(SLEPT_THROUGH, Way::HybridFixed(SLEEP), cpus, stop)?;
    Ok(slept - SLEEP.0 as f64)
}

/// The median latency of reads of a device that takes `service`.
fn median(service: Nanos, way: Way, cpus: Cpus, stop: &Stop) -> Result<f64, Failure> {
    const IOS: u64 = 2_000;
    let counts = driver::quietest(&driver::even(service)?, way, IOS, cpus, stop)?;
    Ok(counts.all.latency_ns.p50 as f64)
}

/// What a read of a device that takes as long as a block needs takes longer by interrupts.
fn blocked(cpus: Cpus, stop: &Stop) -> Result<f64, Failure> {
    let by = |way| median(BLOCKED, way, cpus, stop);
    Ok(f64::max(by(Way::Interrupt)? - by(Way::Poll)?, 0.0))
}

/// Reads of a device that takes no time.
struct Loops {
    /// From an I/O's beginning to the next one's.
    period: f64,
    latency: f64,
}

fn instant(cpus: Cpus, stop: &Stop) -> Result<Loops, Failure> {
    const IOS: u64 = 40_000;
    let profile = DeviceProfile::builtin("instant").map_err(Failure::run)?;
    let counts = driver::quietest(&profile, Way::Poll, IOS, cpus, stop)?;
    let ios = counts.all.ios.max(1) as f64;
    // Both means, so that what the rare long ones hold stands in both.
    let (period, mean) = (counts.seconds * 1e9 / ios, counts.all.latency_ns.mean);
    let median = counts.all.latency_ns.p50 as f64;
    Ok(Loops {
        period: period - mean + median,
        latency: median,
    })
}
