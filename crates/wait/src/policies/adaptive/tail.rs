//! The longest times of a stream: how many of how many were above any time.

/// Number of buckets in an octave: a time is known to a 128th.
const PARTS: usize = 128;
const PART_BITS: u32 = PARTS.trailing_zeros();
/// Logarithm of the nanoseconds at which the shortest octave begins, and the number of octaves.
const FIRST: u32 = PART_BITS;
const OCTAVES: usize = 32;
const BUCKETS: usize = OCTAVES * PARTS;
/// Number of times after which all counts are halved, so that older ones have less weight.
const FORGOTTEN: f64 = 65_536.0;
/// Growth of the stream after which it is summed up again: a share, and a least number.
const GROWN: f64 = 1.0 / 32.0;
const FEW: u32 = 16;

/// A histogram of the upper part of a stream of times, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    counts: Box<[f32; BUCKETS]>,
    /// Number of times in a bucket and all above it, at the last summary.
    above: Box<[f32]>,
    /// Highest bucket that is not empty.
    top: usize,
    /// Times below this are counted without a bucket.
    floor: u64,
    /// Number of times at the last summary, less the forgotten ones.
    total: f64,
    /// Number of recent times, now and at the last summary.
    added: u32,
    summed: u32,
    wanted: u32,
}

/// The bucket of `time`.
#[inline]
fn bucket(time: u64) -> usize {
    let time = time.max(1 << FIRST);
    let octave = 63 - time.leading_zeros();
    let part = (time >> (octave - PART_BITS)) as usize & (PARTS - 1);
    ((octave - FIRST) as usize * PARTS + part).min(BUCKETS - 1)
}

/// Returns the lower end of a bucket, and its width.
fn bounds(bucket: usize) -> (f64, f64) {
    let (octave, part) = (bucket / PARTS, bucket % PARTS);
    let width = (1_u64 << octave) as f64;
    ((PARTS + part) as f64 * width, width)
}

impl Tail {
    pub(super) fn new() -> Tail {
        Tail {
            counts: Box::new([0.0; BUCKETS]),
            above: vec![0.0; BUCKETS].into(),
            top: 0,
            floor: 0,
            total: 0.0,
            added: 0,
            summed: 0,
            wanted: FEW,
        }
    }

    /// Adds a time that stands for `many` times.
    #[inline]
    pub(super) fn add(&mut self, time: u64, many: u16) {
        self.added = self.added.wrapping_add(u32::from(many));
        if time >= self.floor {
            let bucket = bucket(time);
            self.counts[bucket] += f32::from(many);
            if bucket > self.top {
                self.top = bucket;
            }
        }
    }

    /// Returns a time that at most about `rank` of the times reach; or the time below which buckets resolve nothing.
    pub(super) fn below(&self, rank: f64) -> u64 {
        let (low, width) = bounds(bucket(self.at(rank) as u64));
        self.floor.max((low + width) as u64)
    }

    /// Number of all times, modulo 2^32.
    pub(super) fn added(&self) -> u32 {
        self.added
    }

    /// Times since they were summed up.
    fn fresh(&self) -> u32 {
        self.added.wrapping_sub(self.summed)
    }

    /// Returns true if there are enough new times since the last summary.
    pub(super) fn has_grown(&self) -> bool {
        self.fresh() >= self.wanted
    }

    /// Sums up the added times, and drops the buckets below `floor`. Returns true if all counts were halved.
    pub(super) fn sum_up(&mut self, floor: u64) -> bool {
        self.total += f64::from(self.fresh());
        self.summed = self.added;
        let halved = self.total > FORGOTTEN;
        if halved {
            self.scale(0.5);
        }
        self.floor = floor;
        let lowest = bucket(floor);
        let there = lowest.min(self.top)..=self.top;
        let counts = self.counts[there.clone()].iter();
        let mut sum = 0.0;
        for (above, count) in self.above[there].iter_mut().zip(counts).rev() {
            sum += count;
            *above = sum;
        }
        self.wanted = ((self.total * GROWN) as u32).max(FEW);
        halved
    }

