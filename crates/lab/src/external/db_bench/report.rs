//! Output of `readrandom`: rate, keys and histogram.

use crate::external::done::{ProgramReport, summary};
use crate::external::error::ExternalError;
use crate::external::program::{Program, ProgramEnd};
use joulio_workload::DirectionResult;

/// Parses db_bench's report of reads of pairs of `bytes`.
///
/// # Errors
/// The output has another format, or keys were not found.
pub fn read(
    program: &Program,
    ended: &ProgramEnd,
    bytes: u64,
) -> Result<ProgramReport, ExternalError> {
    let lacks = |what: &str| program.failed(format!("its output has no {what}"));
    let rate = ended.stdout.lines().find_map(Rate::parse);
    let rate = rate.ok_or_else(|| lacks("line 'readrandom : ...'"))?;
    if rate.found.0 < rate.found.1 {
        let (found, of) = rate.found;
        return Err(program.failed(format!(
            "found {found} of {of} keys: the database is not whole"
        )));
    }
    let histogram = Histogram::parse(&ended.stdout).ok_or_else(|| lacks("histogram"))?;
    let at = |percent| {
        let us = histogram.percentile(percent);
        us.ok_or_else(|| lacks("buckets in its histogram"))
    };
    let values = [at(50.0)?, at(90.0)?, at(99.0)?, at(99.9)?].map(|us| (us * 1e3).round() as u64);
    let all = DirectionResult {
        ios: rate.operations,
        errors: 0,
        iops: rate.per_second,
        bandwidth_bytes_per_second: rate.per_second * bytes as f64,
        latency_ns: summary(
            histogram.average * 1e3,
            values,
            (histogram.max * 1e3).round() as u64,
        ),
    };
    Ok(ProgramReport {
        seconds: rate.seconds,
        usage: ended.usage,
        read: all.clone(),
        all,
        ..ProgramReport::default()
    })
}

/// `readrandom : 51.6 micros/op 38041 ops/sec 1.051 seconds 40000 operations; ... (N of M found)`.
#[derive(Debug, PartialEq)]
struct Rate {
    per_second: f64,
    seconds: f64,
    operations: u64,
    found: (u64, u64),
}

impl Rate {
    fn parse(line: &str) -> Option<Rate> {
        // On a terminal, the text before the last carriage return would be overwritten.
        let line = line.rsplit('\r').next()?;
        let (name, rest) = line.split_once(':')?;
        if name.trim() != "readrandom" {
            return None;
        }
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let before = |unit: &str| {
            let at = words
                .iter()
                .position(|word| word.trim_end_matches(';') == unit)?;
            words.get(at.checked_sub(1)?).copied()
        };
        let (_, found) = rest.rsplit_once('(')?;
        let (found, rest) = found.split_once(" of ")?;
        let (of, _) = rest.split_once(" found")?;
        Some(Rate {
            per_second: before("ops/sec")?.parse().ok()?,
            seconds: before("seconds")?.parse().ok()?,
            operations: before("operations")?.parse().ok()?,
            found: (found.parse().ok()?, of.parse().ok()?),
        })
    }
}

/// Histogram of latencies in microseconds.
#[derive(Debug)]
struct Histogram {
    average: f64,
    max: f64,
    /// Lower and upper bound of each bucket, and the cumulative percentage up to the upper one.
    buckets: Vec<[f64; 3]>,
}

impl Histogram {
    fn parse(text: &str) -> Option<Histogram> {
        let after = |line: &str, name: &str| -> Option<f64> {
            let (_, rest) = line.split_once(name)?;
            rest.split_ascii_whitespace().next()?.parse().ok()
        };
        let find = |name: &str| text.lines().find_map(|line| after(line, name));
        let buckets: Vec<_> = text.lines().filter_map(bucket).collect();
        Some(Histogram {
            average: find("Average: ")?,
            max: find(" Max: ")?,
            buckets: (!buckets.is_empty()).then_some(buckets)?,
        })
    }

