//! I/O of a block device between two readings of its counters, as in `iostat -x`.

use crate::DiskStats;
use joulio_units::Nanos;

/// Bytes of a sector of the kernel's counters.
const SECTOR: u64 = 512;

/// I/O of a block device in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskUse {
    /// I/Os completed.
    pub ios: u64,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// Mean milliseconds of an I/O, including its time in a queue; `None` without I/Os.
    pub await_ms: Option<f64>,
    /// Mean milliseconds of a read; `None` without reads.
    pub read_await_ms: Option<f64>,
    /// Mean milliseconds of a write; `None` without writes.
    pub write_await_ms: Option<f64>,
    /// Mean number of I/Os in flight.
    pub queue: f64,
    /// Fraction of the interval in which at least one I/O was in flight, 0 to 1; not a measure of load for a device
    /// that works on several I/Os at once.
    pub utilisation: f64,
}

impl DiskUse {
    /// Returns the I/O from `before` to `after`, `length` apart.
    pub fn between(before: &DiskStats, after: &DiskStats, length: Nanos) -> DiskUse {
        let seconds = length.seconds();
        let reads = since(before.reads, after.reads);
        let writes = since(before.writes, after.writes);
        let ios = reads.saturating_add(writes);
        let read_ms = since(before.read_ms, after.read_ms);
        let write_ms = since(before.write_ms, after.write_ms);
        let per_second = |milliseconds: u64| {
            if seconds > 0.0 {
                milliseconds as f64 / 1e3 / seconds
            } else {
                0.0
            }
        };
        let busy = since(before.busy_ms, after.busy_ms);
        DiskUse {
            ios,
            reads,
            writes,
            read_bytes: since(before.read_sectors, after.read_sectors).saturating_mul(SECTOR),
            write_bytes: since(before.write_sectors, after.write_sectors).saturating_mul(SECTOR),
            seconds,
            await_ms: mean(read_ms.saturating_add(write_ms), ios),
            read_await_ms: mean(read_ms, reads),
            write_await_ms: mean(write_ms, writes),
            queue: per_second(since(before.weighted_ms, after.weighted_ms)),
            // The counter is sampled, so that it may be slightly ahead.
            utilisation: per_second(busy).min(1.0),
        }
    }

    /// Returns the I/Os per second.
    pub fn iops(&self) -> f64 {
        self.rate(self.ios)
    }

    /// Returns the bytes per second of reads and writes.
    pub fn bytes_per_second(&self) -> f64 {
        self.rate(self.read_bytes.saturating_add(self.write_bytes))
    }

    /// Returns `count` of the interval as a rate per second.
    pub fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 {
            count as f64 / self.seconds
        } else {
            0.0
        }
    }
}

fn mean(sum: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| sum as f64 / of as f64)
}

/// Returns the increase of a counter that wraps at 2^32, or that restarted with its device.
pub(crate) fn since(before: u64, after: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    match after.checked_sub(before) {
        Some(increase) => increase,
        // Near the maximum before and near zero after: the counter wrapped around.
        None if before < WRAP && WRAP - before + after < WRAP / 2 => WRAP - before + after,
        None => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Nanos = Nanos(1_000_000_000);

    #[test]
    fn an_interval_is_what_iostat_would_say() {
        let before = DiskStats::default();
        let after = DiskStats {
            reads: 900,
            writes: 100,
            read_sectors: 7200,
            write_sectors: 800,
            read_ms: 1800,
            write_ms: 300,
            busy_ms: 500,
            weighted_ms: 2000,
            ..before
        };
        let interval = DiskUse::between(&before, &after, SECOND);
        assert_eq!((interval.iops(), interval.await_ms), (1000.0, Some(2.1)));
        assert_eq!(interval.read_await_ms, Some(2.0));
        assert_eq!(interval.write_await_ms, Some(3.0));
        assert_eq!(interval.bytes_per_second(), 8000.0 * 512.0);
        assert_eq!((interval.queue, interval.utilisation), (2.0, 0.5));
    }

    #[test]
    fn without_io_there_is_no_latency() {
        let still = DiskStats::default();
        let interval = DiskUse::between(&still, &still, SECOND);
        assert_eq!((interval.await_ms, interval.iops()), (None, 0.0));
        assert_eq!(
            (interval.read_await_ms, interval.write_await_ms),
            (None, None)
        );
        let none = DiskUse::between(&still, &still, Nanos::ZERO);
        assert_eq!((none.iops(), none.queue), (0.0, 0.0));
    }

    #[test]
    fn a_counter_that_began_again_is_not_a_flood() {
        assert_eq!(since(1_000_000, 5), 5);
        assert_eq!(since((1 << 32) - 10, 20), 30);
    }

    #[test]
    fn no_counters_are_too_great() {
        let most = DiskStats {
            reads: u64::MAX,
            writes: u64::MAX,
            read_ms: u64::MAX,
            write_ms: u64::MAX,
            ..DiskStats::default()
        };
        let interval = DiskUse::between(&DiskStats::default(), &most, SECOND);
        assert_eq!((interval.ios, interval.await_ms), (u64::MAX, Some(1.0)));
    }

    proptest! {
        #[test]
        fn a_counter_of_32_bits_counts_across_its_end(
            before in any::<u32>(),
            more in 0u64..1 << 31,
        ) {
            let after = (u64::from(before) + more) % (1 << 32);
            prop_assume!(after != u64::from(before) || more == 0);
            prop_assert_eq!(since(before.into(), after), more);
        }
    }
}
