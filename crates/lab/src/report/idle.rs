//! Power of the idle machine around the runs of a set, or the reason why it is not known.

use super::data::ReportData;
use super::value::{short, signed};
use crate::idle_interval::{IdleInterval, IdleSummary};
use crate::record::Platform;
use serde::Serialize;

/// Power of the idle machine around the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IdleReport {
    /// Idle power by meter.
    pub meters: Vec<IdleSummary>,
    /// Largest fraction of an interval in which the CPUs were busy, 0 to 1; `None`: not known.
    pub busiest: Option<f64>,
    /// Reason why there is no figure; `None`: there is one.
    pub missing: Option<String>,
}

impl IdleReport {
    /// Summarises the intervals of `all` on the machine and platform of `data`.
    pub(super) fn of(data: &ReportData, all: &[IdleInterval]) -> IdleReport {
        let mine = all.iter();
        let mine = mine.filter(|one| one.platform == data.platform && one.machine == data.machine);
        let mine: Vec<IdleInterval> = mine.cloned().collect();
        let meters = IdleSummary::of(&mine);
        let busy = mine.iter().filter_map(|one| one.busy);
        let missing = meters.is_empty().then(|| match data.platform {
            Platform::Twin => "in virtual time nothing is measured".to_owned(),
            _ => {
                let why = mine.iter().find_map(|one| one.missing.clone());
                why.unwrap_or_else(|| "the experiment has no idle intervals".into())
            }
        });
        IdleReport {
            meters,
            busiest: busy.reduce(f64::max),
            missing,
        }
    }

    /// Returns a sentence for each meter, or one with the reason why there is none.
    pub fn sentences(&self) -> Vec<String> {
        if let Some(why) = &self.missing {
            return vec![format!("Idle machine: not measured: {why}.")];
        }
        let of = |one: &IdleSummary| {
            let change = one.change_percent.map(|percent| {
                let percent = signed(percent);
                format!(", across one repetition's runs by {percent} % at most")
            });
            format!(
                "Idle machine: {} W by {} ({}), {} to {} W in {} interval(s) around the runs{}.",
                short(one.mean_watts),
                one.meter,
                one.zone,
                short(one.lowest_watts),
                short(one.highest_watts),
                one.intervals,
                change.unwrap_or_default()
            )
        };
        let mut all: Vec<String> = self.meters.iter().map(of).collect();
        if let Some(busy) = self.busiest.filter(|busy| *busy > 0.05) {
            let percent = short(busy * 100.0);
            all.push(format!(
                "The machine was not idle in all of them: its CPUs worked for up to {percent} % of the time of all."
            ));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four of 64 CPUs were busy, which is nearly 400 % of one CPU.
    #[test]
    fn what_was_busy_is_a_share_of_all_cpus() {
        let report = IdleReport {
            meters: Vec::new(),
            busiest: Some(4.0 / 64.0),
            missing: None,
        };
        let said = report.sentences().concat();
        assert!(said.ends_with("up to 6.25 % of the time of all."), "{said}");
    }
}
