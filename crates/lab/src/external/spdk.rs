//! SPDK's `spdk_nvme_perf`: its words, and its tables read.

use super::done::{ProgramReport, summary};
use super::error::ExternalError;
use super::program::{Program, ProgramEnd, whole_seconds};
use joulio_host::controller::OwnAddress;
use joulio_units::Direction;
use joulio_workload::{DirectionResult, EngineName, Job, LatencySummary};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Source of the program.
pub const REMEDY: &str = "build SPDK, and put its build/bin on it";

/// File name of the socket that SPDK opens in the folder it is given.
const SOCKET: &str = "cntrl";

/// Name of a subsystem, which the controller does not ask for: without one SPDK takes it for a discovery
/// controller, which has no namespaces.
const SUBSYSTEM: &str = "nqn.2026-01.io.joulio:any";

/// Time beside the job's that the program has to begin and to end.
const GRACE: Duration = Duration::from_secs(30);

/// Mebibytes that SPDK takes for itself, beside the buffers of the I/Os.
const OWN_MEMORY_MIB: u64 = 256;

/// Words for `job` on the namespace `nsid` of `controller`.
///
/// # Errors
/// The job or the controller is none that the program has, with one table of latencies.
pub fn words(
    job: &Job,
    controller: &OwnAddress,
    nsid: u32,
) -> Result<Vec<OsString>, ExternalError> {
    let Some(runtime) = job.runtime else {
        return Err(wrong(
            "it runs for a time: give --runtime in place of --number_ios",
        ));
    };
    if job.numjobs > 1 || job.bs.iter().count() > 1 {
        return Err(wrong("its percentiles are of one core: give --numjobs 1"));
    }
    if job.size.is_some() {
        return Err(wrong("it takes the whole namespace: leave --size out"));
    }
    let mut words = vec![
        format!("-q{}", job.iodepth),
        format!("-o{}", job.bs.of_job(0)),
        format!("-w{}", job.rw),
        format!("-t{}", whole_seconds(runtime)),
        format!("-c[{}]", job.cpus_allowed.first().copied().unwrap_or(0)),
        "-L".into(),
        // Without `ns` it does I/O to every namespace of the controller.
        format!("-r{} ns:{nsid}", transport_id(controller)?),
    ];
    if let OwnAddress::VfioUser(_) = controller {
        // The server maps this memory as a file, which needs no huge pages, and so no administrator.
        words.extend(["--no-huge".into(), format!("-s{}", memory_mib(job))]);
    }
    if job.ramp_time.0 > 0 {
        words.push(format!("-a{}", whole_seconds(job.ramp_time)));
    }
    if job.does(Direction::Read) && job.does(Direction::Write) {
        words.push(format!("-M{}", job.rwmixread));
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

/// Time after which `job` is given up: where the device no longer answers, the program waits for its I/Os
/// without an end.
pub fn longest(job: &Job) -> Duration {
    let seconds = whole_seconds(job.ramp_time) + whole_seconds(job.runtime.unwrap_or_default());
    Duration::from_secs(seconds) + GRACE
}

/// Transport ID of `controller`, as SPDK parses it: keys and values, with blanks between them.
fn transport_id(controller: &OwnAddress) -> Result<String, ExternalError> {
    match controller {
        OwnAddress::Pcie(function) => Ok(format!("trtype:PCIe traddr:{}", function.address)),
        OwnAddress::VfioUser(path) => {
            let folder = folder(path)?;
            Ok(format!(
                "trtype:VFIOUSER traddr:{folder} subnqn:{SUBSYSTEM}"
            ))
        }
    }
}

/// Folder of the socket `path`, by which SPDK finds it.
fn folder(path: &Path) -> Result<&str, ExternalError> {
    let folder = path.parent().filter(|_| path.ends_with(SOCKET));
    let folder = folder.ok_or_else(|| {
        let served = path.parent().unwrap_or(path).join(SOCKET);
        wrong(format!(
            "SPDK takes a folder and opens the socket '{SOCKET}' there: serve the device as {}",
            crate::printable(&served.display().to_string())
        ))
    })?;
    let parts = |c: char| c.is_whitespace() || c.is_control() || c == ':' || c == '=';
    let plain = folder.to_str().filter(|name| !name.contains(parts));
    let plain = plain.ok_or_else(|| {
        wrong(format!(
            "{}: SPDK has no blanks, ':' or '=' in a folder's name: serve the device in another",
            crate::printable(&folder.display().to_string())
        ))
    })?;
    Ok(if plain.is_empty() { "." } else { plain })
}

/// Mebibytes of memory for `job`, twice what is in flight.
fn memory_mib(job: &Job) -> u64 {
    let in_flight = job.bs.of_job(0).saturating_mul(job.iodepth as u64);
    OWN_MEMORY_MIB + in_flight.saturating_mul(2).div_ceil(1 << 20)
}

fn wrong(problem: impl Into<String>) -> ExternalError {
    ExternalError::Unfit {
        engine: EngineName::SpdkNvmePerf,
        problem: problem.into(),
    }
}

/// The program's report of `job`.
///
/// # Errors
/// It failed, did no I/O, or its output has another form.
pub fn read(
    program: &Program,
    ended: &ProgramEnd,
    job: &Job,
) -> Result<ProgramReport, ExternalError> {
    let total = ended.stdout.lines().find_map(total);
    // Without a namespace, or if no I/O completed, the program prints that and ends with status 0.
    let total = total.filter(|_| ended.status.success());
    let total = total.ok_or_else(|| program.failed(cause(ended)))?;
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
        latency_ns: LatencySummary {
            p9999: percentiles.get("99.99000").copied(),
            p99999: percentiles.get("99.99900").copied(),
            ..summary(average * 1e3, values, (max * 1e3).round() as u64)
        },
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
        ..ProgramReport::default()
    })
}

