//! The result of data verification.

use serde::{Deserialize, Serialize};

/// Result of data verification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyResult {
    /// Blocks whose content was checked, during the run and after it.
    pub blocks: u64,
    /// Blocks that were wrong.
    pub errors: u64,
    /// Description of the first wrong block.
    pub first_error: Option<String>,
}

impl VerifyResult {
    /// Adds the blocks of `other`.
    pub fn add(&mut self, other: VerifyResult) {
        self.blocks += other.blocks;
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
    }
}
