//! Advice as text: sentences, and the table of candidates.

use crate::columns::columns;
use joulio_lab::advise::{
    Advice, AdviceReport, AdviceRequest, Assessment, Candidate, Diagnosis, LimitSource, Rival,
    Sought,
};
use joulio_lab::statistics::Interval;
use joulio_units::{Boundary, Nanos, Watts};
use joulio_workload::{EngineName, Job};
use std::fmt::Write;

/// Returns the whole advice as text; with `explain` also the table of all candidates.
pub fn advice(request: &AdviceRequest, report: &AdviceReport, explain: bool) -> String {
    let advice = &report.advice;
    let mut text = heading(request, report);
    text.push_str(&promise(advice));
    diagnoses(&report.diagnoses, &mut text);
    text.push('\n');
    chosen(request.cap, advice, &mut text);
    for rival in &advice.rivals {
        let _ = writeln!(text, "  {}", sentence(rival, advice));
    }
    ties(advice, &mut text);
    overturned(advice, &mut text);
    let _ = writeln!(text, "\nTo run it:\n  {}", report.command);
    if explain {
        text.push('\n');
        text.push_str(&table(advice));
    }
    text
}

fn heading(request: &AdviceRequest, report: &AdviceReport) -> String {
    let job = &report.job;
    let Job {
        rw, bs, numjobs, ..
    } = job;
    let devices = request.experiment.targets.devices.iter();
    let devices: Vec<_> = devices.map(joulio_lab::TargetName::text).collect();
    let place = match &report.modelled_on {
        Some(machine) => format!("in virtual time on {machine}: every figure is modelled"),
        None => "on this machine".into(),
    };
    let mut text = format!(
        "{rw}, bs {bs}, iodepth {}, numjobs {numjobs}, {} loop\non {}, {place}\n",
        job.iodepth,
        job.loop_name(),
        devices.join(", "),
    );
    if let Some(workload) = &report.observed {
        let rate = workload.rate.map_or_else(
            || "one after the other".into(),
            |rate| format!("{rate} a second, as Poisson's"),
        );
        let seconds = workload.seconds;
        let seconds = seconds.map_or_else(String::new, |seconds| format!(" in {seconds:.1} s"));
        let _ = writeln!(
            text,
            "as observed by {}: {} I/Os{seconds}, {} % reads, {rate}",
            workload.from, workload.ios, workload.read_percent
        );
    }
    if report.writes_as_reads {
        text.push_str(
            "its writes were run as reads, whose latencies differ: --allow-write runs them as writes, and loses the data there\n",
        );
    }
    text
}

/// Formats a time in microseconds.
fn us(ns: f64) -> String {
    format!("{:.1} us", ns / 1e3)
}

fn promise(advice: &Advice) -> String {
    let limits = advice.promise.limits.iter();
    let limits: Vec<_> = limits
        .map(|limit| format!("{} {}", limit.percentile, us(limit.latency.0 as f64)))
        .collect();
    match &advice.promise.source {
        LimitSource::Nothing => "promised: nothing\n".into(),
        LimitSource::NoPolling => {
            "promised: nothing, as there is no polling here to compare with: --slo gives a promise\n"
                .into()
        }
        LimitSource::Slo => format!("promised: {}\n", limits.join(", ")),
        LimitSource::Polling { engine, budget } => format!(
            "promised: {} ({engine} poll's and {} %, at least 3 us more)\n",
            limits.join(", "),
            budget * 100.0
        ),
    }
}

fn diagnoses(all: &[Diagnosis], text: &mut String) {
    for one in all {
        let _ = writeln!(text, "- {one}");
    }
}

/// Returns the name of a candidate: engine, completion mode, settings, and the depth if depths differ.
fn name(candidate: &Candidate, advice: &Advice) -> String {
    let mut name = format!("{} {}", candidate.engine, candidate.completion);
    for (setting, value) in &candidate.settings {
        let _ = match setting.as_str() {
            "scheduler" => write!(name, ", {value}"),
            _ => write!(name, ", {setting} {value}"),
        };
    }
    let mut all = advice.candidates.iter();
    if all.any(|one| one.candidate.iodepth != candidate.iodepth) {
        let _ = write!(name, ", iodepth {}", candidate.iodepth);
    }
    name
}

