//! fio: its job file, and parsing of its JSON output.

use super::done::{ProgramReport, summary};
use super::error::ExternalError;
use super::program::{Program, ProgramEnd};
use joulio_units::Direction;
use joulio_workload::{
    Arrivals, CompletionMode, DirectionResult, EngineName, Job, JobKind, LatencySummary, Method,
    ThreadUsage,
};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Advice on how to install fio.
pub const REMEDY: &str = "apt install fio";

/// Returns the job file of `job` on `device`, with the interface and completion mode of `method`.
///
/// # Errors
/// fio cannot run the job with one report for all of its jobs.
pub fn job_file(job: &Job, method: Method, device: &Path) -> Result<String, ExternalError> {
    let Method { engine, mode } = method;
    let wrong = |problem: &str| ExternalError::Unfit {
        engine,
        problem: problem.into(),
    };
    let name = device
        .to_str()
        .filter(|name| !name.contains(char::is_control));
    let name =
        name.ok_or_else(|| wrong("a path that is no plain text: link to it, and name the link"))?;
    if job.bs.count() > 1 {
        return Err(wrong("its report is of one size: give one --bs"));
    }
    let interface = match engine {
        EngineName::FioPosixAio => "posixaio",
        _ => "io_uring",
    };
    let mut text = format!("[joulio]\nioengine={interface}\ndirect=1\ngroup_reporting=1\n");
    let mut put = |key: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key}={value}");
    };
    put("filename", filename(name));
    put("rw", job.rw.to_string());
    match job.bs.split() {
        Some(split) => put(split.fio_option(), split.to_string()),
        None => put("bs", job.bs.of_job(0).to_string()),
    }
    put("iodepth", job.iodepth.to_string());
    if job.batches.submit > 0 {
        put("iodepth_batch_submit", job.batches.submit.to_string());
    }
    if job.batches.complete_min > 1 {
        put(
            "iodepth_batch_complete_min",
            job.batches.complete_min.to_string(),
        );
    }
    if let Some(max) = job.batches.complete_max {
        put("iodepth_batch_complete_max", max.to_string());
    }
    put("numjobs", job.numjobs.to_string());
    put("randseed", job.seed.to_string());
    put("norandommap", "1".into());
    put("thread", u8::from(job.kind == JobKind::Thread).to_string());
    if job.does(Direction::Read) && job.does(Direction::Write) {
        put("rwmixread", job.rwmixread.to_string());
        // Percentiles of both directions together, in addition to those of each.
        put("unified_rw_reporting", "both".into());
    }
    put("offset", job.offset.to_string());
    put("random_distribution", job.random_distribution.to_string());
    if let Some(align) = job.block_align {
        put("blockalign", align.to_string());
    }
    if let Some(size) = job.size {
        put("size", size.to_string());
    }
    if let Some(runtime) = job.runtime {
        put("time_based", "1".into());
        put("runtime", format!("{}ms", (runtime.0 / 1_000_000).max(1)));
        put("ramp_time", format!("{}ms", job.ramp_time.0 / 1_000_000));
    }
    if let Some(ios) = job.number_ios {
        put("number_ios", ios.to_string());
        // Without io_size, a job ends after as many bytes as the device has.
        let bytes = ios.saturating_mul(job.bs.of_job(0));
        put("io_size", bytes.to_string());
    }
    if let Arrivals::Think { time, blocks } = job.arrivals {
        put("thinktime", time.0.div_ceil(1_000).to_string());
        put("thinktime_blocks", blocks.to_string());
    }
    if mode == CompletionMode::Poll || mode == CompletionMode::SqPollPoll {
        put("hipri", "1".into());
    }
    if mode.has_poller_thread() {
        put("sqthread_poll", "1".into());
    }
    if !job.cpus_allowed.is_empty() {
        let cpus: Vec<_> = job.cpus_allowed.iter().map(usize::to_string).collect();
        put("cpus_allowed", cpus.join(","));
        put("cpus_allowed_policy", "split".into());
    }
    put("lat_percentiles", "1".into());
    put("clat_percentiles", "0".into());
    put("percentile_list", "50:90:99:99.9:99.99:99.999".into());
    Ok(text)
}

/// Returns the value of fio's `filename` for one file: fio separates several with colons.
pub(crate) fn filename(path: &str) -> String {
    path.replace('\\', "\\\\").replace(':', "\\:")
}

