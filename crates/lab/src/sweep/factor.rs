//! Factors of a sweep by name: what may differ from run to run.

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

/// A factor, by the name of the flag that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Factor {
    /// Devices of a run, one or several.
    Device,
    /// Pattern and direction.
    Rw,
    /// Percent of reads of a mixed workload.
    RwMixRead,
    /// Bytes of an I/O.
    Bs,
    /// Priority classes of the jobs' queues; `none`: none.
    QueuePriority,
    /// I/Os in flight, each job.
    IoDepth,
    /// Jobs.
    NumJobs,
    /// I/Os a second that arrive at each job; `max`: a closed loop.
    RateIops,
    /// Nanoseconds between the arrivals of an open loop.
    ThinkTime,
    /// Jobs are threads or processes.
    Process,
    /// Threads beside the jobs that compute without end, on each of their CPUs.
    Neighbours,
    /// Clock of the jobs' cores, in virtual time alone.
    Frequency,
    /// Deepest idle state of the CPUs.
    MaxCstate,
    /// I/O scheduler of the disks.
    Scheduler,
    /// Interrupt coalescing of the devices (feature 08h).
    Coalescing,
    /// The engine, which does the I/O.
    Engine,
    /// The completion mode.
    Completion,
}

/// A number of equal devices that is the number of the run's jobs: `emulated:tipro9000,count=numjobs`.
pub(super) const AS_JOBS: &str = "count=numjobs";

/// A factor that does not exist, or a value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorError {
    /// A name that no factor has.
    #[error("no factor '{name}': there are {known}", known = known())]
    Unknown {
        /// Name that was given.
        name: String,
    },
    /// A value that the factor cannot have.
    #[error("{factor}: {problem}")]
    Value {
        /// The factor.
        factor: Factor,
        /// Description of the mistake, and of what to write instead.
        problem: String,
    },
    /// A list without a value.
    #[error("{0}: an empty list: name a value, or leave it out")]
    Empty(Factor),
    /// A value that stands in a list twice.
    #[error("{factor}: {value} is given twice")]
    Twice {
        /// The factor.
        factor: Factor,
        /// The value.
        value: String,
    },
    /// A list that is another in the sections that run beside each other.
    #[error(
        "{factor}: [{section}] has another list than the sections beside it: give the same, or one value"
    )]
    Differs {
        /// The factor.
        factor: Factor,
        /// Name of the section.
        section: String,
    },
    /// A point without a factor that every run needs.
    #[error("{0}: is missing")]
    Missing(Factor),
}

impl Factor {
    /// All factors with their names, in the order in which runs are sorted: the last changes first.
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

    /// Name of the factor, which is its flag's.
    pub fn name(self) -> &'static str {
        let mut all = Factor::ALL.iter();
        let found = all.find(|(factor, _)| *factor == self);
        found.map_or("", |(_, name)| name)
    }

    /// `text` as this factor's values are written everywhere: `4096` of bytes is `4k`.
    ///
    /// # Errors
    /// [`FactorError::Value`], if it is no value of the factor.
    pub fn canonical(self, text: &str) -> Result<String, FactorError> {
        match self {
            // As many as jobs are as good as one here.
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
            // The run's job checks their values.
            Factor::IoDepth | Factor::NumJobs | Factor::RateIops => self.count(text, u64::MAX),
            Factor::Neighbours => self.count(text, 256),
            Factor::ThinkTime => {
                let nanos = parse_time(text, 1_000).map_err(|why| self.wrong(why))?;
                Ok(format!("{nanos}ns"))
            }
            Factor::Process => self.read::<bool>(text),
            Factor::Frequency => self.read::<CoreFrequency>(text),
            // As the machine has them.
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

    /// `text` as a value of this factor.
    ///
    /// # Errors
    /// [`FactorError::Value`], if it is none.
    pub fn parse<T: FromStr<Err: Display>>(self, text: &str) -> Result<T, FactorError> {
        text.parse().map_err(|why| self.wrong(why))
    }

    /// Value of this factor at `point`; `None`: the factor is not in it.
    pub fn text(self, point: &Point) -> Option<&str> {
        point.get(self.name()).map(String::as_str)
    }

    /// Value of this factor at `point`, which holds canonical text; `None`: the factor is not in it.
    ///
    /// # Errors
    /// [`FactorError::Value`], if the text is no value of the factor.
    pub fn value<T: FromStr<Err: Display>>(self, point: &Point) -> Result<Option<T>, FactorError> {
        self.text(point).map(|text| self.parse(text)).transpose()
    }
}

/// The engine and the completion mode of `point`.
///
/// # Errors
/// One of them is missing or wrong.
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