fn modelled(advice: &Advice) -> &'static str {
    match advice.yardstick.column.modelled {
        true => "modelled",
        false => "measured",
    }
}

fn place(boundary: Boundary) -> String {
    format!("at the {boundary}")
}

fn chosen(cap: Option<Watts>, advice: &Advice, text: &mut String) {
    let best = advice.chosen();
    let Some(figures) = &best.figures else { return };
    let what = match cap {
        None => String::new(),
        Some(cap) => format!(" within {cap}"),
    };
    let _ = writeln!(
        text,
        "{}{what}: {:.1} uJ/IO and {:.1} W {} ({}), {:.0} IOPS, p99 {}, p99.9 {}",
        name(&best.candidate, advice),
        figures.joules_per_io.value * 1e6,
        figures.watts.value,
        place(advice.yardstick.boundary),
        modelled(advice),
        figures.iops.value,
        latency(best, "p99"),
        latency(best, "p99.9"),
    );
    if let Some(effective) = &best.effective {
        let why = best.reason.as_deref().unwrap_or("no reason is known");
        let _ = writeln!(text, "  effective: {effective}: {why}");
    }
}

fn latency(one: &Assessment, percentile: &str) -> String {
    let figures = one.figures.as_ref();
    let ns = figures.and_then(|figures| figures.percentiles_ns.get(percentile));
    ns.map_or_else(|| "-".into(), |&ns| us(ns as f64))
}

/// Formats an interval in percent: `12 % (11 to 13 %)`.
fn percent(interval: &Interval) -> String {
    let [value, low, high] = [interval.value, interval.low, interval.high].map(f64::abs);
    let (low, high) = (low.min(high), low.max(high));
    let exact = interval.half() < 0.05;
    match exact || interval.low.signum() != interval.high.signum() {
        true => format!("{value:.1} %"),
        false => format!("{value:.1} % ({low:.1} to {high:.1})"),
    }
}

fn sentence(rival: &Rival, advice: &Advice) -> String {
    let other = &advice.candidates[rival.index];
    let name = name(&other.candidate, advice);
    let better = &rival.better_percent;
    let how = percent(better);
    let (less, more, what) = match advice.sought {
        Sought::Energy => ("less energy than", "more energy than", "energy"),
        Sought::Latency => ("lower latency than", "higher latency than", "latency"),
        Sought::Iops => ("more IOPS than", "fewer IOPS than", "IOPS"),
    };
    let mut text = match (better.low > 0.0, better.high < 0.0) {
        (true, _) => format!("{how} {less} {name}"),
        (_, true) => format!("{how} {more} {name}"),
        _ => format!("the {what} of {name}, as far as can be told"),
    };
    if other.falls_behind {
        text.push_str(", which does not keep up with the arrivals");
    } else if !rival.keeps {
        let _ = write!(
            text,
            ", which breaks the promise (p99 {}, p99.9 {})",
            latency(other, "p99"),
            latency(other, "p99.9")
        );
    }
    if let Some(even) = rival.break_even {
        let side = if even.holds_below() { "below" } else { "above" };
        let _ = write!(
            text,
            "; that holds while a busy core costs {side} {:.1} W (here {:.1})",
            even.watts, even.spin_watts
        );
    }
    text
}

fn ties(advice: &Advice, text: &mut String) {
    /// Largest number of ties that are named.
    const NAMED: usize = 4;
    let mut names: Vec<String> = Vec::new();
    let mut methods = vec![&advice.chosen().candidate];
    for &index in &advice.ties {
        let candidate = &advice.candidates[index].candidate;
        if !methods.iter().any(|one| one.is_same_method(candidate)) {
            methods.push(candidate);
            names.push(name(candidate, advice));
        }
    }
    if names.is_empty() {
        return;
    }
    let count = names.len();
    names.truncate(NAMED);
    let more = match count - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let _ = writeln!(text, "  cannot be told from it: {}{more}", names.join("; "));
}

