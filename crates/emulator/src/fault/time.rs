//! Times in a plan: a number and a unit.

use joulio_units::Nanos;
use std::fmt;

/// Units and their nanoseconds, the longest first. `s` ends every other unit's name.
const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Parses a time as `50ms`, `1.5s`, `20us` or `7ns`; `None` if it is not one, or too long for 64 bits.
pub(super) fn parse(text: &str) -> Option<Nanos> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(digits);
    let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let fraction = format!("0.{fraction}").parse::<f64>().ok()?;
    let fraction = (fraction * scale as f64).round() as u64;
    whole.checked_add(fraction).map(Nanos)
}

/// A time, displayed in the longest unit that needs no fraction.
pub(super) struct Printed(pub(super) Nanos);

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.0;
        let fits = |(_, scale): &(&str, u64)| nanos.is_multiple_of(*scale);
        let (unit, scale) = UNITS.into_iter().find(fits).unwrap_or(("ns", 1));
        write!(f, "{}{unit}", nanos / scale)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        assert_eq!(parse("50ms"), Some(Nanos(50_000_000)));
        assert_eq!(parse("1.5s"), Some(Nanos(1_500_000_000)));
        assert_eq!(parse("0s"), Some(Nanos(0)));
        assert_eq!(parse("18446744073709551615ns"), Some(Nanos(u64::MAX)));
        for bad in [
            "",
            "5",
            "ms",
            "-1s",
            "1e3s",
            ".5s",
            "1.s",
            "5 s",
            "5m",
            "99999999999s",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_print_without_a_fraction() {
        for (nanos, text) in [(0, "0s"), (1_500_000_000, "1500ms"), (1, "1ns")] {
            assert_eq!(Printed(Nanos(nanos)).to_string(), text);
        }
    }
}
