//! Outputs of the figures.

use super::table::Tables;
use crate::Outcome;
use crate::columns::clean;
use crate::failure::Failure;
use crate::output::{Format, print, print_json_line};
use joulio_lab::stat::{Metrics, StatReport};
use joulio_units::Nanos;
use std::path::Path;

/// Standard output, and the file of metrics.
pub struct Out {
    format: Format,
    tables: Tables,
    /// Notes on the idle baseline, which are printed once.
    notes: Vec<String>,
    metrics: Option<Metrics>,
}

impl Out {
    /// Opens standard output, and the file of `metrics`. That is written once, so that one that cannot be is known
    /// before the first interval.
    pub fn new(format: Format, metrics: Option<&Path>, notes: Vec<String>) -> Result<Out, Failure> {
        let metrics = metrics.map(Metrics::open);
        let metrics = metrics.transpose().map_err(Failure::input)?;
        if let Some(metrics) = &metrics {
            metrics.write().map_err(Failure::run)?;
        }
        Ok(Out {
            format,
            tables: Tables::default(),
            notes,
            metrics,
        })
    }

    /// Prints, for people, what holds for every line.
    pub fn begin(&mut self, interval: Nanos, meterless: bool) -> Outcome {
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
        for note in self.notes.drain(..) {
            text.push_str(&format!("{}\n", clean(&note)));
        }
        print(&text)
    }

    /// An interval.
    pub fn show(&mut self, mut report: StatReport) -> Outcome {
        match self.format {
            Format::Normal => print(&self.tables.show(&report))?,
            Format::Json => {
                report.notes.append(&mut self.notes);
                print_json_line(&report)?;
            }
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.add(&report);
            metrics.write().map_err(Failure::run)?;
        }
        Ok(())
    }
}
