//! Sorting the times of a history.

/// Number of buckets: about as many as there are times.
const BUCKETS: usize = 64;
const BUCKET_BITS: u32 = BUCKETS.trailing_zeros();
/// A one in each byte.
const ONES: u64 = u64::MAX / 255;

/// Sorts `times`, most of which lie between `low` and `high`, by buckets: that takes a third of a sort's instructions
/// where they do.
pub(super) fn sorted<const N: usize>(times: &[u32; N], low: u32, high: u32) -> [u32; N] {
    const { assert!(N <= u8::MAX as usize, "a byte counts them") };
    let bits = u32::BITS - high.saturating_sub(low).leading_zeros();
    let shift = bits.saturating_sub(BUCKET_BITS);
    let mut buckets = [0_u8; N];
    // One for each byte value, so that no access needs a bounds check.
    let mut places = [0_u8; 256];
    // Signed numbers, which a processor narrows several at a time. Times of seconds, which become wrong, are
    // corrected below.
    for (bucket, time) in buckets.iter_mut().zip(times) {
        let over = time.wrapping_sub(low) as i32 >> shift;
        *bucket = over.clamp(0, BUCKETS as i32 - 1) as u8;
    }
    for bucket in &buckets {
        places[usize::from(*bucket)] += 1;
    }
    // First place of each bucket: the sum of the counts before, for eight buckets by one product. No byte overflows.
    let mut before = 0;
    for counts in places[..BUCKETS].as_chunks_mut::<8>().0 {
        let sums = u64::from_le_bytes(*counts).wrapping_mul(ONES);
        *counts = ((sums << 8) + before * ONES).to_le_bytes();
        before += sums >> 56;
    }
    let mut sorted = [0; N];
    for (bucket, time) in buckets.iter().zip(times) {
        let place = &mut places[usize::from(*bucket)];
        sorted[usize::from(*place) % N] = *time;
        *place += 1;
    }
    // The times of a bucket are next to each other.
    for end in 1..N {
        if sorted[end] < sorted[end - 1] {
            sink(&mut sorted, end);
        }
    }
    sorted
}

/// Moves the time at `place` down to its place among the times before it, which are in order.
#[inline(never)]
fn sink<const N: usize>(sorted: &mut [u32; N], mut place: usize) {
    let time = sorted[place];
    while place > 0 && sorted[place - 1] > time {
        sorted[place] = sorted[place - 1];
        place -= 1;
    }
    sorted[place] = time;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::adaptive::history::KEPT;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_are_in_order_wherever_they_are(
            times in proptest::collection::vec(any::<u32>(), KEPT),
            alike in 1..u32::MAX, low: u32, high: u32
        ) {
            let times: [u32; KEPT] = std::array::from_fn(|index| times[index] / alike);
            let mut expected = times;
            expected.sort_unstable();
            prop_assert_eq!(sorted(&times, low, high), expected);
            prop_assert_eq!(sorted(&times, expected[0], expected[KEPT - 1]), expected);
        }
    }
}
