//! Order of measurement windows that cancels drift.
//!
//! A block measures its arms forwards and then backwards (idle, one, all, all, one, idle): a linear drift adds the same
//! to every arm's mean, and cancels in their differences. Blocks have no window in common, so their differences are
//! independent and give a confidence interval.

use super::activity::Arm;
use super::bench::{Cores, JouleMeter, MeanPower, Ran};
use super::error::WattsError;
use crate::statistics::Interval;
use joulio_units::Nanos;

/// Measured arms of a block, each the mean of two windows.
#[derive(Clone, Debug)]
pub struct Block {
    arms: Vec<Mean>,
}

/// Mean of an arm's two windows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    /// Mean power.
    pub watts: f64,
    /// Bound of the meter's own error, in watts.
    pub error: f64,
    /// Record of the cores' activity.
    pub ran: Ran,
}

/// Number of blocks and length of windows.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Number of blocks, at least two.
    pub blocks: u32,
    /// Length of each window.
    pub window: Nanos,
}

impl Rounds {
    /// Runs the blocks of `arms`; `tick` is called after each window.
    ///
    /// # Errors
    /// A window fails.
    pub fn run(
        &self,
        arms: &[Arm],
        cores: &mut dyn Cores,
        joules: &mut dyn JouleMeter,
        tick: &mut dyn FnMut(),
    ) -> Result<Vec<Block>, WattsError> {
        let mut blocks = Vec::new();
        for _ in 0..self.blocks {
            let there = self.pass(arms.iter(), cores, joules, tick)?;
            let mut back = self.pass(arms.iter().rev(), cores, joules, tick)?;
            back.reverse();
            let arms = there.iter().zip(&back);
            blocks.push(Block {
                arms: arms.map(|(one, other)| one.and(other)).collect(),
            });
        }
        Ok(blocks)
    }

    fn pass<'a>(
        &self,
        arms: impl Iterator<Item = &'a Arm>,
        cores: &mut dyn Cores,
        joules: &mut dyn JouleMeter,
        tick: &mut dyn FnMut(),
    ) -> Result<Vec<Mean>, WattsError> {
        arms.map(|arm| {
            let mut power = None;
            let ran = cores.run(arm, &mut || {
                power = Some(joules.over(self.window)?);
                Ok(())
            })?;
            tick();
            let MeanPower { watts, error } = power.ok_or(WattsError::Interrupted)?;
            Ok(Mean { watts, error, ran })
        })
        .collect()
    }
}

impl Mean {
    fn and(&self, other: &Mean) -> Mean {
        let half = |one: f64, other: f64| (one + other) / 2.0;
        let inside = self.ran.inside.zip(other.ran.inside);
        Mean {
            watts: half(self.watts, other.watts),
            error: half(self.error, other.error),
            ran: Ran {
                wakes: half(self.ran.wakes, other.ran.wakes),
                busy: half(self.ran.busy, other.ran.busy),
                inside: inside.map(|(one, other)| half(one, other)),
            },
        }
    }
}

impl Block {
    /// Returns the arm at `index`; an arm of zero watts if there is none.
    pub fn arm(&self, index: usize) -> Mean {
        self.arms.get(index).copied().unwrap_or_default()
    }
}

/// Computes the sum of the arms' watts with these `weights` in each block, and returns its confidence interval over the
/// blocks.
pub fn contrast(blocks: &[Block], weights: &[f64]) -> Interval {
    let each = |of: &dyn Fn(Mean, f64) -> f64| -> Vec<f64> {
        let sum = |block: &Block| {
            let weights = weights.iter().enumerate();
            weights
                .map(|(arm, &weight)| of(block.arm(arm), weight))
                .sum()
        };
        blocks.iter().map(sum).collect()
    };
    let watts = each(&|mean, weight| mean.watts * weight);
    let errors = each(&|mean, weight| mean.error * weight.abs());
    Interval::of(
        &watts,
        errors.iter().sum::<f64>() / errors.len().max(1) as f64,
    )
}

/// Returns the mean of a figure of one arm over the blocks in which it is known.
pub fn mean(blocks: &[Block], arm: usize, of: impl Fn(Ran) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = blocks
        .iter()
        .filter_map(|block| of(block.arm(arm).ran))
        .collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
