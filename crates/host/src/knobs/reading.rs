//! Value of a setting, and the values that it can have.

use joulio_units::CpuList;
use std::fmt;

/// Value of a setting, with the values that it can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobReading {
    /// Value in use. If CPUs differ, all values with commas.
    pub value: String,
    /// Values that it can be set to.
    pub allowed: KnobValues,
}

/// Values that a setting can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobValues {
    /// One of a list of words.
    OneOf(Vec<String>),
    /// A number in a range.
    Number {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
        /// Divisor of every value.
        step: i64,
    },
    /// A list of some of these CPUs, as the kernel writes it; of any CPUs if none is known.
    CpusOf(CpuList),
}

impl KnobValues {
    pub(super) fn words(words: &[&str]) -> KnobValues {
        KnobValues::OneOf(words.iter().map(|&word| word.into()).collect())
    }

    pub(crate) const fn number(min: i64, max: i64) -> KnobValues {
        KnobValues::Number { min, max, step: 1 }
    }

    /// Whether `value` is allowed, in the form in which the kernel writes it.
    pub fn has(&self, value: &str) -> bool {
        match self {
            KnobValues::OneOf(words) => words.iter().any(|word| word == value),
            KnobValues::CpusOf(online) => value.parse().is_ok_and(|cpus: CpuList| {
                let there = online.is_empty() || cpus.is_subset(online);
                there && !cpus.is_empty() && cpus.to_string() == value
            }),
            KnobValues::Number { min, max, step } => value.parse().is_ok_and(|number: i64| {
                (*min..=*max).contains(&number) && number % step == 0 && number.to_string() == value
            }),
        }
    }
}

impl fmt::Display for KnobValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobValues::OneOf(words) => f.write_str(&words.join(", ")),
            KnobValues::CpusOf(online) if online.is_empty() => f.write_str("a list of CPUs"),
            KnobValues::CpusOf(online) => write!(f, "a list of CPUs in {online}"),
            KnobValues::Number { min, max, step: 1 } => write!(f, "{min} to {max}"),
            KnobValues::Number { min, max, step } => write!(f, "{min} to {max} in steps of {step}"),
        }
    }
}
