//! Flags for the goal of the completion mode `adaptive`.

use joulio_lab::experiment::{GoalOptions, parse_latency_budget};
use joulio_nvme::wait::{Objective, Promised};
use joulio_units::Slo;
use joulio_workload::parse_slo;

/// Goal of the completion mode `adaptive`.
#[derive(clap::Args)]
#[command(next_help_heading = "Promise of the completion mode adaptive")]
pub struct GoalArgs {
    /// adaptive: the energy to minimise: cores (of the jobs), package (cores and what they share) or wall (the whole
    /// machine). Default: cores
    #[arg(long)]
    objective: Option<Objective>,
    /// adaptive: limits for percentiles of the latency, such as p99=15us,p99.9=40us; a time alone limits p99
    #[arg(long, value_parser = parse_slo, conflicts_with = "latency_budget")]
    slo: Option<Slo>,
    /// adaptive: how far p99 and p99.9 may exceed those of polling, which the policy learns; at least 3 us. none: no
    /// promise. Default: 5%
    #[arg(long = "latency-budget", value_name = "PERCENT", value_parser = parse_latency_budget)]
    latency_budget: Option<Promised>,
}

impl GoalArgs {
    /// Returns the goal that the flags describe.
    pub fn options(&self) -> GoalOptions {
        GoalOptions {
            objective: self.objective,
            slo: self.slo,
            latency_budget: self.latency_budget,
        }
    }
}
