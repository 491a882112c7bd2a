//! The command that runs what is advised.

use super::candidate::Candidate;
use super::request::AdviceRequest;
use crate::arbitration::{DEFAULT_ARBITRATION, arbitration_text};
use crate::experiment::{GoalOptions, RateProcess, WorkloadOptions};
use crate::external::fio_filename;
use joulio_nvme::ControllerOptions;
use joulio_nvme::wait::Promised;
use joulio_units::{Direction, Nanos};
use joulio_workload::{Arrivals, BlockSizeSplit, EngineName, Job, RandomDistribution};

/// Returns the command that runs `job` with `chosen`: fio's for the kernel's engines on targets that the kernel
/// drives, where fio has the method, otherwise joulio's.
pub(super) fn of(request: &AdviceRequest, job: &Job, chosen: &Candidate) -> String {
    let by_fio = chosen.engine.is_kernel()
        && !request.in_virtual_time()
        && chosen.completion != "adaptive"
        // fio has no hybrid polling and no block sizes for jobs in turn, and makes no setting of the machine.
        && !chosen.completion.starts_with("hybrid")
        && chosen.settings.is_empty()
        && job.bs.count() == 1
        && job.phases.is_empty()
        && job.numa_node.is_none()
        && !matches!(job.arrivals, Arrivals::Bursts { .. })
        && (job.arrivals.is_closed() || has_one_rate(job));
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
    words.extend(arriving(job, &request.experiment.workload));
    words.extend(seeded(job, by_fio));
    words.extend(on_cpus(request, job, by_fio));
    words.join(" ")
}

/// Returns true if fio does `job` at its rate: fio's rate is of each direction, and with drawn sizes it counts bytes.
fn has_one_rate(job: &Job) -> bool {
    let mixed = job.does(Direction::Read) && job.does(Direction::Write);
    !mixed && !job.rw.trims_and_writes() && job.bs.split().is_none()
}

/// Returns the options that place the I/Os of `job`, which are fio's too.
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

/// Returns the options for the arrivals of `job`, which `workload` describes; for bursts and phases joulio's own.
fn arriving(job: &Job, workload: &WorkloadOptions) -> Vec<String> {
    let mut words = Vec::new();
    let mut poisson = matches!(job.arrivals, Arrivals::Poisson(_));
    match job.arrivals {
        _ if !job.phases.is_empty() => {
            let phases = workload.phases.iter().map(|phase| {
                let rate = phase.rate.map_or("max".into(), |rate| rate.to_string());
                format!("{rate}:{}", written(phase.length))
            });
            words.push(format!("--phases={}", phases.collect::<Vec<_>>().join(",")));
            poisson = matches!(workload.rate_process, RateProcess::Poisson);
        }
        Arrivals::Closed => {}
        Arrivals::Think { time, blocks } => {
            words.push(format!("--thinktime={}us", time.0.div_ceil(1_000)));
            words.push(format!("--thinktime_blocks={blocks}"));
        }
        Arrivals::Bursts { ios, every } => {
            words.push(format!("--bursts={ios}:{}", written(every)));
        }
        Arrivals::Every(interval) | Arrivals::Poisson(interval) if interval.0 > 0 => {
            words.push(format!("--rate_iops={}", 1_000_000_000 / interval.0));
        }
        Arrivals::Every(_) | Arrivals::Poisson(_) => poisson = false,
    }
    if poisson {
        words.push("--rate_process=poisson".into());
    }
    words
}

/// Returns the option for the seed of `job`, if it is not the default.
fn seeded(job: &Job, by_fio: bool) -> Option<String> {
    let name = if by_fio { "randseed" } else { "seed" };
    let is_usual = job.seed == WorkloadOptions::default().seed;
    (!is_usual).then(|| format!("--{name}={}", job.seed))
}

/// Returns the options for the NUMA node of `job` and the CPUs of its threads, where they are not the defaults.
fn on_cpus(request: &AdviceRequest, job: &Job, by_fio: bool) -> Vec<String> {
    let mut words = Vec::new();
    let node = job.numa_node.filter(|_| !request.in_virtual_time());
    words.extend(node.map(|node| format!("--numa={node}")));
    // A node without a list of CPUs stands for its own CPUs.
    let by_node = node.is_some() && request.experiment.workload.cpus_allowed.is_empty();
    if !job.cpus_allowed.is_empty() && !by_node {
        let cpus: Vec<_> = job.cpus_allowed.iter().map(usize::to_string).collect();
        words.push(format!("--cpus_allowed={}", cpus.join(",")));
        if by_fio {
            words.push("--cpus_allowed_policy=split".into());
        }
    }
    words
}

