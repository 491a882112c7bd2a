//! Contents of blocks, which identify the block.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Content of a logical block: a function of seed, block and generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Seed of the run.
    pub seed: u64,
    /// The logical block.
    pub lba: u64,
    /// Number of times that the block was written.
    pub generation: u64,
}

impl Content {
    /// Fills `block`. The first 24 bytes identify the content, the rest is noise derived from it.
    pub fn fill(self, block: &mut [u8]) {
        let words = [self.seed, self.lba, self.generation];
        for (place, word) in block.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let seed = self.seed ^ self.lba.rotate_left(24) ^ self.generation.rotate_left(48);
        Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut block[24..]);
    }

    /// Returns true if every byte of `block` is this content.
    pub fn is(self, block: &[u8]) -> bool {
        let mut wanted = vec![0; block.len()];
        self.fill(&mut wanted);
        wanted == block
    }
}

/// Returns the blocks that the last claim stamps, for a check of the backing file from outside: every 37th, so that
/// the blocks between them are unchanged.
pub fn stamp_lba(index: u64) -> u64 {
    index * 37
}
