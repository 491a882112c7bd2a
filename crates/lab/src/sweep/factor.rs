//! Factors of a sweep: what may differ from run to run.

use super::device_set::DeviceSet;
use crate::record::Point;
use crate::virtual_time::CoreFrequency;
use joulio_host::power_states::coalescing;
use joulio_workload::{
    BlockSizes, CompletionMode, EngineName, Method, QueuePriorities, ReadWrite, parse_count,
    parse_time,
};
use std::fmt::{self, Display};
use std::str::FromStr;

/// A factor, named as the flag that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Factor {
    /// Devices of a run, one or several.
    Device,
    /// Pattern and direction.
    Rw,
    /// Percentage of reads in a mixed workload.
    RwMixRead,
    /// I/O size in bytes.
    Bs,
    /// Priority classes of the jobs' queues; `none`: no classes.
    QueuePriority,
    /// I/Os in flight per job.
    IoDepth,
    /// Number of jobs.
    NumJobs,
    /// I/Os per second that arrive at each job; `max`: a closed loop.
    RateIops,
    /// Nanoseconds between the arrivals of an open loop.
    ThinkTime,
    /// Jobs as processes or as threads.
    Process,
    /// Number of threads on each of the jobs' CPUs that compute all the time.
    Neighbours,
    /// Clock of the jobs' cores; only in virtual time.
    Frequency,
    /// Deepest idle state of the CPUs.
    MaxCstate,
    /// I/O scheduler of the disks.
    Scheduler,
    /// Interrupt coalescing of the devices (feature 08h).
    Coalescing,
    /// Engine that does the I/O.
    Engine,
    /// The completion mode.
    Completion,
}

/// A count of equal devices that is the number of the run's jobs: `emulated:tipro9000,count=numjobs`.
pub(super) const AS_JOBS: &str = "count=numjobs";

/// Reason why a factor or one of its values is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorError {
    /// No factor has this name.
    #[error("no factor '{name}': there are {known}", known = known())]
    Unknown {
        /// Name that was given.
        name: String,
    },
    /// The factor cannot have this value.
    #[error("{factor}: {problem}")]
    Value {
        /// The factor.
        factor: Factor,
        /// Description of the mistake, and of the correct form.
        problem: String,
    },
    /// The list has no value.
    #[error("{0}: an empty list: name a value, or leave it out")]
    Empty(Factor),
    /// A list has the same value twice.
    #[error("{factor}: {value} is given twice")]
    Twice {
        /// The factor.
        factor: Factor,
        /// The value.
        value: String,
    },
    /// The list differs between sections that run at the same time.
    #[error(
        "{factor}: [{section}] has another list than the sections beside it: give the same, or one value"
    )]
    Differs {
        /// The factor.
        factor: Factor,
        /// Name of the section.
        section: String,
    },
    /// A point lacks a factor that every run needs.
    #[error("{0}: is missing")]
    Missing(Factor),
}

impl Factor {
    /// All factors with their names, in the order by which runs are sorted: the last one varies fastest.
    pub const ALL: [(Factor, &str); 17] = [
        (Factor::Device, "device"),
        (Factor::Rw, "rw"),
        (Factor::RwMixRead, "rwmixread"),
        (Factor::Bs, "bs"),
        (Factor::QueuePriority, "queue_priority"),
        (Factor::IoDepth, "iodepth"),
        (Factor::NumJobs, "numjobs"),
        (Factor::RateIops, "rate_iops"),
        (Factor::ThinkTime, "thinktime"),
        (Factor::Process, "process"),
        (Factor::Neighbours, "neighbours"),
        (Factor::Frequency, "frequency"),
        (Factor::MaxCstate, "max-cstate"),
        (Factor::Scheduler, "scheduler"),
        (Factor::Coalescing, "coalescing"),
        (Factor::Engine, "engine"),
        (Factor::Completion, "completion"),
    ];