/// Returns the options for the goal of `adaptive`, where it is not the default.
fn reaching(goal: &GoalOptions) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(objective) = goal.objective {
        words.push(format!("--objective={objective}"));
    }
    match (goal.slo, goal.latency_budget) {
        (Some(slo), _) => words.push(format!("--slo={slo}")),
        (None, Some(Promised::Budget { share, .. })) => {
            // As the user wrote it: rounded, so that 7 % does not become 7.000001 %.
            let percent = (share * 1e8).round() / 1e6;
            words.push(format!("--latency-budget={percent}%"));
        }
        (None, Some(_)) => words.push("--latency-budget=none".into()),
        (None, None) => {}
    }
    words
}

/// Formats `time` in the largest unit of which it is a whole number.
fn written(time: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let mut units = units.into_iter();
    match units.find(|(unit, _)| time.0.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", time.0 / unit),
        None => format!("{}ns", time.0),
    }
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
    if chosen.completion == "adaptive" {
        words.extend(reaching(&request.experiment.workload.goal));
    }
    if request.experiment.targets.allow_write {
        words.push("--allow-write".into());
    }
    if let Some(classes) = &request.experiment.workload.queue_priority {
        words.push(format!("--queue_priority={classes}"));
    }
    words.extend(driven(request));
    for (name, value) in &chosen.settings {
        words.push(match name.as_str() {
            // The value is in words, as `8 completions or 200 us`.
            "coalescing" => format!("--coalescing={}", coalescing(value)),
            name => format!("--{name}={value}"),
        });
    }
    words
}

/// Returns the options for the controllers that joulio drives, where they are not the defaults.
fn driven(request: &AdviceRequest) -> Vec<String> {
    let targets = &request.experiment.targets;
    let mut words = Vec::new();
    let arbitration = targets.arbitration;
    if let Some(weights) = arbitration.filter(|weights| *weights != DEFAULT_ARBITRATION) {
        words.push(format!("--arbitration={}", arbitration_text(weights)));
    }
    let usual = ControllerOptions::default();
    if let Some(time) = targets.io_timeout.filter(|time| *time != usual.io_timeout) {
        words.push(format!("--io_timeout={}", written(time)));
    }
    if targets.max_retries != usual.retries {
        words.push(format!("--max_retries={}", targets.max_retries));
    }
    if !targets.faults.is_empty() && !request.in_virtual_time() {
        let faults = targets.faults.to_string();
        words.push(format!("--faults={}", quoted(&faults)));
    }
    words
}

/// Converts `8 completions or 200 us` to the flag's form.
fn coalescing(words: &str) -> String {
    let numbers = words.split_whitespace();
    let numbers: Vec<_> = numbers.filter(|word| word.parse::<u32>().is_ok()).collect();
    numbers.join(",")
}

fn fio(request: &AdviceRequest, chosen: &Candidate) -> Vec<String> {
    let mut words = vec!["fio --name=advice --direct=1".to_owned()];
    let devices = request.experiment.targets.devices.iter();
    let names = devices.map(|device| fio_filename(&device.text()));
    words.extend(names.map(|name| format!("--filename={}", quoted(&name))));
    let engine = match chosen.engine {
        EngineName::Psync => "pvsync2",
        engine => engine.name(),
    };
    words.push(format!("--ioengine={engine}"));
    if matches!(&*chosen.completion, "poll" | "sqpoll+poll") {
        words.push("--hipri=1".into());
    }
    if chosen.completion.starts_with("sqpoll") {
        words.push("--sqthread_poll=1".into());
    }
    words
}

