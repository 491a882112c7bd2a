//! Activities on the machine's own cores, with a thread on each.

use super::activity::{Arm, CoreActivity};
use super::bench::{Cores, Ran};
use super::error::WattsError;
use super::quiet::Quiet;
use joulio_cpu::{CacheLine, Depth, UserWait};
use joulio_host::{Changes, Knob};
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use joulio_workload::{Stop, ThreadCounting};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use rustix::time::{ClockId, clock_gettime};
use std::hint::{black_box, spin_loop};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

/// Longest single wait of a thread that nothing wakes, before it checks whether the window has ended.
const SLICE: Nanos = Nanos::from_millis(1);
/// Time after the last thread's start for clocks and voltages to settle.
const SETTLE: Nanos = Nanos::from_millis(200);

/// Cores of this machine.
pub struct MeasuredCores<'a> {
    /// Root of the file tree in which idle states and clocks are limited.
    pub root: PathBuf,
    /// CPUs that threads run on, one of each core.
    pub cpus: Vec<usize>,
    /// Longest time between two updates of a meter: a window begins no earlier than that after the threads' start.
    pub lag: Nanos,
    /// Observation of the measurement for disturbances.
    pub quiet: &'a mut Quiet,
    /// Stops the measurement.
    pub stop: &'a Stop,
    /// Receives a line about each setting that could not be restored.
    pub report: &'a dyn Fn(&str),
}

/// State that the threads of a window share.
#[derive(Default)]
struct Shared {
    begun: AtomicUsize,
    over: AtomicBool,
}

/// Ends the threads of a window when it is dropped, also in a panic: the scope waits for the threads.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Record of one thread's activity.
#[derive(Clone, Copy, Default)]
struct CoreWork {
    wakes: u64,
    busy: Nanos,
    time: Nanos,
    /// Share of its cycles in C0.1 or C0.2, whichever it had to wait in.
    inside: Option<f64>,
}

impl Cores for MeasuredCores<'_> {
    fn run(
        &mut self,
        arm: &Arm,
        during: &mut dyn FnMut() -> Result<(), WattsError>,
    ) -> Result<Ran, WattsError> {
        let mut changes = Changes::new(self.report);
        let khz = arm.max_khz.map(|khz| khz.to_string());
        let clock = khz.as_deref().map(|khz| (Knob::MaxFrequency, khz));
        let limit = arm.limit.as_deref().map(|limit| (Knob::MaxCstate, limit));
        let wanted: Vec<_> = clock.into_iter().chain(limit).collect();
        if !wanted.is_empty() {
            let changed = changes.knobs(&self.root, &wanted);
            changed.map_err(|error| WattsError::Change(Box::new(error)))?;
        }
        let ran = self.with_threads(arm, during);
        let back = changes.finish();
        let ran = ran?;
        back.map_err(|error| WattsError::Change(Box::new(error)))?;
        Ok(ran)
    }
}

impl MeasuredCores<'_> {
    fn with_threads(
        &mut self,
        arm: &Arm,
        during: &mut dyn FnMut() -> Result<(), WattsError>,
    ) -> Result<Ran, WattsError> {
        let shared = Shared::default();
        // Only windows without a thread of joulio are checked for other programs: the kernel's ticks charge CPU time
        // wrongly to sleeps that they wake.
        let judged = arm.activity == CoreActivity::Rest && arm.limit.is_none();
        let cpus = &self.cpus;
        let (quiet, stop) = (&mut *self.quiet, self.stop);
        let settle = SETTLE.max(self.lag);
        thread::scope(|scope| {
            let over = Over(&shared.over);
            let mut threads = Vec::new();
            let cpus = cpus.iter().take(arm.cores);
            for &cpu in cpus {
                let (shared, activity) = (&shared, arm.activity);
                let thread = thread::Builder::new().name("joulio-watts".into());
                let thread = thread.spawn_scoped(scope, move || work(activity, cpu, shared));
                threads.push(thread);
            }
            // If one thread could not be started, the others still have to end.
            let (threads, failed) = started(threads);
            let result = match failed {
                Some(error) => Err(error),
                None => {
                    wait_for(&shared, threads.len(), || {
                        threads.iter().any(|one| one.is_finished())
                    });
                    sleep(Duration::from_nanos(settle.0));
                    let begun = quiet.begin(judged);
                    during().and_then(|()| quiet.end(begun))
                }
            };
            drop(over);
            let done: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            result?;
            if stop.stopped() {
                return Err(WattsError::Interrupted);
            }
            let done: Result<Vec<CoreWork>, WattsError> = done
                .into_iter()
                .map(|done| done.unwrap_or(Err(WattsError::Panicked)))
                .collect();
            Ok(ran(&done?))
        })
    }
}

