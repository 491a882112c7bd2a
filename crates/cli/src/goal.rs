//! Flags of the completion mode `adaptive`: what it is to reach.

use crate::failure::Failure;
use joulio_nvme::wait::{Goal, Objective, Promised};
use joulio_units::Slo;
use joulio_workload::{CompletionMode, parse_slo};

/// What `adaptive` is to reach.
#[derive(clap::Args)]
pub struct GoalArgs {
    /// adaptive: whose energy is to be least: cores (the jobs'), package (and what cores share) or wall
    /// (the whole machine). Default: cores
    #[arg(long)]
    objective: Option<Objective>,
    /// adaptive: latencies that percentiles of the I/Os may not exceed, as p99=15us,p99.9=40us; a time
    /// alone is the 99th's
    #[arg(long, value_parser = parse_slo, conflicts_with = "latency_budget")]
    slo: Option<Slo>,
    /// adaptive: how much polling's p99 and p99.9, as it learns them, may be exceeded, at least by 3 us,
    /// or none for no promise at all. Default: 5%
    #[arg(long = "latency-budget", value_name = "PERCENT", value_parser = budget)]
    latency_budget: Option<Promised>,
}

/// `5%`, `0.5%`, `none`.
fn budget(text: &str) -> Result<Promised, String> {
    if text == "none" {
        return Ok(Promised::Nothing);
    }
    let percent = text.strip_suffix('%').unwrap_or(text);
    match percent.parse::<f64>() {
        Ok(percent) if (0.0..=1_000.0).contains(&percent) => Ok(Promised::Budget(percent / 100.0)),
        _ => Err(format!(
            "'{text}' is not a latency budget: write 5%, 0% to 1000%, or none"
        )),
    }
}

impl GoalArgs {
    /// The objective, if one was given.
    pub fn objective(&self) -> Option<Objective> {
        self.objective
    }

    /// The goal that the flags describe.
    pub fn goal(&self) -> Goal {
        let slo = self.slo.map(Promised::Slo);
        Goal {
            objective: self.objective.unwrap_or_default(),
            promised: slo.or(self.latency_budget).unwrap_or_default(),
        }
    }

    /// Refuses flags that none of `modes` has a use for.
    pub fn check(&self, modes: impl IntoIterator<Item = CompletionMode>) -> Result<(), Failure> {
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
            Some((flag, _)) => Err(Failure::input(format!(
                "{flag} is of adaptive, which is not among the completion modes: add it to --completion, or leave {flag} out"
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_percentage_or_none() {
        assert_eq!(budget("5%"), Ok(Promised::Budget(0.05)));
        assert_eq!(budget("0.5"), Ok(Promised::Budget(0.005)));
        assert_eq!(budget("none"), Ok(Promised::Nothing));
        for wrong in ["", "%", "-1%", "1001%", "NaN", "inf%", "5us"] {
            assert!(budget(wrong).unwrap_err().contains("5%"), "{wrong}");
        }
    }
}
