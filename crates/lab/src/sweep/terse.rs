//! Results of a sweep in fio's terse output, version 3 (HOWTO, "Terse output"): a line for each run, with fields
//! separated by semicolons and times in microseconds.

use crate::record::RunRecord;
use crate::results::{SECTION, run_name};
use joulio_workload::{Counts, DirectionResult};
use std::collections::BTreeMap;
use std::iter::repeat_n;

/// Percentiles in a line, which are fio's defaults.
pub const TERSE_PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// Number of fields that fio reserves for additional percentiles.
const SPARE_PERCENTILES: usize = 3;

/// Upper ends of the latency classes in microseconds: first those below a millisecond, then the others.
const CLASSES: [u64; 21] = [
    2, 4, 10, 20, 50, 100, 250, 500, 750, 1_000, 2_000, 4_000, 10_000, 20_000, 50_000, 100_000,
    250_000, 500_000, 750_000, 1_000_000, 2_000_000,
];

/// Formats the results of `records`, a line each; they need the percentiles of [`TERSE_PERCENTILES`] and the
/// histograms. A run without figures has zeroes, and 5 (EIO) as its error. Fields without an equivalent are zero:
/// submission and completion latency (`lat` has both together, from the arrival, and the percentiles are of it), the
/// minimum, maximum and deviation of the bandwidth, page faults, and the shares of depths. The part about disks is left
/// out, as by fio with `--disk_util=0`.
/// left out, as fio leaves it out by `--disk_util=0`.
pub fn sweep_terse(records: &[&RunRecord]) -> String {
    // Rows of the same run have the same group number.
    let (mut groups, mut last) = (0, None);
    let lines = records.iter().map(|record| {
        let of_run = record.point.contains_key(SECTION).then_some(record.order);
        groups += usize::from(of_run.is_none() || of_run != last);
        last = of_run;
        line(record, groups - 1)
    });
    lines.map(|fields| fields.join(";") + "\n").collect()
}

fn line(record: &RunRecord, group: usize) -> Vec<String> {
    let result = &record.result;
    let none = Counts::default();
    let counts = result.counts.as_ref().unwrap_or(&none);
    let section = record.point.get(SECTION).cloned();
    let name = section.unwrap_or_else(|| run_name(result));
    let failed = result.counts.is_none() || counts.errors() > 0;
    let mut fields = vec![
        "3".to_owned(),
        format!("joulio-{}", env!("CARGO_PKG_VERSION")),
        name.replace(';', ","),
        group.to_string(),
        if failed { "5" } else { "0" }.to_owned(),
    ];
    fields.extend(side(&counts.read, counts));
    fields.extend(side(&counts.write, counts));
    fields.extend(cpu(counts));
    // Shares of depths 1, 2, 4, 8, 16, 32, 64 and above, which are not known.
    fields.extend(repeat_n("0.0%".to_owned(), 7));
    fields.extend(classes(&counts.all.latency_ns.bins));
    fields
}