/// Returns the threads that were started, and the error if one was not.
fn started<T>(threads: Vec<std::io::Result<T>>) -> (Vec<T>, Option<WattsError>) {
    let (mut running, mut failed) = (Vec::new(), None);
    for thread in threads {
        match thread {
            Ok(thread) => running.push(thread),
            Err(error) => failed = Some(WattsError::Thread(error)),
        }
    }
    (running, failed)
}

/// Waits until all threads have begun their activity, or one has ended because it cannot.
fn wait_for(shared: &Shared, threads: usize, one_ended: impl Fn() -> bool) {
    while shared.begun.load(Ordering::Relaxed) < threads && !one_ended() {
        sleep(Duration::from_millis(1));
    }
}

fn ran(done: &[CoreWork]) -> Ran {
    let mean = |of: &dyn Fn(&CoreWork) -> f64| {
        let sum: f64 = done.iter().map(of).sum();
        sum / done.len().max(1) as f64
    };
    let seconds = |one: &CoreWork| one.time.seconds().max(1e-9);
    let counted: Option<Vec<f64>> = done.iter().map(|one| one.inside).collect();
    let counted = counted.filter(|all| !all.is_empty());
    Ran {
        wakes: mean(&|one| one.wakes as f64 / seconds(one)),
        busy: mean(&|one| one.busy.seconds() / seconds(one)),
        inside: counted.map(|all| all.iter().sum::<f64>() / all.len() as f64),
    }
}

/// Carries out `activity` on `cpu` until the window ends.
fn work(activity: CoreActivity, cpu: usize, shared: &Shared) -> Result<CoreWork, WattsError> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| WattsError::Pin { cpu, errno })?;
    // Timer slack as in a run's jobs, so that sleeps have the requested length.
    let _ = set_current_timer_slack(NonZero::new(1));
    let depth = match activity {
        CoreActivity::Pause(depth) | CoreActivity::Monitor(depth) => Some(depth),
        _ => None,
    };
    let wait = depth.and_then(|depth| UserWait::detect(depth).ok());
    let mut counting = depth.map(|_| ThreadCounting::this_thread());
    let (over, mut wakes) = (&shared.over, 0);
    let is_over = || over.load(Ordering::Relaxed);
    let line = AtomicU32::new(0);
    shared.begun.fetch_add(1, Ordering::Relaxed);
    if let Some(counting) = &mut counting {
        counting.start();
    }
    let (at, ran) = (now(), own_time());
    match (activity, wait) {
        (CoreActivity::Sleeps(time), _) => {
            while !is_over() {
                sleep(Duration::from_nanos(time.0));
                wakes += 1;
            }
        }
        (CoreActivity::Pause(_), Some(wait)) => {
            while !is_over() {
                wait.pause(SLICE);
            }
        }
        (CoreActivity::Monitor(_), Some(wait)) => {
            while !is_over() {
                wait.arm(CacheLine::from(&line));
                wait.wait(SLICE);
            }
        }
        (CoreActivity::SpinPause, _) => {
            while !is_over() {
                spin_loop();
            }
        }
        // The instructions of an empty poll: a load, a comparison and a branch.
        _ => {
            while !is_over() {
                black_box(line.load(Ordering::Acquire) == 1);
            }
        }
    }
    let (time, busy) = (now() - at, own_time() - ran);
    let inside = counting.and_then(|mut counting| share(&counting.stop(), depth));
    Ok(CoreWork {
        wakes,
        busy,
        time,
        inside,
    })
}

/// Returns the share of a thread's cycles in the state that it had to wait in.
fn share(counted: &joulio_workload::ThreadCounters, depth: Option<Depth>) -> Option<f64> {
    let inside = match depth? {
        Depth::C01 => counted.c01.as_ref().ok()?,
        Depth::C02 => counted.c02.as_ref().ok()?,
    };
    let cycles = counted.cycles.as_ref().ok().filter(|&&cycles| cycles > 0)?;
    Some((*inside as f64 / *cycles as f64).min(1.0))
}

/// Returns the CPU time of the calling thread.
fn own_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |time: i64| u64::try_from(time).unwrap_or(0);
    Nanos(part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec))
}
