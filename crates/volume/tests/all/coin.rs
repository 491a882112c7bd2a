//! Power cuts that lose any of the blocks that were not flushed.

use joulio_volume::MemoryStore;

/// Random decisions: on heads, a block that was not flushed is kept. Each toss follows from the last (xorshift64).
pub struct Coin(u64);

impl Coin {
    pub fn new(seed: u64) -> Coin {
        Coin(seed | 1)
    }

    fn toss(&mut self) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 & 1 == 0
    }

    /// Returns the store after a power cut at this moment.
    pub fn cut_power(&mut self, store: &MemoryStore) -> MemoryStore {
        store.after_power_cut(|_| self.toss())
    }
}
