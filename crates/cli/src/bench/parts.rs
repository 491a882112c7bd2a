//! Lines for each job and device of a run (`--per-job`), and for requested percentiles.

use crate::columns::columns;
use joulio_lab::record::RunRecord;
use joulio_lab::results::{Varied, run_name};
use std::collections::BTreeMap;
use std::iter::once;

/// Figures of a job or a device, in the last columns of its line.
const FIGURES: [&str; 4] = ["I/Os", "IOPS", "mean us", "p99 us"];

/// First words of every line: the factors that vary, the run, and its repetition.
struct Places<'a> {
    varied: &'a Varied,
    /// True if runs are repeated.
    repeated: bool,
    /// Mark of modelled figures.
    star: &'static str,
}

impl<'a> Places<'a> {
    fn new(varied: &'a Varied, records: &[&RunRecord]) -> Places<'a> {
        let modelled = records.iter().any(|record| record.result.modelled);
        Places {
            varied,
            repeated: records.iter().any(|record| record.replicate > 1),
            star: if modelled { "*" } else { "" },
        }
    }

    /// Returns the number of words.
    fn count(&self) -> usize {
        self.varied.count() + 1 + usize::from(self.repeated)
    }

    fn header(&self) -> impl Iterator<Item = String> {
        let nth = self.repeated.then(|| "run".to_owned());
        self.varied
            .names()
            .chain(once("completion".into()))
            .chain(nth)
    }

    fn of(&self, record: &RunRecord) -> impl Iterator<Item = String> + use<> {
        let nth = self.repeated.then(|| record.replicate.to_string());
        let words = self.varied.values(&record.point).into_iter();
        words.chain(once(run_name(&record.result))).chain(nth)
    }
}

fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1e3)
}

/// Formats the percentiles of `--percentile_list`, a line for each run; empty if none were requested.
pub fn percentiles(varied: &Varied, records: &[&RunRecord]) -> String {
    fn named(record: &RunRecord) -> Option<&BTreeMap<String, u64>> {
        let named = &record.result.counts.as_ref()?.all.latency_ns.percentile;
        (!named.is_empty()).then_some(named)
    }
    let Some(first) = records.iter().find_map(|record| named(record)) else {
        return String::new();
    };
    let order = first.keys();
    let mut order: Vec<(f64, &String)> = order
        .filter_map(|name| Some((name.parse().ok()?, name)))
        .collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0));
    let places = Places::new(varied, records);
    let figures = order.iter().map(|(p, _)| format!("p{p} us{}", places.star));
    let header = places.header().chain(figures);
    let rows = records.iter().filter_map(|record| {
        let values = named(record)?;
        let value = |name: &String| values.get(name).map(|ns| us(*ns as f64));
        let figures = order
            .iter()
            .map(|(_, name)| value(name).unwrap_or_default());
        Some(places.of(record).chain(figures).collect::<Vec<_>>())
    });
    format!("\n{}", columns(header, rows, places.count()))
}

/// Formats a line for each job, and for each device if a run has several. All repetitions of a run are shown.
pub fn table(varied: &Varied, records: &[&RunRecord]) -> String {
    let places = Places::new(varied, records);
    let jobs = records.iter().flat_map(|record| {
        let counts = record.result.counts.iter();
        let jobs = counts.flat_map(|counts| counts.per_job.iter().enumerate());
        jobs.map(|(index, job)| {
            let what = [format!("job {}", index + 1), job.bs.to_string()];
            let figures = [
                job.ios.to_string(),
                format!("{:.0}", job.iops),
                us(job.mean_ns),
                us(job.p99_ns as f64),
            ];
            places
                .of(record)
                .chain(what)
                .chain(figures)
                .collect::<Vec<_>>()
        })
    });
    let devices = records.iter().flat_map(|record| {
        let counts = record.result.counts.iter();
        let devices = counts.flat_map(|counts| &counts.per_device);
        devices.map(|device| {
            let all = &device.all;
            let figures = [
                all.ios.to_string(),
                format!("{:.0}", all.iops),
                us(all.latency_ns.mean),
                us(all.latency_ns.p99 as f64),
            ];
            let what = once(device.device.clone());
            places
                .of(record)
                .chain(what)
                .chain(figures)
                .collect::<Vec<_>>()
        })
    });
    let header = |what: &[&str]| {
        let what = what.iter().map(|word| (*word).to_owned());
        let figures = FIGURES.map(|name| format!("{name}{}", places.star));
        places
            .header()
            .chain(what)
            .chain(figures)
            .collect::<Vec<_>>()
    };
    let jobs: Vec<_> = jobs.collect();
    let devices: Vec<_> = devices.collect();
    let mut text = String::new();
    if !jobs.is_empty() {
        let header = header(&["job", "bs"]);
        text += &format!("\n{}", columns(header, jobs, places.count() + 1));
    }
    if !devices.is_empty() {
        let header = header(&["device"]);
        text += &format!("\n{}", columns(header, devices, places.count() + 1));
    }
    text
}
