//! Measurement of the groups of windows with given cores and meters.

use super::bench::{Cores, JouleMeter};
use super::block::Rounds;
use super::error::WattsError;
use super::group::{Group, MeasuredGroup};

/// Parts of a running measurement.
pub struct Protocol<'a> {
    /// Number of blocks and length of windows.
    pub rounds: Rounds,
    /// The cores.
    pub cores: &'a mut dyn Cores,
    /// The meters.
    pub joules: &'a mut dyn JouleMeter,
    /// Called after each window.
    pub tick: &'a mut dyn FnMut(),
}

impl Protocol<'_> {
    /// Measures `group`. If the system does not allow a state to be chosen, the result has the reason in place of the
    /// blocks.
    ///
    /// # Errors
    /// A window fails.
    pub fn measure(&mut self, group: Group) -> Result<MeasuredGroup, WattsError> {
        let Group { purpose, arms } = group;
        let blocks = self.rounds.run(&arms, self.cores, self.joules, self.tick);
        let blocks = match blocks {
            Ok(blocks) => Ok(blocks),
            Err(WattsError::Change(change)) if !change.leaves_changes() => Err(change.to_string()),
            Err(WattsError::NotDone(why)) => Err(why),
            Err(error) => return Err(error),
        };
        Ok(MeasuredGroup { purpose, blocks })
    }
}
