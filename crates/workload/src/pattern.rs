//! Access patterns: the next block.

use joulio_job::Job;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// The sequence of a job's blocks: the same seed and job index give the same one.
pub(crate) struct Pattern {
    random: bool,
    blocks: Range<u64>,
    /// Next block of a sequential job, of reads and writes together.
    next: u64,
    rng: Pcg64Mcg,
}

impl Pattern {
    pub(crate) fn new(job: &Job, index: usize, blocks: Range<u64>) -> Pattern {
        let mut seeds = Pcg64Mcg::seed_from_u64(job.seed);
        let seed = (0..=index)
            .map(|_| seeds.next_u64())
            .last()
            .unwrap_or(job.seed);
        Pattern {
            random: job.rw.is_random(),
            next: blocks.start,
            blocks,
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// The block of the next I/O. Random blocks are drawn independently (fio's `norandommap`);
    /// sequential ones start again at the area's end.
    #[inline]
    pub(crate) fn block(&mut self) -> u64 {
        if self.random {
            return self.rng.random_range(self.blocks.clone());
        }
        let block = self.next;
        self.next = self.after(block);
        block
    }

    /// The block behind `block`, or the area's first.
    pub(crate) fn after(&self, block: u64) -> u64 {
        if block + 1 == self.blocks.end {
            self.blocks.start
        } else {
            block + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_job::ReadWrite;

    fn job() -> Job {
        Job::random_reads(100)
    }

    #[test]
    fn a_seed_is_a_sequence_and_jobs_differ() {
        let draw = |index| {
            let mut pattern = Pattern::new(&job(), index, 0..1000);
            (0..50).map(|_| pattern.block()).collect::<Vec<_>>()
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }

    #[test]
    fn a_sequential_job_wraps_inside_its_share() {
        let job = Job {
            rw: ReadWrite::Read,
            ..job()
        };
        let mut pattern = Pattern::new(&job, 0, 5..8);
        let blocks: Vec<_> = (0..5).map(|_| pattern.block()).collect();
        assert_eq!(blocks, [5, 6, 7, 5, 6]);
    }
}
