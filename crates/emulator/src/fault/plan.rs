//! A plan of faults and their times, which can be written on a command line.

use super::kind::{Fault, KINDS};
use super::time::{self, Printed};
use joulio_units::Nanos;
use std::fmt;
use std::str::FromStr;

/// Condition on which a planned fault happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// `@0.001`: at each I/O command with this probability, 0 to 1.
    Rate(f64),
    /// `@#100`: once, at this I/O command since the controller was switched on, the first being 1.
    Command(u64),
    /// `@2s`: once, this long after CC.EN was first set. A fault of a command then applies to the next command that is
    /// fetched.
    After(Nanos),
}

/// A fault and when it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// The fault to commit.
    pub fault: Fault,
    /// Condition on which the fault happens.
    pub when: When,
}

/// The faults that a controller is to commit, and the seed of the random ones: the same plan and the same commands give
/// the same faults.
///
/// Written as a list, `seed=7,drop@0.001,status=2/81@#100,cfs@2s`: each fault is `KIND[=PARAMETER][@WHEN]`. Without a
/// time a fault of a command applies to every I/O command, and a fault of the controller happens as soon as it is
/// enabled. An empty text is an empty plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// Seed of the random faults.
    pub seed: u64,
    /// The faults. Of several that apply to the same command, each is committed as far as they are compatible.
    pub faults: Vec<Planned>,
}

/// Error of a plan that cannot be parsed, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{part}': {reason}; faults are a list of KIND[@RATE|@#COMMAND|@TIME] and seed=N, the kinds \
     are {KINDS}"
)]
pub struct FaultPlanError {
    /// The part of the plan that is wrong.
    pub part: String,
    /// Reason in words.
    pub reason: &'static str,
}

impl FaultPlan {
    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }
}

impl FromStr for FaultPlan {
    type Err = FaultPlanError;

    fn from_str(text: &str) -> Result<FaultPlan, FaultPlanError> {
        let mut plan = FaultPlan::default();
        let mut seeded = false;
        if text.is_empty() {
            return Ok(plan);
        }
        for part in text.split(',') {
            let wrong = |reason| FaultPlanError {
                part: part.into(),
                reason,
            };
            if let Some(seed) = part.strip_prefix("seed=") {
                if seeded {
                    return Err(wrong("there is a seed already: give one"));
                }
                plan.seed = seed.parse().map_err(|_| wrong("a seed is a number"))?;
                seeded = true;
            } else {
                plan.faults.push(planned(part).map_err(wrong)?);
            }
        }
        Ok(plan)
    }
}

fn planned(part: &str) -> Result<Planned, &'static str> {
    let Some((fault, when)) = part.split_once('@') else {
        let fault = Fault::parse(part)?;
        return Ok(Planned {
            fault,
            when: When::usual(fault),
        });
    };
    Ok(Planned {
        fault: Fault::parse(fault)?,
        when: When::parse(when)?,
    })
}

impl When {
    /// Returns when `fault` happens by default.
    fn usual(fault: Fault) -> When {
        if fault.is_of_a_command() {
            When::Rate(1.0)
        } else {
            When::After(Nanos::ZERO)
        }
    }

    fn parse(text: &str) -> Result<When, &'static str> {
        if let Some(number) = text.strip_prefix('#') {
            return match number.parse() {
                Ok(number @ 1..) => Ok(When::Command(number)),
                _ => Err("a command is a number from 1, as @#100"),
            };
        }
        if text.ends_with('s') {
            let time = time::parse(text).ok_or("a time is a number and s, ms, us or ns")?;
            return Ok(When::After(time));
        }
        match text.parse::<f64>() {
            Ok(rate) if (0.0..=1.0).contains(&rate) => Ok(When::Rate(rate.abs())),
            _ => Err("a rate is a number from 0 to 1"),
        }
    }
}

impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if self.seed != 0 {
            write!(f, "seed={}", self.seed)?;
            comma = ",";
        }
        for planned in &self.faults {
            write!(f, "{comma}{planned}")?;
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@", self.fault)?;
        match self.when {
            When::Rate(rate) => write!(f, "{rate}"),
            When::Command(number) => write!(f, "#{number}"),
            When::After(time) => write!(f, "{}", Printed(time)),
        }
    }
}
