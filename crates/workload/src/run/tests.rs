//! Claims about runs whose jobs do not come to their end.

use super::*;
use crate::engine::{EngineError, IoError, Traced};
use crate::target::{Observed, TargetInfo, Verdict};
use joulio_engine::{Buffer, Completion, Engine, Request};
use joulio_job::CompletionMode;
use joulio_nvme::wait::Counters;
use joulio_units::Nanos;

fn job() -> Job {
    Job {
        iodepth: 4,
        ..Job::random_reads(100)
    }
}

/// Does every I/O at once; one of the jobs' panics in the middle of its work.
struct Instant {
    done: Vec<(u64, NoData)>,
    reaps_until_panic: Option<u32>,
}

struct NoData;

impl Buffer for NoData {
    fn copy_to(&self, _: &mut [u8]) {}
    fn copy_from(&mut self, _: &[u8]) {}
}

impl Engine for Instant {
    type Buffer = NoData;
    type Failure = IoError;
    type Error = EngineError;

    fn buffers(&mut self, count: usize, _: usize) -> Result<Vec<NoData>, EngineError> {
        Ok((0..count).map(|_| NoData).collect())
    }

    fn prepare(&mut self, request: Request, buffer: NoData) -> Result<(), EngineError> {
        self.done.push((request.tag, buffer));
        Ok(())
    }

    fn submit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn reap(
        &mut self,
        _: usize,
        _: Nanos,
        mut sink: impl FnMut(Completion<NoData, IoError>),
    ) -> Result<usize, EngineError> {
        if let Some(left) = &mut self.reaps_until_panic {
            *left = left.checked_sub(1).expect("in the middle of its work");
        }
        let ended = self.done.len();
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

    fn counters(&mut self) -> Counters {
        Counters::default()
    }
}

impl Traced for Instant {}

/// Target that jobs with the engine [`Instant`] run on.
struct Fragile(TargetInfo);

impl Observed for Fragile {}

impl Target for Fragile {
    fn info(&self) -> &TargetInfo {
        &self.0
    }

    fn judge(&self, _: Method, _: &joulio_job::Counts) -> Verdict {
        Verdict::AsRequested
    }

    fn work(&self, _: Method, worker: Worker<'_>) -> Result<(), WorkerError> {
        let mut engine = Instant {
            done: Vec::new(),
            reaps_until_panic: (worker.index == 0).then_some(100),
        };
        worker.run(&mut engine)
    }
}

#[test]
fn a_panic_in_a_job_ends_the_others_and_is_an_error_of_the_run() {
    let targets: [Box<dyn Target>; 1] = [Box::new(Fragile(TargetInfo {
        name: "fragile".into(),
        size: 1 << 20,
        block_size: 512,
        max_transfer: 1 << 20,
        engines: vec![(EngineName::Psync, 8)],
        max_jobs: 8,
        may_write: false,
        disk: None,
        profile: None,
    }))];
    let job = Job {
        numjobs: 3,
        // Longer than anybody waits for a test.
        number_ios: None,
        runtime: Some(Nanos::from_millis(3_600_000)),
        ..job()
    };
    let stop = Stop::default();
    let setup = Setup {
        targets: &targets,
        machine: None,
        at_home: false,
        baseline: None,
        stop: &stop,
        root: Path::new("/"),
        progress: &|_| {},
        trace: None,
    };
    let method = Method {
        engine: EngineName::Psync,
        mode: CompletionMode::Interrupt,
    };
    let result = run(&job, method, &setup, &mut Meters::default());
    assert!(matches!(result, Err(RunError::Panicked)));
    assert!(stop.stopped());
}

#[test]
fn what_only_virtual_time_has_is_refused_by_name() {
    let refused = |job: Job| check(&job, EngineName::Nvme, &[]).unwrap_err();
    let load = joulio_job::Load {
        read_percent: 100,
        bs: 4096,
        arrivals: Arrivals::Closed,
    };
    let phase = joulio_job::Phase {
        length: Nanos(1),
        load,
    };
    let phases = vec![phase];
    assert_eq!(refused(Job { phases, ..job() }).flag, "phases");
    let bursts = Arrivals::Bursts {
        ios: 2,
        every: Nanos(1_000),
    };
    for arrivals in [Arrivals::Poisson(Nanos(1_000)), bursts] {
        let error = refused(Job { arrivals, ..job() });
        assert!(error.to_string().contains("closed loop"), "{error}");
    }
}

#[test]
fn a_job_s_shortest_window_is_the_meters() {
    assert_eq!(joulio_job::MIN_WINDOW, joulio_energy::MIN_WINDOW);
}
