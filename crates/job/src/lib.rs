//! Descriptions of runs, and their results.
//!
//! A [`Job`] is a workload described with fio's options; a [`Method`] is an engine with a completion mode. A run on
//! real devices and one in virtual time return a result of the same type.
//!
//! ```
//! use joulio_job::{Arrivals, Job, Schedule};
//! use joulio_units::Nanos;
//!
//! let interval = Nanos::from_micros(50);
//! let job = Job { arrivals: Arrivals::Every(interval), ..Job::random_reads(5) };
//! job.check()?;
//! let mut schedule = Schedule::new(&job, 0, Nanos::ZERO);
//! let first = schedule.due(Nanos::ZERO).expect("the first arrives at once");
//! assert_eq!((first.len, first.arrival), (4096, Nanos::ZERO));
//! assert_eq!(schedule.due(Nanos::ZERO), None);
//! assert_eq!(schedule.next(), interval);
//! # Ok::<(), joulio_job::JobError>(())
//! ```
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod area;
mod arrivals;
mod assignment;
mod availability;
mod backlog;
mod batches;
mod block_size_split;
mod block_sizes;
mod completion_mode;
mod completion_result;
mod counts;
mod device_counts;
mod direction_result;
mod energy_choice;
mod energy_result;
mod engine_name;
mod fault_counts;
mod fixed_window;
mod flushes;
mod job;
mod job_counts;
mod job_error;
mod job_kind;
mod latency_detail;
mod latency_summary;
mod logged_io;
mod machine_counters;
mod method;
mod metric;
mod mode_summary;
mod moment;
mod parse_error;
mod phase;
mod placement;
mod quantity;
mod queue_priorities;
mod random_distribution;
mod random_zones;
mod random_zones_abs;
mod read_write;
mod run_result;
mod schedule;
mod spoiled;
mod statistics;
mod steadiness;
mod steady_state;
mod thread_usage;
mod verify;
mod verify_result;

pub use area::{Area, MAX_IO};
pub use arrivals::Arrivals;
pub use assignment::Assignment;
pub use availability::Availability;
pub use batches::Batches;
pub use block_size_split::BlockSizeSplit;
pub use block_sizes::BlockSizes;
pub use completion_mode::CompletionMode;
pub use completion_result::CompletionResult;
pub use counts::Counts;
pub use device_counts::DeviceCounts;
pub use direction_result::DirectionResult;
pub use energy_result::{EnergyResult, Unmetered, WorkDone};
pub use engine_name::EngineName;
pub use fault_counts::FaultCounts;
pub use fixed_window::FixedWindow;
pub use flushes::Flushes;
pub use job::Job;
pub use job_counts::JobCounts;
pub use job_error::JobError;
pub use job_kind::JobKind;
pub use joulio_units::MIN_WINDOW;
pub use joulio_wait::WaitCounters;
pub use latency_detail::{LatencyDetail, parse_percentiles};
pub use latency_summary::LatencySummary;
pub use logged_io::{JobLog, LoggedIo};
pub use machine_counters::{
    DiskCounters, Dispatch, IdleCounters, MachineCounters, MissingCounters,
};
pub use method::Method;
pub use metric::{
    Better, EnergyMetric, LatencyStatistic, Metric, MetricValue, Side, UnknownMetric,
};
pub use mode_summary::ModeSummary;
pub use moment::Moment;
pub use parse_error::ParseError;
pub use phase::{Load, Phase};
pub use placement::{MemoryPages, Placement};
pub use quantity::{parse_count, parse_size, parse_slo, parse_time};
pub use queue_priorities::QueuePriorities;
pub use random_distribution::RandomDistribution;
pub use random_zones::{RandomZone, RandomZones};
pub use random_zones_abs::{RandomZoneAbs, RandomZonesAbs};
pub use read_write::ReadWrite;
pub use run_result::{RunResult, SectionResult, section_name};
pub use schedule::{Due, Schedule};
pub use spoiled::{Spoiled, SpoiledBy};
pub use statistics::IoStatistics;
pub use steadiness::Steadiness;
pub use steady_state::{SteadyCriterion, SteadyRate, SteadyState, SteadyStateResult};
pub use thread_usage::{ThreadUsage, Threads};
pub use verify::Verify;
pub use verify_result::VerifyResult;