    /// Returns the name of the factor, which is that of its flag.
    pub fn name(self) -> &'static str {
        let mut all = Factor::ALL.iter();
        let found = all.find(|(factor, _)| *factor == self);
        found.map_or("", |(_, name)| name)
    }

    /// Returns `text` in the canonical form of this factor's values: `4096` bytes are `4k`.
    ///
    /// # Errors
    /// [`FactorError::Value`], if it is not a valid value of the factor.
    pub fn canonical(self, text: &str) -> Result<String, FactorError> {
        match self {
            // Any count will do to check the rest of the name.
            Factor::Device if text.contains(AS_JOBS) => {
                self.read::<DeviceSet>(&text.replace(AS_JOBS, "count=1"))?;
                Ok(text.into())
            }
            Factor::Device => self.read::<DeviceSet>(text),
            Factor::Rw => self.read::<ReadWrite>(text),
            Factor::RwMixRead => self.count(text, 100),
            Factor::Bs => self.read::<BlockSizes>(text),
            Factor::QueuePriority if text == "none" => Ok(text.into()),
            Factor::QueuePriority => self.read::<QueuePriorities>(text),
            Factor::RateIops if text == "max" => Ok(text.into()),
            // The run's job checks the ranges of these values.
            Factor::IoDepth | Factor::NumJobs | Factor::RateIops => self.count(text, u64::MAX),
            Factor::Neighbours => self.count(text, 256),
            Factor::ThinkTime => {
                let nanos = parse_time(text, 1_000).map_err(|why| self.wrong(why))?;
                Ok(format!("{nanos}ns"))
            }
            Factor::Process => self.read::<bool>(text),
            Factor::Frequency => self.read::<CoreFrequency>(text),
            // The machine decides which names exist.
            Factor::Scheduler | Factor::MaxCstate => {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
                match !text.is_empty() && text.chars().all(plain) {
                    true => Ok(text.into()),
                    false => Err(self.wrong(format!("'{text}' is no name"))),
                }
            }
            Factor::Coalescing => {
                coalescing::parse(text).map_err(|why| self.wrong(why))?;
                Ok(text.into())
            }
            Factor::Engine => self.read::<EngineName>(text),
            Factor::Completion => self.read::<CompletionMode>(text),
        }
    }

    fn read<T: FromStr<Err: Display> + Display>(self, text: &str) -> Result<String, FactorError> {
        let value: T = text.parse().map_err(|why: T::Err| self.wrong(why))?;
        Ok(value.to_string())
    }

    fn count(self, text: &str, max: u64) -> Result<String, FactorError> {
        let count = parse_count(text).map_err(|why| self.wrong(why))?;
        match count > max {
            true => Err(self.wrong(format!("{text}: must be 0 to {max}"))),
            false => Ok(count.to_string()),
        }
    }

    pub(super) fn wrong(self, problem: impl Display) -> FactorError {
        FactorError::Value {
            factor: self,
            problem: problem.to_string(),
        }
    }

    /// Parses `text` as a value of this factor.
    ///
    /// # Errors
    /// [`FactorError::Value`], if it is not valid.
    pub fn parse<T: FromStr<Err: Display>>(self, text: &str) -> Result<T, FactorError> {
        text.parse().map_err(|why| self.wrong(why))
    }

    /// Returns the text of this factor at `point`; `None` if the point does not have it.
    pub fn text(self, point: &Point) -> Option<&str> {
        point.get(self.name()).map(String::as_str)
    }

    /// Parses the value of this factor at `point`, whose texts are canonical; `None` if the point does not have it.
    ///
    /// # Errors
    /// [`FactorError::Value`], if the text is not a valid value of the factor.
    pub fn value<T: FromStr<Err: Display>>(self, point: &Point) -> Result<Option<T>, FactorError> {
        self.text(point).map(|text| self.parse(text)).transpose()
    }
}

/// Returns the engine and the completion mode of `point`.
///
/// # Errors
/// One of them is missing or not valid.
pub fn method(point: &Point) -> Result<Method, FactorError> {
    let engine = Factor::Engine.value(point)?;
    let mode = Factor::Completion.value(point)?;
    Ok(Method {
        engine: engine.ok_or(FactorError::Missing(Factor::Engine))?,
        mode: mode.ok_or(FactorError::Missing(Factor::Completion))?,
    })
}

fn known() -> String {
    Factor::ALL.map(|(_, name)| name).join(", ")
}

impl Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Factor {
    type Err = FactorError;

    fn from_str(text: &str) -> Result<Factor, FactorError> {
        let mut all = Factor::ALL.iter();
        let found = all.find(|(_, name)| *name == text);
        let unknown = || FactorError::Unknown { name: text.into() };
        found.map(|(factor, _)| *factor).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_one_spelling() {
        let cases = [
            (Factor::Bs, "4096", "4k"),
            (Factor::Bs, "4k:8192", "4k:8k"),
            (Factor::IoDepth, "1k", "1000"),
            (Factor::RateIops, "20k", "20000"),
            (Factor::RateIops, "max", "max"),
            (Factor::Rw, "readwrite", "rw"),
            (Factor::Completion, "hybrid=4us", "hybrid=4us"),
            (Factor::ThinkTime, "5", "5000ns"),
            (Factor::Process, "true", "true"),
        ];
        for (factor, text, canonical) in cases {
            assert_eq!(factor.canonical(text).as_deref(), Ok(canonical), "{factor}");
            assert_eq!(
                factor.canonical(canonical).as_deref(),
                Ok(canonical),
                "{factor}"
            );
        }
    }

    #[test]
    fn a_wrong_value_names_its_factor() {
        let cases = [
            (Factor::Bs, "4x"),
            (Factor::IoDepth, "-1"),
            (Factor::RwMixRead, "101"),
            (Factor::Rw, "reads"),
            (Factor::Engine, "spdk"),
            (Factor::Scheduler, "a b"),
            (Factor::Scheduler, ""),
            (Factor::Frequency, "fast"),
            (Factor::Device, "nvme0"),
        ];
        for (factor, text) in cases {
            let error = factor.canonical(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{factor}: ")), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let error = "block_size".parse::<Factor>().unwrap_err().to_string();
        assert!(
            error.contains("rwmixread, bs, queue_priority, iodepth"),
            "{error}"
        );
    }
}
