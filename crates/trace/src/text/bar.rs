//! Bars that show I/Os to scale.

use super::words::micros;
use crate::{Timeline, TracedIo, Wait, WaitKind};
use joulio_units::Nanos;

/// Scale of all bars of a text: the longest I/O takes all the room, unless it is so long that the others could not
/// be distinguished.
pub(super) struct Scale {
    cells: usize,
    /// Time that a full bar shows.
    full: Nanos,
}

impl Scale {
    pub(super) fn new(timeline: &Timeline, cells: usize) -> Scale {
        let mut totals: Vec<_> = timeline.ios.iter().filter_map(TracedIo::total).collect();
        totals.sort_unstable();
        let longest = totals.last().copied().unwrap_or_default();
        let median = totals.get(totals.len() / 2).copied().unwrap_or_default();
        Scale {
            cells,
            // At least 1, to divide by, even if no I/O took any time.
            full: longest.min(median + median).max(Nanos(1)),
        }
    }

    /// Returns the heading of the bars: 0, and the time of a full bar.
    pub(super) fn ruler(&self) -> String {
        let full = micros(self.full);
        let room = self.cells.saturating_sub(1);
        format!("0{full:>room$}")
    }

    /// Returns the bar of a complete I/O; `None` for one whose events are incomplete.
    pub(super) fn bar(&self, timeline: &Timeline, io: &TracedIo) -> String {
        let (Some(submitted), Some(total)) = (io.submitted, io.total()) else {
            return String::new();
        };
        let waits = &timeline.cores[io.core].waits;
        let cut = total > self.full;
        let length = self.place(total).clamp(1, self.cells);
        let cells = (0..length).map(|cell| {
            if cut && cell + 1 == length {
                return '>';
            }
            // A cell shows the activity at its middle.
            let middle = submitted.at + self.time(cell * 2 + 1);
            self.cell(io, waits, middle)
        });
        cells.collect()
    }

    fn cell(&self, io: &TracedIo, waits: &[Wait], at: Nanos) -> char {
        if io.doorbell.is_some_and(|bell| at < bell) {
            return '.';
        }
        let index = waits.partition_point(|wait| wait.end.or(wait.begin) <= Some(at));
        let wait = waits[index..]
            .iter()
            .find_map(|w| Some((w.kind, w.span()?)));
        match wait {
            Some((kind, (begin, _))) if begin <= at => match kind {
                WaitKind::Sleep => 'z',
                WaitKind::Block => 'b',
                WaitKind::Spin => 'p',
                WaitKind::Pause | WaitKind::Monitor => 'u',
            },
            _ => '-',
        }
    }

    /// Returns the number of cells of `time`, rounded.
    fn place(&self, time: Nanos) -> usize {
        let full = u128::from(self.full.0);
        let cells = (u128::from(time.min(self.full).0) * self.cells as u128 + full / 2) / full;
        cells as usize
    }

    /// Returns the time of `halves` half cells.
    fn time(&self, halves: usize) -> Nanos {
        let time = u128::from(self.full.0) * halves as u128 / (2 * self.cells as u128);
        Nanos(time as u64)
    }
}
