//! Times that are spread evenly over a range, the same in every run.

use joulio_units::Nanos;

/// Returns the `n`th of a sequence of times that fill the range up to `below` evenly, however many there are: multiples
/// of the golden ratio without their integer part.
pub fn spread(n: u32, below: Nanos) -> Nanos {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let part = GOLDEN.wrapping_mul(n.into());
    let time = (u128::from(part) * u128::from(below.0)) >> 64;
    // The result is smaller than `below`, so it fits into 64 bits.
    Nanos(time as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tenth_of_the_range_gets_its_tenth() {
        let mut tenths = [0; 10];
        for n in 0..1_000 {
            tenths[spread(n, Nanos(10)).0 as usize] += 1;
        }
        assert!(tenths.iter().all(|n| (95..=105).contains(n)), "{tenths:?}");
        assert_eq!(spread(7, Nanos::ZERO), Nanos::ZERO);
    }
}
