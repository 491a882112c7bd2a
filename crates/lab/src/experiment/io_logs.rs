//! Logs of I/Os in fio's file format.

use super::cpus::wrong;
use crate::output_file::{Existing, OutputFile, OutputFileError};
use joulio_units::{Nanos, Operation};
use joulio_workload::{JobError, JobLog, LoggedIo};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Reason why the logs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum IoLogError {
    /// Two runs would write the same file.
    #[error(transparent)]
    SameFile(#[from] JobError),
    /// A file cannot be written.
    #[error("the log of the I/Os: {0}")]
    File(#[from] OutputFileError),
}

/// Logs that are requested, with `--write_lat_log` and similar flags.
#[derive(Clone, Debug, Default)]
pub struct IoLogs {
    /// Prefix of the latency logs' file names.
    pub latency: Option<PathBuf>,
    /// Prefix of the bandwidth logs' file names.
    pub bandwidth: Option<PathBuf>,
    /// Prefix of the IOPS logs' file names.
    pub iops: Option<PathBuf>,
    /// Time over which a line is the mean; zero: one line for each I/O.
    pub average: Nanos,
    /// True if lines contain the I/O's offset.
    pub offset: bool,
}

/// Quantity that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logged {
    /// Latency in nanoseconds.
    Latency,
    /// Bandwidth in KiB per second.
    Bandwidth,
    /// I/Os per second.
    Iops,
}

impl Logged {
    fn flag(self) -> &'static str {
        match self {
            Logged::Latency => "--write_lat_log",
            Logged::Bandwidth => "--write_bw_log",
            Logged::Iops => "--write_iops_log",
        }
    }
}

impl IoLogs {
    /// Returns true if any log is requested.
    pub fn any(&self) -> bool {
        self.kinds().next().is_some()
    }

    fn kinds(&self) -> impl Iterator<Item = (Logged, &Path)> {
        let all = [
            (Logged::Latency, &self.latency),
            (Logged::Bandwidth, &self.bandwidth),
            (Logged::Iops, &self.iops),
        ];
        all.into_iter()
            .filter_map(|(kind, prefix)| Some((kind, prefix.as_deref()?)))
    }

    /// Checks that the files of the runs `names` can be written and differ between runs; the name of a single run is
    /// empty. `before` is the number of jobs numbered before these.
    ///
    /// # Errors
    /// A file cannot be written, or two runs would write the same file.
    pub fn check(&self, names: &[String], before: usize) -> Result<(), IoLogError> {
        for (kind, prefix) in self.kinds() {
            let mut files: HashMap<PathBuf, &String> = HashMap::new();
            for name in names {
                let path = path(prefix, name, kind, before);
                OutputFile::open(&path, Existing::Replace)?;
                if let Some(other) = files.insert(path.clone(), name) {
                    let problem = format!(
                        "the logs of {other} and of {name} would both be {}: run them one after the other, with a prefix each",
                        path.display()
                    );
                    return Err(wrong(kind.flag(), &problem).into());
                }
            }
        }
        Ok(())
    }

    /// Writes the files of the run `name`, one for each job; `before` is the number of jobs numbered before these.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, name: &str, before: usize, logs: &[JobLog]) -> Result<(), IoLogError> {
        for (kind, prefix) in self.kinds() {
            for log in logs {
                let path = path(prefix, name, kind, before + log.job);
                let text = lines(kind, &log.ios, self.average, self.offset);
                OutputFile::open(&path, Existing::Replace)?.write(&text)?;
            }
        }
        Ok(())
    }
}

/// Returns the path of a log: `PREFIX_lat.1.log`, or with several runs `PREFIX-poll_lat.1.log`.
fn path(prefix: &Path, name: &str, kind: Logged, job: usize) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    if !name.is_empty() {
        // A run's name may contain a device's name.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '=');
        path.push("-");
        path.push(name.replace(|c| !plain(c), "_"));
    }
    let kind = match kind {
        Logged::Latency => "lat",
        Logged::Bandwidth => "bw",
        Logged::Iops => "iops",
    };
    path.push(format!("_{kind}.{}.log", job + 1));
    path.into()
}

