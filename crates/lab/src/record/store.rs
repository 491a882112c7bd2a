//! Records of a sweep, in a state file from which the sweep can be continued.

use super::{Point, RunRecord};
use crate::state_file::{StateError, StateFile};
use crate::sweep::{SweepMachine, has_records_of};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Identity of a run: sweep, point, repetition.
type Key = (String, Point, u32);

/// Records by run, kept in a state file or only in memory.
#[derive(Debug, Default)]
pub struct RecordStore {
    records: Vec<RunRecord>,
    places: HashMap<Key, usize>,
    /// Runs to be done again although they have records.
    again: HashSet<Key>,
    file: Option<StateFile>,
    /// Lines that could not be written so far, for example because the disk is full.
    unsaved: String,
}

impl RecordStore {
    /// Loads the records of the state file `path`, which must have the header `header`; without a path, records are
    /// kept in memory.
    ///
    /// # Errors
    /// The file cannot be used, or belongs to another bench or another machine.
    pub fn open(path: Option<&Path>, header: &Value) -> Result<RecordStore, StateError> {
        let mut store = RecordStore::default();
        let Some(path) = path else { return Ok(store) };
        let mut there = None;
        let (mut file, text) = StateFile::open(path, "bench", header, |kept| {
            there = SweepMachine::of(kept);
            has_records_of(kept, header)
        })?;
        let mut kept = 0;
        for (record, bytes) in file.lines(&text)? {
            kept += bytes;
            store.insert(record);
        }
        if let Some((there, here)) = there.zip(SweepMachine::of(header))
            && there != here
        {
            return Err(StateError::OtherMachine {
                path: path.into(),
                differences: there.differences(&here),
            });
        }
        file.keep(kept)?;
        store.file = Some(file);
        Ok(store)
    }

    /// Returns true if the run was done or is unavailable; failed runs are repeated, and those to be done again.
    pub fn has(&self, sweep: &str, point: &Point, replicate: u32) -> bool {
        let key = (sweep.to_owned(), point.clone(), replicate);
        let place = self.places.get(&key);
        let done = place.is_some_and(|&at| self.records[at].result.failure.is_none());
        done && !self.again.contains(&key)
    }

    /// Marks a run as to be done again; its record stays until then.
    pub fn repeat(&mut self, sweep: &str, point: &Point, replicate: u32) {
        let key = (sweep.to_owned(), point.clone(), replicate);
        self.again.insert(key);
    }

    /// Adds `record`, replacing an earlier one of the same run. A run that was ended early is not written to the file,
    /// so that it is repeated.
    ///
    /// # Errors
    /// The file cannot be written: the record is kept in memory and written with the next one.
    pub fn add(&mut self, record: RunRecord) -> Result<(), StateError> {
        if !record.result.interrupted && self.file.is_some() {
            self.unsaved += &serde_json::to_string(&record)?;
            self.unsaved.push('\n');
        }
        self.insert(record);
        self.save()
    }

    /// Writes the lines that could not be written before.
    ///
    /// # Errors
    /// They still cannot be written.
    pub fn save(&mut self) -> Result<(), StateError> {
        if let Some(file) = &mut self.file
            && !self.unsaved.is_empty()
        {
            file.append(&self.unsaved)?;
            self.unsaved.clear();
        }
        Ok(())
    }

    fn insert(&mut self, record: RunRecord) {
        let key = (record.sweep.clone(), record.point.clone(), record.replicate);
        self.again.remove(&key);
        match self.places.get(&key) {
            Some(&at) => self.records[at] = record,
            None => {
                self.places.insert(key, self.records.len());
                self.records.push(record);
            }
        }
    }

    /// Returns the records in the order in which they were added.
    pub fn records(&self) -> &[RunRecord] {
        &self.records
    }

    /// Returns the record of a run.
    pub fn get(&self, sweep: &str, point: &Point, replicate: u32) -> Option<&RunRecord> {
        let key = (sweep.to_owned(), point.clone(), replicate);
        self.places.get(&key).map(|&at| &self.records[at])
    }
}
