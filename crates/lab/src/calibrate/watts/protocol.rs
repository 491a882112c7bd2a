//! The order of a measurement of watts.

use super::bench::{Cores, JouleMeter};
use super::block::Rounds;
use super::error::WattsError;
use super::group::{Group, MeasuredGroup};

/// A measurement in the doing.
pub struct Protocol<'a> {
    /// Number and length of the measurements.
    pub rounds: Rounds,
    /// The cores.
    pub cores: &'a mut dyn Cores,
    /// The meters.
    pub joules: &'a mut dyn JouleMeter,
    /// Called after each window.
    pub tick: &'a mut dyn FnMut(),
}

impl Protocol<'_> {
    /// Measures `group`. A state that the system does not let anybody choose has the reason in place of its blocks.
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