/// Returns the fields of one direction.
fn side(side: &DirectionResult, counts: &Counts) -> Vec<String> {
    const KIB: f64 = 1024.0;
    let latency = &side.latency_ns;
    let whole = |ns: u64| (ns / 1_000).to_string();
    let fraction = |ns: f64| format!("{:.6}", ns / 1e3);
    let bandwidth = side.bandwidth_bytes_per_second;
    let runtime = if side.ios > 0 { counts.seconds } else { 0.0 };
    let mut fields = vec![
        format!("{:.0}", bandwidth * counts.seconds / KIB),
        format!("{:.0}", bandwidth / KIB),
        format!("{:.0}", side.iops),
        format!("{:.0}", runtime * 1e3),
    ];
    let absent = || ["0", "0", "0.000000", "0.000000"].map(str::to_owned);
    // Submission latency, then completion latency.
    fields.extend(absent());
    fields.extend(absent());
    fields.extend(TERSE_PERCENTILES.map(|percentile| {
        let name = format!("{percentile:.6}");
        let ns = latency.percentile.get(&name).copied().unwrap_or(0);
        format!("{name}%={}", whole(ns))
    }));
    fields.extend(repeat_n("0%=0".to_owned(), SPARE_PERCENTILES));
    let least = latency.bins.keys().next().copied().unwrap_or(0);
    fields.extend([
        whole(least),
        whole(latency.max),
        fraction(latency.mean),
        fraction(latency.stddev.unwrap_or(0.0)),
    ]);
    // Bandwidth: minimum, maximum, this direction's share, mean, deviation.
    let all = counts.all.bandwidth_bytes_per_second;
    let part = if all > 0.0 {
        100.0 * bandwidth / all
    } else {
        0.0
    };
    fields.extend([
        "0".to_owned(),
        "0".to_owned(),
        format!("{part:.6}%"),
        format!("{:.6}", bandwidth / KIB),
        "0.000000".to_owned(),
    ]);
    fields
}

/// Returns shares of CPU time in user space and in the kernel, context switches, and page faults.
fn cpu(counts: &Counts) -> [String; 5] {
    let usage = &counts.threads.submitter;
    let time = counts.seconds * usage.threads.max(1) as f64;
    let percent = |seconds: f64| {
        let share = if time > 0.0 {
            100.0 * seconds / time
        } else {
            0.0
        };
        format!("{share:.6}%")
    };
    [
        percent(usage.user_seconds),
        percent(usage.system_seconds),
        (usage.voluntary_switches + usage.involuntary_switches).to_string(),
        "0".to_owned(),
        "0".to_owned(),
    ]
}

/// Returns the shares of the I/Os in each latency class, and in the class above all.
fn classes(bins: &BTreeMap<u64, u64>) -> Vec<String> {
    let all: u64 = bins.values().sum();
    let mut counts = [0; CLASSES.len() + 1];
    for (ns, ios) in bins {
        let class = CLASSES.partition_point(|us| us * 1_000 < *ns);
        counts[class] += ios;
    }
    let share = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
    counts.map(|count| format!("{:.2}%", share(count))).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::run;
    use joulio_workload::CompletionMode;

    #[test]
    fn a_line_has_the_fields_of_fio_3_33_in_their_places() {
        let mut one = run(CompletionMode::Poll, 1, 1, 100_000.0, 50.0);
        if let Some(counts) = &mut one.result.counts {
            let bins = BTreeMap::from([(1_500, 250), (9_000, 500), (3_000_000_000, 250)]);
            counts.read.latency_ns.bins = bins.clone();
            counts.all.latency_ns.bins = bins;
            let named = ("99.900000".to_owned(), 12_345);
            counts.read.latency_ns.percentile = BTreeMap::from([named]);
        }
        let mut none = one.clone();
        none.result.counts = None;
        let text = sweep_terse(&[&one, &none]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
        // fio 3.33 has 130 fields with a disk, nine of which are the disk's.
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [121, 121]);
        let fields = &lines[0];
        assert_eq!(
            (fields[0], fields[2], fields[3], fields[4]),
            ("3", "psync poll", "0", "0")
        );
        assert_eq!(
            (fields[5], fields[6], fields[7]),
            ("400000", "400000", "100000")
        );
        assert_eq!((fields[8], fields[31]), ("1000", "99.900000%=12"));
        assert_eq!((fields[37], fields[39]), ("1", "10.000000"));
        // The other direction did no I/O.
        assert_eq!(
            (fields[46], fields[49], fields[84]),
            ("0", "0", "0.000000%")
        );
        let shares = &fields[99..];
        assert_eq!(
            (shares[0], shares[2], shares[21]),
            ("25.00%", "50.00%", "25.00%")
        );
        assert_eq!((lines[1][3], lines[1][4]), ("1", "5"));
    }
}
