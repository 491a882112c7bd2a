//! The command that runs what is advised.

use super::candidate::Candidate;
use super::request::AdviceRequest;
use joulio_workload::{Arrivals, BlockSizeSplit, EngineName, Job, RandomDistribution};

/// The command that runs `job` as `chosen` does: fio's for the kernel's engines on what the kernel
/// drives, else joulio's.
pub(super) fn of(request: &AdviceRequest, job: &Job, chosen: &Candidate) -> String {
    let by_fio = chosen.engine.is_kernel() && !request.in_virtual_time();
    let mut words = match by_fio {
        true => fio(request, chosen),
        false => joulio(request, chosen),
    };
    words.push(format!("--rw={}", job.rw));
    if !job.rw.read_percent(job.rwmixread).is_multiple_of(100) {
        words.push(format!("--rwmixread={}", job.rwmixread));
    }
    let split = job.bs.split().filter(|_| by_fio);
    let option = split.map_or("bs", BlockSizeSplit::fio_option);
    words.push(format!("--{option}={}", job.bs));
    words.push(format!("--iodepth={}", chosen.iodepth));
    if job.numjobs > 1 {
        words.push(format!("--numjobs={}", job.numjobs));
    }
    words.extend(placed(job));
    let interval = match job.arrivals {
        Arrivals::Every(interval) | Arrivals::Poisson(interval) => Some(interval),
        Arrivals::Closed | Arrivals::Think { .. } | Arrivals::Bursts { .. } => None,
    };
    if let Arrivals::Think { time, blocks } = job.arrivals {
        words.push(format!("--thinktime={}us", time.0.div_ceil(1_000)));
        words.push(format!("--thinktime_blocks={blocks}"));
    }
    if let Some(interval) = interval.filter(|interval| interval.0 > 0) {
        words.push(format!("--rate_iops={}", 1_000_000_000 / interval.0));
        if matches!(job.arrivals, Arrivals::Poisson(_)) {
            words.push("--rate_process=poisson".into());
        }
    }
    words.join(" ")
}

/// Where the I/Os of `job` are, in words that fio has too.
fn placed(job: &Job) -> Vec<String> {
    let mut words = Vec::new();
    if job.offset > 0 {
        words.push(format!("--offset={}", job.offset));
    }
    if let Some(size) = job.size {
        words.push(format!("--size={size}"));
    }
    if job.random_distribution != RandomDistribution::Uniform {
        words.push(format!("--random_distribution={}", job.random_distribution));
    }
    if let Some(align) = job.block_align {
        words.push(format!("--blockalign={align}"));
    }
    words
}

fn joulio(request: &AdviceRequest, chosen: &Candidate) -> Vec<String> {
    let mut words = vec!["joulio bench".to_owned()];
    if request.in_virtual_time() {
        words.push("--twin".into());
    }
    if let Some(machine) = &request.experiment.energy.machine {
        words.push(format!("--machine={}", quoted(machine)));
    }
    let devices = request.experiment.targets.devices.iter();
    words.extend(devices.map(|device| format!("--device={}", quoted(&device.text()))));
    words.push(format!("--engine={}", chosen.engine));
    words.push(format!("--completion={}", chosen.completion));
    for (name, value) in &chosen.settings {
        words.push(match name.as_str() {
            // Its value says it in words.
            "coalescing" => format!("--coalescing={}", coalescing(value)),
            name => format!("--{name}={value}"),
        });
    }
    words
}

/// `8 completions or 200 us` as the flag has it.
fn coalescing(words: &str) -> String {
    let numbers = words.split_whitespace();
    let numbers: Vec<_> = numbers.filter(|word| word.parse::<u32>().is_ok()).collect();
    numbers.join(",")
}

fn fio(request: &AdviceRequest, chosen: &Candidate) -> Vec<String> {
    let mut words = vec!["fio --name=advice --direct=1".to_owned()];
    let devices = request.experiment.targets.devices.iter();
    words.extend(devices.map(|device| format!("--filename={}", quoted(&device.text()))));
    let polls = chosen.completion == "poll" || chosen.completion.starts_with("hybrid");
    let engine = match chosen.engine {
        EngineName::Psync => "pvsync2",
        engine => engine.name(),
    };
    words.push(format!("--ioengine={engine}"));
    if polls || chosen.completion == "sqpoll+poll" {
        words.push("--hipri=1".into());
    }
    if chosen.completion.starts_with("sqpoll") {
        words.push("--sqthread_poll=1".into());
    }
    words
}

/// `text` as a shell takes it for one word.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._:,=-+".contains(c);
    match text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
