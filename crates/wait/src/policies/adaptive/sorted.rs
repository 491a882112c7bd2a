//! Times of a history in order.

use super::history::KEPT;

/// Buckets of the times: about as many as there are of these.
const BUCKETS: usize = 64;
const BUCKET_BITS: u32 = BUCKETS.trailing_zeros();

/// The `times` in order, most of which are between `low` and `high`: by buckets, which takes half of the instructions
/// of a sort where they are.
pub(super) fn sorted(times: &[u32; KEPT], low: u32, high: u32) -> [u32; KEPT] {
    let bits = u32::BITS - high.saturating_sub(low).leading_zeros();
    let shift = bits.saturating_sub(BUCKET_BITS);
    let bucket = |time: u32| (time.saturating_sub(low) >> shift).min(BUCKETS as u32 - 1);
    let mut places = [0_u8; BUCKETS + 1];
    for &time in times {
        places[bucket(time) as usize + 1] += 1;
    }
    let mut sum = 0;
    for place in &mut places {
        sum += *place;
        *place = sum;
    }
    let mut sorted = [0; KEPT];
    for &time in times {
        let place = &mut places[bucket(time) as usize];
        sorted[usize::from(*place) % KEPT] = time;
        *place += 1;
    }
    // Those of a bucket are next to each other.
    for end in 1..KEPT {
        let time = sorted[end];
        let mut place = end;
        while place > 0 && sorted[place - 1] > time {
            sorted[place] = sorted[place - 1];
            place -= 1;
        }
        sorted[place] = time;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
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
