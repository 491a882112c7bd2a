//! Fitting: changes the fitted figures of the profiles until the twin reproduces the published numbers.
//!
//! Each fitted figure names the few numbers that determine it, so that the figures can be searched for one after
//! another: the search looks in the figure's band for the value with the smallest largest error of those numbers.
//! As figures share runs, the search goes in rounds, each in a smaller neighbourhood of the last result, until no
//! figure changes by its step. Nothing is random: the same profiles and numbers give the same fit.

mod search;
mod write;

use crate::check::judge::{error, estimate};
use crate::published::{
    Fitted, Paper, ProfileField, Profiles, PublishedNumber, SimulationError, Simulator,
};
use serde::Serialize;

pub use write::{FitWriteError, write};

/// I/Os of each run of a fit.
pub const IOS: u64 = 10_000;

/// Largest number of rounds.
const ROUNDS: u32 = 20;

/// Factor by which the neighbourhood shrinks from round to round.
const SHRINK: f64 = 0.8;

/// A figure before and after the fit.
#[derive(Clone, Debug, Serialize)]
pub struct FittedFigure {
    /// The profile's field.
    pub field: String,
    /// Value before the fit.
    pub from: f64,
    /// Value after the fit, a multiple of the step.
    pub to: f64,
    /// Band in which the value was searched for.
    pub band: [f64; 2],
    /// Numbers to which the figure was fitted.
    pub residuals: Vec<Residual>,
}

/// A number, and its error after the fit.
#[derive(Clone, Debug, Serialize)]
pub struct Residual {
    /// The source's short name.
    pub paper: String,
    /// The number.
    pub what: String,
    /// Printed number.
    pub published: f64,
    /// The twin's number after the fit.
    pub modelled: f64,
    /// Error of the twin's number, as a fraction.
    pub error: f64,
}

/// A figure with the numbers that determine it.
struct Job<'a> {
    paper: &'a Paper,
    fitted: &'a Fitted,
    field: ProfileField,
    numbers: Vec<&'a PublishedNumber>,
    from: f64,
    band: [f64; 2],
    now: f64,
}

/// Fits the figures that `papers` name, starting from `profiles`.
///
/// # Errors
/// [`SimulationError`], if a run cannot be simulated, or a figure has no band to search.
pub fn fit(
    papers: &[Paper],
    profiles: Profiles,
    ios: u64,
) -> Result<Vec<FittedFigure>, SimulationError> {
    let mut simulator = Simulator::new(papers, profiles, ios);
    let mut jobs = Vec::new();
    for paper in papers {
        for fitted in searched(paper) {
            jobs.push(job(paper, fitted, &fitted.to, &mut simulator)?);
        }
    }
    settle(&mut jobs, &mut simulator)?;
    jobs.iter().map(|job| job.change(&mut simulator)).collect()
}

/// Fits the figures that `paper` names to those of its numbers that are not `withheld`. Each starts in the middle
/// of its band, or at its present value if it `stays`. Returns the fields for which no number is left: they keep
/// the value with which they started.
///
/// # Errors
/// As [`fit`].
pub(crate) fn fit_without(
    paper: &Paper,
    simulator: &mut Simulator,
    withheld: impl Fn(&PublishedNumber) -> bool,
    stays: impl Fn(&ProfileField) -> bool,
) -> Result<Vec<String>, SimulationError> {
    let kept = |what: &&String| paper.number(what).is_none_or(|number| !withheld(number));
    let (mut jobs, mut undecided) = (Vec::new(), Vec::new());
    for fitted in searched(paper) {
        let lists = [&fitted.to, &fitted.instead].map(|list| list.iter().filter(kept));
        let left = lists.map(|list| list.cloned().collect::<Vec<_>>());
        let left = left.into_iter().find(|list| !list.is_empty());
        let stays = stays(&fitted.field.parse()?);
        if left.is_none() {
            undecided.push(fitted.field.clone());
            if stays {
                continue;
            }
        }
        let mut job = job(
            paper,
            fitted,
            left.as_deref().unwrap_or_default(),
            simulator,
        )?;
        if !stays {
            job.now = middle(job.band);
            simulator.set(&job.field, job.now)?;
        }
        jobs.extend(left.is_some().then_some(job));
    }
    settle(&mut jobs, simulator)?;
    Ok(undecided)
}

