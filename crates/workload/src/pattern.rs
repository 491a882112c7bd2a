//! Access patterns, which choose the block of the next I/O.

use joulio_job::{Job, RandomDistribution};
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, Normal, Zipf};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// Sequence of a job's blocks; the same seed and job index give the same sequence.
pub(crate) struct Pattern {
    /// Distribution of random blocks; `None`: the job is sequential.
    random: Option<Draw>,
    /// The next random number, if it was drawn ahead.
    ahead: Option<u64>,
    blocks: Range<u64>,
    /// Next block of a sequential job, for reads and writes together.
    next: u64,
    rng: Pcg64Mcg,
}

/// Distribution from which random blocks are drawn.
enum Draw {
    Uniform,
    /// Zipf distribution of ranks from 1; a hash maps ranks to blocks, so that popular blocks are spread over the
    /// area.
    Zipf(Zipf<f64>),
    /// Exponent that is applied to a uniform random number from 0 to 1.
    Pareto(f64),
    /// Normal distribution, in blocks from the start of the area.
    Normal(Normal<f64>),
    /// Distribution of the zones, and the blocks of each.
    Zoned(WeightedAliasIndex<f64>, Vec<Range<u64>>),
}

impl Draw {
    /// Returns `distribution` over `blocks` blocks of `bs` bytes.
    fn new(distribution: &RandomDistribution, blocks: u64, bs: u64) -> Draw {
        let all = blocks as f64;
        let draw = match *distribution {
            RandomDistribution::Uniform => None,
            RandomDistribution::Zipf(theta) => Zipf::new(all, theta).ok().map(Draw::Zipf),
            RandomDistribution::Pareto(h) => Some(Draw::Pareto(h.ln() / (1.0 - h).ln())),
            RandomDistribution::Normal(percent) => {
                let deviation = all * percent / 100.0;
                Normal::new(all / 2.0, deviation).ok().map(Draw::Normal)
            }
            RandomDistribution::Zoned(ref zones) => {
                let access = zones.zones().iter().map(|zone| zone.access);
                Draw::zoned(access.collect(), zones.blocks(blocks))
            }
            RandomDistribution::ZonedAbs(ref zones) => {
                let access = zones.zones().iter().map(|zone| zone.access);
                Draw::zoned(access.collect(), zones.blocks(blocks, bs))
            }
        };
        // The parameters were checked when they were parsed.
        draw.unwrap_or(Draw::Uniform)
    }

    /// Returns the distribution over `zones` with their weights `access`.
    fn zoned(access: Vec<f64>, zones: Vec<Range<u64>>) -> Option<Draw> {
        let index = WeightedAliasIndex::new(access).ok()?;
        Some(Draw::Zoned(index, zones))
    }

