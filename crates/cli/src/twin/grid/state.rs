//! What is done, kept in a file: a header, then a line a cell.

use crate::failure::Failure;
use joulio_twin::grid::{Row, Scenario};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Whether a file that begins with `kept` may hold the cells of `header`: all that a cell hangs on
/// is the same, and its devices are among those of the file. Which scenarios it has is another matter.
fn has(kept: &Value, header: &Value) -> bool {
    let alone = |header: &Value| {
        let mut header = header.clone();
        if let Some(header) = header.as_object_mut() {
            header.remove("devices");
            let axes = header.remove("axes");
            header.extend(axes.map(|axes| ("views".to_owned(), axes["views"].clone())));
        }
        header
    };
    // A name with another profile behind it is another device.
    let devices = |header: &Value| -> Vec<(Value, Value)> {
        let list = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let named = list(&header["axes"]["devices"]);
        named.into_iter().zip(list(&header["devices"])).collect()
    };
    let there = devices(kept);
    alone(kept) == alone(header) && devices(header).iter().all(|device| there.contains(device))
}

/// The cells that are done, by scenario.
pub struct State {
    done: HashMap<Scenario, Vec<Row>>,
    file: Option<(PathBuf, File)>,
}

impl State {
    /// What `path` holds of the grid of `header`, or of a larger one, with `views` cells a scenario. A
    /// scenario that was not written whole is simulated again.
    pub fn open(
        path: Option<&Path>,
        header: &impl Serialize,
        views: usize,
    ) -> Result<State, Failure> {
        let mut state = State {
            done: HashMap::new(),
            file: None,
        };
        let Some(path) = path else { return Ok(state) };
        let wrong = |error| Failure::input(format!("--state {}: {error}", path.display()));
        if path.exists() && !path.is_file() {
            return Err(Failure::input(format!(
                "--state {}: not a regular file: name one, or a new one",
                path.display()
            )));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(wrong)?;
        // Two that write would cut each other's rows off.
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Failure::input(format!(
                "--state {}: another joulio writes it: wait for that, or take a copy",
                path.display()
            ))
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(wrong)?;
        let header = serde_json::to_value(header).map_err(Failure::run)?;
        let kept = match text.split_once('\n') {
            Some((first, rest)) => {
                if !serde_json::from_str(first).is_ok_and(|kept| has(&kept, &header)) {
                    return Err(Failure::input(format!(
                        "--state {}: is of another grid, or none: name another file",
                        path.display()
                    )));
                }
                first.len() + 1 + state.take(rest, views)
            }
            None if text.is_empty() || header.to_string().starts_with(&text) => 0,
            None => {
                return Err(Failure::input(format!(
                    "--state {}: is no grid: name another file",
                    path.display()
                )));
            }
        };
        file.set_len(kept as u64).map_err(wrong)?;
        file.seek(SeekFrom::End(0)).map_err(wrong)?;
        if kept == 0 {
            writeln!(file, "{header}").map_err(wrong)?;
        }
        state.file = Some((path.into(), file));
        Ok(state)
    }

    /// Takes the scenarios that are whole; how many bytes they are.
    fn take(&mut self, text: &str, views: usize) -> usize {
        let (mut kept, mut length) = (0, 0);
        let mut rows: Vec<Row> = Vec::new();
        for line in text.split_inclusive('\n') {
            let Some(row) = line.strip_suffix('\n') else {
                break;
            };
            let Ok(row) = serde_json::from_str::<Row>(row) else {
                break;
            };
            length += line.len();
            rows.push(row);
            if rows.len() == views {
                kept = length;
                let rows = std::mem::take(&mut rows);
                self.done.insert(rows[0].scenario.clone(), rows);
            }
        }
        kept
    }

    /// Whether `scenario` is done.
    pub fn has(&self, scenario: &Scenario) -> bool {
        self.done.contains_key(scenario)
    }

    /// `scenario` is done.
    pub fn add(&mut self, scenario: &Scenario, rows: Vec<Row>) -> Result<(), Failure> {
        if let Some((path, file)) = &mut self.file {
            let mut text = String::new();
            for row in &rows {
                text += &serde_json::to_string(row).map_err(Failure::run)?;
                text.push('\n');
            }
            let written = file.write_all(text.as_bytes());
            written.map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
        }
        self.done.insert(scenario.clone(), rows);
        Ok(())
    }

    /// All rows, in the order of `scenarios`.
    pub fn rows(mut self, scenarios: &[Scenario]) -> Vec<Row> {
        let rows = scenarios
            .iter()
            .filter_map(|scenario| self.done.remove(scenario));
        rows.flatten().collect()
    }
}