    /// Moves a time from `from` to `to`; used for differences, whose sums begin at `floor`.
    pub(super) fn shift(&mut self, from: u64, to: u64) {
        for (time, one) in [(from, -1.0), (to, 1.0)] {
            if time >= self.floor {
                let bucket = bucket(time);
                self.counts[bucket] += one;
                self.top = self.top.max(bucket);
            }
        }
    }

    /// Forgets all but this share of each count.
    pub(super) fn scale(&mut self, share: f32) {
        for count in &mut self.counts[..=self.top] {
            *count *= share;
        }
        self.total *= f64::from(share);
    }

    /// Number of times.
    pub(super) fn ios(&self) -> f64 {
        self.total + f64::from(self.fresh())
    }

    /// Returns how many of the times are above `time`; all of them if `time` is below what the buckets resolve.
    pub(super) fn above(&self, time: f64) -> f64 {
        if time < self.floor as f64 {
            return self.total;
        }
        let bucket = bucket(time as u64);
        if bucket > self.top {
            return 0.0;
        }
        let (low, width) = bounds(bucket);
        let here = f64::from(self.counts[bucket]);
        let next = f64::from(self.above[bucket]) - here;
        next + here * (1.0 - ((time - low) / width).clamp(0.0, 1.0))
    }

    /// Returns the time that `rank` of the times are above; 0 if there are fewer.
    pub(super) fn at(&self, rank: f64) -> f64 {
        let lowest = bucket(self.floor);
        for bucket in (lowest..=self.top).rev() {
            let (sum, here) = (
                f64::from(self.above[bucket]),
                f64::from(self.counts[bucket]),
            );
            if sum >= rank && here > 0.0 {
                let (low, width) = bounds(bucket);
                let over = (sum - rank) / here;
                return low + width * over.min(1.0);
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_counts_are_those_of_the_times() {
        let mut tail = Tail::new();
        // 100 to 200 us, one every ten nanoseconds.
        for n in 0..10_000_u64 {
            tail.add(100_000 + (n * 617) % 10_000 * 10, 1);
        }
        tail.sum_up(150_000);
        assert_eq!(tail.ios(), 10_000.0);
        for (rank, time) in [(100.0, 199_000.0), (500.0, 195_000.0), (1_000.0, 190_000.0)] {
            let (at, above) = (tail.at(rank), tail.above(time));
            assert!((at / time - 1.0).abs() < 0.003, "{at} of {time}");
            assert!((above / rank - 1.0).abs() < 0.6, "{above} of {rank}");
        }
        assert_eq!(tail.above(300_000.0), 0.0);
        assert_eq!(Tail::new().at(1.0), 0.0);
    }

    #[test]
    fn a_time_that_stands_for_others_counts_as_if_all_were_there() {
        let (mut all, mut sample) = (Tail::new(), Tail::new());
        for n in 0..8_000_u64 {
            let time = 100_000 + n * 10;
            all.add(time, 1);
            if n % 8 == 4 {
                sample.add(time, 8);
            }
        }
        for tail in [&mut all, &mut sample] {
            tail.sum_up(120_000);
        }
        assert_eq!(sample.ios(), all.ios());
        for rank in [80.0, 800.0, 4_000.0] {
            assert!((sample.at(rank) / all.at(rank) - 1.0).abs() < 0.002);
            let over = all.below(rank) as f64 / all.at(rank);
            assert!((1.0..1.01).contains(&over), "{over}");
        }
        assert_eq!(all.below(7_900.0), 120_000, "the floor");
    }

    #[test]
    fn any_time_has_a_bucket_that_holds_it() {
        for time in [0, 1, 127, 128, 129, 4_095, 1 << 30, 1 << 40, u64::MAX] {
            let (low, width) = bounds(bucket(time));
            if (128..1 << 38).contains(&time) {
                assert!((low..low + width).contains(&(time as f64)), "{time}");
            }
        }
    }
}
