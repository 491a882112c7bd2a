//! When a run's figures are the machine's doing more than the way of waiting's.
//!
//! A poller that shares its CPU with another program does half of the I/Os for twice the joules,
//! and nothing in its figures says so. The judgement is pure: counters in, reasons out.

use crate::surroundings::Happened;
use joulio_job::{Spoiled, SpoiledBy};
use joulio_kernel_io::TICK;
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};

/// The share of a run that may be lost. Runs of one workload on a quiet machine differ by about as
/// much: what takes less cannot be told from that.
pub const TOLERATED: f64 = 0.02;

/// How long a thread that was woken may take to get its CPU, without another program's doing: the
/// CPU has to leave its idle state first. The deepest of the machines in profiles/ takes 133 us,
/// and a guest's wake-up through its host some tens more.
pub const WAKE: Nanos = Nanos::from_micros(250);

/// How late the thread that watches a run may be. A scheduler gives a thread that was woken its CPU
/// after a slice (3 ms) of each of the others at the most: 500 ms are 160 busy threads on its CPU,
/// or a machine that stood still.
pub const LATE: Nanos = Nanos::from_millis(500);

/// How long a suspension is, and how far a step of the wall clock, at the least: on a busy machine
/// that much may pass between reading two clocks. NTP steps by 128 ms or more, and slews below.
pub const CLOCKS: Nanos = Nanos::from_millis(100);

/// The most voluntary switches of a thread that does nothing but spin, a second: page faults, locks.
const SPINNER_SWITCHES: f64 = 10.0;

/// `device` lost a setting in a reset.
pub(crate) fn settings_lost(device: &str, what: &str) -> Spoiled {
    let why = format!("{device} was reset, and a setting is gone: {what}; set it, and run again");
    spoiled(SpoiledBy::SettingsLost, None, why)
}

/// What a thread had of its CPU in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scheduled {
    /// How long it ran.
    pub(crate) ran: Nanos,
    /// How long it was ready to run and waited for a CPU; none: the kernel does not count it.
    pub(crate) run_delay: Option<Nanos>,
    /// How often it was woken.
    pub(crate) wakes: u64,
    /// How often its CPU was taken away.
    pub(crate) preemptions: u64,
}

/// How far a policy had learnt in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Learning {
    /// How long it was to go on learning at the beginning; zero: it had learnt.
    pub(crate) at_first: Nanos,
    /// At the end it still had not learnt.
    pub(crate) to_the_end: bool,
}

/// What is known of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    pub(crate) index: usize,
    pub(crate) window: Nanos,
    pub(crate) scheduled: Scheduled,
    /// It never blocked or slept, and was to have its CPU all the time.
    pub(crate) never_waits: bool,
    /// The kernel's thread that worked for it, if one did.
    pub(crate) kernel: Option<Scheduled>,
    pub(crate) learning: Learning,
    /// Its process was stopped.
    pub(crate) stopped: bool,
}

/// What is known of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence<'a> {
    pub(crate) window: Nanos,
    pub(crate) jobs: Vec<Job>,
    /// The threads of emulated devices, together, and how many.
    pub(crate) devices: (Scheduled, usize),
    pub(crate) happened: Happened,
    /// The CPUs that jobs may use; none: any.
    pub(crate) cpus: &'a [usize],
    /// By how much the thread that watches the run was late at the most.
    pub(crate) late: Nanos,
    /// It was told to end. Service managers and timeout(1) send SIGCONT as they tell that, which a
    /// process gets that never was stopped.
    pub(crate) told_to_end: bool,
}

