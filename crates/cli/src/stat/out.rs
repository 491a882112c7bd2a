//! Outputs of `joulio stat`.

use super::table::Tables;
use crate::Outcome;
use crate::columns::clean;
use crate::failure::{Failure, say};
use crate::output::{Format, is_to_file, print, print_json_line};
use crate::terminal::fitted;
use joulio_lab::FormatVersion;
use joulio_lab::stat::{CommandUse, DeviceRow, Metrics, MetricsOutputs, StatLine, StatReport};
use joulio_units::Nanos;
use std::fmt::Write as _;
use std::io::Write as _;

/// Legend of the columns of modelled figures.
const MODELLED: &str =
    "*: modelled, by profiles and the kernel's counters; +-: to the further end of their band\n";

/// Standard output, and the outputs of metrics.
pub struct Out {
    format: Format,
    tables: Tables,
    /// Notes on the idle baseline, which are printed once.
    notes: Vec<String>,
    metrics: Option<Metrics>,
    options: TableOptions,
}

/// Options for the tables' lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// True to print the time of day above each interval, as with `iostat -t`.
    pub timestamps: bool,
    /// True to leave out devices without I/O in the interval, as with `iostat -z`.
    pub active_alone: bool,
    /// True to print bandwidths in KiB per second, as with `iostat -k`.
    pub kilobytes: bool,
}

impl Out {
    /// Opens standard output and the `outputs` of metrics. Those are written once, to find out before the first
    /// interval if one cannot be written.
    pub fn new(
        format: Format,
        outputs: MetricsOutputs<'_>,
        notes: Vec<String>,
        options: TableOptions,
    ) -> Result<Out, Failure> {
        let mut metrics = match outputs.file.is_some() || outputs.listen.is_some() {
            true => Some(Metrics::open(outputs).map_err(Failure::input)?),
            false => None,
        };
        if let Some(metrics) = &mut metrics {
            metrics.write().map_err(Failure::run)?;
            if let Some(address) = metrics.address() {
                say(&format!("metrics at http://{address}/metrics"));
            }
        }
        Ok(Out {
            format,
            tables: Tables::new(options.kilobytes),
            notes,
            metrics,
            options,
        })
    }

    /// Prints a command's use of the machine, and the interval from its start to its end. As text it goes to standard
    /// error, as with `perf stat`, because standard output belongs to the command.
    pub fn show_command(
        &mut self,
        used: &CommandUse,
        mut report: StatReport,
        meterless: bool,
    ) -> Outcome {
        report.notes.append(&mut self.notes);
        match self.format {
            Format::Normal => {
                let modelled = report.devices.iter().any(|row| row.model.is_some());
                let legend = if modelled { MODELLED } else { "" };
                let notes = std::mem::take(&mut report.notes);
                let notes: String = notes.iter().map(|note| clean(note) + "\n").collect();
                let mut text = self.tables.show(&report);
                if modelled || !notes.is_empty() {
                    text += &format!("\n{legend}{notes}");
                }
                text.push_str(&command(used, &report, meterless && !modelled));
                if is_to_file() {
                    print(&text)?;
                } else {
                    let mut stderr = std::io::stderr().lock();
                    text = fitted(text, &stderr);
                    // An error on standard error cannot be reported.
                    let _ = stderr.write_all(text.as_bytes());
                }
            }
            Format::Json => json_line(Some(used), &report)?,
        }
        self.write_metrics(&report)
    }

    fn write_metrics(&mut self, report: &StatReport) -> Outcome {
        if let Some(metrics) = &mut self.metrics {
            metrics.add(report);
            metrics.write().map_err(Failure::run)?;
        }
        Ok(())
    }

    /// Prints, in text format, what applies to all intervals.
    pub fn begin(&mut self, interval: Nanos, meterless: bool, modelled: bool) -> Outcome {
        if self.format == Format::Json {
            return Ok(());
        }
        let mut text = format!("every {} s", interval.seconds());
        text.push_str(match meterless {
            true => "\nno meter: see joulio power\n",
            false => {
                "; uJ/IO: a meter's joules over all reads and writes of the devices listed\n\
                 boundaries lie within one another: figures of different ones are not added\n"
            }
        });
        if modelled {
            text.push_str(MODELLED);
        }
        for note in self.notes.drain(..) {
            text.push_str(&format!("{}\n", clean(&note)));
        }
        print(&text)
    }

    /// Prints an interval.
    pub fn show(&mut self, mut report: StatReport) -> Outcome {
        match self.format {
            Format::Normal => {
                let time = self.options.timestamps;
                let time = time.then(|| format!("\n{}", report.date()));
                let table = match self.options.active_alone {
                    true => self.tables.show(&active(&report)),
                    false => self.tables.show(&report),
                };
                print(&(time.unwrap_or_default() + &table))?;
            }
            Format::Json => {
                report.notes.append(&mut self.notes);
                json_line(None, &report)?;
            }
        }
        self.write_metrics(&report)
    }
}

/// Returns `report` without devices that had no read or write.
fn active(report: &StatReport) -> StatReport {
    let mut active = report.clone();
    let ios = |row: &DeviceRow| row.read_ios + row.write_ios;
    active.devices.retain(|row| ios(row) > 0);
    active
}

/// Prints an interval as a line of JSON, with the use of a `command` if there was one.
fn json_line(command: Option<&CommandUse>, report: &StatReport) -> Outcome {
    print_json_line(&StatLine {
        version: FormatVersion,
        command,
        report,
    })
}

/// Formats a command's use of the machine as `perf stat` does, and what devices and meters counted meanwhile.
fn command(used: &CommandUse, report: &StatReport, meterless: bool) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let lines = [
        (used.seconds, 3, "s from start to end"),
        (used.user_seconds, 3, "s of CPU time in user space"),
        (used.system_seconds, 3, "s of CPU time in the kernel"),
        (
            used.voluntary_switches as f64,
            0,
            "voluntary context switches: waits, each with a wake-up",
        ),
        (
            used.involuntary_switches as f64,
            0,
            "involuntary context switches",
        ),
        (
            used.read_bytes as f64 / MIB,
            2,
            "MiB read from block devices",
        ),
        (
            used.write_bytes as f64 / MIB,
            2,
            "MiB written to block devices",
        ),
    ];
    let mut text = String::from("\n");
    for (figure, digits, what) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, " {figure:>14.digits$}  {what}");
    }
    for row in &report.devices {
        let (ios, name) = (row.read_ios + row.write_ios, clean(&row.name));
        if ios > 0 {
            let (reads, writes) = (row.read_ios, row.write_ios);
            let _ = writeln!(
                text,
                " {ios:>14}  I/Os of {name}: {reads} reads, {writes} writes"
            );
        }
        let joules = row.model.as_ref().and_then(|model| model.all.joules);
        if let Some(joules) = joules {
            let _ = writeln!(text, " {joules:>14.3}  J of {name}, modelled");
        }
    }
    for row in &report.meters {
        let (name, boundary) = (clean(&row.name), clean(&row.boundary));
        let of = match row.modelled {
            true => format!("{name} ({boundary}), modelled"),
            false => format!("{name} ({boundary}), measured"),
        };
        if let Some(joules) = row.all.joules {
            let _ = writeln!(text, " {joules:>14.3}  J of {of}");
        }
        if let Some(joules) = row.above_idle.as_ref().and_then(|above| above.joules) {
            let _ = writeln!(text, " {joules:>14.3}  J above idle of {of}");
        }
    }
    if meterless {
        text.push_str("joules: not measured: no meter can be read here (joulio power says why)\n");
    }
    text
}
