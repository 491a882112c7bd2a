//! Formatting of values of factors and figures.

use joulio_workload::{parse_size, parse_time};
use std::cmp::Ordering;

/// Order of known names, which is neither numeric nor alphabetic: the best known come first.
const KNOWN: [&[&str]; 5] = [
    &["none", "mq-deadline", "kyber", "bfq"],
    &[
        "poll",
        "hybrid",
        "interrupt",
        "adaptive",
        "uintr",
        "sqpoll",
        "sqpoll+poll",
    ],
    &[
        "randread",
        "randwrite",
        "randrw",
        "randtrim",
        "randtrimwrite",
        "read",
        "write",
        "rw",
        "trim",
        "trimwrite",
    ],
    &["psync", "libaio", "io_uring", "io_uring_cmd", "nvme"],
    &[
        "hdd-7200",
        "samsung-850-evo",
        "samsung-960-evo",
        "optane-900p",
    ],
];

/// Returns the number that `value` of a factor stands for: `4k` is 4096, `4us` is 4000 ns.
pub fn number(factor: &str, value: &str) -> Option<f64> {
    let plain = value.parse::<f64>().ok();
    match factor {
        "bs" => parse_size(value).ok().map(|bytes| bytes as f64),
        "thinktime" => parse_time(value, 1).ok().map(|nanos| nanos as f64),
        "completion" => {
            let time = value
                .split_once('=')
                .map(|(_, time)| parse_time(time, 1_000));
            time.and_then(Result::ok).map(|nanos| nanos as f64 / 1e3)
        }
        "device" => None,
        _ => plain,
    }
}

/// Sorts values of `factor`: numbers by size, known names in their order, others after them.
pub fn sort_values(factor: &str, values: &mut [String]) {
    let rank = |value: &str| -> usize {
        let name = value.split_once('=').map_or(value, |(name, _)| name);
        let known = KNOWN
            .iter()
            .find_map(|list| list.iter().position(|one| *one == name));
        known.unwrap_or(usize::MAX)
    };
    values.sort_by(|a, b| {
        let numbers = (number(factor, a), number(factor, b));
        match (rank(a).cmp(&rank(b)), numbers) {
            (Ordering::Equal, (Some(a), Some(b))) => a.total_cmp(&b),
            (Ordering::Equal, (None, Some(_))) => Ordering::Less,
            (Ordering::Equal, (Some(_), None)) => Ordering::Greater,
            (Ordering::Equal, _) => a.cmp(b),
            (by_rank, _) => by_rank,
        }
    });
}

/// Formats `value` with three or four significant digits and a prefix: `121k`, `8.13`, `571.7k`.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let (scale, prefix) = match size {
        _ if !value.is_finite() => return "-".into(),
        s if s >= 999_500_000.0 => (1e9, "G"),
        s if s >= 999_500.0 => (1e6, "M"),
        s if s >= 9_999.5 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = value / scale;
    let digits = match scaled.abs() {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 || s == 0.0 => 2,
        _ => 3,
    };
    let text = format!("{scaled:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    match (text, size < 0.0005 && size > 0.0) {
        (_, true) => format!("{value:.1e}"),
        ("-0", _) => "0".into(),
        (text, _) => format!("{text}{prefix}"),
    }
}

/// Returns the percent by which a ratio exceeds one.
pub fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// Formats `percent` with its sign and one decimal: `+12.3`.
pub fn signed(percent: f64) -> String {
    match percent.is_finite() {
        true => format!("{percent:+.1}"),
        false => "-".into(),
    }
}

/// Formats the ends of an interval in percent, to stand after its value, if they differ from it: ` (+5.1 to +5.5)`.
pub fn ends(value: f64, interval: Option<(f64, f64)>) -> String {
    let apart = |(low, high): &(f64, f64)| (high - value).max(value - low) >= 0.05;
    let end = |end: f64| match end == f64::INFINITY {
        true => "∞".to_owned(),
        false => signed(end),
    };
    interval
        .filter(apart)
        .map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", end(low), end(high))
        })
}

/// Formats a probability: `0.03`, `< 0.001`.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 0.001 => "< 0.001".into(),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        let cases = [
            (0.0, "0"),
            (8.126, "8.13"),
            (12.0, "12"),
            (12.34, "12.3"),
            (571_659.0, "572k"),
            (9_400.0, "9400"),
            (12_345.0, "12.3k"),
            (1.5e6, "1.5M"),
            (999_600.0, "1M"),
            (-3.25, "-3.25"),
            (0.000_042, "4.2e-5"),
            (0.25, "0.25"),
            (f64::NAN, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text, "{value}");
        }
    }

    #[test]
    fn an_interval_has_two_ends_where_they_can_be_told_from_the_value() {
        assert_eq!(ends(5.3, Some((5.12, 5.49))), " (+5.1 to +5.5)");
        assert_eq!(ends(150.0, Some((-40.0, f64::INFINITY))), " (-40.0 to ∞)");
        assert_eq!(ends(5.3, Some((5.28, 5.32))), "");
        assert_eq!(ends(5.3, None), "");
    }

    #[test]
    fn values_stand_in_the_order_that_people_expect() {
        let sorted = |factor: &str, values: &[&str]| {
            let mut values: Vec<_> = values.iter().map(|v| (*v).to_owned()).collect();
            sort_values(factor, &mut values);
            values.join(" ")
        };
        assert_eq!(sorted("bs", &["128k", "1k", "4k"]), "1k 4k 128k");
        assert_eq!(sorted("numjobs", &["16", "2", "128"]), "2 16 128");
        assert_eq!(
            sorted("scheduler", &["bfq", "kyber", "none"]),
            "none kyber bfq"
        );
        let modes = ["hybrid=8us", "interrupt", "hybrid=2us", "poll", "hybrid"];
        let order = "poll hybrid hybrid=2us hybrid=8us interrupt";
        assert_eq!(sorted("completion", &modes), order);
    }
}
