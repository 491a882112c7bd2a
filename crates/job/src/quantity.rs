//! Sizes, times and counts in fio's notation, and promises of latencies.

use crate::ParseError;
use joulio_units::{Nanos, Percentile, Slo, SloLimit};

/// Parses a number of bytes: `4096`, `4k`, `1M`, `2GiB`; suffixes are powers of 1024, as in fio by default.
///
/// # Errors
/// [`ParseError::Form`], which says how a size is written.
pub fn parse_size(text: &str) -> Result<u64, ParseError> {
    scaled(text, |suffix| {
        let unit = suffix
            .strip_suffix("ib")
            .or_else(|| suffix.strip_suffix('b'));
        power(unit.unwrap_or(suffix), 1024)
    })
    .ok_or_else(|| {
        ParseError::form(
            text,
            "is not a size",
            "write bytes, or a number with k, m, g or t (4k = 4096)",
        )
    })
}

/// Returns `bytes` in the notation of [`parse_size`]: `4k`, `1M`, `1000`.
pub(crate) fn format_size(bytes: u64) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{}M", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{}k", n >> 10),
        n => n.to_string(),
    }
}

/// Parses a count: `1000`, `10k`, `1M`; suffixes are powers of 1000.
///
/// # Errors
/// [`ParseError::Form`], which says how a count is written.
pub fn parse_count(text: &str) -> Result<u64, ParseError> {
    scaled(text, |suffix| power(suffix, 1000)).ok_or_else(|| {
        ParseError::form(
            text,
            "is not a count",
            "write a whole number, or one with k or m (1M = 1000000)",
        )
    })
}

/// Parses a time in nanoseconds: a number with `ns`, `us`, `ms`, `s`, `m` or `h`. A number without a suffix is in
/// units of `plain` nanoseconds (in fio, seconds for runtimes and microseconds for think times).
///
/// # Errors
/// [`ParseError::Form`], which says how a time is written.
pub fn parse_time(text: &str, plain: u64) -> Result<u64, ParseError> {
    time(text, plain).ok_or_else(|| {
        ParseError::form(
            text,
            "is not a time",
            "write a number with ns, us, ms, s, m or h, as 1.5s",
        )
    })
}

/// Parses a time with or without decimals; `None` if it is not a whole number of nanoseconds.
fn time(text: &str, plain: u64) -> Option<u64> {
    let unit = |suffix: &str| match suffix {
        "" => Some(plain),
        "ns" => Some(1),
        "us" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    };
    let Some((whole, rest)) = text.split_once('.') else {
        return scaled(text, unit);
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (decimals, suffix) = rest.split_at(digits);
    let unit = unit(&suffix.to_ascii_lowercase())?;
    let scale = 10_u64.checked_pow(u32::try_from(digits).ok()?)?;
    let parts = decimals.parse::<u64>().ok()?.checked_mul(unit)?;
    let whole = scaled(whole, |suffix| suffix.is_empty().then_some(unit))?;
    parts
        .is_multiple_of(scale)
        .then(|| whole.checked_add(parts / scale))?
}

/// Parses a promise of latencies: `p99=15us,p99.9=40us`. Numbers without a unit are in microseconds; a single time
/// is the limit of the 99th percentile.
///
/// # Errors
/// [`ParseError::Form`], for what is not a time; [`ParseError::List`], for another mistake.
pub fn parse_slo(text: &str) -> Result<Slo, ParseError> {
    let limits = text.split(',').map(|item| {
        let (percentile, time) = match item.split_once('=') {
            Some((name, time)) => {
                let percentile = name.parse::<Percentile>();
                (percentile.map_err(ParseError::list)?, time)
            }
            None => (Percentile::P99, item),
        };
        Ok(SloLimit {
            percentile,
            latency: Nanos(parse_time(time, 1_000)?),
        })
    });
    let limits: Vec<_> = limits.collect::<Result<_, ParseError>>()?;
    Slo::new(&limits).map_err(ParseError::list)
}

fn scaled(text: &str, unit: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(unit(&suffix.to_ascii_lowercase())?)
}

fn power(suffix: &str, base: u64) -> Option<u64> {
    let exponent = ["", "k", "m", "g", "t"].iter().position(|&s| s == suffix)?;
    Some(base.pow(exponent as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_lists_of_percentiles() {
        let shown = |text: &str| parse_slo(text).map(|slo| slo.to_string());
        assert_eq!(shown("15").unwrap(), "p99=15us");
        assert_eq!(shown("1500ns").unwrap(), "p99=1500ns");
        assert_eq!(
            shown("p99.9=1ms,p99=15us").unwrap(),
            "p99=15us,p99.9=1000us"
        );
        for (text, hint) in [
            ("", "not a time"),
            ("p99", "not a time"),
            ("p99=", "not a time"),
            ("p101=5us", "percentile"),
            ("p99=5us,6us", "twice"),
            ("p99=9us,p99.9=8us", "shorter"),
            ("0", "no time"),
        ] {
            let error = shown(text).unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_are_fios() {
        let cases = [
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("1M", 1 << 20),
            ("2GiB", 2 << 30),
            ("4kb", 4096),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "4x", "-4k", "4.5k", "99999999999999t", "4 k"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_a_unit_or_the_flags_own() {
        assert_eq!(parse_time("5", 1_000_000_000), Ok(5_000_000_000));
        assert_eq!(parse_time("500ms", 1), Ok(500_000_000));
        assert_eq!(parse_time("2m", 1), Ok(120_000_000_000));
        assert_eq!(parse_time("1.5s", 1), Ok(1_500_000_000));
        assert_eq!(parse_time("0.25", 1_000), Ok(250));
        for text in [
            "5d",
            "1.5ns",
            ".5s",
            "1.s",
            "1.5.5s",
            "-1s",
            "99999999999.9h",
            "",
        ] {
            assert!(parse_time(text, 1).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_are_powers_of_ten() {
        assert_eq!(parse_count("1M"), Ok(1_000_000));
        assert!(parse_count("1.5M").is_err());
    }
}
