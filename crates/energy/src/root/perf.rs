//! Opening perf events.

use perf_event::events::Software;
use perf_event::{Builder, Counter};
use std::fmt;
use std::io;

/// An event of one of the kernel's PMUs, counted on one CPU whatever runs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfEvent {
    /// Number of the PMU, from its `type` file.
    pub pmu: u32,
    /// Event of the PMU, as `perf_event_attr.config`.
    pub config: u64,
    /// CPU that the event is opened on.
    pub cpu: usize,
}

/// Opens perf events. A test supplies its own.
pub trait PerfEvents: Send + Sync + fmt::Debug {
    /// Opens `event`.
    ///
    /// # Errors
    /// Those of `perf_event_open(2)`.
    fn open(&self, event: &PerfEvent) -> io::Result<Box<dyn PerfCounter>>;
}

/// An open event.
pub trait PerfCounter: Send + fmt::Debug {
    /// Reads the count since the event was opened.
    ///
    /// # Errors
    /// Those of `read(2)`; `UnexpectedEof` when the event's CPU is gone.
    fn read(&mut self) -> io::Result<u64>;
}

/// The kernel's `perf_event_open(2)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel;

impl PerfEvents for Kernel {
    fn open(&self, event: &PerfEvent) -> io::Result<Box<dyn PerfCounter>> {
        let mut builder = Builder::new(Software::DUMMY);
        let attributes = builder.attrs_mut();
        attributes.type_ = event.pmu;
        attributes.config = event.config;
        // The RAPL PMU accepts no event that excludes anything (PERF_PMU_CAP_NO_EXCLUDE).
        builder.include_kernel().include_hv();
        let counter = builder.any_pid().one_cpu(event.cpu).enabled(true).build()?;
        Ok(Box::new(counter))
    }
}

impl PerfCounter for Counter {
    fn read(&mut self) -> io::Result<u64> {
        Counter::read(self)
    }
}

/// An opener without perf events, for a tree that was captured elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere;

impl PerfEvents for Elsewhere {
    fn open(&self, _: &PerfEvent) -> io::Result<Box<dyn PerfCounter>> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a captured tree has no perf events",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PERF_TYPE_SOFTWARE's PERF_COUNT_SW_CPU_CLOCK: nanoseconds, on every kernel with perf.
    const CPU_CLOCK: PerfEvent = PerfEvent {
        pmu: 1,
        config: 0,
        cpu: 0,
    };

    #[test]
    fn a_system_wide_event_counts_or_is_denied() {
        match Kernel.open(&CPU_CLOCK) {
            Ok(mut counter) => {
                let first = counter.read().expect("it is open");
                let later = (0..1_000_000)
                    .map(|_| counter.read().expect("it is open"))
                    .find(|&count| count > first);
                assert!(later.is_some(), "stands at {first}");
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
    }

    #[test]
    fn an_event_of_no_pmu_is_an_error() {
        let nothing = PerfEvent {
            pmu: u32::MAX,
            ..CPU_CLOCK
        };
        assert!(Kernel.open(&nothing).is_err());
    }
}
