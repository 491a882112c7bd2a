//! The record of a plug logger: HOBOware's CSV export of a HOBO UX120-018.
//!
//! The grammar is that of files of HOBO loggers in public repositories; the exact names of the
//! power's columns in a UX120-018's file were not seen in one, so a column is known by its name in
//! several languages or by its unit.

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

/// A recorded trace of power. Times are the logger's, in nanoseconds since 1970 UTC: the
/// difference to the host's clock is [`crate::alignment`]'s to find.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLog {
    /// The time of the first sample.
    pub start: Nanos,
    /// The offset of the file's times from UTC, in seconds east; `start` is without it.
    pub offset: i32,
    /// The order in which the file has its dates.
    pub date_order: DateOrder,
    /// The commonest time between samples; zero when there is but one.
    pub interval: Nanos,
    /// A sample is the mean over the interval before its time, not the power at that time.
    pub averaged: bool,
    /// The power, later and later.
    pub samples: Vec<(Nanos, Watts)>,
    /// Other notes of the logger, such as `Host Connected`.
    pub events: Vec<LoggerEvent>,
    /// Serial numbers of the logger and its sensors.
    pub serials: Vec<String>,
    /// Intervals in which samples are missing.
    pub gaps: Vec<Gap>,
    /// The last line is incomplete: the file was cut, and what it held of a power is not used.
    pub truncated: bool,
}

/// A stretch without samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last sample before.
    pub from: Nanos,
    /// The first sample after.
    pub to: Nanos,
    /// Number of samples missing in between.
    pub missing: u64,
}

impl PowerLog {
    /// Imports a file of HOBOware.
    ///
    /// # Errors
    ///
    /// [`ImportError`] where the file is no such log, or leaves open what `options` does not say.
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

    /// The time of the last sample.
    pub fn end(&self) -> Nanos {
        self.samples.last().map_or(self.start, |(at, _)| *at)
    }
}

/// Steps of more than one and a half intervals.
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
