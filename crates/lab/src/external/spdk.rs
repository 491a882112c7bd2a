//! SPDK's `spdk_nvme_perf`: its words, and its tables read.

use super::done::{ProgramReport, summary};
use super::error::ExternalError;
use super::program::{Program, ProgramEnd, whole_seconds};
use joulio_units::Direction;
use joulio_workload::{DirectionResult, EngineName, Job};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Source of the program.
pub const REMEDY: &str = "build SPDK (examples/nvme/perf), and put build/bin on it";

/// Words for `job` on the controller at the PCIe `address`.
///
/// # Errors
/// The job is none that the program has with one table of latencies.
pub fn words(job: &Job, address: &str) -> Result<Vec<OsString>, ExternalError> {
    let wrong = |problem: &str| ExternalError::Unfit {
        engine: EngineName::SpdkNvmePerf,
        problem: problem.into(),
    };
    let Some(runtime) = job.runtime else {
        return Err(wrong(
            "it runs for a time: give --runtime in place of --number_ios",
        ));
    };
    if job.numjobs > 1 || job.bs.iter().count() > 1 {
        return Err(wrong("its percentiles are of one core: give --numjobs 1"));
    }
    let mut words = vec![
        format!("-q{}", job.iodepth),
        format!("-o{}", job.bs.of_job(0)),
        format!("-w{}", job.rw),
        format!("-t{}", whole_seconds(runtime)),
        format!("-c[{}]", job.cpus_allowed.first().copied().unwrap_or(0)),
        "-L".into(),
        format!("-rtrtype:PCIe traddr:{address}"),
    ];
    if job.ramp_time.0 > 0 {
        words.push(format!("-a{}", whole_seconds(job.ramp_time)));
    }
    if job.does(Direction::Read) && job.does(Direction::Write) {
        words.push(format!("-M{}", job.rwmixread));
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

/// The program's report of `job`.
///
/// # Errors
/// The output has another form.
pub fn read(
    program: &Program,
    ended: &ProgramEnd,
    job: &Job,
) -> Result<ProgramReport, ExternalError> {
    let total = ended.stdout.lines().find_map(total);
    let total = total.ok_or_else(|| program.failed("its output has no line 'Total'"))?;
    let percentiles = percentiles(&ended.stdout);
    let of = |percent: &str| {
        let value = percentiles.get(percent).copied();
        value.ok_or_else(|| program.failed(format!("its output has no percentile {percent} %")))
    };
    let values = [
        of("50.00000")?,
        of("90.00000")?,
        of("99.00000")?,
        of("99.90000")?,
    ];
    let seconds = whole_seconds(job.runtime.unwrap_or_default()) as f64;
    let [iops, _, average, _, max] = total;
    let all = DirectionResult {
        ios: (iops * seconds).round() as u64,
        errors: 0,
        iops,
        bandwidth_bytes_per_second: iops * job.bs.of_job(0) as f64,
        latency_ns: summary(average * 1e3, values, (max * 1e3).round() as u64),
    };
    let none = DirectionResult::default;
    let (read, write) = match (job.does(Direction::Read), job.does(Direction::Write)) {
        (true, false) => (all.clone(), none()),
        (false, true) => (none(), all.clone()),
        // It does not report them apart.
        _ => (none(), none()),
    };
    Ok(ProgramReport {
        seconds,
        // From its first moment to its last, which is longer.
        usage: ended.usage,
        read,
        write,
        all,
    })
}

/// `Total : IOPS MiB/s average min max`, the last three in microseconds.
fn total(line: &str) -> Option<[f64; 5]> {
    let (name, numbers) = line.split_once(':')?;
    if name.trim() != "Total" {
        return None;
    }
    let numbers = numbers.split_ascii_whitespace();
    let numbers: Vec<f64> = numbers.map_while(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

/// Lines of the summary of latencies, `99.00000% :    12.345us`, in nanoseconds.
fn percentiles(text: &str) -> BTreeMap<String, u64> {
    let lines = text.lines().filter_map(|line| {
        let (percent, time) = line.split_once("% :")?;
        let us: f64 = time.trim().strip_suffix("us")?.parse().ok()?;
        Some((percent.trim().to_owned(), (us * 1e3).round() as u64))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Nanos;

    /// Written by us in the form that SPDK's examples/nvme/perf prints.
    const OUTPUT: &str = "\
Initializing NVMe Controllers
Attached to NVMe Controller at 0000:65:00.0 [8086:2700]
Initialization complete. Launching workers.
========================================================
                                                                             Latency(us)
Device Information                     :       IOPS      MiB/s    Average        min        max
PCIE (0000:65:00.0) NSID 1 from core  0:  500000.50    1953.13      15.90       7.11     812.40
========================================================
Total                                  :  500000.50    1953.13      15.90       7.11     812.40

Summary latency data for PCIE (0000:65:00.0) NSID 1                  from core 0:
=================================================================================
  1.00000% :     9.100us
 10.00000% :    11.000us
 25.00000% :    13.200us
 50.00000% :    15.400us
 75.00000% :    17.900us
 90.00000% :    20.100us
 95.00000% :    22.000us
 98.00000% :    26.500us
 99.00000% :    31.250us
 99.50000% :    36.000us
 99.90000% :    95.300us
 99.99000% :   210.000us
 99.99900% :   420.000us
";

    fn job() -> Job {
        Job {
            iodepth: 8,
            runtime: Some(Nanos::from_millis(1_500)),
            number_ios: None,
            ..Job::random_reads(1)
        }
    }

    #[test]
    fn the_total_and_the_percentiles_are_read() {
        let program = Program::find("sh", "").unwrap();
        let ended = |text: &str| ProgramEnd {
            stdout: text.into(),
            ..ProgramEnd::default()
        };
        let done = read(&program, &ended(OUTPUT), &job()).unwrap();
        assert_eq!((done.seconds, done.all.ios), (2.0, 1_000_001));
        assert_eq!(done.read, done.all);
        let latency = &done.all.latency_ns;
        assert_eq!((latency.p50, latency.p99), (15_400, 31_250));
        assert_eq!((latency.mean, latency.max), (15_900.0, 812_400));
        for cut in ["Total", " 99.90000%"] {
            let text = OUTPUT.replace(cut, "");
            assert!(read(&program, &ended(&text), &job()).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_job_becomes_words() {
        let words = words(&job(), "0000:65:00.0").unwrap();
        let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
        assert_eq!(
            words,
            [
                "-q8",
                "-o4096",
                "-wrandread",
                "-t2",
                "-c[0]",
                "-L",
                "-rtrtype:PCIe traddr:0000:65:00.0"
            ]
        );
        assert!(super::words(&Job::random_reads(1), "0000:65:00.0").is_err());
    }
}
