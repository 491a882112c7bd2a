//! The class of an I/O: what policies keep statistics by.

use joulio_units::Direction;

/// Direction x size bucket, as the kernel's hybrid polling had it (block/blk-mq.c up to 5.18):
/// eight sizes from 512 bytes to 64 KiB and above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    direction: Direction,
    bucket: u8,
}

impl Class {
    /// Number of size buckets.
    pub const BUCKETS: usize = 8;

    /// The class of an I/O of `bytes`: bucket i holds 512 << i bytes up to the next power of two;
    /// smaller and larger ones fall into the first and the last.
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
        Class { direction, bucket }
    }

    /// Direction of the data.
    pub const fn direction(self) -> Direction {
        self.direction
    }

    /// Size bucket, below [`Class::BUCKETS`].
    pub const fn bucket(self) -> usize {
        self.bucket as usize
    }

    /// The number of classes that statistics are kept of.
    pub(crate) const KEPT: usize = 2 * Class::BUCKETS;

    /// Returns the place of the class among those that statistics are kept of. Flushes move no data
    /// and keep no statistics, as in the kernel.
    pub(crate) const fn kept(self) -> Option<usize> {
        match self.direction {
            Direction::Read => Some(self.bucket()),
            Direction::Write => Some(Class::BUCKETS + self.bucket()),
            Direction::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_eight_buckets() {
        let bucket = |bytes| Class::new(Direction::Read, bytes).bucket();
        let sizes = [0, 512, 1023, 1024, 4096, 65_535, 65_536, 1 << 20, u32::MAX];
        assert_eq!(sizes.map(bucket), [0, 0, 0, 1, 3, 6, 7, 7, 7]);
    }
}
