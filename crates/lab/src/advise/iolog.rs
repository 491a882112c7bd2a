//! Workloads from fio's I/O logs (fio(1), "TRACE FILE FORMAT").

use super::observed::Workload;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Largest number of lines that are read: later lines are similar, or belong to another workload.
const MAX_LINES: usize = 4_000_000;
/// Largest length of a line in bytes.
const MAX_LINE: u64 = 4_096;
/// I/Os in flight if the log records the times at which I/Os are submitted.
const OPEN_DEPTH: usize = 32;

/// Reason why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IologError {
    /// The file cannot be read.
    #[error("--read_iolog {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file is not in the format of fio's logs.
    #[error(
        "--read_iolog {}: not a log of fio's, whose first line is 'fio version 2 iolog' or 'fio version 3 iolog': fio --write_iolog=FILE writes one",
        .0.display()
    )]
    Format(PathBuf),
    /// The line does not belong in such a log.
    #[error("--read_iolog {}: line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Description of what is wrong, and what to do.
        problem: String,
    },
    /// The log contains no I/O.
    #[error("--read_iolog {}: there is no read and no write in it", .0.display())]
    Empty(PathBuf),
}

/// Totals over a log.
#[derive(Default)]
struct Counted {
    reads: u64,
    writes: u64,
    bytes: u64,
    following: u64,
    /// End of the last I/O of each file.
    ends: BTreeMap<String, u64>,
    /// Times of the first and the last I/O in microseconds.
    times: Option<(u64, u64)>,
    /// Sum of all waits in microseconds.
    waited_us: u64,
}

/// Derives a workload from the log `path`.
///
/// # Errors
/// The file cannot be read, has another format, or contains no I/O.
pub fn read_iolog(path: &Path) -> Result<Workload, IologError> {
    let unreadable = |source| IologError::Unreadable {
        path: path.into(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("not a regular file")));
    }
    read(path, BufReader::new(file))
}

fn read(path: &Path, mut from: impl BufRead) -> Result<Workload, IologError> {
    let unreadable = |source| IologError::Unreadable {
        path: path.into(),
        source,
    };
    let (mut counted, mut version, mut text) = (Counted::default(), 0, Vec::new());
    for line in 1..=MAX_LINES {
        text.clear();
        let mut limited = io::Read::take(&mut from, MAX_LINE);
        if limited.read_until(b'\n', &mut text).map_err(unreadable)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&text);
        if line == 1 {
            version = match text.trim() {
                "fio version 2 iolog" => 2,
                "fio version 3 iolog" => 3,
                _ => return Err(IologError::Format(path.into())),
            };
            continue;
        }
        let counted = counted.line(version, text.trim());
        counted.map_err(|problem| IologError::Line {
            path: path.into(),
            line,
            problem,
        })?;
    }
    counted.workload(path)
}

impl Counted {
    fn line(&mut self, version: u8, text: &str) -> Result<(), String> {
        let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
        if words.is_empty() {
            return Ok(());
        }
        let number = |text: &str, what: &str| {
            let parsed = text.parse::<u64>();
            parsed.map_err(|_| format!("'{text}' is no {what}: write a whole number"))
        };
        let at = match version {
            3 => Some(number(words.remove(0), "time in microseconds")?),
            _ => None,
        };
        match *words.as_slice() {
            [_, "add" | "open" | "close"] | [_, "sync" | "datasync", ..] => Ok(()),
            ["wait", time] | [_, "wait", time, ..] => {
                let time = number(time, "time in microseconds")?;
                self.waited_us = self.waited_us.saturating_add(time);
                Ok(())
            }
            [_, "trim", ..] => Ok(()),
            [file, action @ ("read" | "write"), offset, length] => {
                let offset = number(offset, "offset")?;
                let length = number(length, "length")?;
                self.io(file, action == "read", offset, length);
                if let Some(at) = at {
                    let (first, last) = self.times.unwrap_or((at, at));
                    self.times = Some((first.min(at), last.max(at)));
                }
                Ok(())
            }
            _ => Err(format!(
                "'{}' is no action of such a log: write FILE read|write OFFSET LENGTH",
                text.chars().take(60).collect::<String>()
            )),
        }
    }

    fn io(&mut self, file: &str, read: bool, offset: u64, length: u64) {
        match read {
            true => self.reads += 1,
            false => self.writes += 1,
        }
        self.bytes = self.bytes.saturating_add(length);
        let end = offset.saturating_add(length);
        let before = self.ends.insert(file.to_owned(), end);
        self.following += u64::from(before == Some(offset));
    }

    fn workload(&self, path: &Path) -> Result<Workload, IologError> {
        let ios = self.reads + self.writes;
        if ios == 0 {
            return Err(IologError::Empty(path.into()));
        }
        let by_times = self.times.map(|(first, last)| (last - first) as f64 / 1e6);
        let by_waits = self.waited_us as f64 / 1e6;
        let seconds = by_times.unwrap_or(by_waits);
        let rate = (seconds > 0.0).then(|| ((ios as f64 / seconds).round() as u64).max(1));
        Ok(Workload {
            from: path.display().to_string(),
            seconds: (seconds > 0.0).then_some(seconds),
            ios,
            read_percent: (100.0 * self.reads as f64 / ios as f64).round() as u8,
            bs: Workload::size(self.bytes as f64 / ios as f64),
            sequential: 2 * self.following > ios,
            rate,
            iodepth: if rate.is_some() { OPEN_DEPTH } else { 1 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Workload, String> {
        read(Path::new("log"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_log_of_version_2_has_waits_and_one_of_version_3_has_times() {
        let two = "fio version 2 iolog\nf add\nf open\nf read 0 4096\nwait 500\nf read 4096 4096\n\
                   f wait 500 0\nf write 8192 4096\nf close\n";
        let two = of(two).unwrap();
        assert_eq!((two.ios, two.read_percent, two.bs), (3, 67, 4_096));
        assert_eq!((two.sequential, two.rate), (true, Some(3_000)));
        let three = "fio version 3 iolog\n0 f add\n0 f open\n0 f read 81920 4096\n\
                     5000 f read 0 4096\n10000 f read 40960 4096\n10000 f close\n";
        let three = of(three).unwrap();
        assert_eq!(
            (three.ios, three.read_percent, three.rate),
            (3, 100, Some(300))
        );
        assert!(!three.sequential);
        let closed = of("fio version 2 iolog\nf read 0 4096\n").unwrap();
        assert_eq!((closed.rate, closed.iodepth), (None, 1));
    }

    #[test]
    fn another_format_is_refused_in_one_line() {
        for (text, why) in [
            ("", "not a log of fio's"),
            ("timestamp,offset\n", "not a log of fio's"),
            ("fio version 2 iolog\nf add\n", "no read and no write"),
            (
                "fio version 2 iolog\nf read x 4096\n",
                "line 2: 'x' is no offset",
            ),
            (
                "fio version 2 iolog\nf erase 0 1\n",
                "line 2: 'f erase 0 1' is no action",
            ),
            (
                "fio version 3 iolog\nf read 0 4096\n",
                "line 2: 'f' is no time",
            ),
        ] {
            // An empty log has no first line to check.
            let why = if text.is_empty() {
                "no read and no write"
            } else {
                why
            };
            let said = of(text).unwrap_err();
            assert!(said.contains(why), "{said}");
            assert!(!said.contains('\n'), "{said}");
        }
        let endless = format!("fio version 2 iolog\n{}", "x".repeat(100_000));
        assert!(of(&endless).unwrap_err().len() < 300);
    }
}
