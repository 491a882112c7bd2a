//! State file of a grid: a header, then a line for each cell that is done.

use crate::state_file::{StateError, StateFile};
use joulio_twin::grid::{GridCell, Scenario};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Returns true if a file with the header `kept` may contain cells of `header`: all that a cell depends on is the same,
/// and the file's devices include those of `header`. Which scenarios the file has is not checked.
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
    // A device of the same name with another profile is another device.
    let devices = |header: &Value| -> Vec<(Value, Value)> {
        let list = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let named = list(&header["axes"]["devices"]);
        named.into_iter().zip(list(&header["devices"])).collect()
    };
    let there = devices(kept);
    alone(kept) == alone(header) && devices(header).iter().all(|device| there.contains(device))
}

/// Cells that are done, by scenario.
pub struct GridState {
    done: HashMap<Scenario, Vec<GridCell>>,
    file: Option<StateFile>,
}

impl GridState {
    /// Reads from the file `path` the cells of the grid of `header`, or of a larger grid, with `views` cells for each
    /// scenario. A scenario that was written incompletely is simulated again.
    ///
    /// # Errors
    /// The file cannot be read or written, another process writes it, or it belongs to another grid.
    pub fn open(
        path: Option<&Path>,
        header: &impl Serialize,
        views: usize,
    ) -> Result<GridState, StateError> {
        let mut state = GridState {
            done: HashMap::new(),
            file: None,
        };
        let Some(path) = path else { return Ok(state) };
        let header = serde_json::to_value(header)?;
        let (mut file, text) = StateFile::open(path, "grid", &header, |kept| has(kept, &header))?;
        let lines = file.lines(&text)?;
        file.keep(state.take(lines, views))?;
        state.file = Some(file);
        Ok(state)
    }

    /// Adds the complete scenarios; returns the number of bytes that they take in the file.
    fn take(&mut self, lines: Vec<(GridCell, usize)>, views: usize) -> usize {
        let (mut kept, mut length) = (0, 0);
        let mut rows: Vec<GridCell> = Vec::new();
        for (row, bytes) in lines {
            length += bytes;
            rows.push(row);
            if rows.len() == views {
                kept = length;
                let rows = std::mem::take(&mut rows);
                self.done.insert(rows[0].scenario.clone(), rows);
            }
        }
        kept
    }

    /// Returns true if `scenario` is done.
    pub fn has(&self, scenario: &Scenario) -> bool {
        self.done.contains_key(scenario)
    }

    /// Adds the rows of a finished `scenario`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, scenario: &Scenario, rows: Vec<GridCell>) -> Result<(), StateError> {
        if let Some(file) = &mut self.file {
            let mut text = String::new();
            for row in &rows {
                text += &serde_json::to_string(row)?;
                text.push('\n');
            }
            file.append(&text)?;
        }
        self.done.insert(scenario.clone(), rows);
        Ok(())
    }

    /// Returns all rows, in the order of `scenarios`.
    pub fn rows(mut self, scenarios: &[Scenario]) -> Vec<GridCell> {
        let rows = scenarios
            .iter()
            .filter_map(|scenario| self.done.remove(scenario));
        rows.flatten().collect()
    }
}
