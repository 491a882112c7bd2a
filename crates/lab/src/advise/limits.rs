//! Promise by which candidates are judged.

use super::candidate::Assessment;
use super::error::AdviseError;
use joulio_nvme::wait::Promised;
use joulio_units::{Nanos, Percentile};
use joulio_workload::LatencySummary;
use serde::Serialize;
use std::collections::BTreeMap;

/// The latency that a percentile may not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Percentile of the I/Os.
    pub percentile: Percentile,
    /// Nanoseconds that it may not exceed.
    pub latency: Nanos,
}

/// Source of the limits on latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimitSource {
    /// No limits: nothing is promised.
    Nothing,
    /// The limits of `--slo`.
    Slo,
    /// Polling's latencies and a budget, by the polling candidate of one engine.
    Polling {
        /// Engine that polled.
        engine: String,
        /// Share of polling's latency by which it may be exceeded.
        budget: f64,
    },
    /// A budget over polling was given, and no polling is available.
    NoPolling,
}

/// A promise: limits, and where they come from. In JSON nanoseconds by percentile beside the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "PromiseInJson")]
pub struct Limits {
    /// The limits; none: nothing is promised.
    pub limits: Vec<Limit>,
    /// Source of the limits.
    pub source: LimitSource,
}

/// JSON form of the limits.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct PromiseInJson {
    /// Source of the limits.
    from: LimitSource,
    /// Nanoseconds that each percentile may not exceed.
    #[serde(flatten)]
    limits: BTreeMap<String, u64>,
}

impl From<Limits> for PromiseInJson {
    fn from(promise: Limits) -> PromiseInJson {
        let named = |limit: &Limit| (limit.percentile.to_string(), limit.latency.0);
        PromiseInJson {
            from: promise.source,
            limits: promise.limits.iter().map(named).collect(),
        }
    }
}

impl Limits {
    /// Returns the limits of `promised`. A latency budget is relative to the polling candidate with the lowest 99th
    /// percentile.
    ///
    /// # Errors
    /// The results do not have a percentile that is promised.
    pub(super) fn of(promised: &Promised, all: &[Assessment]) -> Result<Limits, AdviseError> {
        let (limits, source) = match promised {
            Promised::Nothing => (Vec::new(), LimitSource::Nothing),
            Promised::Slo(slo) => {
                let limits = slo.limits().iter().map(|limit| Limit {
                    percentile: limit.percentile,
                    latency: limit.latency,
                });
                (limits.collect(), LimitSource::Slo)
            }
            Promised::Budget { share, floor, .. } => budget_over_polling((*share, *floor), all),
        };
        let limits = Limits { limits, source };
        limits.check()?;
        Ok(limits)
    }

    fn check(&self) -> Result<(), AdviseError> {
        let mut limits = self.limits.iter();
        let reported = LatencySummary::PERCENTILES;
        let unknown = limits.find(|limit| !reported.contains(&limit.percentile));
        match unknown {
            Some(limit) => Err(AdviseError::Percentile(limit.percentile)),
            None => Ok(()),
        }
    }

    /// Checks that advice can judge a promise, before anything is run.
    ///
    /// # Errors
    /// [`AdviseError::Percentile`], if a promised percentile is not among those that advice compares.
    pub fn check_promised(promised: &Promised) -> Result<(), AdviseError> {
        match promised {
            Promised::Slo(_) => Limits::of(promised, &[]).map(drop),
            _ => Ok(()),
        }
    }

    /// Records in `one` whether its latencies keep the limits.
    pub(super) fn judge(&self, one: &mut Assessment) {
        let figures = one.figures.as_ref();
        let keeps = figures.is_some_and(|figures| self.keeps(|p| figures.percentile(p)));
        one.keeps = keeps && !one.falls_behind;
    }

    /// Returns true if the latencies that `value` returns for the percentiles keep every limit.
    fn keeps(&self, value: impl Fn(Percentile) -> Option<Nanos>) -> bool {
        let mut limits = self.limits.iter();
        limits.all(|limit| value(limit.percentile).is_some_and(|value| value <= limit.latency))
    }
}

fn budget_over_polling(
    (budget, floor): (f64, Nanos),
    all: &[Assessment],
) -> (Vec<Limit>, LimitSource) {
    let polls = |one: &&Assessment| one.candidate.completion == "poll" && one.effective.is_none();
    let is_set = |one: &Assessment| one.candidate.settings.values().any(|value| value != "none");
    let polled = all.iter().filter(polls);
    let polled = polled.filter_map(|one| Some((one, one.figures.as_ref()?)));
    // Polling under a scheduler counts only if there is none without one.
    let polled =
        polled.min_by_key(|(one, figures)| (is_set(one), figures.percentile(Percentile::P99)));
    let Some((polled, figures)) = polled else {
        return (Vec::new(), LimitSource::NoPolling);
    };
    let limits = [Percentile::P99, Percentile::P99_9].map(|percentile| {
        let latency = figures.percentile(percentile).unwrap_or_default();
        let more = Nanos((latency.0 as f64 * budget) as u64).max(floor);
        Limit {
            percentile,
            latency: latency + more,
        }
    });
    let engine = polled.candidate.engine.to_string();
    (limits.into(), LimitSource::Polling { engine, budget })
}
