//! `joulio power --watch`.

use super::Run;
use super::table;
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, is_terminal, print, print_data, print_json_line};
use joulio_energy::{Discovery, MeterResult};
use joulio_lab::power_log::wall_time::now;
use joulio_lab::{ListedMeter, pause};
use serde::Serialize;

/// A line of JSON output.
#[derive(Serialize)]
struct Line {
    unix_seconds: f64,
    meters: Vec<ListedMeter>,
}

/// Prints consecutive intervals of one window until it is stopped, so that no joule is lost between two lines.
pub fn watch(run: &Run<'_>, mut discovery: Discovery) -> Outcome {
    if discovery.meters.is_empty() {
        return Err(Failure::input(
            "--watch: no meter can be read here: joulio power says why",
        ));
    }
    let mut window = discovery.meters.open().map_err(Failure::run)?;
    let mut screen = Screen::default();
    let mut left = run.args.count;
    while left != Some(0) && pause(run.args.interval, &run.stop, |_| {}) {
        let measured = window.lap(None);
        match run.args.output.format() {
            Format::Normal => screen.show(&rows(&measured))?,
            Format::Json => print_line(rows(&measured))?,
        }
        left = left.map(|left| left - 1);
    }
    Ok(())
}

fn rows(measured: &[MeterResult]) -> Vec<ListedMeter> {
    measured.iter().map(ListedMeter::measured).collect()
}

fn print_line(meters: Vec<ListedMeter>) -> Outcome {
    print_json_line(&Line {
        unix_seconds: now().seconds(),
        meters,
    })
}

/// A terminal on which each table replaces the previous one.
#[derive(Default)]
struct Screen {
    lines: usize,
}

impl Screen {
    fn show(&mut self, rows: &[ListedMeter]) -> Outcome {
        let mut text = table::lines(rows);
        for row in rows {
            if let Some(why) = &row.why {
                text.push_str(&format!("{}: {}\n", row.name, why));
            }
        }
        if !is_terminal() {
            return print(&format!("{text}\n"));
        }
        // Moves the cursor to the start of the previous table and clears from there.
        let back = match self.lines {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        };
        self.lines = text.lines().count();
        print_data(&back)?;
        print(&text)
    }
}
