//! Restoring changes of processes that have ended.

use super::entry::RecordedChange;
use super::error::{JournalError, TakeError};
use super::locked::LockedJournal;
use joulio_nvme::Cancel;
use std::ffi::OsStr;
use std::slice;

/// Result of restoring an entry of the journal.
#[derive(Debug)]
pub enum RestoreOutcome {
    /// The change was restored, or left to somebody else who has changed it since; with lines about that.
    Restored(Vec<String>),
    /// The entry was kept, because the process that made the change still runs, or one that has changed the same
    /// setting since and will restore what it found.
    Busy(String),
    /// The entry was kept, because the change could not be restored, with the reason.
    Kept(String),
}

/// Restores the entries that are `wanted`, of processes that have ended, the latest first. `cancel` ends the wait for
/// a controller.
///
/// # Errors
/// The journal cannot be read.
pub fn restore_left(
    journal: &LockedJournal,
    wanted: impl Fn(&RecordedChange) -> bool,
    cancel: &Cancel,
) -> Result<Vec<RestoreOutcome>, JournalError> {
    journal.sweep()?;
    let entries = journal.entries()?.into_iter();
    Ok(entries
        .filter_map(|(_, name)| restore_entry(journal, &name, &wanted, cancel))
        .collect())
}

/// Restores an entry; `None` if it is not wanted.
fn restore_entry(
    journal: &LockedJournal,
    name: &OsStr,
    wanted: impl Fn(&RecordedChange) -> bool,
    cancel: &Cancel,
) -> Option<RestoreOutcome> {
    let mut held = match journal.take(name) {
        Ok(held) => held,
        Err(busy @ TakeError::Busy { .. }) => return Some(RestoreOutcome::Busy(busy.to_string())),
        Err(TakeError::Unreadable(error)) => return Some(RestoreOutcome::Kept(error.to_string())),
    };
    if !wanted(&held.entry.change) {
        return None;
    }
    if let RecordedChange::Knob(knob) = &held.entry.change
        && let Err(error) = journal.refuse_held(knob, slice::from_ref(&held.entry.change))
    {
        return Some(match error {
            JournalError::Busy { .. } | JournalError::Beside { .. } => {
                RestoreOutcome::Busy(error.to_string())
            }
            _ => RestoreOutcome::Kept(error.to_string()),
        });
    }
    journal.begin_restoring(&mut held);
    let lines = match held.entry.change.restore(cancel) {
        Ok(lines) => lines,
        Err(error) => return Some(RestoreOutcome::Kept(error.to_string())),
    };
    Some(match journal.done(held) {
        Ok(()) => RestoreOutcome::Restored(lines),
        Err(error) => RestoreOutcome::Kept(error.to_string()),
    })
}
