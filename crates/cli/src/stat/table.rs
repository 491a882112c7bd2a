//! Tables of `joulio stat`.

use crate::columns::{clean, columns};
use joulio_lab::stat::{DeviceRow, EnergyShare, MeterRow, StatReport};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Messages printed so far, so that a lasting condition is not printed at every interval.
pub struct Tables {
    reported: BTreeMap<String, String>,
    /// True to print bandwidths in KiB per second.
    kilobytes: bool,
}

impl Tables {
    /// Creates tables with bandwidths in KiB per second if `kilobytes`, otherwise in MiB.
    pub fn new(kilobytes: bool) -> Tables {
        Tables {
            reported: BTreeMap::new(),
            kilobytes,
        }
    }

    /// Formats both tables of an interval, and new messages.
    pub fn show(&mut self, report: &StatReport) -> String {
        let mut text = String::from("\n");
        text.push_str(&devices(&report.devices, report.seconds, self.kilobytes));
        if !report.meters.is_empty() {
            text.push('\n');
            text.push_str(&meters(&report.meters));
        }
        for row in &report.meters {
            if let Some(problem) = &row.problem {
                self.report(&row.name, problem, row.goes_on, &mut text);
            }
        }
        for row in &report.devices {
            if !row.stands_on.is_empty() {
                let on = row.stands_on.join(", ");
                let on = format!("on {on}, and its I/Os are not counted again in uJ/IO");
                self.report(&row.name, &on, false, &mut text);
            }
        }
        for note in &report.notes {
            let _ = writeln!(text, "{}", clean(note));
        }
        text
    }

    /// Adds the message `what` about `name` to `text`, unless it was the last one about it. With `once`, no second
    /// message about `name` is added, even in other words.
    fn report(&mut self, name: &str, what: &str, once: bool, text: &mut String) {
        let before = self.reported.get(name);
        if before.is_some_and(|before| once || before == what) {
            return;
        }
        self.reported.insert(name.into(), what.into());
        let _ = writeln!(text, "{}: {}", clean(name), clean(what));
    }
}

/// Formats the columns of `iostat -x`, except merges and sizes, for an interval of `seconds`, and the model's columns
/// if there is a model.
fn devices(rows: &[DeviceRow], seconds: f64, kilobytes: bool) -> String {
    let (unit, read, written) = match kilobytes {
        true => (1024.0, "rKiB/s", "wKiB/s"),
        false => (1024.0 * 1024.0, "rMiB/s", "wMiB/s"),
    };
    let modelled = rows.iter().any(|row| row.model.is_some());
    let mut header = vec![
        "device", "r/s", "w/s", read, written, "r_await", "w_await", "aqu-sz", "%util",
    ];
    if modelled {
        header.extend(["W*", "+-*", "uJ/IO*"]);
    }
    let ms = |seconds: Option<f64>| figure(seconds.map(|seconds| seconds * 1e3), 2);
    let cells = |row: &DeviceRow| {
        let mut cells = vec![
            row.name.clone(),
            format!("{:.1}", row.read_ios_per_second),
            format!("{:.1}", row.write_ios_per_second),
            format!("{:.2}", row.read_bytes_per_second / unit),
            format!("{:.2}", row.write_bytes_per_second / unit),
            ms(row.read_await_seconds),
            ms(row.write_await_seconds),
            format!("{:.2}", row.queue),
            format!("{:.1}", 100.0 * row.utilisation),
        ];
        if modelled {
            let all = row.model.as_ref().map(|model| &model.all);
            cells.extend([
                figure(all.and_then(|all| all.watts), 2),
                figure(all.and_then(|all| bound_watts(all, Some(seconds))), 2),
                all.map_or_else(|| "-".into(), per_io),
            ]);
        }
        cells
    };
    columns(header, rows.iter().map(cells), 1)
}

/// Formats the table of the meters. It has columns for the power above idle if any meter has it.
fn meters(rows: &[MeterRow]) -> String {
    let idle = rows.iter().any(|row| row.above_idle.is_some());
    let mut header = vec!["meter", "boundary", "source", "state", "W", "+-", "uJ/IO"];
    if idle {
        header.extend(["W>idle", "uJ/IO>idle"]);
    }
    let cells = |row: &MeterRow| {
        let mut cells = vec![
            row.name.clone(),
            row.boundary.clone(),
            row.source.clone(),
            state(row).into(),
            figure(row.all.watts, 3),
            figure(bound_watts(&row.all, row.window_seconds), 3),
            per_io(&row.all),
        ];
        if idle {
            let above = row.above_idle.as_ref();
            cells.push(figure(above.and_then(|above| above.watts), 3));
            cells.push(above.map_or_else(|| "-".into(), per_io));
        }
        cells
    };
    columns(header, rows.iter().map(cells), 4)
}

/// Returns the error bound in watts for a window of `seconds`.
fn bound_watts(share: &EnergyShare, seconds: Option<f64>) -> Option<f64> {
    let seconds = seconds.filter(|seconds| *seconds > 0.0)?;
    Some(share.bound_joules()? / seconds)
}

fn per_io(share: &EnergyShare) -> String {
    figure(share.joules_per_io.map(|joules| joules * 1e6), 1)
}

fn figure(figure: Option<f64>, digits: i32) -> String {
    let scale = 10f64.powi(digits);
    let text = |figure: f64| {
        // The power above idle may be slightly negative: avoids a minus sign before zero.
        let figure = (figure * scale).round() / scale + 0.0;
        format!("{figure:.*}", digits.unsigned_abs() as usize)
    };
    figure.map_or_else(|| "-".into(), text)
}

/// Returns the state in a row: `modelled` for figures from a profile, which are not measured.
fn state(row: &MeterRow) -> &'static str {
    match (row.all.joules, row.modelled) {
        (None, _) => "-",
        (Some(_), true) => "modelled",
        (Some(_), false) => "measured",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_rounded_and_zero_has_no_sign() {
        assert_eq!(figure(Some(-0.0004), 3), "0.000");
        assert_eq!(figure(Some(-0.0006), 3), "-0.001");
        assert_eq!(figure(Some(12.346), 2), "12.35");
        assert_eq!(figure(None, 2), "-");
    }
}