/// Returns the middle of a band: on a log scale, as its ends may differ by a factor, unless it begins at 0.
fn middle([low, high]: [f64; 2]) -> f64 {
    match low > 0.0 {
        true => (low * high).sqrt(),
        false => f64::midpoint(low, high),
    }
}

/// The figures of `paper` that a fit searches for.
fn searched(paper: &Paper) -> impl Iterator<Item = &Fitted> {
    paper.fit.iter().filter(|fitted| fitted.by_hand.is_none())
}

/// Searches for one figure after another, until none changes by its step.
fn settle(jobs: &mut [Job<'_>], simulator: &mut Simulator) -> Result<(), SimulationError> {
    let mut near = 1.0;
    for _ in 0..ROUNDS {
        let mut still = true;
        for job in &mut *jobs {
            let to = job.search(simulator, near)?;
            still &= (to - job.now).abs() < 1.5 * job.fitted.step;
            job.now = to;
        }
        if still {
            break;
        }
        near *= SHRINK;
    }
    Ok(())
}

fn job<'a>(
    paper: &'a Paper,
    fitted: &'a Fitted,
    to: &[String],
    simulator: &mut Simulator,
) -> Result<Job<'a>, SimulationError> {
    let field: ProfileField = fitted.field.parse()?;
    let figure = simulator.profiles().figure(&field)?;
    let number = |what: &String| {
        let found = paper.number(what);
        found.ok_or_else(|| {
            SimulationError::Data(format!("{}: no number is called '{what}'", paper.name))
        })
    };
    let band = figure.band.ok_or_else(|| {
        SimulationError::Data(format!("{field}: has no band to be searched for in"))
    })?;
    if fitted.step.is_nan() || fitted.step <= 0.0 {
        return Err(SimulationError::Data(format!(
            "{field}: its step must be more than 0"
        )));
    }
    Ok(Job {
        paper,
        fitted,
        numbers: to.iter().map(number).collect::<Result<_, _>>()?,
        from: figure.value,
        now: figure.value,
        band,
        field,
    })
}

impl Job<'_> {
    /// Finds the best value, a multiple of the step, in the fraction `near` of the band around the present value.
    fn search(&self, simulator: &mut Simulator, near: f64) -> Result<f64, SimulationError> {
        let [low, high] = self.band;
        let reach = (high - low) * near;
        let from = (self.now - reach).max(low);
        let to = (self.now + reach).min(high);
        let best = search::least(from, to, self.fitted.step, |value| {
            simulator.set(&self.field, value)?;
            let mut max: f64 = 0.0;
            for number in &self.numbers {
                max = max.max(error(number, estimate(number, simulator)?.value).abs());
            }
            Ok::<_, SimulationError>(max)
        })?;
        simulator.set(&self.field, best)?;
        Ok(best)
    }

    fn change(&self, simulator: &mut Simulator) -> Result<FittedFigure, SimulationError> {
        let residual = |number: &&PublishedNumber| {
            let modelled = estimate(number, simulator)?.value;
            Ok(Residual {
                paper: self.paper.name.clone(),
                what: number.what.clone(),
                published: number.value,
                modelled,
                error: error(number, modelled),
            })
        };
        Ok(FittedFigure {
            field: self.fitted.field.clone(),
            from: self.from,
            to: self.now,
            band: self.band,
            residuals: self
                .numbers
                .iter()
                .map(residual)
                .collect::<Result<_, SimulationError>>()?,
        })
    }
}
