//! The rows of a file: samples, events, and a last line that may be cut.

use super::heading::Columns;
use super::number::{self, LogNumber};
use super::text::LogLayout;
use super::time::{self, DateOrder, Stamp};
use super::{ImportError, LogOptions, LoggerEvent};
use csv::{ReaderBuilder, StringRecord, Trim};
use joulio_units::Nanos;

/// Value that HOBOware writes for a sensor that did not answer.
const NO_SENSOR: &str = "-888.88";

/// Characters of a line that a message quotes.
const QUOTED: usize = 60;

/// The rows, before their numbers and dates are interpreted.
pub struct Rows<'a> {
    layout: &'a LogLayout<'a>,
    columns: &'a Columns,
    stamps: Vec<time::RowTime>,
    numbers: Vec<LogNumber>,
    /// Row of each number.
    samples: Vec<usize>,
    /// Row, column and text of each event.
    events: Vec<(usize, usize, String)>,
    /// Offset of each row, in bytes.
    starts: Vec<usize>,
    /// Whether the last line is incomplete.
    pub truncated: bool,
}

impl<'a> Rows<'a> {
    /// Parses the cells of every row.
    pub fn read(layout: &'a LogLayout<'a>, columns: &'a Columns) -> Result<Rows<'a>, ImportError> {
        let mut rows = Rows {
            layout,
            columns,
            stamps: vec![],
            numbers: vec![],
            samples: vec![],
            events: vec![],
            starts: vec![],
            truncated: false,
        };
        let end = layout.rows.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let (whole, cut) = layout.rows.split_at(end);
        for record in records(whole, layout.separator) {
            let start = record.position().map_or(0, |at| at.byte() as usize);
            rows.add(&record, start)?;
        }
        if let Some(mut record) = records(cut, layout.separator).next() {
            let needed = columns.power.max(columns.time) + 1;
            rows.truncated = record.len() < layout.headings.len() || record.len() == needed;
            // Only a cell with a separator after it is certainly complete.
            record.truncate(record.len() - 1);
            if record.len() > columns.time {
                rows.add(&record, end)?;
            }
        }
        Ok(rows)
    }

    fn add(&mut self, record: &StringRecord, start: usize) -> Result<(), ImportError> {
        let cell = |column: usize| record.get(column).unwrap_or("");
        if record.iter().all(str::is_empty) {
            return Ok(());
        }
        if record
            .iter()
            .skip(self.layout.headings.len())
            .any(|cell| !cell.is_empty())
        {
            let (line, _) = self.quote(start);
            return Err(ImportError::Cells { line });
        }
        let stamp = match self.columns.date {
            Some(date) => format!("{} {}", cell(date), cell(self.columns.time)),
            None => cell(self.columns.time).into(),
        };
        let Some(stamp) = Stamp::parse(&stamp) else {
            let (line, text) = self.quote(start);
            return Err(ImportError::Date { line, text });
        };
        let row = self.stamps.len();
        let power = cell(self.columns.power);
        let is_sample = !power.is_empty() && power.replace(',', ".") != NO_SENSOR;
        if is_sample {
            self.numbers.push(LogNumber::parse(power));
            self.samples.push(row);
        }
        let headings = self.layout.headings.iter().enumerate();
        for (column, _) in headings.filter(|(at, heading)| {
            *at > self.columns.time && *at != self.columns.power && heading.is_event()
        }) {
            if !cell(column).is_empty() {
                self.events.push((row, column, cell(column).into()));
            }
        }
        self.stamps.push((stamp, is_sample));
        self.starts.push(start);
        Ok(())
    }

    /// Returns the rows' times since the epoch, by the order given or found.
    pub fn times(&self, options: &LogOptions) -> Result<(DateOrder, Vec<Nanos>), ImportError> {
        if self.samples.is_empty() {
            return Err(ImportError::NoSamples);
        }
        let times = time::resolve(&self.stamps, self.columns.offset, options.date_order);
        times.map_err(|trouble| match trouble {
            time::TimeTrouble::NoDate(row) => {
                let (line, text) = self.quote(self.starts[row]);
                ImportError::Date { line, text }
            }
            time::TimeTrouble::Backwards(row) => {
                let (line, text) = self.quote(self.starts[row]);
                ImportError::Backwards { line, text }
            }
            time::TimeTrouble::Ambiguous(orders) => {
                let orders: Vec<_> = orders.iter().map(DateOrder::to_string).collect();
                ImportError::DateOrder {
                    orders: orders.join(" or "),
                    text: self.quote(self.starts[0]).1,
                }
            }
        })
    }

    /// Returns the samples' powers in the column's unit, by the decimal separator given or found.
    pub fn values(&self, options: &LogOptions) -> Result<Vec<f64>, ImportError> {
        let values = number::resolve(&self.numbers, self.layout.separator, options.decimal);
        values.map_err(|trouble| match trouble {
            number::NumberTrouble::NoNumber(at) => {
                let (line, text) = self.quote(self.starts[self.samples[at]]);
                ImportError::Number { line, text }
            }
            number::NumberTrouble::Ambiguous(at) => {
                let (line, text) = self.quote(self.starts[self.samples[at]]);
                ImportError::Decimal { line, text }
            }
        })
    }

    /// Returns the samples' times out of all rows' times.
    pub fn sample_times(&self, times: &[Nanos]) -> Vec<Nanos> {
        self.samples.iter().map(|&row| times[row]).collect()
    }

    /// Returns the events that the logger recorded.
    pub fn events(&self, times: &[Nanos]) -> Vec<LoggerEvent> {
        let events = self.events.iter();
        events
            .map(|(row, column, text)| LoggerEvent {
                at: times[*row],
                name: self.layout.headings[*column].label().into(),
                text: text.clone(),
            })
            .collect()
    }

    /// Returns the line number, counted from 1, of the row that begins at this byte, with its text.
    fn quote(&self, start: usize) -> (u64, String) {
        let (before, row) = self.layout.rows.split_at(start);
        let text = row.trim_start();
        let skipped = &row[..row.len() - text.len()];
        let lines = before.matches('\n').count() + skipped.matches('\n').count();
        let line = text.lines().next().unwrap_or("");
        let line = line.trim_end().chars().take(QUOTED).collect();
        (self.layout.first_line + lines as u64, line)
    }
}

/// Parses the records of some lines. Reading UTF-8 from memory has no error, so that one is treated as the end.
fn records(lines: &str, separator: u8) -> impl Iterator<Item = StringRecord> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .delimiter(separator)
        .from_reader(lines.as_bytes())
        .into_records()
        .map_while(Result::ok)
}
