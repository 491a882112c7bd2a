//! Measured rates of a device, from a CSV file.
//!
//! A header names the columns, in any order. `bs` and `iops` are required; `rw` (`randread` or `randwrite`, default
//! `randread`), `iodepth` and `numjobs` (default 1) are optional. Words and sizes are written as for fio.

use crate::text_file::read_text;
use joulio_twin::device_fit::MeasuredRate;
use joulio_units::Direction;
use joulio_workload::parse_size;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Size of the largest file that is read, in bytes: thousands of rates.
const MAX_BYTES: u64 = 1 << 20;

/// Largest depth and number of jobs of a rate.
const MAX_DEPTH: usize = 65_535;

/// Reason why no rates can be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum DeviceRatesError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A line is not valid.
    #[error("{place}: {problem}")]
    Line {
        /// Name of the file and number of the line.
        place: String,
        /// Problem with the line, and its remedy.
        problem: String,
    },
    /// The file has no rows.
    #[error("{}: has no rates: give a header, as rw,bs,iodepth,numjobs,iops, and a row for each", .0.display())]
    Empty(PathBuf),
}

/// A row of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    rw: Option<String>,
    bs: String,
    iodepth: Option<usize>,
    numjobs: Option<usize>,
    iops: f64,
}

/// Reads the rates from the file at `path`.
///
/// # Errors
/// [`DeviceRatesError`], with the line that is wrong.
pub fn read_rates(path: &Path) -> Result<Vec<MeasuredRate>, DeviceRatesError> {
    let unreadable = |source| DeviceRatesError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let text = read_text(path, MAX_BYTES).map_err(unreadable)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let rates = parse_rates(&text, &crate::printable(&name.to_string_lossy()))?;
    match rates.is_empty() {
        true => Err(DeviceRatesError::Empty(path.to_owned())),
        false => Ok(rates),
    }
}

/// Parses the rates in `text`, the content of the file `name`.
///
/// # Errors
/// [`DeviceRatesError::Line`], with the line that is wrong.
pub fn parse_rates(text: &str, name: &str) -> Result<Vec<MeasuredRate>, DeviceRatesError> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut rates = Vec::new();
    let wrong = |line: u64, problem: String| DeviceRatesError::Line {
        place: format!("{name}:{line}"),
        problem,
    };
    let headers = reader.headers().cloned();
    let headers = headers.map_err(|error| wrong(1, one_line(&error)))?;
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(1, csv::Position::line);
            wrong(line, one_line(&error))
        })?;
        let line = record.position().map_or(1, csv::Position::line);
        let row = record.deserialize::<Row>(Some(&headers));
        let row = row.map_err(|error| wrong(line, one_line(&error)))?;
        let rate = rate(row, format!("{name}:{line}"));
        rates.push(rate.map_err(|problem| wrong(line, problem))?);
    }
    Ok(rates)
}

/// Returns the CSV reader's message without the position, which the error already has.
fn one_line(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => {
            format!("{}: columns are rw, bs, iodepth, numjobs, iops", err.kind())
        }
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("has {len} fields where the header has {expected_len}")
        }
        _ => "is no CSV in UTF-8".into(),
    }
}

fn rate(row: Row, place: String) -> Result<MeasuredRate, String> {
    let direction = match row.rw.as_deref() {
        None | Some("" | "randread" | "read") => Direction::Read,
        Some("randwrite" | "write") => Direction::Write,
        Some(other) => {
            return Err(format!(
                "rw is '{}': write randread or randwrite",
                crate::printable(other)
            ));
        }
    };
    let bytes = parse_size(&row.bs).map_err(|_| {
        format!(
            "bs is '{}': write bytes, or a number with k or m (4k)",
            crate::printable(&row.bs)
        )
    })?;
    let bytes = u32::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or("bs must be from 1 to 4294967295 bytes")?;
    let (iodepth, numjobs) = (row.iodepth.unwrap_or(1), row.numjobs.unwrap_or(1));
    for (name, value) in [("iodepth", iodepth), ("numjobs", numjobs)] {
        if !(1..=MAX_DEPTH).contains(&value) {
            return Err(format!("{name} must be from 1 to {MAX_DEPTH}, is {value}"));
        }
    }
    // The limits are slower than any disk and faster than any bus.
    if !(1e-3..=1e9).contains(&row.iops) {
        return Err(format!("iops must be from 0.001 to 1e9, is {}", row.iops));
    }
    Ok(MeasuredRate {
        place,
        direction,
        bytes,
        iodepth,
        numjobs,
        iops: row.iops,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_be_in_any_order_and_some_left_out() {
        let rates = parse_rates("iops, bs\n169800, 4k\n# a note\n16640,128k\n", "a.csv").unwrap();
        assert_eq!(rates.len(), 2);
        assert_eq!(rates[0].place, "a.csv:2");
        assert_eq!((rates[1].bytes, rates[1].iops), (131_072, 16_640.0));
        assert_eq!((rates[1].iodepth, rates[1].numjobs), (1, 1));
        let rates =
            parse_rates("rw,bs,iodepth,numjobs,iops\nrandwrite,512,32,4,1e6\n", "a").unwrap();
        assert_eq!(rates[0].direction, Direction::Write);
        assert_eq!((rates[0].iodepth, rates[0].numjobs), (32, 4));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, want) in [
            ("bs,iops\n4k,fast\n", "x.csv:2: "),
            (
                "bs,iops\n4k\n",
                "x.csv:2: has 1 fields where the header has 2",
            ),
            ("bs,iops\n4q,5\n", "x.csv:2: bs is '4q'"),
            ("bs,iops\n0,5\n", "x.csv:2: bs must be"),
            ("bs,iops\n4k,0\n", "x.csv:2: iops must be from 0.001"),
            ("bs,iops\n4k,nan\n", "x.csv:2: iops must be from 0.001"),
            ("bs,iops,iodepth\n4k,5,0\n", "x.csv:2: iodepth must be"),
            ("bs,iops,rw\n4k,5,trim\n", "x.csv:2: rw is 'trim'"),
            ("bs,iops,qd\n4k,5,1\n", "columns are rw, bs"),
            ("iops\n5\n", "columns are rw, bs"),
        ] {
            let said = parse_rates(text, "x.csv").unwrap_err().to_string();
            assert!(said.contains(want), "{text:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}
