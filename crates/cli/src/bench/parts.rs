//! The jobs and the devices of each run, a line each: `--per-job`; and the percentiles of one's own choice.

use crate::columns::columns;
use joulio_lab::record::RunRecord;
use joulio_lab::results::{Varied, run_name};
use std::collections::BTreeMap;
use std::iter::once;

/// Figures of a job or a device: the last columns of its line.
const FIGURES: [&str; 4] = ["I/Os", "IOPS", "mean us", "p99 us"];

/// The words that every line begins with: what varies, the run, and which repetition of it.
struct Places<'a> {
    varied: &'a Varied,
    /// Runs are repeated.
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

    /// Number of the words.
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

/// The percentiles of `--percentile_list`, a line a run; nothing where none were asked for.
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

/// Lines of all jobs, and of all devices where a run has several. Of a run that was repeated each repetition is
/// shown.
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
