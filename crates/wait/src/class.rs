//! The class of an I/O, for which policies keep statistics.

use joulio_units::Direction;

/// Class of an I/O: direction and size bucket, as in the kernel's hybrid polling (block/blk-mq.c up to 5.18): eight
/// sizes from 512 bytes to 64 KiB and above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Index of the class: reads, writes, and I/Os without data, by bucket. A single number, which policies find
    /// without a computation.
    place: u8,
}

impl Class {
    /// Number of size buckets.
    pub const BUCKETS: usize = 8;

    /// Returns the class of an I/O of `bytes`: bucket i holds 512 << i bytes up to the next power of two; smaller and
    /// larger ones fall into the first and the last.
    #[inline]
    pub const fn new(direction: Direction, bytes: u32) -> Class {
        let log = 31 - (bytes | 1).leading_zeros();
        let bucket = if log < 9 {
            0
        } else if log > 16 {
            7
        } else {
            log as u8 - 9
        };
        Class {
            place: direction as u8 * Class::BUCKETS as u8 + bucket,
        }
    }

    /// Direction of the data.
    pub const fn direction(self) -> Direction {
        match self.place() / Class::BUCKETS {
            0 => Direction::Read,
            1 => Direction::Write,
            _ => Direction::Other,
        }
    }

    /// Size bucket, below [`Class::BUCKETS`].
    pub const fn bucket(self) -> usize {
        self.place() % Class::BUCKETS
    }

    /// Number of classes for which statistics are kept.
    pub(crate) const KEPT: usize = 2 * Class::BUCKETS;

    /// Returns the index of the class among all: below [`Class::KEPT`] if statistics are kept for it.
    #[inline]
    pub(crate) const fn place(self) -> usize {
        self.place as usize
    }

    /// Returns the index of the class among those with statistics. Flushes move no data and have no statistics, as in
    /// the kernel.
    pub(crate) const fn kept(self) -> Option<usize> {
        match self.place() {
            place if place < Class::KEPT => Some(place),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_kept_of_reads_and_writes_by_size_and_of_no_flush() {
        let kept = |direction, bytes| Class::new(direction, bytes).kept();
        let reads = [512, 65_536].map(|bytes| kept(Direction::Read, bytes));
        let writes = [512, 65_536].map(|bytes| kept(Direction::Write, bytes));
        assert_eq!(reads, [Some(0), Some(7)]);
        assert_eq!(writes, [Some(8), Some(15)]);
        assert_eq!(kept(Direction::Other, 512), None);
    }

    #[test]
    fn a_class_knows_its_direction() {
        for direction in [Direction::Read, Direction::Write, Direction::Other] {
            let classes = [512, 4_096, u32::MAX].map(|bytes| Class::new(direction, bytes));
            assert_eq!(classes.map(Class::direction), [direction; 3]);
        }
    }

    #[test]
    fn sizes_fall_into_eight_buckets() {
        let bucket = |bytes| Class::new(Direction::Read, bytes).bucket();
        let sizes = [0, 512, 1023, 1024, 4096, 65_535, 65_536, 1 << 20, u32::MAX];
        assert_eq!(sizes.map(bucket), [0, 0, 0, 1, 3, 6, 7, 7, 7]);
    }
}