/// Returns the cause of a run without a result from the program's messages: the first line is the event, and the last
/// what failed because of it.
fn cause(ended: &ProgramEnd) -> String {
    let telling = |line: &&str| {
        let mut empty = ["*NOTICE*", "*WARNING*", "errors occurred"].into_iter();
        !line.trim().is_empty() && !empty.any(|word| line.contains(word))
    };
    // Why it leaves a namespace out stands in its output.
    let left_out = ["WARNING: ", "ERROR: "]
        .map(|word| ended.stdout.lines().find_map(|l| l.strip_prefix(word)));
    let lines = ended.stderr.lines().filter(telling).map(message);
    let lines: Vec<_> = left_out.into_iter().flatten().chain(lines).collect();
    if lines.iter().any(|line| line.ends_with("device BAR0")) {
        return "it maps the doorbells: serve the device with --doorbells mapped".into();
    }
    let said = match lines.as_slice() {
        [] => "no line 'Total' in its output",
        [one] => one,
        [first, .., last] => &format!("{first}; {last}"),
    };
    format!("{}: {}", ended.status, crate::printable(said))
}

/// Returns the message of a line: `[time] file.c: 7:function: *ERROR*: message`.
fn message(line: &str) -> &str {
    let log = line.split_once("*: ").filter(|_| line.starts_with('['));
    log.map_or(line, |(_, message)| message).trim()
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
        assert_eq!(
            (latency.p9999, latency.p99999),
            (Some(210_000), Some(420_000))
        );
        for cut in ["Total", " 99.90000%"] {
            let text = OUTPUT.replace(cut, "");
            assert!(read(&program, &ended(&text), &job()).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_run_without_a_result_says_why() {
        let program = Program::find("sh", "").unwrap();
        let with = |stdout: &str, stderr: &str| {
            let ended = ProgramEnd {
                stdout: stdout.into(),
                stderr: stderr.into(),
                ..ProgramEnd::default()
            };
            read(&program, &ended, &job()).unwrap_err().to_string()
        };
        let why = |stderr: &str| with("Initializing NVMe Controllers\n", stderr);
        let log = "\
[2026-01-02 03:04:05.678901] a.c: 7:f: *NOTICE*: hello
[2026-01-02 03:04:05.678902] vfio_user.c:  12:setup: *ERROR*: connect error
[2026-01-02 03:04:05.678903] nvme.c:  34:probe: *ERROR*: scan failed
probe failed for transport address '/x'
./spdk_nvme_perf: errors occurred
";
        assert_eq!(
            why(log),
            "sh: exit status: 0: connect error; probe failed for transport address '/x'"
        );
        assert_eq!(
            why("No valid NVMe controllers found\n"),
            "sh: exit status: 0: No valid NVMe controllers found"
        );
        let warning = "WARNING: IO size 1000 is no multiple\nWARNING: devices were skipped\n";
        assert_eq!(
            with(warning, "No valid devices found\n"),
            "sh: exit status: 0: IO size 1000 is no multiple; No valid devices found"
        );
        let said = why("[x] nvme_vfio_user.c: 174:f: *ERROR*: Error to get device BAR0\n");
        assert!(said.contains("--doorbells mapped"), "{said}");
        assert_eq!(why(""), "sh: exit status: 0: no line 'Total' in its output");
    }

    fn pcie() -> OwnAddress {
        "pcie:0000:65:00.0".parse().unwrap()
    }

    fn socket(path: &str) -> OwnAddress {
        OwnAddress::VfioUser(path.into())
    }

    fn text(job: &Job, controller: &OwnAddress, nsid: u32) -> Vec<String> {
        let words = words(job, controller, nsid).unwrap();
        let words = words.into_iter().map(|word| word.into_string().unwrap());
        words.collect()
    }

    #[test]
    fn a_job_becomes_words() {
        assert_eq!(
            text(&job(), &pcie(), 1),
            [
                "-q8",
                "-o4096",
                "-wrandread",
                "-t2",
                "-c[0]",
                "-L",
                "-rtrtype:PCIe traddr:0000:65:00.0 ns:1"
            ]
        );
    }

    #[test]
    fn a_served_device_is_a_folder_and_takes_no_huge_pages() {
        let (path, many) = (socket("/run/x/cntrl"), 1 << 20);
        let words = text(&job(), &path, 3);
        assert_eq!(
            words[6..],
            [
                "-rtrtype:VFIOUSER traddr:/run/x subnqn:nqn.2026-01.io.joulio:any ns:3",
                "--no-huge",
                "-s257"
            ]
        );
        let deep = Job {
            bs: many.into(),
            iodepth: 128,
            ..job()
        };
        assert_eq!(text(&deep, &path, 1)[8], "-s512");
        let here = text(&job(), &socket("cntrl"), 1);
        assert!(here[6].starts_with("-rtrtype:VFIOUSER traddr:. subnqn:"));
    }

    #[test]
    fn what_it_does_not_do_is_refused() {
        let refused = |job: Job, controller: &OwnAddress| {
            let error = words(&job, controller, 1).unwrap_err();
            assert!(error.is_unfit());
            error.to_string()
        };
        let said = refused(job(), &socket("/run/x/nvme.sock"));
        assert!(said.contains("serve the device as /run/x/cntrl"), "{said}");
        for path in [
            "/run/a b/cntrl",
            "/run/ns:2/cntrl",
            "/run/a=b/cntrl",
            "/run/a\nb/cntrl",
        ] {
            let said = refused(job(), &socket(path));
            assert!(
                said.contains("in another") && !said.contains('\n'),
                "{said}"
            );
        }
        let mut jobs = [job(), job(), job()];
        jobs[0].runtime = None;
        jobs[1].numjobs = 2;
        // It would write without permission.
        jobs[2].size = Some(1 << 20);
        let hints = ["--runtime", "--numjobs", "--size"];
        for (job, hint) in jobs.into_iter().zip(hints) {
            let said = refused(job, &pcie());
            assert!(said.contains(hint), "{said}");
        }
    }
}