impl Scheduled {
    /// What was counted since `earlier`.
    pub(crate) fn since(self, earlier: Scheduled) -> Scheduled {
        let run_delay = self.run_delay.zip(earlier.run_delay);
        Scheduled {
            ran: self.ran.since(earlier.ran),
            run_delay: run_delay.map(|(now, then)| now.since(then)),
            wakes: self.wakes.saturating_sub(earlier.wakes),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }

    /// Of both.
    pub(crate) fn and(self, other: Scheduled) -> Scheduled {
        let run_delay = self.run_delay.zip(other.run_delay);
        Scheduled {
            ran: self.ran + other.ran,
            run_delay: run_delay.map(|(one, other)| one + other),
            wakes: self.wakes + other.wakes,
            preemptions: self.preemptions + other.preemptions,
        }
    }

    /// How long, of `window`, it waited for its CPU longer than its wake-ups take. A CPU enters no
    /// idle state that takes longer to leave than it is to be idle, so that wake-ups take no longer
    /// than the thread was blocked.
    fn waited(&self, window: Nanos) -> Nanos {
        let delay = self.run_delay.unwrap_or_default();
        let blocked = window.since(self.ran + delay);
        let woken = Nanos(self.wakes.saturating_mul(WAKE.0)).min(blocked);
        delay.since(woken)
    }
}

impl Job {
    /// How long it had no CPU that it should have had.
    fn lost(&self) -> Nanos {
        let waited = self.scheduled.waited(self.window);
        let switches = SPINNER_SWITCHES * self.window.seconds() + 1.0;
        match self.never_waits && self.scheduled.wakes as f64 <= switches {
            true => waited.max(self.window.since(self.scheduled.ran)),
            false => waited,
        }
    }
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    match whole {
        Nanos::ZERO => 0.0,
        whole => part.seconds() / whole.seconds(),
    }
}

fn spoiled(by: SpoiledBy, share: Option<f64>, why: String) -> Spoiled {
    Spoiled { by, share, why }
}

/// `part` of `whole` was lost, which is more than is tolerated.
fn lost(
    by: SpoiledBy,
    part: Nanos,
    whole: Nanos,
    why: impl FnOnce(String) -> String,
) -> Option<Spoiled> {
    let share = share(part, whole);
    let much = format!(
        "{:.0} % of the time ({:.3} s)",
        100.0 * share,
        part.seconds()
    );
    (share > TOLERATED).then(|| spoiled(by, Some(share), why(much)))
}

/// Other programs ran for `time` of `window` on `cpu`, on which nothing else was to run, for more
/// than the share `tolerated`.
pub fn by_others(cpu: &str, time: Nanos, window: Nanos, tolerated: f64) -> Option<Spoiled> {
    let spoiled = lost(SpoiledBy::Busy, time, window, |much| {
        format!("{cpu} ran other programs for {much}: stop them")
    });
    spoiled.filter(|spoiled| spoiled.share.is_some_and(|share| share > tolerated))
}

impl Happened {
    /// What of it spoils what was measured on `cpus` (none: on any).
    pub fn spoiled(&self, cpus: &[usize]) -> Vec<Spoiled> {
        let all = [
            self.stolen(cpus),
            self.throttled.then(|| {
                let why = "CPUs were slowed down for their temperature: cool them, or lower the clock (cpupower frequency-set --max)";
                spoiled(SpoiledBy::Throttled, None, why.into())
            }),
            self.stopped.then(|| {
                let why = "the process was stopped and continued (SIGSTOP, Ctrl-Z): let it run";
                spoiled(SpoiledBy::Stopped, None, why.into())
            }),
            (self.suspended > CLOCKS).then(|| {
                let why = format!("the machine was suspended for {:.1} s", self.suspended.seconds());
                spoiled(SpoiledBy::Suspended, None, why)
            }),
            (self.stepped_ns.unsigned_abs() > CLOCKS.0).then(|| {
                let step = self.stepped_ns as f64 / 1e9;
                let why = format!(
                    "the wall clock was set by {step:+.3} s: a logger's file cannot be lined up with the run"
                );
                spoiled(SpoiledBy::ClockStepped, None, why)
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// The CPU that the host took most of. A tick that was not over at the beginning is not among
    /// what was stolen since.
    fn stolen(&self, cpus: &[usize]) -> Option<Spoiled> {
        let used = self.cpus.iter();
        let used = used.filter(|(cpu, _)| cpus.is_empty() || cpus.contains(cpu));
        let (cpu, most) = used.max_by_key(|(_, used)| used.stolen)?;
        let stolen = most.stolen.since(TICK);
        lost(SpoiledBy::Stolen, stolen, self.window, |much| {
            format!(
                "the host ran something else on CPU {cpu} for {much}: steal time, by /proc/stat; \
                 give the virtual machine CPUs of its own"
            )
        })
    }
}

/// Everything that spoiled a run.
pub(crate) fn judge(run: &Evidence<'_>) -> Vec<Spoiled> {
    let continued = run.happened.stopped || run.jobs.iter().any(|job| job.stopped);
    let stopped = continued && (!run.told_to_end || run.late > LATE);
    let happened = Happened {
        stopped,
        ..run.happened.clone()
    };
    let mut all: Vec<_> = [preempted(run), device(run), kernel(run)]
        .into_iter()
        .flatten()
        .collect();
    all.extend(happened.spoiled(run.cpus));
    if run.late > LATE && !stopped {
        let why = format!(
            "nothing of the process ran for {:.1} s: the machine, or its host, stood still",
            run.late.seconds()
        );
        all.push(spoiled(SpoiledBy::Stalled, None, why));
    }
    all.extend(not_learnt(run));
    all
}

fn preempted(run: &Evidence<'_>) -> Option<Spoiled> {
    let worst = run.jobs.iter().max_by(|one, other| {
        share(one.lost(), one.window).total_cmp(&share(other.lost(), other.window))
    })?;
    lost(SpoiledBy::Preempted, worst.lost(), worst.window, |much| {
        let whose = match run.jobs.len() {
            1 => "its thread".to_string(),
            _ => format!("the thread of job {}", worst.index),
        };
        format!(
            "{whose} was ready to run and had no CPU for {much}, preempted {} times: give it a CPU \
             of its own (--cpus_allowed), or stop what else runs",
            worst.scheduled.preemptions
        )
    })
}

fn device(run: &Evidence<'_>) -> Option<Spoiled> {
    let (scheduled, threads) = run.devices;
    let whole = Nanos(run.window.0.saturating_mul(threads as u64));
    lost(
        SpoiledBy::DevicePreempted,
        scheduled.waited(whole),
        whole,
        |much| {
            format!(
                "the emulated device's thread was ready to run and had no CPU for {much}: it needs one \
                 beside the jobs'"
            )
        },
    )
}

fn kernel(run: &Evidence<'_>) -> Option<Spoiled> {
    let threads = run
        .jobs
        .iter()
        .filter_map(|job| Some((job.kernel?, job.window)));
    let worst = threads.max_by_key(|(thread, window)| thread.waited(*window));
    let (thread, window) = worst?;
    lost(
        SpoiledBy::KernelPreempted,
        thread.waited(window),
        window,
        |much| {
            format!(
                "the kernel's thread of io_uring was ready to run and had no CPU for {much}: give it \
                 one of its own (--sqthread_poll_cpu)"
            )
        },
    )
}

fn not_learnt(run: &Evidence<'_>) -> Option<Spoiled> {
    let of = |job: &Job| match job.learning {
        Learning {
            to_the_end: true, ..
        } => 1.0,
        Learning { at_first, .. } => share(at_first, job.window).min(1.0),
    };
    let worst = run.jobs.iter().map(of).max_by(f64::total_cmp)?;
    (worst > TOLERATED).then(|| {
        let why = if worst < 1.0 {
            format!(
                "it learnt how long to wait for up to {:.0} % of the run, and polled meanwhile: \
                 give it a --ramp_time",
                100.0 * worst
            )
        } else {
            "it had not learnt how long to wait, and polled: give it a --ramp_time, or more I/Os"
                .into()
        };
        spoiled(SpoiledBy::NotLearnt, Some(worst), why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_kernel_io::CpuUse;
    use std::collections::BTreeMap;

    const SECOND: Nanos = Nanos::from_millis(1_000);

    fn ms(time: u64) -> Nanos {
        Nanos::from_millis(time)
    }

    /// A second of a poller that ran for `ran` and waited for `run_delay`.
    fn poller(ran: u64, run_delay: Option<u64>) -> Job {
        Job {
            window: SECOND,
            scheduled: Scheduled {
                ran: ms(ran),
                run_delay: run_delay.map(ms),
                wakes: 3,
                preemptions: 200,
            },
            never_waits: true,
            ..Job::default()
        }
    }

    /// A second of a job that blocked 20,000 times.
    fn blocker(run_delay: u64) -> Job {
        let mut job = poller(60, Some(run_delay));
        job.scheduled.wakes = 20_000;
        job.never_waits = false;
        job
    }

    fn run(jobs: &[Job]) -> Evidence<'static> {
        Evidence {
            window: SECOND,
            jobs: jobs.to_vec(),
            ..Evidence::default()
        }
    }

    fn by(run: &Evidence<'_>) -> Vec<SpoiledBy> {
        judge(run).into_iter().map(|spoiled| spoiled.by).collect()
    }

    #[test]
    fn a_quiet_run_is_not_spoiled() {
        // A thread ends a little after its window; idle states take their time to leave.
        assert_eq!(by(&run(&[poller(1_001, Some(1))])), []);
        assert_eq!(by(&run(&[poller(985, Some(15))])), []);
        assert_eq!(by(&run(&[blocker(400)])), []);
        assert_eq!(by(&run(&[])), []);
    }

    #[test]
    fn a_poller_that_shares_its_cpu_is_spoiled_by_how_much_it_lost() {
        for lost in [
            poller(510, Some(490)),
            poller(510, None),
            poller(990, Some(490)),
        ] {
            let told = judge(&run(&[poller(1_000, Some(0)), Job { index: 1, ..lost }]));
            assert_eq!(told[0].by, SpoiledBy::Preempted);
            let share = told[0].share.unwrap();
            assert!((0.489..=0.49).contains(&share), "{share}");
            let why = &told[0].why;
            assert!(why.starts_with("the thread of job 1 was ready"), "{why}");
            assert!(
                why.contains("49 % of the time (0.4") && why.contains("preempted 200 times"),
                "{why}"
            );
        }
        let alone = judge(&run(&[poller(510, Some(490))]));
        assert!(alone[0].why.starts_with("its thread"), "{alone:?}");
    }

    #[test]
    fn a_job_that_blocks_may_wait_for_its_cpu_as_long_as_wake_ups_take() {
        // As long as it was blocked, or 0.25 ms each, whichever is less.
        assert_eq!(by(&run(&[blocker(470)])), []);
        assert_eq!(by(&run(&[blocker(800)])), [SpoiledBy::Preempted]);
        assert_eq!(judge(&run(&[blocker(800)]))[0].share, Some(0.66));
        let mut seldom = blocker(25);
        seldom.scheduled.wakes = 100;
        assert_eq!(by(&run(&[seldom])), []);
        seldom.scheduled.run_delay = Some(ms(50));
        assert_eq!(by(&run(&[seldom])), [SpoiledBy::Preempted]);
        // It runs for a small part of its window and nothing is wrong.
        seldom.scheduled.run_delay = None;
        assert_eq!(by(&run(&[seldom])), []);
        // Nor is it a spinner who slept, whatever its policy may do.
        seldom.never_waits = true;
        assert_eq!(by(&run(&[seldom])), []);
    }

    #[test]
    fn threads_of_devices_and_of_the_kernel_are_judged_too() {
        let starved = poller(300, Some(700)).scheduled;
        let mut quiet = run(&[poller(1_000, Some(0))]);
        quiet.devices = (starved, 1);
        assert_eq!(by(&quiet), [SpoiledBy::DevicePreempted]);
        quiet.devices = (starved, 50);
        assert_eq!(by(&quiet), []);
        let job = Job {
            kernel: Some(starved),
            ..poller(1_000, Some(0))
        };
        assert_eq!(by(&run(&[job])), [SpoiledBy::KernelPreempted]);
    }

    #[test]
    fn what_happened_to_the_machine_spoils_a_run() {
        let stolen = |ticks: u64| CpuUse {
            busy: SECOND,
            stolen: ms(10 * ticks),
        };
        let of = |happened| Evidence {
            happened: Happened {
                window: SECOND,
                ..happened
            },
            ..run(&[poller(1_000, Some(0))])
        };
        let quiet = Happened::default();
        for (happened, expected) in [
            (
                Happened {
                    throttled: true,
                    ..quiet.clone()
                },
                SpoiledBy::Throttled,
            ),
            (
                Happened {
                    stopped: true,
                    ..quiet.clone()
                },
                SpoiledBy::Stopped,
            ),
            (
                Happened {
                    suspended: ms(101),
                    ..quiet.clone()
                },
                SpoiledBy::Suspended,
            ),
            (
                Happened {
                    stepped_ns: -200_000_000,
                    ..quiet.clone()
                },
                SpoiledBy::ClockStepped,
            ),
            (
                Happened {
                    cpus: BTreeMap::from([(0, stolen(0)), (3, stolen(20))]),
                    ..quiet.clone()
                },
                SpoiledBy::Stolen,
            ),
        ] {
            assert_eq!(by(&of(happened)), [expected]);
        }
        for happened in [
            Happened {
                suspended: ms(99),
                ..quiet.clone()
            },
            Happened {
                stepped_ns: 99_000_000,
                ..quiet.clone()
            },
            // Of three ticks one may have begun before.
            Happened {
                cpus: BTreeMap::from([(3, stolen(3))]),
                ..quiet.clone()
            },
        ] {
            assert_eq!(by(&of(happened)), []);
        }
        // Another CPU's is none of its.
        let elsewhere = Happened {
            cpus: BTreeMap::from([(3, stolen(20))]),
            ..quiet
        };
        let pinned = Evidence {
            cpus: &[1],
            ..of(elsewhere)
        };
        assert_eq!(by(&pinned), []);
    }

    #[test]
    fn a_watcher_that_is_late_says_that_the_machine_stood_still_unless_it_was_stopped() {
        let mut late = run(&[poller(1_000, Some(0))]);
        late.late = LATE;
        assert_eq!(by(&late), []);
        late.late = LATE + ms(1);
        assert_eq!(by(&late), [SpoiledBy::Stalled]);
        late.jobs[0].stopped = true;
        assert_eq!(by(&late), [SpoiledBy::Stopped]);
    }

    #[test]
    fn who_is_told_to_end_and_to_continue_was_not_stopped_unless_there_is_a_gap() {
        let mut ended = run(&[poller(1_000, Some(0))]);
        ended.happened.stopped = true;
        assert_eq!(by(&ended), [SpoiledBy::Stopped]);
        ended.told_to_end = true;
        assert_eq!(by(&ended), []);
        ended.late = LATE + ms(1);
        assert_eq!(by(&ended), [SpoiledBy::Stopped]);
    }

    #[test]
    fn a_learner_is_spoiled_by_what_it_polled_while_it_learnt() {
        let with = |at_first, to_the_end| {
            let learning = Learning {
                at_first: ms(at_first),
                to_the_end,
            };
            judge(&run(&[Job {
                learning,
                ..poller(1_000, Some(0))
            }]))
        };
        assert_eq!(with(0, false), []);
        assert_eq!(with(20, false), []);
        assert_eq!(with(100, false)[0].share, Some(0.1));
        let never = &with(100, true)[0];
        assert_eq!((never.by, never.share), (SpoiledBy::NotLearnt, Some(1.0)));
        assert!(never.why.contains("--ramp_time"), "{never:?}");
    }

    #[test]
    fn other_programs_on_a_cpu_are_told_by_their_share() {
        let told = |time| by_others("CPU 1", ms(time), SECOND, 0.1);
        assert_eq!(told(100), None);
        let told = told(400).unwrap();
        assert_eq!((told.by, told.share), (SpoiledBy::Busy, Some(0.4)));
        assert!(
            told.why.starts_with("CPU 1 ran other programs for 40 %"),
            "{told:?}"
        );
    }
}
