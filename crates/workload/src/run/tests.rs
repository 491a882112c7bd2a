//! Tests of runs whose jobs do not reach their end, and of the I/Os that jobs issue.

use super::*;
use crate::Stop;
use crate::engine::{EngineError, RequestError, Traced};
use crate::pass::Pass;
use crate::target::{ModeVerdict, ObservedTarget, TargetActivity, TargetInfo};
use crate::verify::Ledger;
use allocation_counter::measure;
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_job::{
    Arrivals, Availability, Batches, CompletionMode, EngineName, Flushes, Job, Load, Method, Phase,
    ReadWrite, Schedule, Verify, VerifyResult,
};
use joulio_nvme::wait::{WaitCounters, now};
use joulio_units::{Nanos, Operation};
use std::any::Any;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

fn job() -> Job {
    Job {
        iodepth: 4,
        ..Job::random_reads(100)
    }
}

/// Requests with their job, and the time of each.
type Log = Arc<Mutex<Vec<(usize, Nanos, Request)>>>;

/// Numbers of requests that an engine was given before its first reap, and at most between two later ones.
type Given = Arc<Mutex<(Option<usize>, usize)>>;

/// An engine that completes every I/O at once; that of one job panics in the middle of its work.
struct Instant {
    index: usize,
    log: Log,
    done: Vec<(u64, NoData)>,
    given: Given,
    reaps_until_panic: Option<u32>,
    issue: Option<Nanos>,
}

struct NoData;

impl Buffer for NoData {
    fn address(&self) -> u64 {
        0
    }

    fn copy_to(&self, _: &mut [u8]) {}
    fn copy_from(&mut self, _: &[u8]) {}
}

impl Engine for Instant {
    type Buffer = NoData;
    type Failure = RequestError;
    type Error = EngineError;

    fn buffers(&mut self, _: usize, count: usize, _: usize) -> Result<Vec<NoData>, EngineError> {
        Ok((0..count).map(|_| NoData).collect())
    }

    fn prepare(&mut self, request: Request, buffer: NoData) -> Result<(), EngineError> {
        self.done.push((request.tag, buffer));
        let mut log = self.log.lock().unwrap();
        let at = now();
        log.push((self.index, at, request));
        while self.issue.is_some_and(|time| now() < at + time) {}
        Ok(())
    }

    fn submit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn submits_at_once(&self) -> bool {
        self.issue.is_some()
    }

    fn reap(
        &mut self,
        _: usize,
        _: Nanos,
        mut sink: impl FnMut(Completion<NoData, RequestError>),
    ) -> Result<usize, EngineError> {
        if let Some(left) = &mut self.reaps_until_panic {
            *left = left.checked_sub(1).expect("in the middle of its work");
        }
        let ended = self.done.len();
        let mut given = self.given.lock().unwrap();
        match given.0 {
            None => given.0 = Some(ended),
            Some(_) => given.1 = given.1.max(ended),
        }
        drop(given);
        for (tag, buffer) in self.done.drain(..) {
            sink(Completion {
                tag,
                outcome: Ok(()),
                buffer,
            });
        }
        Ok(ended)
    }

    fn effective(&mut self) -> String {
        "poll".into()
    }

    fn counters(&mut self) -> WaitCounters {
        WaitCounters::default()
    }
}

impl Traced for Instant {}

/// Target for jobs with the engine [`Instant`].
struct Fragile {
    info: TargetInfo,
    /// Number of polls of the first job after which it panics.
    reaps_until_panic: Option<u32>,
    /// Time that an issue takes, if the engine submits at once.
    issue: Option<Nanos>,
    /// Reason why its completion mode is unavailable.
    unavailable: Option<&'static str>,
    log: Log,
    given: Given,
    /// Number of requests at each reading of its activity.
    seen: Arc<Mutex<Vec<usize>>>,
}

impl Fragile {
    /// Returns a target that may be written; its requests are added to `log`.
    fn new(log: &Log) -> Fragile {
        Fragile {
            info: TargetInfo {
                may_write: true,
                ..info()
            },
            reaps_until_panic: None,
            issue: None,
            unavailable: None,
            log: log.clone(),
            given: Given::default(),
            seen: Arc::default(),
        }
    }
}

impl ObservedTarget for Fragile {
    fn activity(&self) -> TargetActivity {
        let requests = self.log.lock().unwrap().len();
        self.seen.lock().unwrap().push(requests);
        TargetActivity::default()
    }
}

impl Target for Fragile {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn judge(&self, _: Method, _: &joulio_job::Counts) -> ModeVerdict {
        ModeVerdict::AsRequested
    }

    fn joins(&self, other: &dyn Target) -> bool {
        (other as &dyn Any).is::<Fragile>()
    }