/// Parses fio's report of a run with `engine`.
///
/// # Errors
/// The output has another format, or I/Os failed.
pub fn read(
    program: &Program,
    engine: EngineName,
    ended: &ProgramEnd,
) -> Result<ProgramReport, ExternalError> {
    // Warnings may precede the JSON.
    let begin = ended.stdout.find('{').unwrap_or(0);
    let report: Value = serde_json::from_str(&ended.stdout[begin..])
        .map_err(|why| program.failed(format!("its report is no JSON: {why}")))?;
    let job = &report["jobs"][0];
    if job["error"].as_u64() != Some(0) {
        return Err(program.failed(format!("it reports error {}", job["error"])));
    }
    let lacks = |what: &str| program.failed(format!("its report has no {what}"));
    let read = side(&job["read"]).ok_or_else(|| lacks("read"))?;
    let write = side(&job["write"]).ok_or_else(|| lacks("write"))?;
    let seconds = runtime(&job["read"]).max(runtime(&job["write"]));
    let all = match (read.ios, write.ios) {
        (0, _) => write.clone(),
        (_, 0) => read.clone(),
        _ => side(&job["mixed"]).ok_or_else(|| lacks("mixed"))?,
    };
    if all.ios == 0 || seconds <= 0.0 {
        return Err(program.failed("it did no I/O"));
    }
    Ok(ProgramReport {
        seconds,
        usage: match engine {
            // fio only counts the CPU time of its own threads, but threads of the C library do the I/O.
            EngineName::FioPosixAio => ended.usage,
            _ => cpu(job).ok_or_else(|| lacks("usr_cpu"))?,
        },
        read,
        write,
        all,
        ..ProgramReport::default()
    })
}

fn runtime(side: &Value) -> f64 {
    side["runtime"].as_f64().unwrap_or(0.0) / 1e3
}

/// Returns the figures of one direction.
fn side(side: &Value) -> Option<DirectionResult> {
    let number = |key: &str| side[key].as_f64();
    let ios = side["total_ios"].as_u64()?;
    if ios == 0 {
        return Some(DirectionResult::default());
    }
    let latency = &side["lat_ns"];
    let percentile = |name: &str| latency["percentile"][name].as_u64();
    let values = [
        percentile("50.000000")?,
        percentile("90.000000")?,
        percentile("99.000000")?,
        percentile("99.900000")?,
    ];
    Some(DirectionResult {
        ios,
        errors: 0,
        iops: number("iops")?,
        bandwidth_bytes_per_second: number("bw_bytes")?,
        latency_ns: LatencySummary {
            stddev: latency["stddev"].as_f64(),
            p9999: percentile("99.990000"),
            p99999: percentile("99.999000"),
            ..summary(latency["mean"].as_f64()?, values, latency["max"].as_u64()?)
        },
    })
}

/// Returns the CPU time of the measured part, from percentages of the time of all jobs in sequence.
fn cpu(job: &Value) -> Option<ThreadUsage> {
    let seconds = job["job_runtime"].as_f64()? / 1e3;
    let of = |key: &str| Some(job[key].as_f64()? / 100.0 * seconds);
    Some(ThreadUsage {
        threads: 1,
        user_seconds: of("usr_cpu")?,
        system_seconds: of("sys_cpu")?,
        ..ThreadUsage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Nanos;
    use joulio_workload::{Batches, RandomDistribution, ReadWrite};

    #[test]
    fn a_job_becomes_a_job_file() {
        let job = Job {
            rw: ReadWrite::RandRw,
            rwmixread: 70,
            iodepth: 8,
            numjobs: 2,
            runtime: Some(Nanos::from_millis(400)),
            number_ios: Some(3),
            ramp_time: Nanos::from_millis(100),
            cpus_allowed: vec![0, 1],
            offset: 8192,
            random_distribution: RandomDistribution::Zipf(1.2),
            batches: Batches {
                complete_max: Some(4),
                ..Batches::default()
            },
            ..Job::random_reads(1)
        };
        let by = |engine, mode, path| job_file(&job, Method { engine, mode }, Path::new(path));
        let text = by(EngineName::Fio, CompletionMode::SqPollPoll, "/dev/a:b").unwrap();
        for line in [
            "ioengine=io_uring",
            "filename=/dev/a\\:b",
            "rw=randrw",
            "rwmixread=70",
            "iodepth=8",
            "numjobs=2",
            "runtime=400ms",
            "ramp_time=100ms",
            "hipri=1",
            "sqthread_poll=1",
            "number_ios=3",
            "io_size=12288",
            "cpus_allowed=0,1",
            // Writes at another offset would destroy other data.
            "offset=8192",
            "random_distribution=zipf:1.2",
            "iodepth_batch_complete_max=4",
            // All that are read from the report.
            "percentile_list=50:90:99:99.9:99.99:99.999",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
        let (engine, mode) = (EngineName::FioPosixAio, CompletionMode::Interrupt);
        assert!(
            by(engine, mode, "/dev/a")
                .unwrap()
                .contains("ioengine=posixaio\n")
        );
        assert!(by(engine, mode, "/dev/a\nexec=b").is_err());
    }

    #[test]
    fn a_report_that_lacks_something_is_no_figure() {
        let program = Program::find("sh", "").unwrap();
        let ended = |text: &str| ProgramEnd {
            stdout: text.into(),
            ..ProgramEnd::default()
        };
        for text in ["", "fio: no", "{}", r#"{"jobs":[{"error":5}]}"#] {
            let report = read(&program, EngineName::Fio, &ended(text));
            assert!(report.is_err(), "{text}");
        }
    }
}
