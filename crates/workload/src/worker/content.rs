//! Content of the buffers of a job whose data is not verified.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Bytes by which the parts of two adjacent buffers are apart.
const STEP: usize = 8;

/// Random bytes, of which each buffer of a job on one of its devices has another part.
pub(super) struct Content {
    bytes: Vec<u8>,
    /// Length of a part.
    len: usize,
}

impl Content {
    /// Draws the content of `buffers` buffers of `len` bytes.
    pub(super) fn new(seed: u64, len: usize, buffers: usize) -> Content {
        let mut bytes = vec![0; len + STEP * buffers];
        Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut bytes);
        Content { bytes, len }
    }

    /// Returns the content of the buffer with the number `buffer`, from 0.
    pub(super) fn of(&self, buffer: u64) -> &[u8] {
        &self.bytes[STEP * buffer as usize..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_buffer_of_each_seed_has_another_content() {
        let all = [Content::new(1, 512, 32), Content::new(2, 512, 32)];
        let parts = all
            .iter()
            .flat_map(|content| (0..32).map(move |buffer| content.of(buffer)));
        let parts: BTreeSet<&[u8]> = parts.collect();
        assert_eq!(parts.len(), 64);
        assert!(parts.iter().all(|part| part.len() == 512));
    }
}