/// Adds the conditions under which another choice would be better.
fn overturned(advice: &Advice, text: &mut String) {
    let mut lines = Vec::new();
    for other in &advice.other_boundaries {
        let best = &advice.candidates[other.index].candidate;
        // If all figures are modelled, the heading says so.
        let modelled = match other.modelled && !advice.yardstick.column.modelled {
            true => " (modelled)",
            false => "",
        };
        lines.push(format!(
            "{} the least energy is {}'s{modelled}",
            place(other.boundary),
            name(best, advice)
        ));
    }
    if let Some(late) = &advice.too_late {
        let one = &advice.candidates[late.index];
        lines.push(format!(
            "{} takes {:.1} % less and is later: --slo {} allows it",
            name(&one.candidate, advice),
            late.saves_percent,
            slo(one)
        ));
    }
    for (end, index) in ["low", "high"].iter().zip(advice.at_band_ends) {
        if let Some(index) = index {
            let best = &advice.candidates[index].candidate;
            lines.push(format!(
                "with all of the profiles' figures at the {end} ends of their bands it is {}",
                name(best, advice)
            ));
        }
    }
    if lines.is_empty() {
        return;
    }
    text.push_str("\nWhat would overturn it:\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

/// Formats the promise that `one` keeps, in whole microseconds.
fn slo(one: &Assessment) -> String {
    let figures = one.figures.as_ref();
    let limits = ["p99", "p99.9"].map(|percentile| {
        let ns = figures.and_then(|figures| figures.percentiles_ns.get(percentile));
        let us = ns.copied().map_or(0, |ns| Nanos(ns).0.div_ceil(1_000));
        format!("{percentile}={us}us")
    });
    limits.join(",")
}

/// Formats the table of all candidates, the best first.
fn table(advice: &Advice) -> String {
    let head = [
        "candidate",
        "uJ/IO",
        "+-",
        "W",
        "IOPS",
        "mean us",
        "p99",
        "p99.9",
        "CPU us/IO",
        "",
    ];
    let rows = advice.candidates.iter().filter_map(|one| {
        let figures = one.figures.as_ref()?;
        let at = |percentile: &str| {
            let ns = figures.percentiles_ns.get(percentile).copied();
            format!("{:.1}", ns.unwrap_or(0) as f64 / 1e3)
        };
        Some([
            name(&one.candidate, advice),
            format!("{:.1}", figures.joules_per_io.value * 1e6),
            format!("{:.1}", figures.joules_per_io.half() * 1e6),
            format!("{:.1}", figures.watts.value),
            format!("{:.0}", figures.iops.value),
            format!("{:.1}", figures.mean_ns.value / 1e3),
            at("p99"),
            at("p99.9"),
            format!("{:.2}", figures.cpu_us_per_io),
            match (one.keeps, one.falls_behind) {
                (true, _) => "",
                (_, true) => "falls behind",
                _ => "late",
            }
            .into(),
        ])
    });
    let mut text = columns(head, rows, 1);
    let gone = advice.candidates.iter();
    let gone = gone.filter(|one| one.figures.is_none() && one.candidate.settings.is_empty());
    for one in gone {
        let why = one.reason.as_deref().unwrap_or("no reason is known");
        let method = match one.candidate.engine {
            EngineName::Nvme => one.candidate.completion.clone(),
            engine => format!("{engine} {}", one.candidate.completion),
        };
        let _ = writeln!(text, "{method}: unavailable: {why}");
    }
    text.push_str(
        "+-: half of the 95 % interval over the repetitions; late: breaks the promise;\nfalls behind: I/Os arrive faster than it does them.\n",
    );
    text
}
