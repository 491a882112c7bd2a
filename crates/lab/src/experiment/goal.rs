//! Goal of the completion mode `adaptive`, as flags and files specify it.

use joulio_nvme::wait::{Goal, Objective, Promised};
use joulio_units::Slo;
use joulio_workload::{CompletionMode, JobError};

/// Goal of the completion mode `adaptive`; parts that were not requested are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GoalOptions {
    /// Boundary of the energy to minimise; `None`: the default.
    pub objective: Option<Objective>,
    /// Latencies that percentiles of the I/Os may not exceed.
    pub slo: Option<Slo>,
    /// Latency above polling's that is allowed; ignored if `slo` is given.
    pub latency_budget: Option<Promised>,
}

impl GoalOptions {
    /// Returns the goal, with defaults for the parts that were not requested.
    pub fn goal(&self) -> Goal {
        let slo = self.slo.map(Promised::Slo);
        Goal {
            objective: self.objective.unwrap_or_default(),
            promised: slo.or(self.latency_budget).unwrap_or_default(),
        }
    }

    /// Returns an error if a goal was given but none of `modes` uses one.
    ///
    /// # Errors
    /// [`JobError`], naming the flag.
    pub fn check(&self, modes: impl IntoIterator<Item = CompletionMode>) -> Result<(), JobError> {
        let flags = [
            ("--objective", self.objective.is_some()),
            ("--slo", self.slo.is_some()),
            ("--latency-budget", self.latency_budget.is_some()),
        ];
        let given = flags.into_iter().find(|(_, given)| *given);
        let adapts = modes
            .into_iter()
            .any(|mode| mode == CompletionMode::Adaptive);
        match given.filter(|_| !adapts) {
            Some((flag, _)) => Err(JobError {
                flag,
                problem: format!(
                    "only for adaptive, which is not among the completion modes: add it to --completion, or leave {flag} out"
                ),
            }),
            None => Ok(()),
        }
    }
}

/// Parses a latency budget: `5%`, `0.5%`, `none`.
///
/// # Errors
/// Text that explains how a budget is written.
pub fn parse_latency_budget(text: &str) -> Result<Promised, String> {
    if text == "none" {
        return Ok(Promised::Nothing);
    }
    let percent = text.strip_suffix('%').unwrap_or(text);
    match percent.parse::<f64>() {
        Ok(percent) if (0.0..=1_000.0).contains(&percent) => Ok(Promised::budget(percent / 100.0)),
        _ => Err(format!(
            "'{text}' is not a latency budget: write 5%, 0% to 1000%, or none"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_percentage_or_none() {
        let budget = parse_latency_budget;
        assert_eq!(budget("5%"), Ok(Promised::budget(0.05)));
        assert_eq!(budget("0.5"), Ok(Promised::budget(0.005)));
        assert_eq!(budget("none"), Ok(Promised::Nothing));
        for wrong in ["", "%", "-1%", "1001%", "NaN", "inf%", "5us"] {
            assert!(budget(wrong).unwrap_err().contains("5%"), "{wrong}");
        }
    }
}