/// Quotes `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._:,=-+".contains(c);
    match text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitration::parse_arbitration;
    use crate::targets::TargetOptions;
    use joulio_workload::ReadWrite;
    use std::collections::BTreeMap;

    /// Returns the command for `workload` on a file, with io_uring in the given completion mode.
    fn command(workload: WorkloadOptions, completion: &str) -> String {
        command_with(workload, completion, &[])
    }

    /// As [`command`], with settings of the machine.
    fn command_with(
        workload: WorkloadOptions,
        completion: &str,
        settings: &[(&str, &str)],
    ) -> String {
        let settings = settings.iter();
        let settings = settings.map(|&(name, value)| (name.into(), value.into()));
        let chosen = Candidate {
            engine: EngineName::IoUring,
            completion: completion.into(),
            settings: settings.collect(),
            iodepth: 1,
        };
        command_of(&request("./disk.img", workload), &chosen)
    }

    /// Returns a request for advice on `workload` on one device.
    fn request(device: &str, workload: WorkloadOptions) -> AdviceRequest {
        let mut request = AdviceRequest {
            experiment: crate::experiment::ExperimentOptions::default(),
            observe: None,
            cap: None,
            cap_boundary: None,
        };
        request.experiment.targets.devices = vec![device.parse().expect("a device")];
        request.experiment.workload = workload;
        request
    }

    fn command_of(request: &AdviceRequest, chosen: &Candidate) -> String {
        let job = request.experiment.workload.job().expect("a job");
        of(request, &job, chosen)
    }

    #[test]
    fn what_fio_does_not_have_is_not_a_command_of_fios() {
        let usual = WorkloadOptions {
            number_ios: Some(10),
            ..WorkloadOptions::default()
        };
        let bursts = WorkloadOptions {
            bursts: Some((4, Nanos::from_millis(1))),
            ..usual.clone()
        };
        let phases = WorkloadOptions {
            phases: vec!["2k:1s".parse().expect("a phase")],
            ..usual.clone()
        };
        let fio = command(usual.clone(), "interrupt");
        assert!(
            fio.starts_with("fio ") && !fio.contains("adaptive"),
            "{fio}"
        );
        for (workload, completion, word) in [
            (usual, "adaptive", "--completion=adaptive"),
            (bursts, "interrupt", "--bursts=4:1ms"),
            (phases, "interrupt", "--phases=2000:1s"),
        ] {
            let ours = command(workload, completion);
            assert!(
                ours.starts_with("joulio bench --device=./disk.img"),
                "{ours}"
            );
            assert!(ours.contains(word), "{word}: {ours}");
        }
    }

    #[test]
    fn a_rate_that_fio_takes_otherwise_is_not_in_a_command_of_fios() {
        let of = |rw, bs: &str, rate_iops| WorkloadOptions {
            number_ios: Some(10),
            rw,
            bs: bs.parse().expect("sizes"),
            rate_iops,
            ..WorkloadOptions::default()
        };
        let mixed = ReadWrite::RandRw;
        for (workload, by) in [
            (of(ReadWrite::RandRead, "4k", Some(2_000)), "fio "),
            (of(mixed, "4k", None), "fio "),
            (of(mixed, "4k", Some(2_000)), "joulio bench "),
            (
                of(ReadWrite::RandTrimWrite, "4k", Some(2_000)),
                "joulio bench ",
            ),
            (
                of(ReadWrite::RandRead, "4k/50:16k/50", Some(2_000)),
                "joulio bench ",
            ),
            (of(ReadWrite::RandRead, "4k/50:16k/50", None), "fio "),
        ] {
            let command = command(workload, "interrupt");
            assert!(command.starts_with(by), "{by}: {command}");
        }
    }

    #[test]
    fn a_colon_in_a_path_does_not_separate_files() {
        let workload = WorkloadOptions {
            number_ios: Some(10),
            ..WorkloadOptions::default()
        };
        let chosen = Candidate {
            engine: EngineName::IoUring,
            completion: "interrupt".into(),
            settings: BTreeMap::new(),
            iodepth: 1,
        };
        let command = command_of(&request("./a:disk.img", workload), &chosen);
        assert!(
            command.starts_with("fio ") && command.contains(r"--filename='./a\:disk.img'"),
            "{command}"
        );
    }

    #[test]
    fn what_the_runs_were_given_is_in_the_command() {
        let workload = WorkloadOptions {
            number_ios: Some(10),
            numjobs: 2,
            queue_priority: Some("high:low".parse().expect("classes")),
            cpus_allowed: vec![0],
            numa_node: Some(0),
            ..WorkloadOptions::default()
        };
        let mut request = request("emulated:optane-900p", workload);
        let targets = &mut request.experiment.targets;
        targets.arbitration = Some(parse_arbitration("16,4,1").expect("weights"));
        targets.io_timeout = Some(Nanos::from_millis(2_000));
        targets.max_retries = 3;
        targets.faults = "drop@0.001".parse().expect("a plan");
        let chosen = Candidate {
            engine: EngineName::Nvme,
            completion: "interrupt".into(),
            settings: BTreeMap::new(),
            iodepth: 1,
        };
        let command = command_of(&request, &chosen);
        for word in [
            "--queue_priority=high:low",
            "--arbitration=16,4,1",
            "--io_timeout=2s",
            "--max_retries=3",
            "--faults='drop@0.001'",
            "--numa=0",
            "--cpus_allowed=0",
        ] {
            assert!(command.contains(word), "{word}: {command}");
        }
        request.experiment.targets = TargetOptions {
            // The flags always have a time; this is the default.
            io_timeout: Some(Nanos::from_millis(30_000)),
            ..request.experiment.targets.clone()
        };
        assert!(!command_of(&request, &chosen).contains("--io_timeout"));
        // fio would have its memory anywhere.
        let chosen = Candidate {
            engine: EngineName::IoUring,
            ..chosen
        };
        let command = command_of(&request, &chosen);
        assert!(command.starts_with("joulio bench "), "{command}");
    }

    #[test]
    fn what_fio_cannot_do_or_set_is_a_command_of_joulios() {
        let workload = WorkloadOptions {
            number_ios: Some(10),
            ..WorkloadOptions::default()
        };
        assert!(command(workload.clone(), "hybrid").starts_with("joulio bench "));
        let settings = [("max-cstate", "C1"), ("scheduler", "bfq")];
        let command = command_with(workload, "interrupt", &settings);
        assert!(
            command.contains("--max-cstate=C1") && command.contains("--scheduler=bfq"),
            "{command}"
        );
    }
}
