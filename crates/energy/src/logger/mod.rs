//! The trace of a plug logger: HOBOware's CSV export of a HOBO UX120-018.
//!
//! The grammar is that of files of HOBO loggers in public repositories. None of them is a UX120-018's, so the exact
//! names of its power columns are not known: a column is recognised by its name in several languages, or by its unit.

mod error;
mod event;
mod heading;
mod number;
mod options;
mod rows;
#[cfg(test)]
mod tests;
mod text;
mod time;

pub use error::ImportError;
pub use event::LoggerEvent;
pub use number::Decimal;
pub use options::LogOptions;
pub use time::DateOrder;

use joulio_units::{Nanos, Watts};
use rows::Rows;

/// A recorded trace of power. Times are by the logger's clock, in nanoseconds since 1970 UTC: [`crate::alignment`]
/// finds the difference to the host's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLog {
    /// Time of the first sample.
    pub start: Nanos,
    /// Offset of the file's times from UTC, in seconds east; already subtracted from `start`.
    pub offset: i32,
    /// Order of day, month and year in the file's dates.
    pub date_order: DateOrder,
    /// Most common time between samples; zero if there is only one.
    pub interval: Nanos,
    /// Whether a sample is the mean over the interval before its time, not the power at that time.
    pub averaged: bool,
    /// Samples of the power in the order of time.
    pub samples: Vec<(Nanos, Watts)>,
    /// Other events that the logger recorded, such as `Host Connected`.
    pub events: Vec<LoggerEvent>,
    /// Serial numbers of the logger and its sensors.
    pub serials: Vec<String>,
    /// Intervals in which samples are missing.
    pub gaps: Vec<Gap>,
    /// Whether the last line is incomplete: the file was cut, and the line's power is not used.
    pub truncated: bool,
}

/// An interval without samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Time of the last sample before it.
    pub from: Nanos,
    /// Time of the first sample after it.
    pub to: Nanos,
    /// Number of samples missing.
    pub missing: u64,
}

impl PowerLog {
    /// Imports a file of HOBOware.
    ///
    /// # Errors
    ///
    /// [`ImportError`] when the file is not such a log, or is ambiguous and `options` does not resolve that.
    pub fn import(file: &[u8], options: &LogOptions) -> Result<PowerLog, ImportError> {
        let text = text::decode(file)?;
        let layout = text::layout(&text)?;
        let columns = heading::columns(&layout.headings)?;
        let rows = Rows::read(&layout, &columns)?;
        let (date_order, times) = rows.times(options)?;
        let values = rows.values(options)?.into_iter();
        let watts = values.map(|value| Watts(value * columns.scale));
        let at = rows.sample_times(&times);
        let samples = at.iter().copied().zip(watts).collect();
        let interval = time::usual_step(&at);
        let mut serials: Vec<String> = vec![];
        for serial in layout.headings.iter().flat_map(heading::Heading::serials) {
            if !serials.iter().any(|known| known == serial) {
                serials.push(serial.into());
            }
        }
        Ok(PowerLog {
            start: at.first().copied().ok_or(ImportError::NoSamples)?,
            offset: columns.offset,
            date_order,
            interval,
            averaged: columns.averaged,
            samples,
            events: rows.events(&times),
            serials,
            gaps: gaps(&at, interval),
            truncated: rows.truncated,
        })
    }

    /// Returns the time of the last sample.
    pub fn end(&self) -> Nanos {
        self.samples.last().map_or(self.start, |(at, _)| *at)
    }
}

/// Finds steps of more than one and a half intervals.
fn gaps(times: &[Nanos], interval: Nanos) -> Vec<Gap> {
    let pairs = times.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .filter_map(|(from, to)| {
            let steps = to.since(from).0.saturating_add(interval.0 / 2) / interval.0.max(1);
            (steps > 1).then(|| Gap {
                from,
                to,
                missing: steps - 1,
            })
        })
        .collect()
}
