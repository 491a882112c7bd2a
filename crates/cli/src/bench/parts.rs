//! The jobs and the devices of each run, a line each: `--per-job`; and the percentiles of one's own choice.

use crate::columns::columns;
use joulio_lab::record::RunRecord;
use joulio_lab::results::{Varied, run_name};
use std::iter::once;

/// Figures of a job or a device: the last columns of its line.
const FIGURES: [&str; 4] = ["I/Os", "IOPS", "mean us", "p99"];

/// The percentiles of `--percentile_list`, a line a run; nothing where none were asked for.
pub fn percentiles(varied: &Varied, records: &[&RunRecord]) -> String {
    let named = |record: &RunRecord| {
        let counts = record.result.counts.as_ref()?;
        let named = &counts.all.latency_ns.percentile;
        (!named.is_empty()).then(|| named.clone())
    };
    let Some(first) = records.iter().find_map(|record| named(record)) else {
        return String::new();
    };
    let mut order: Vec<(f64, &String)> = first
        .keys()
        .filter_map(|name| Some((name.parse().ok()?, name)))
        .collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0));
    let star = match records.iter().any(|record| record.result.modelled) {
        true => "*",
        false => "",
    };
    let repeated = records.iter().any(|record| record.replicate > 1);
    let header = varied.names().chain(once("completion".into()));
    let header = header.chain(repeated.then(|| "run".to_owned()));
    let header = header.chain(order.iter().map(|(p, _)| format!("p{p} us{star}")));
    let rows = records.iter().filter_map(|record| {
        let values = named(record)?;
        let place = varied.values(&record.point).into_iter();
        let place = place.chain(once(run_name(&record.result)));
        let place = place.chain(repeated.then(|| record.replicate.to_string()));
        let value = |name: &String| {
            values
                .get(name)
                .map(|ns| format!("{:.1}", *ns as f64 / 1e3))
        };
        let figures = order
            .iter()
            .map(|(_, name)| value(name).unwrap_or_default());
        Some(place.chain(figures).collect::<Vec<_>>())
    });
    let left = varied.count() + 1 + usize::from(repeated);
    format!("\n{}", columns(header, rows, left))
}

/// Lines of all jobs, and of all devices where a run has several. Of a run that was repeated each repetition is
/// shown.
pub fn table(varied: &Varied, records: &[&RunRecord]) -> String {
    let repeated = records.iter().any(|record| record.replicate > 1);
    let modelled = records.iter().any(|record| record.result.modelled);
    let star = if modelled { "*" } else { "" };
    let place = |record: &RunRecord| {
        let nth = repeated.then(|| record.replicate.to_string());
        let words = varied.values(&record.point).into_iter();
        words.chain(once(run_name(&record.result))).chain(nth)
    };
    let us = |ns: f64| format!("{:.1}", ns / 1e3);
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
            place(record).chain(what).chain(figures).collect::<Vec<_>>()
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
            place(record).chain(what).chain(figures).collect::<Vec<_>>()
        })
    });
    let header = |what: &[&str]| {
        let nth = repeated.then(|| "run".to_owned());
        let words = varied.names().chain(once("completion".into())).chain(nth);
        let what = what.iter().map(|word| (*word).to_owned());
        let figures = FIGURES.map(|name| format!("{name}{star}"));
        words.chain(what).chain(figures).collect::<Vec<_>>()
    };
    let words = varied.count() + 1 + usize::from(repeated);
    let jobs: Vec<_> = jobs.collect();
    let devices: Vec<_> = devices.collect();
    let mut text = String::new();
    if !jobs.is_empty() {
        let header = header(&["job", "bs"]);
        text += &format!("\n{}", columns(header, jobs, words + 1));
    }
    if !devices.is_empty() {
        let header = header(&["device"]);
        text += &format!("\n{}", columns(header, devices, words + 1));
    }
    text
}
