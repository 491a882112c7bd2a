//! The device's own thread: it polls doorbells while work may come soon, sleeps while the next completion is far, and
//! parks without a timeout when there is nothing to do.

use crate::bell::{Side, Slept};
use crate::clock;
use crate::doorbells::Watch;
use crate::error::EmulatorError;
use crate::options::Options;
use crate::shared::Shared;
use joulio_cpu::BusyThread;
use joulio_units::Nanos;
use rustix::thread::{CpuSet, gettid, sched_setaffinity, set_current_timer_slack};
use std::hint::spin_loop;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The thread of a device, stopped and joined on drop.
pub(crate) struct DeviceThread {
    id: i32,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl DeviceThread {
    pub(crate) fn spawn(
        shared: &Arc<Shared>,
        options: &Options,
    ) -> Result<DeviceThread, EmulatorError> {
        let stop = Arc::new(AtomicBool::new(false));
        let runner = Runner {
            shared: Arc::clone(shared),
            stop: Arc::clone(&stop),
            watch: Watch::new(Arc::clone(&shared.doorbells)),
            spin: options.spin,
            linger: options.linger,
            nap: options.nap,
        };
        let (started, report) = channel();
        let cpus = options.cpus.clone();
        let handle = Builder::new()
            .name("joulio-device".into())
            .spawn(move || {
                if let Some(_busy) = settle(&cpus, &started) {
                    runner.run();
                }
            })
            .map_err(EmulatorError::Thread)?;
        let id = match report.recv() {
            Ok(Ok(id)) => id,
            Ok(Err(source)) => {
                let cpus = options.cpus.clone();
                return Err(EmulatorError::Cpus { cpus, source });
            }
            Err(_) => return Err(EmulatorError::Thread(io::ErrorKind::BrokenPipe.into())),
        };
        Ok(DeviceThread {
            id,
            shared: Arc::clone(shared),
            stop,
            handle: Some(handle),
        })
    }

    /// Returns the kernel's identifier of the thread.
    pub(crate) fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for DeviceThread {
    fn drop(&mut self) {
        // Sequentially consistent like a doorbell: a thread that parks has seen it, or is woken.
        self.stop.swap(true, Ordering::SeqCst);
        self.shared.bell.wake(Side::Tail);
        if let Some(handle) = self.handle.take() {
            // A panic of the thread has been printed; there is nobody to pass it on to.
            let _ = handle.join();
        }
    }
}

/// Binds this thread, makes its sleeps precise, registers it as one that needs a CPU, and reports its identifier;
/// `None` if it must end.
fn settle(cpus: &[usize], started: &Sender<io::Result<i32>>) -> Option<BusyThread> {
    let bound = bind(cpus);
    // Without that, sleeps end up to 50 us late, which is correct, only slow.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let id = bound.map(|()| gettid().as_raw_nonzero().get());
    // Before anybody can wait for this device.
    let busy = id.is_ok().then(BusyThread::register);
    started.send(id).ok().and(busy)
}

fn bind(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    if cpus.iter().any(|cpu| *cpu >= CpuSet::MAX_CPU) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// State of the running thread.
struct Runner {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    watch: Watch,
    spin: Nanos,
    linger: Nanos,
    /// Interval between polls where doorbells wake nobody.
    nap: Option<Nanos>,
}

impl Runner {
    fn run(mut self) {
        self.shared.bell.attend();
        let mut idle_since = clock::now();
        while !self.stopped() {
            while self.shared.is_wanted() {
                // The lock is not fair: without this a busy thread would hardly let anyone in.
                std::thread::yield_now();
            }
            let now = clock::now();
            let (progress, alarm, sync) = {
                let mut controller = self.shared.controller();
                let progress = controller.step_to_sync(now);
                controller.watch(&mut self.watch);
                (progress, controller.alarm(), controller.begin_sync())
            };
            if let Some(sync) = sync {
                // Without the lock: a host gives up a device whose registers do not answer for some seconds.
                let synced = sync.run();
                self.shared.controller().end_sync(synced);
                continue;
            }
            if progress.fetched > 0 || progress.posted > 0 {
                idle_since = now;
            }
            match progress.next.filter(|_| progress.next != alarm) {
                Some(at) => {
                    idle_since = at.max(now);
                    self.wait_until(at);
                }
                // A planned fault is no work: until then the device is as idle as without it.
                None => self.idle(idle_since + self.linger, alarm),
            }
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Polls the doorbells; returns whether one has moved.
    fn poll(&self) -> bool {
        add(&self.shared.polls, self.watch.len() as u64);
        add(&self.shared.rounds, 1);
        self.watch.moved()
    }

    /// Waits for a doorbell or the time `at`: sleeps while that is far, and spins when it is near.
    fn wait_until(&self, at: Nanos) {
        loop {
            if self.poll() || self.stopped() {
                return;
            }
            let now = clock::now();
            if now >= at {
                return;
            }
            let left = at.since(now);
            match self.nap {
                None if left > self.spin => self.sleep(Some(after(left.since(self.spin)))),
                Some(nap) if left > self.spin + nap => {
                    if self.nap(nap) {
                        return;
                    }
                }
                _ => spin_loop(),
            }
        }
    }

    /// Waits for a doorbell: polls until the time `park`, and parks from then on; in any case no longer than until
    /// `alarm`.
    fn idle(&self, park: Nanos, alarm: Option<Nanos>) {
        loop {
            if self.poll() || self.stopped() {
                return;
            }
            let now = clock::now();
            if alarm.is_some_and(|alarm| now >= alarm) {
                return;
            }
            if now >= park {
                let enabled = {
                    let mut controller = self.shared.controller();
                    controller.sweep();
                    controller.is_enabled()
                };
                let left = || alarm.map(|alarm| alarm.since(clock::now()));
                match self.nap {
                    // The controller is enabled by a message, which wakes the thread.
                    Some(nap) if enabled => {
                        while left() != Some(Nanos::ZERO)
                            && !self.nap(left().map_or(nap, |left| left.min(nap)))
                        {
                        }
                    }
                    _ => self.sleep(left().map(after)),
                }
                return;
            }
            spin_loop();
        }
    }

    /// Sleeps for `nap`, and then polls the doorbells once. Returns whether there may be work: a doorbell has moved, or
    /// a message has come.
    fn nap(&self, nap: Nanos) -> bool {
        add(&self.shared.parks, 1);
        let awake = || !self.stopped();
        let slept = self
            .shared
            .bell
            .sleep(self.watch.heads(), Some(after(nap)), awake);
        slept != Slept::UntilTimeout || self.poll() || self.stopped()
    }

    fn sleep(&self, deadline: Option<Instant>) {
        let heads = self.watch.heads();
        if self.watch.shadowed() {
            // With the lock held, so that the pages that this writes to are still the host's. The bell executes the
            // fence between this and the poll.
            self.shared.controller().request_ring();
        }
        let idle = || {
            let idle = !self.poll() && !self.stopped();
            add(&self.shared.parks, u64::from(idle));
            idle
        };
        if self.shared.bell.sleep(heads, deadline, idle) == Slept::UntilRung {
            add(&self.shared.wakes, 1);
        }
    }
}

fn after(time: Nanos) -> Instant {
    Instant::now() + Duration::from_nanos(time.0)
}

/// Adds to a counter that only this thread writes.
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}
