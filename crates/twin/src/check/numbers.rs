//! Numbers against numbers.

use super::{INCREMENT, metrics};
use crate::published::{Field, Metric, Number, Paper, PlayError, Player};
use serde::Serialize;

/// A published number and the twin's.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The source's short name.
    pub paper: String,
    /// What it is.
    pub what: String,
    /// What of a run.
    pub metric: Metric,
    /// It is the difference of two runs.
    pub increment: bool,
    /// It is a percentage by which runs exceed others.
    pub percent: bool,
    /// Whether a profile's figure was fitted to it.
    pub fitted: bool,
    /// What was printed, or the lower end of it.
    pub published: f64,
    /// The upper end of a range.
    pub published_to: Option<f64>,
    /// What the twin says.
    pub modelled: f64,
    /// How far that is off, as a fraction; of a percentage, that of the ratio.
    pub error: f64,
    /// How far it may be; `None`: nothing was promised.
    pub allowed: Option<f64>,
    /// The twin's number at the ends of a figure's band.
    pub band: Option<[f64; 2]>,
    /// The name of the order that it is in.
    #[serde(skip)]
    pub order: Option<String>,
}

impl Row {
    /// It is further off than it may be.
    pub fn broken(&self) -> bool {
        self.allowed.is_some_and(|most| self.error.abs() > most)
    }
}

/// The rows of `paper`.
pub(super) fn rows(paper: &Paper, player: &mut Player) -> Result<Vec<Row>, PlayError> {
    let row = |number: &Number| row(paper, number, player);
    paper.number.iter().map(row).collect()
}

fn row(paper: &Paper, number: &Number, player: &mut Player) -> Result<Row, PlayError> {
    let modelled = modelled(number, player)?;
    let increment = !number.minus.is_empty();
    let percent = !number.over.is_empty();
    let promised = number.metric.promise(number.fitted);
    Ok(Row {
        paper: paper.name.clone(),
        what: number.what.clone(),
        metric: number.metric,
        increment,
        percent,
        fitted: number.fitted,
        published: number.value,
        published_to: number.to,
        modelled,
        error: error(number, modelled),
        // Of differences only those of times are promised.
        allowed: promised.map(|most| if increment { INCREMENT } else { most }),
        band: band(number, player)?,
        order: number.order.clone(),
    })
}

/// What the twin says of `number`.
pub(crate) fn modelled(number: &Number, player: &mut Player) -> Result<f64, PlayError> {
    let runs = metrics(player, &number.run, number.metric)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let refused = |problem: &str| PlayError::Data(format!("number '{}' {problem}", number.what));
    if runs.is_empty() {
        return Err(refused("names no run"));
    }
    let other = |names: &[String], player: &mut Player| {
        if names.len() != runs.len() {
            return Err(refused("needs as many runs to compare with as it has"));
        }
        metrics(player, names, number.metric)
    };
    let pairs = |others: Vec<f64>, of: fn(f64, f64) -> f64| {
        let pairs = runs.iter().zip(others);
        mean(
            &pairs
                .map(|(run, other)| of(*run, other))
                .collect::<Vec<_>>(),
        )
    };
    Ok(if !number.minus.is_empty() {
        pairs(other(&number.minus, player)?, |run, other| run - other)
    } else if !number.over.is_empty() {
        pairs(other(&number.over, player)?, |run, other| {
            (run / other - 1.0) * 100.0
        })
    } else {
        mean(&runs)
    })
}

/// How far `modelled` is off what was printed; nothing inside a printed range.
pub(crate) fn error(number: &Number, modelled: f64) -> f64 {
    let (low, high) = (number.value, number.to.unwrap_or(number.value));
    let nearest = modelled.clamp(low, high);
    if number.over.is_empty() {
        return (modelled - nearest) / nearest.abs().max(f64::MIN_POSITIVE);
    }
    // Of ratios, what they say of the runs: 0.1 and 0.2 % more are the same.
    (modelled - nearest) / (100.0 + nearest)
}

/// The number with one figure at either end of its band.
fn band(number: &Number, player: &mut Player) -> Result<Option<[f64; 2]>, PlayError> {
    let Some(name) = &number.band else {
        return Ok(None);
    };
    let field: Field = name.parse()?;
    let figure = player.profiles().figure(&field)?;
    let [low, high] = figure.band.unwrap_or([figure.value; 2]);
    let mut ends = [0.0; 2];
    for (end, to) in ends.iter_mut().zip([low, high]) {
        player.set(&field, to)?;
        *end = modelled(number, player)?;
    }
    player.set(&field, figure.value)?;
    Ok(Some(ends))
}