    fn work(&self, _: &[&dyn Target], _: Method, worker: Worker<'_>) -> Result<(), WorkerError> {
        if let Some(why) = self.unavailable {
            return worker.refuse(Availability::Unavailable(why.into()));
        }
        let mut engine = Instant {
            done: Vec::new(),
            given: self.given.clone(),
            reaps_until_panic: self.reaps_until_panic.filter(|_| worker.index == 0),
            index: worker.index,
            log: self.log.clone(),
            issue: self.issue,
        };
        worker.run(&mut engine)
    }
}

const PSYNC: Method = Method {
    engine: EngineName::Psync,
    mode: CompletionMode::Interrupt,
};

const NVME: Method = Method {
    engine: EngineName::Nvme,
    mode: CompletionMode::Poll,
};

fn info() -> TargetInfo {
    TargetInfo {
        name: "fragile".into(),
        size: 1 << 20,
        block_size: 512,
        weighted: false,
        max_transfer: 1 << 20,
        engines: vec![(EngineName::Psync, 8), (EngineName::Nvme, 8)],
        max_jobs: 8,
        may_write: false,
        holds_data: false,
        disk: None,
        numa_node: None,
        iommu: None,
        profile: None,
    }
}

fn setup(targets: &[Box<dyn Target>]) -> Setup<'_> {
    static RUNNING: LazyLock<Stop> = LazyLock::new(Stop::default);
    Setup {
        targets,
        machine: None,
        at_home: false,
        baseline: None,
        stop: &RUNNING,
        root: Path::new("/"),
        progress: &|_| {},
        trace: None,
    }
}

/// Returns the only member, on one device.
fn alone(job: &Job, method: Method) -> Member {
    Member::alone(job.clone(), method, 1)
}

#[test]
fn a_panic_in_a_job_ends_the_others_and_is_an_error_of_the_run() {
    let targets: [Box<dyn Target>; 1] = [Box::new(Fragile {
        reaps_until_panic: Some(100),
        ..Fragile::new(&Log::default())
    })];
    let job = Job {
        numjobs: 3,
        // Longer than a test may take.
        number_ios: None,
        runtime: Some(Nanos::from_millis(3_600_000)),
        ..job()
    };
    let stop = Stop::default();
    let setup = Setup {
        stop: &stop,
        ..setup(&targets)
    };
    let result = run(&[alone(&job, PSYNC)], &setup, &mut Meters::default());
    assert!(matches!(result, Err(RunError::Panicked)));
    assert!(stop.stopped());
}

#[test]
fn of_one_io_at_a_time_each_begins_when_the_last_has_ended_wherever_the_clock_is_read() {
    let us = Nanos::from_micros;
    let job = Job {
        iodepth: 1,
        number_ios: Some(1_000),
        log_ios: true,
        ..job()
    };
    for issue in [None, Some(us(2)), Some(us(20))] {
        let log = Log::default();
        let targets: [Box<dyn Target>; 1] = [Box::new(Fragile {
            issue,
            ..Fragile::new(&log)
        })];
        let setup = setup(&targets);
        let members = [alone(&job, PSYNC)];
        let (_, recorded) = run_recorded(&members, &setup, &mut Meters::default()).unwrap();
        let ios = &recorded.logs[0].ios;
        assert_eq!(ios.len(), 1_000);
        for pair in ios.windows(2) {
            assert_eq!(pair[1].at - pair[1].latency, pair[0].at);
        }
        if issue == Some(us(2)) {
            // The clock of the first I/O is read before its issue.
            let log = log.lock().unwrap();
            let began = |nth: usize| ios[nth].at - ios[nth].latency;
            let later = |nth: usize| began(nth) - began(0) >= log[nth].1 - log[0].1 + us(2);
            assert!((1..1_000).any(later));
        }
    }
}

