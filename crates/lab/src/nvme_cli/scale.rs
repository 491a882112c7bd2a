//! Byte counts with a prefix: SI for capacities, binary for block sizes.

/// Returns a number scaled down to its prefix, as in `(268.44, "M")`. The prefix is chosen before rounding, as in
/// nvme-cli: just below a million is `1000.00 k`.
fn scaled(n: u128, base: u128, prefixes: &[&'static str]) -> (f64, &'static str) {
    let mut unit = 1u128;
    let mut prefix = "";
    for next in prefixes {
        if n / unit < base {
            break;
        }
        unit *= base;
        prefix = next;
    }
    (n as f64 / unit as f64, prefix)
}

/// Returns bytes with an SI prefix.
pub fn si(bytes: u128) -> (f64, &'static str) {
    scaled(
        bytes,
        1000,
        &["k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q"],
    )
}

/// Returns bytes with a binary prefix.
pub fn binary(bytes: u32) -> (f64, &'static str) {
    scaled(bytes.into(), 1024, &["Ki", "Mi", "Gi"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_count_in_thousands_and_blocks_in_1024s() {
        assert_eq!(si(0), (0.0, ""));
        assert_eq!(si(999), (999.0, ""));
        assert_eq!(si(268_435_456), (268.435456, "M"));
        assert_eq!(binary(512), (512.0, ""));
        assert_eq!(binary(4096), (4.0, "Ki"));
    }

    #[test]
    fn the_largest_number_has_a_prefix() {
        assert_eq!(si(u128::MAX).1, "Q");
    }
}
