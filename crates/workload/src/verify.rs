//! Verification: the data of a block contains where and when it was written.
//!
//! A verified block starts with a header: a magic number, the block's number, the number of times that this run has
//! written it (its generation), the run's number, and a CRC-32C over everything else. The generation is also kept
//! in memory, so that stale blocks (of this run or an earlier one), misplaced blocks and torn blocks are all found.

use joulio_nvme::wait::now;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

const MAGIC: u64 = u64::from_le_bytes(*b"joulio\x01\xa5");
/// Length of the header: magic number, block, generation, CRC, run.
const HEADER: usize = 32;
const CRC: Range<usize> = 24..28;
const RUN: Range<usize> = 28..32;

/// Fault of a block that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Mismatch {
    #[error(
        "block {block}: no header: it was never written with verify, or changed since (magic {found:#018x})"
    )]
    Magic { block: u64, found: u64 },
    #[error("block {block}: holds the data of block {found}")]
    Misplaced { block: u64, found: u64 },
    #[error("block {block}: holds write {found}, the last was {wanted}")]
    Stale { block: u64, found: u64, wanted: u64 },
    #[error("block {block}: holds the data of an earlier run: the last write never arrived")]
    Older { block: u64 },
    #[error("block {block}: CRC-32C does not match")]
    Crc { block: u64 },
}

/// Ledger of a job: which blocks of its share the run has written, and how often.
pub(crate) struct Ledger {
    first: u64,
    /// Number of this run's writes to each block, with two flags.
    generations: Vec<u32>,
    seed: u64,
    /// Number of this run, different from that of every other run.
    run: u32,
    /// Buffer in which a block is built or checked.
    scratch: Vec<u8>,
}

/// Flag: an I/O on the block is in flight.
const BUSY: u32 = 1 << 31;
/// Flag: a write failed, so that the content of the block is not known.
const LOST: u32 = 1 << 30;
const COUNT: u32 = LOST - 1;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn crc(block: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block[..CRC.start]), &block[CRC.end..])
}

impl Ledger {
    /// Returns a ledger of `blocks` of `bs` bytes, none of which is written yet. `bs` is at least 512.
    pub(crate) fn new(blocks: Range<u64>, bs: usize, seed: u64) -> Ledger {
        assert!(bs >= HEADER);
        static RUNS: AtomicU32 = AtomicU32::new(0);
        // The clock distinguishes processes, and the count distinguishes the runs of one process.
        let run = (now().0 >> 10) as u32 ^ RUNS.fetch_add(1 << 24, Ordering::Relaxed);
        Ledger {
            first: blocks.start,
            generations: vec![0; (blocks.end - blocks.start) as usize],
            seed,
            run,
            scratch: vec![0; bs],
        }
    }

    fn entry(&mut self, block: u64) -> &mut u32 {
        &mut self.generations[(block - self.first) as usize]
    }

    /// Claims `block` for an I/O; returns false if another is in flight there.
    pub(crate) fn claim(&mut self, block: u64) -> bool {
        let entry = self.entry(block);
        let free = *entry & BUSY == 0;
        *entry |= BUSY;
        free
    }

    /// Releases `block`, whose I/O has ended.
    pub(crate) fn release(&mut self, block: u64) {
        *self.entry(block) &= !BUSY;
    }

    /// Returns true if this run has written `block`.
    pub(crate) fn written(&self, block: u64) -> bool {
        let entry = self.generations[(block - self.first) as usize];
        entry & COUNT != 0 && entry & LOST == 0
    }