#[test]
fn open_loops_at_random_in_bursts_and_in_phases_issue_what_is_scheduled() {
    let us = Nanos::from_micros;
    let load = |read_percent, bs, arrivals| Phase {
        length: us(300),
        load: Load {
            read_percent,
            bs,
            arrivals,
        },
    };
    let bursts = Arrivals::Bursts {
        ios: 3,
        every: us(20),
    };
    let phases = vec![
        load(50, 4096, Arrivals::Poisson(us(5))),
        load(0, 8192, bursts),
        load(100, 512, Arrivals::Every(us(10))),
    ];
    let job = || Job {
        number_ios: Some(300),
        rw: ReadWrite::RandRw,
        ..job()
    };
    for job in [
        Job { phases, ..job() },
        Job {
            arrivals: Arrivals::Poisson(us(10)),
            ..job()
        },
        Job {
            arrivals: bursts,
            numjobs: 2,
            ..job()
        },
    ] {
        let log = Log::default();
        let before = now();
        let targets: [Box<dyn Target>; 1] = [Box::new(Fragile::new(&log))];
        let result = run(
            &[alone(&job, PSYNC)],
            &setup(&targets),
            &mut Meters::default(),
        )
        .unwrap();
        let counts = result.counts.unwrap();
        assert_eq!(counts.all.ios, 300 * job.numjobs as u64);
        let log = log.lock().unwrap();
        for index in 0..job.numjobs {
            let issued = log.iter().filter(|(job, ..)| *job == index);
            let mut schedule = Schedule::new(&job, index, Nanos::ZERO);
            let mut all = 0;
            for (_, at, request) in issued {
                let due = schedule.due(Nanos(u64::MAX >> 1)).unwrap();
                let direction = request.operation.direction();
                assert_eq!((direction, request.len), (due.direction, due.len));
                assert!(*at >= before + due.arrival, "too early");
                let end = request.offset + u64::from(request.len);
                assert!(request.offset % job.max_bs(index) == 0 && end <= 1 << 20);
                all += 1;
            }
            assert_eq!(all, 300);
        }
    }
}

/// The engine has no limit, so the job takes what it was given in parts.
#[test]
fn completions_are_taken_as_many_at_once_as_the_job_says() {
    for (complete_min, complete_max) in [(1, 1), (1, 3), (4, 1), (2, 0), (1, 9)] {
        let job = Job {
            batches: Batches {
                complete_min,
                complete_max: Some(complete_max),
                ..Batches::default()
            },
            ..job()
        };
        let log = Log::default();
        let target = Fragile::new(&log);
        let given = target.given.clone();
        let targets: [Box<dyn Target>; 1] = [Box::new(target)];
        let member = alone(&job, PSYNC);
        let result = run(&[member], &setup(&targets), &mut Meters::default()).unwrap();
        let counts = result.counts.unwrap();
        assert_eq!((counts.all.ios, log.lock().unwrap().len()), (100, 100));
        let max = complete_max.max(complete_min).min(4);
        assert_eq!(*given.lock().unwrap(), (Some(4), max));
    }
}

#[test]
fn a_device_is_given_the_same_by_a_job_of_its_own_and_by_one_with_several() {
    // The I/Os of each device, in their order.
    let issued = |numjobs| {
        let log = Log::default();
        let target = || -> Box<dyn Target> { Box::new(Fragile::new(&log)) };
        let targets = [target(), target(), target()];
        let job = Job {
            numjobs,
            rw: ReadWrite::RandRw,
            ..job()
        };
        let member = Member::alone(job.clone(), NVME, targets.len());
        let result = run(&[member], &setup(&targets), &mut Meters::default()).unwrap();
        let counts = result.counts.unwrap();
        assert!(counts.per_device.iter().all(|device| device.all.ios == 100));
        let mut devices = vec![Vec::new(); targets.len()];
        for (index, _, request) in log.lock().unwrap().iter() {
            let device = job.assignments(*index, targets.len())[request.device].device;
            devices[device].push((request.operation, request.offset, request.len));
        }
        devices
    };
    assert_eq!(issued(1), issued(3));
    assert_eq!(issued(2), issued(3));
}

#[test]
fn a_job_s_shortest_window_is_the_meters() {
    assert_eq!(joulio_job::MIN_WINDOW, joulio_energy::MIN_WINDOW);
}

/// Returns the operations and offsets that `job` issues to a device that may be written, and its counts.
fn given(job: &Job) -> (Vec<(Operation, u64)>, joulio_job::Counts) {
    let log = Log::default();
    let targets: [Box<dyn Target>; 1] = [Box::new(Fragile::new(&log))];
    let result = run(
        &[alone(job, PSYNC)],
        &setup(&targets),
        &mut Meters::default(),
    )
    .unwrap();
    let log = log.lock().unwrap();
    let given = log
        .iter()
        .map(|(_, _, request)| (request.operation, request.offset));
    (given.collect(), result.counts.unwrap())
}

