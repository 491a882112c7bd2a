//! Use of a job's thread and its engine in the measured part.

use crate::cpu;
use crate::engine::Traced;
use crate::job_result::JobResult;
use crate::machine::Counting;
use crate::spoiled::Scheduled;
use crate::stopped;
use joulio_job::ThreadUsage;
use joulio_nvme::wait::{WaitCounters, now};
use joulio_units::Nanos;

/// Counters of a job at the beginning of its measured part.
#[derive(Default)]
struct Before {
    counters: WaitCounters,
    usage: ThreadUsage,
    kernel_usage: ThreadUsage,
    scheduled: Scheduled,
    kernel_scheduled: Option<Scheduled>,
    stops: u64,
    system_calls: Option<u64>,
}

/// Counters of a job, from the beginning to the end of its measured part. Readings that take time come before the
/// first reading of the clock, or after the second.
pub(super) struct JobMeter {
    before: Before,
    counting: Counting,
}

impl JobMeter {
    /// Opens the counters of the calling thread, which takes some time.
    pub(super) fn open() -> JobMeter {
        JobMeter {
            before: Before::default(),
            counting: Counting::this_thread(),
        }
    }

    /// Begins the measured part; `trace` is the number of events that each queue keeps.
    pub(super) fn begin<E: Traced>(
        &mut self,
        engine: &mut E,
        trace: Option<usize>,
        result: &mut JobResult,
    ) {
        self.before = Before {
            counters: engine.counters(),
            kernel_usage: kernel_thread(engine),
            system_calls: engine.system_calls(),
            kernel_scheduled: kernel_scheduled(engine),
            stops: stopped::times(),
            usage: cpu::thread_usage(),
            scheduled: Scheduled::default(),
        };
        result.learning.at_first = engine.learning();
        if let Some(capacity) = trace {
            engine.start_trace(capacity);
        }
        self.counting.start();
        self.before.scheduled = cpu::scheduled();
        result.started = now();
    }

    /// Ends the measured part.
    pub(super) fn finish<E: Traced>(&mut self, engine: &mut E, result: &mut JobResult) {
        let before = &self.before;
        result.ended = now();
        result.scheduled = cpu::scheduled().since(before.scheduled);
        result.counted = self.counting.stop();
        result.counters = engine.counters() - before.counters;
        let calls = engine.system_calls().zip(before.system_calls);
        result.system_calls = calls.map(|(after, before)| after - before);
        result.kernel_usage = kernel_thread(engine).since(before.kernel_usage);
        let kernel = kernel_scheduled(engine).zip(before.kernel_scheduled);
        result.kernel_scheduled = kernel.map(|(after, before)| after.since(before));
        result.stopped = stopped::times() != before.stops;
        result.learning.to_the_end = engine.learning() > Nanos::ZERO;
        result.counts_waiting = engine.counts_waiting();
        result.recorded = engine.take_trace();
        result.usage = cpu::thread_usage().since(before.usage);
    }
}

fn kernel_thread<E: Traced>(engine: &E) -> ThreadUsage {
    let thread = engine.kernel_thread();
    thread.map_or_else(ThreadUsage::default, cpu::thread)
}

fn kernel_scheduled<E: Traced>(engine: &E) -> Option<Scheduled> {
    engine.kernel_thread().map(cpu::scheduled_of)
}
