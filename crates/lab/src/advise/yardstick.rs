//! Yardstick: the energy figure by which candidates are compared.

use crate::results::EnergyColumn;
use joulio_units::Boundary;
use joulio_workload::{Counts, EnergyResult, RunResult};
use serde::Serialize;

/// An energy figure that the runs have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Yardstick {
    /// Boundary of the energy.
    pub boundary: Boundary,
    /// Zone and source of the energy.
    #[serde(flatten)]
    pub column: EnergyColumn,
}

impl Yardstick {
    /// Returns the best figure of each boundary that all `runs` with figures have; measured figures come before
    /// modelled ones. On a machine with several packages a single package is never chosen, even if the sum over all is
    /// missing in a run.
    pub(super) fn all(runs: &[RunResult]) -> Vec<Yardstick> {
        let counts: Vec<_> = runs.iter().filter_map(|run| run.counts.as_ref()).collect();
        let Some(first) = counts.first() else {
            return Vec::new();
        };
        let boundaries = Boundary::ALL.iter();
        let best = boundaries.filter_map(|&boundary| {
            let figures = first.energy.iter();
            let figures = figures.filter(|one| one.boundary == boundary && !one.idle_subtracted);
            let figures = figures.filter(|one| !one.is_part_in(&counts));
            let all = figures.map(Yardstick::of);
            let common = all.filter(|one| counts.iter().all(|run| one.figure(run).is_some()));
            common.max_by_key(|one| !one.column.modelled)
        });
        best.collect()
    }

    /// Returns the figure at `boundary`; for `None` the narrowest measured one, or else the modelled one of the jobs'
    /// cores, but never that of memory or of a device alone.
    pub(super) fn choose(all: &[Yardstick], boundary: Option<Boundary>) -> Option<&Yardstick> {
        let at = |wanted: Boundary| all.iter().find(|one| one.boundary == wanted);
        let beside = [Boundary::Dram, Boundary::Device];
        let mut narrowest = all.iter().rev();
        match boundary {
            Some(boundary) => at(boundary),
            None => narrowest
                .find(|one| !one.column.modelled && !beside.contains(&one.boundary))
                .or_else(|| at(Boundary::Cores))
                .or_else(|| all.first()),
        }
    }

    fn of(figure: &EnergyResult) -> Yardstick {
        Yardstick {
            boundary: figure.boundary,
            column: EnergyColumn::from(figure),
        }
    }

    /// Returns the figure of one run.
    pub(super) fn figure<'a>(&self, counts: &'a Counts) -> Option<&'a EnergyResult> {
        let mut all = counts.energy.iter();
        all.find(|figure| figure.boundary == self.boundary && self.column.has(figure))
    }

    /// Returns the joules of an I/O in each of `runs`; `None` if there is no run, or one has no figure.
    pub(super) fn joules(&self, runs: &[&Counts]) -> Option<Vec<f64>> {
        let each = runs.iter().map(|run| self.figure(run)?.joules_per_io);
        let all: Option<Vec<_>> = each.collect();
        all.filter(|all| !all.is_empty())
    }

    /// Returns the largest error of the meter, in joules of an I/O.
    pub(super) fn error(&self, runs: &[&Counts]) -> f64 {
        let errors = runs.iter().filter_map(|run| {
            let figure = self.figure(run)?;
            Some(figure.error_joules? / run.all.ios.max(1) as f64)
        });
        errors.fold(0.0, f64::max)
    }

    /// Returns the joules of an I/O with all of the model's figures at the low ends of their bands, and at the high
    /// ends: the means over `runs`.
    pub(super) fn band(&self, runs: &[&Counts]) -> Option<(f64, f64)> {
        let bands = runs.iter().map(|run| {
            let figure = self.figure(run)?;
            let (low, high) = figure.band_joules?;
            let share = figure.joules_per_io? / figure.joules;
            Some((low * share, high * share))
        });
        let bands: Vec<_> = bands.collect::<Option<_>>()?;
        let count = bands.len().max(1) as f64;
        let sum = |end: fn(&(f64, f64)) -> f64| bands.iter().map(end).sum::<f64>() / count;
        (!bands.is_empty()).then(|| (sum(|band| band.0), sum(|band| band.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::run;
    use joulio_workload::{CompletionMode, Unmetered};

    const SUM: &str = "package-0 + package-1";

    /// A run on a machine with two packages; their sum is present if `had`.
    fn two_packages(had: bool) -> RunResult {
        let mut result = run(CompletionMode::Poll, 1, 1, 1_000.0, 40.0).result;
        let counts = result.counts.as_mut().unwrap();
        let model = counts.energy.remove(0);
        let zones = ["package-0", "package-1", SUM];
        let zones = if had { &zones[..] } else { &zones[..1] };
        counts.energy = zones
            .iter()
            .map(|zone| EnergyResult {
                boundary: Boundary::Package,
                zone: (*zone).into(),
                source: format!("perf:{zone}"),
                modelled: false,
                band_joules: None,
                ..model.clone()
            })
            .collect();
        counts.energy.push(model);
        if !had {
            counts.unmetered = vec![Unmetered {
                meter: SUM.into(),
                why: "perf:package-1 was removed".into(),
                too_short: false,
            }];
        }
        result
    }

    #[test]
    fn one_package_never_stands_for_two() {
        let chosen = |runs: &[RunResult]| -> Option<String> {
            let all = Yardstick::all(runs);
            Some(Yardstick::choose(&all, None)?.column.zone.clone())
        };
        let whole = [two_packages(true), two_packages(true)];
        assert_eq!(chosen(&whole).as_deref(), Some(SUM));
        // A meter failed in the second run.
        let dying = [two_packages(true), two_packages(false)];
        assert_eq!(chosen(&dying).as_deref(), Some("wall"));
    }
}