#[test]
fn a_block_is_written_after_its_trim_and_both_count_as_one() {
    for (rw, verify) in [
        (ReadWrite::TrimWrite, Verify::None),
        (ReadWrite::RandTrimWrite, Verify::None),
        (ReadWrite::RandTrimWrite, Verify::Crc32c),
    ] {
        let job = Job {
            rw,
            verify,
            ..job()
        };
        let (given, counts) = given(&job);
        let of = |operation| {
            let places = given.iter().filter(move |(one, _)| *one == operation);
            places.map(|(_, offset)| *offset).collect::<Vec<_>>()
        };
        let (trims, writes) = (of(Operation::Trim), of(Operation::Write));
        assert_eq!((trims.len(), &trims), (100, &writes), "{rw}");
        let (mut trimmed, mut written) = (0, 0);
        for (operation, _) in given {
            match operation {
                Operation::Trim => trimmed += 1,
                Operation::Write => written += 1,
                _ => {}
            }
            assert!(written <= trimmed && trimmed <= written + 4, "{rw}");
        }
        assert_eq!(counts.trim.map(|trim| trim.ios), Some(100));
        assert_eq!((counts.write.ios, counts.all.ios), (100, 200));
        assert_eq!((counts.read.ios, counts.sync), (0, None));
    }
}

#[test]
fn flushes_come_between_writes_and_after_the_last() {
    let job = Job {
        rw: ReadWrite::Write,
        iodepth: 1,
        number_ios: Some(8),
        flushes: Flushes {
            fsync: 4,
            fdatasync: 2,
            end_fsync: true,
        },
        ..job()
    };
    let (given, counts) = given(&job);
    let initials: String = given.iter().map(|(one, _)| &one.name()[..1]).collect();
    // No flush after the last write, as in fio, except the one at the end.
    assert_eq!(initials, "wwdwwswwdwws");
    assert_eq!(counts.sync.map(|sync| sync.ios), Some(4));
    assert_eq!((counts.write.ios, counts.all.ios), (8, 8));
    let trims = Job {
        rw: ReadWrite::RandTrim,
        ..job
    };
    let (given, counts) = self::given(&trims);
    let initials: String = given.iter().map(|(one, _)| &one.name()[..1]).collect();
    assert_eq!(initials, "tttttttts");
    assert_eq!(counts.sync.map(|sync| sync.ios), Some(1));
    assert_eq!(counts.trim.map(|trim| trim.ios), Some(8));
}

#[test]
fn devices_are_observed_from_before_the_first_io() {
    let fragile = Fragile::new(&Log::default());
    let seen = fragile.seen.clone();
    let targets: [Box<dyn Target>; 1] = [Box::new(fragile)];
    run(
        &[alone(&job(), PSYNC)],
        &setup(&targets),
        &mut Meters::default(),
    )
    .unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!((seen.first(), seen.last()), (Some(&0), Some(&100)));
}

#[test]
fn arrivals_are_due_until_the_end_of_the_measured_part() {
    let targets: [Box<dyn Target>; 1] = [Box::new(Fragile::new(&Log::default()))];
    let job = Job {
        // More than are issued.
        arrivals: Arrivals::Every(Nanos(1)),
        number_ios: None,
        // Longer than a test may take.
        runtime: Some(Nanos::from_millis(3_600_000)),
        ..job()
    };
    let stop = Stop::default();
    let setup = Setup {
        stop: &stop,
        progress: &|_| stop.stop(),
        ..setup(&targets)
    };
    let result = run(&[alone(&job, PSYNC)], &setup, &mut Meters::default()).unwrap();
    let counts = result.counts.unwrap();
    let arrived = counts.all.ios + counts.arrivals_not_issued;
    assert_eq!(arrived, (counts.seconds * 1e9).round() as u64);
}

#[test]
fn blocks_are_read_back_without_memory_for_each() {
    let blocks = 0..1 << 16;
    let mut ledger = Ledger::new(blocks.clone(), 512, 7);
    // Those with odd numbers.
    for block in blocks.clone().skip(1).step_by(2) {
        ledger.fill(block);
    }
    let job = job();
    let pass = Pass {
        device: 0,
        share: &Share {
            assignment: job.assignments(0, 1)[0],
            blocks,
            may_write: true,
            name: None,
        },
        bs: 512,
        stop: &Stop::default(),
    };
    let mut engine = Instant {
        index: 0,
        // Has room for all requests, so that it does not grow.
        log: Arc::new(Mutex::new(Vec::with_capacity(1 << 15))),
        done: Vec::new(),
        given: Given::default(),
        reaps_until_panic: None,
        issue: None,
    };
    let buffers = engine.buffers(0, 4, 512).unwrap();
    let mut checked = VerifyResult::default();
    let memory = measure(|| {
        let read = pass.read_back(&mut engine, buffers, &mut ledger, &mut checked);
        read.unwrap();
    });
    assert_eq!(checked.blocks, 1 << 15);
    assert!(memory.bytes_total < 1 << 15, "{}", memory.bytes_total);
    let odd = |one: &Request| one.operation == Operation::Read && one.offset / 512 % 2 == 1;
    let log = engine.log.lock().unwrap();
    assert!(log.iter().all(|(.., one)| odd(one)));
}

mod members;