    /// Draws a number from 0 to `blocks` - 1.
    fn block(&self, blocks: u64, rng: &mut Pcg64Mcg) -> u64 {
        match self {
            Draw::Uniform => rng.random_range(0..blocks),
            Draw::Zipf(zipf) => hash(zipf.sample(rng) as u64) % blocks,
            Draw::Pareto(exponent) => {
                let part = rng.random::<f64>().powf(*exponent);
                hash((part * blocks as f64) as u64) % blocks
            }
            // A draw outside the area is repeated; after 64 such draws it becomes the start of the area.
            Draw::Normal(normal) => {
                let inside = (0..64)
                    .map(|_| normal.sample(rng))
                    .find(|at| (0.0..blocks as f64).contains(at));
                (inside.unwrap_or(0.0) as u64).min(blocks - 1)
            }
            // A zone of a small area may have no block: then it gets the block in which it begins.
            Draw::Zoned(index, zones) => {
                let zone = &zones[index.sample(rng)];
                match zone.is_empty() {
                    true => zone.start.min(blocks - 1),
                    false => rng.random_range(zone.clone()),
                }
            }
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which maps different numbers to different
/// ones.
fn hash(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Pattern {
    /// Returns the sequence of job `index` of `job`, over `blocks` of `bs` bytes.
    pub(crate) fn new(job: &Job, index: usize, blocks: Range<u64>, bs: u64) -> Pattern {
        let mut seeds = Pcg64Mcg::seed_from_u64(job.seed);
        let seed = (0..=index)
            .map(|_| seeds.next_u64())
            .last()
            .unwrap_or(job.seed);
        Pattern {
            random: (job.rw.is_random())
                .then(|| Draw::new(&job.random_distribution, blocks.end - blocks.start, bs)),
            ahead: None,
            next: blocks.start,
            blocks,
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Draws the random number of the next I/O, so that [`Pattern::block`] does not have to.
    #[inline]
    pub(crate) fn draw_ahead(&mut self) {
        self.ahead = self.drawn();
    }

    /// Returns the random number of the next I/O; `None`: the job is sequential.
    #[inline]
    fn drawn(&mut self) -> Option<u64> {
        let ahead = self.ahead.take();
        ahead.or_else(|| {
            let draw = self.random.as_ref()?;
            Some(draw.block(self.blocks.end - self.blocks.start, &mut self.rng))
        })
    }

    /// Returns the first of the next I/O's `len` blocks. Random I/Os are drawn independently (fio's `norandommap`);
    /// a sequential one that would go past the end of the area starts again at the start.
    #[inline]
    pub(crate) fn block(&mut self, len: u64) -> u64 {
        if let Some(drawn) = self.drawn() {
            return (self.blocks.start + drawn).min(self.last(len));
        }
        let block = match self.next <= self.last(len) {
            true => self.next,
            false => self.blocks.start,
        };
        self.next = block + len;
        block
    }

    /// Returns the last block at which an I/O of `len` blocks can begin.
    #[inline]
    fn last(&self, len: u64) -> u64 {
        self.blocks.end - len
    }

    /// Returns the block after `block`, or the area's first block after its last.
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
            let mut pattern = Pattern::new(&job(), index, 0..1000, 4096);
            (0..50).map(|_| pattern.block(1)).collect::<Vec<_>>()
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }

    #[test]
    fn what_is_drawn_ahead_is_in_the_same_place_of_the_sequence() {
        for rw in [ReadWrite::RandRead, ReadWrite::Read] {
            let draw = |ahead: usize| {
                let mut pattern = Pattern::new(&Job { rw, ..job() }, 0, 7..1000, 4096);
                let blocks = (0..50).map(|nth| {
                    if nth % 3 < ahead {
                        pattern.draw_ahead();
                    }
                    pattern.block(1 + nth as u64 % 2)
                });
                blocks.collect::<Vec<_>>()
            };
            assert_eq!(draw(0), draw(2));
        }
    }

    /// Returns the fractions of all I/Os that each fifth of the blocks gets, the most frequent blocks first.
    fn fifths(distribution: &str) -> Vec<f64> {
        let job = Job {
            random_distribution: distribution.parse().unwrap(),
            ..job()
        };
        let mut pattern = Pattern::new(&job, 0, 100..1100, 4096);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..100_000 {
            counts[(pattern.block(1) - 100) as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let fifths = counts.chunks(200);
        let share = |fifth: &[u32]| f64::from(fifth.iter().sum::<u32>()) / 1e5;
        fifths.map(share).collect()
    }

    #[test]
    fn blocks_are_preferred_as_the_distribution_says() {
        assert!(fifths("random")[0] < 0.24, "{:?}", fifths("random"));
        // A fifth of the blocks gets four fifths of the I/Os, and slightly more, as several ranks may map to one
        // block.
        let pareto = fifths("pareto:0.2");
        assert!((0.78..0.90).contains(&pareto[0]), "{pareto:?}");
        let zipf = fifths("zipf:1.2");
        assert!(zipf[0] > 0.8 && zipf[4] < 0.05, "{zipf:?}");
        let steeper = fifths("zipf:2.0");
        assert!(steeper[0] > zipf[0], "{steeper:?}");
        // Two thirds are within a standard deviation on either side.
        let normal = fifths("normal:10");
        assert!((0.63..0.73).contains(&normal[0]), "{normal:?}");
    }

    #[test]
    fn each_zone_has_its_share_of_the_ios() {
        let job = Job {
            random_distribution: "zoned:50/5:30/15:20/".parse().unwrap(),
            ..job()
        };
        let mut pattern = Pattern::new(&job, 0, 100..1100, 4096);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            let zone = match pattern.block(1) {
                100..150 => 0,
                150..300 => 1,
                _ => 2,
            };
            counts[zone] += 1;
        }
        for (count, percent) in counts.into_iter().zip([50.0, 30.0, 20.0]) {
            assert!((f64::from(count) / 1e3 - percent).abs() < 1.0, "{counts:?}");
        }
        // Blocks after zones that are given in bytes get no I/Os.
        let in_bytes = Job {
            random_distribution: "zoned_abs:90/40k:10/40k".parse().unwrap(),
            ..job.clone()
        };
        let mut pattern = Pattern::new(&in_bytes, 0, 100..1100, 4096);
        let drawn: Vec<_> = (0..10_000).map(|_| pattern.block(1)).collect();
        assert!(drawn.iter().all(|block| (100..120).contains(block)));
        let first = drawn.iter().filter(|block| **block < 110).count();
        assert!((8_800..9_200).contains(&first), "{first}");
        // With only two blocks, the second belongs to the last zone.
        let mut small = Pattern::new(&job, 0, 7..9, 4096);
        let drawn: Vec<_> = (0..200).map(|_| small.block(1)).collect();
        assert!(drawn.contains(&7) && drawn.contains(&8));
        assert!(drawn.iter().all(|block| (7..9).contains(block)));
    }

    #[test]
    fn a_sequential_job_wraps_inside_its_share() {
        let job = Job {
            rw: ReadWrite::Read,
            ..job()
        };
        let mut pattern = Pattern::new(&job, 0, 5..8, 4096);
        let blocks: Vec<_> = (0..5).map(|_| pattern.block(1)).collect();
        assert_eq!(blocks, [5, 6, 7, 5, 6]);
    }

    #[test]
    fn ios_of_several_blocks_stay_inside_their_share() {
        let mut pattern = Pattern::new(
            &Job {
                rw: ReadWrite::Read,
                ..job()
            },
            0,
            5..10,
            4096,
        );
        let blocks: Vec<_> = [2, 1, 3, 2, 1].map(|len| pattern.block(len)).into();
        assert_eq!(blocks, [5, 7, 5, 8, 5]);
        let mut random = Pattern::new(&job(), 0, 5..10, 4096);
        let drawn: Vec<_> = (0..200).map(|_| random.block(4)).collect();
        assert!(drawn.iter().all(|block| (5..=6).contains(block)));
        assert!(drawn.contains(&5) && drawn.contains(&6));
    }
}