/// Formats the lines of a log: milliseconds, value, direction (0 reads, 1 writes, 2 trims), bytes of an I/O, the offset
/// if it is requested, priority.
fn lines(kind: Logged, ios: &[LoggedIo], average: Nanos, with_offset: bool) -> String {
    let mut text = String::new();
    let mut line = |at: Nanos, value: u64, side: u8, len: u32, offset: u64| {
        let ms = at.0 / 1_000_000;
        // Writing to a string does not fail.
        let _ = match with_offset {
            true => writeln!(text, "{ms}, {value}, {side}, {len}, {offset}, 0"),
            false => writeln!(text, "{ms}, {value}, {side}, {len}, 0"),
        };
    };
    if average == Nanos::ZERO {
        for io in ios {
            let value = match kind {
                Logged::Latency => io.latency.0,
                Logged::Bandwidth => per_second(u64::from(io.len), io.latency) / 1024,
                Logged::Iops => 1,
            };
            line(io.at, value, side(io), io.len, io.offset);
        }
        return text;
    }
    // Completions are in order of time.
    let nth = |io: &LoggedIo| io.at.0 / average.0;
    for window in ios.chunk_by(|one, other| nth(one) == nth(other)) {
        let end = Nanos((nth(&window[0]) + 1).saturating_mul(average.0));
        for number in 0..3 {
            let side = window.iter().filter(|io| side(io) == number);
            let count = side.clone().count() as u64;
            if count == 0 {
                continue;
            }
            let value = match kind {
                Logged::Latency => side.map(|io| io.latency.0).sum::<u64>() / count,
                Logged::Bandwidth => {
                    per_second(side.map(|io| u64::from(io.len)).sum(), average) / 1024
                }
                Logged::Iops => per_second(count, average),
            };
            line(end, value, number, 0, 0);
        }
    }
    text
}

/// Returns fio's number for an I/O's direction.
fn side(io: &LoggedIo) -> u8 {
    match io.operation {
        Operation::Write => 1,
        Operation::Trim => 2,
        _ => 0,
    }
}

fn per_second(amount: u64, time: Nanos) -> u64 {
    (u128::from(amount) * 1_000_000_000 / u128::from(time.0.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(at_ms: u64, latency_us: u64, is_write: bool) -> LoggedIo {
        let operations = [Operation::Read, Operation::Write];
        LoggedIo {
            at: Nanos::from_millis(at_ms),
            latency: Nanos::from_micros(latency_us),
            operation: operations[usize::from(is_write)],
            len: 4096,
            offset: 8192,
        }
    }

    #[test]
    fn a_line_is_an_io_or_a_mean() {
        let ios = [
            io(1, 100, false),
            io(2, 300, false),
            io(2, 50, true),
            io(12, 10, false),
        ];
        let each = lines(Logged::Latency, &ios, Nanos::ZERO, true);
        let wanted = "1, 100000, 0, 4096, 8192, 0\n2, 300000, 0, 4096, 8192, 0\n\
                      2, 50000, 1, 4096, 8192, 0\n12, 10000, 0, 4096, 8192, 0\n";
        assert_eq!(each, wanted);
        let means = lines(Logged::Latency, &ios, Nanos::from_millis(10), false);
        assert_eq!(
            means,
            "10, 200000, 0, 0, 0\n10, 50000, 1, 0, 0\n20, 10000, 0, 0, 0\n"
        );
        let rates = lines(Logged::Iops, &ios, Nanos::from_millis(10), false);
        assert_eq!(
            rates,
            "10, 200, 0, 0, 0\n10, 100, 1, 0, 0\n20, 100, 0, 0, 0\n"
        );
        // 4 KiB in 100 us are 40,000 KiB/s.
        assert!(lines(Logged::Bandwidth, &ios, Nanos::ZERO, true).starts_with("1, 40000, 0, "));
    }

    #[test]
    fn files_are_named_as_fio_names_them() {
        let named = |name: &str| path(Path::new("a/x"), name, Logged::Bandwidth, 1);
        assert_eq!(named(""), Path::new("a/x_bw.2.log"));
        assert_eq!(
            named("poll-/dev/sda"),
            Path::new("a/x-poll-_dev_sda_bw.2.log")
        );
    }
    #[test]
    fn runs_whose_files_would_be_the_same_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let logs = |latency: Option<&str>| IoLogs {
            latency: latency.map(|name| folder.path().join(name)),
            iops: Some(folder.path().join("i")),
            ..IoLogs::default()
        };
        let names = |names: [&str; 2]| names.map(str::to_owned);
        let same = names(["poll-/tmp/a:b", "poll-/tmp/a_b"]);
        let said = logs(Some("x")).check(&same, 0).unwrap_err().to_string();
        assert!(said.starts_with("--write_lat_log: "), "{said}");
        for word in [&*same[0], &same[1], "x-poll-_tmp_a_b_lat.1.log"] {
            assert!(said.contains(word), "{said}");
        }
        let said = logs(None).check(&same, 0).unwrap_err().to_string();
        assert!(said.starts_with("--write_iops_log: "), "{said}");
        assert!(logs(Some("x")).check(&names(["a", "b"]), 0).is_ok());
        assert!(IoLogs::default().check(&same, 0).is_ok());
    }
}