    /// Returns the latency in microseconds at `percent`, interpolated linearly within a bucket as RocksDB does.
    fn percentile(&self, percent: f64) -> Option<f64> {
        let mut below = 0.0;
        for [begin, end, up_to] in &self.buckets {
            if *up_to >= percent {
                let share = (percent - below) / (up_to - below).max(f64::MIN_POSITIVE);
                return Some((begin + (end - begin) * share.clamp(0.0, 1.0)).min(self.max));
            }
            below = *up_to;
        }
        // The percentages are rounded, so the rest belongs to the last bucket.
        Some(self.max)
    }
}

/// Parses `( 22, 34 ]  7133  17.832%  31.650% ####`; the first line begins with `[`.
fn bucket(line: &str) -> Option<[f64; 3]> {
    let line = line.trim_start().strip_prefix(['(', '['])?;
    let (bounds, rest) = line.split_once(']')?;
    let (begin, end) = bounds.split_once(',')?;
    let up_to = rest.split_ascii_whitespace().nth(2)?;
    let number = |text: &str| text.trim().parse::<f64>().ok();
    Some([
        number(begin)?,
        number(end)?,
        number(up_to.strip_suffix('%')?)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of one of our runs, shortened.
    const OUTPUT: &str = "\
DB path: [/mnt/db]
readrandom   :      51.621 micros/op 38041 ops/sec 1.051 seconds 40000 operations;  149.2 MB/s (20000 of 20000 found)

Microseconds per read:
Count: 40000 Average: 51.6285  StdDev: 72.43
Min: 1  Median: 46.0619  Max: 4097
Percentiles: P50: 46.06 P75: 65.26 P99: 152.84 P99.9: 638.00 P99.99: 3650.00
------------------------------------------------------
[       0,       1 ]        5   0.013%   0.013% \n\
(      22,      34 ]    12655  31.638%  31.650% ####
(      34,      51 ]    10345  25.863%  57.513% #####
(      51,      76 ]    12264  30.660%  88.172% ######
(      76,     110 ]     3899   9.748%  97.920% ##
(     110,     170 ]      605   1.512%  99.433% \n\
(     580,     870 ]      198   0.495%  99.927% \n\
(    2900,    4400 ]       29   0.073% 100.000% \n";

    fn ended(text: &str) -> ProgramEnd {
        ProgramEnd {
            stdout: text.into(),
            ..ProgramEnd::default()
        }
    }

    #[test]
    fn rate_and_percentiles_are_those_of_the_output() {
        let program = Program::find("sh", "").unwrap();
        let done = read(&program, &ended(OUTPUT), 4112).unwrap();
        assert_eq!((done.seconds, done.all.ios), (1.051, 40_000));
        assert_eq!(done.all.iops, 38_041.0);
        let latency = &done.all.latency_ns;
        // Percentiles that RocksDB itself computes from these buckets.
        assert!((latency.p50 as f64 - 46_060.0).abs() < 100.0, "{latency:?}");
        assert!(
            (latency.p99 as f64 - 152_840.0).abs() < 200.0,
            "{latency:?}"
        );
        assert!((76_000..110_000).contains(&latency.p90), "{latency:?}");
        assert_eq!((latency.mean, latency.max), (51_628.5, 4_097_000));
    }

    #[test]
    fn keys_that_are_not_found_and_other_output_are_no_figures() {
        let program = Program::find("sh", "").unwrap();
        let lost = OUTPUT.replace("(20000 of", "(19999 of");
        let error = read(&program, &ended(&lost), 4112).unwrap_err();
        assert!(error.to_string().contains("19999 of 20000"), "{error}");
        for cut in ["readrandom", "Average: ", " ops/sec", "%"] {
            let text = OUTPUT.replace(cut, "");
            assert!(read(&program, &ended(&text), 4112).is_err(), "{cut}");
        }
    }
}
