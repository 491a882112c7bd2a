//! The jobs and the devices of each run, a line each: `--per-job`.

use crate::columns::columns;
use joulio_lab::record::RunRecord;
use joulio_lab::results::{Varied, run_name};
use std::iter::once;

/// Figures of a job or a device: the last columns of its line.
const FIGURES: [&str; 4] = ["I/Os", "IOPS", "mean us", "p99"];

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