    /// Builds the next content of `block`. Only one I/O may be in flight on a block.
    pub(crate) fn fill(&mut self, block: u64) -> &[u8] {
        let entry = self.entry(block);
        let count = (*entry & COUNT) % COUNT + 1;
        *entry = *entry & BUSY | count;
        let generation = u64::from(count);
        let noise = u64::from(self.run) << 32 ^ generation;
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed ^ block.rotate_left(32) ^ noise);
        rng.fill_bytes(&mut self.scratch[HEADER..]);
        let scratch = &mut self.scratch;
        scratch[0..8].copy_from_slice(&MAGIC.to_le_bytes());
        scratch[8..16].copy_from_slice(&block.to_le_bytes());
        scratch[16..24].copy_from_slice(&generation.to_le_bytes());
        scratch[RUN].copy_from_slice(&self.run.to_le_bytes());
        let sum = crc(scratch);
        self.scratch[CRC].copy_from_slice(&sum.to_le_bytes());
        &self.scratch
    }

    /// Marks `block` after a failed write: its content is not known any more.
    pub(crate) fn forget(&mut self, block: u64) {
        *self.entry(block) |= LOST;
    }

    /// Returns the buffer into which a block is read for its check.
    pub(crate) fn scratch(&mut self) -> &mut [u8] {
        &mut self.scratch
    }

    /// Checks the block in the buffer against the data that was written; a block that this run did not write is
    /// only checked for consistency.
    pub(crate) fn check(&self, block: u64) -> Result<(), Mismatch> {
        let data = &self.scratch;
        let magic = word(data, 0);
        if magic != MAGIC {
            return Err(Mismatch::Magic {
                block,
                found: magic,
            });
        }
        let place = word(data, 8);
        if place != block {
            return Err(Mismatch::Misplaced {
                block,
                found: place,
            });
        }
        if data[CRC] != crc(data).to_le_bytes() {
            return Err(Mismatch::Crc { block });
        }
        if !self.written(block) {
            return Ok(());
        }
        let wanted = u64::from(self.generations[(block - self.first) as usize] & COUNT);
        let found = word(data, 16);
        if data[RUN] != self.run.to_le_bytes() {
            return Err(Mismatch::Older { block });
        }
        if found != wanted {
            return Err(Mismatch::Stale {
                block,
                found,
                wanted,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(ledger: &mut Ledger, data: &[u8], block: u64) -> Result<(), Mismatch> {
        ledger.scratch().copy_from_slice(data);
        ledger.check(block)
    }

    #[test]
    fn every_kind_of_wrong_data_is_distinguished() {
        let mut ledger = Ledger::new(10..20, 512, 7);
        let old = ledger.fill(12).to_vec();
        let new = ledger.fill(12).to_vec();
        assert_eq!(with(&mut ledger, &new, 12), Ok(()));
        let stale = Mismatch::Stale {
            block: 12,
            found: 1,
            wanted: 2,
        };
        assert_eq!(with(&mut ledger, &old, 12), Err(stale));
        assert_eq!(
            with(&mut ledger, &new, 13),
            Err(Mismatch::Misplaced {
                block: 13,
                found: 12
            })
        );
        assert_eq!(
            with(&mut ledger, &[0; 512], 12),
            Err(Mismatch::Magic {
                block: 12,
                found: 0
            })
        );
        for at in [17, 25, 29, 100, 511] {
            let mut torn = new.clone();
            torn[at] ^= 1;
            assert_eq!(
                with(&mut ledger, &torn, 12),
                Err(Mismatch::Crc { block: 12 }),
                "byte {at}"
            );
        }
    }

    #[test]
    fn the_same_write_of_an_earlier_run_is_not_this_runs() {
        let earlier = Ledger::new(0..2, 512, 7).fill(1).to_vec();
        let mut ledger = Ledger::new(0..2, 512, 7);
        ledger.fill(1);
        assert_eq!(
            with(&mut ledger, &earlier, 1),
            Err(Mismatch::Older { block: 1 })
        );
        // A run that wrote nothing accepts the data of any run, if it is consistent.
        let mut reader = Ledger::new(0..2, 512, 7);
        assert_eq!(with(&mut reader, &earlier, 1), Ok(()));
    }

    #[test]
    fn a_block_whose_write_failed_is_not_compared_until_it_is_written_again() {
        let mut ledger = Ledger::new(0..2, 512, 7);
        let first = ledger.fill(0).to_vec();
        ledger.fill(0);
        ledger.forget(0);
        assert!(!ledger.written(0));
        assert_eq!(with(&mut ledger, &first, 0), Ok(()));
        ledger.fill(0);
        let stale = Mismatch::Stale {
            block: 0,
            found: 1,
            wanted: 3,
        };
        assert_eq!(with(&mut ledger, &first, 0), Err(stale));
    }

    #[test]
    fn one_io_at_a_time_is_on_a_block() {
        let mut ledger = Ledger::new(0..2, 512, 7);
        assert!(ledger.claim(1) && !ledger.claim(1) && ledger.claim(0));
        ledger.fill(1);
        ledger.release(1);
        assert!(ledger.written(1) && !ledger.written(0) && ledger.claim(1));
    }
}
