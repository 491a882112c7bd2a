//! Putting back what processes that are gone have left.

use super::{JournalError, Locked, Untaken, What};
use std::ffi::OsStr;

/// What became of an entry.
#[derive(Debug)]
pub enum Restored {
    /// It is put back, or was left to somebody else: lines of that.
    Back(Vec<String>),
    /// It is kept, for the process that made the change lives.
    Busy(String),
    /// It is kept, for it could not be put back.
    Kept(String),
}

/// Puts back the entries that nobody works on and that are `wanted`, the latest first.
///
/// # Errors
/// The journal cannot be read.
pub fn put_back_left(
    journal: &Locked,
    wanted: impl Fn(&What) -> bool,
) -> Result<Vec<Restored>, JournalError> {
    journal.sweep()?;
    let entries = journal.entries()?.into_iter();
    Ok(entries
        .filter_map(|(_, name)| one(journal, &name, &wanted))
        .collect())
}

/// None when it is not wanted.
fn one(journal: &Locked, name: &OsStr, wanted: impl Fn(&What) -> bool) -> Option<Restored> {
    let file = || journal.path_of(name);
    let held = match journal.take(name) {
        Ok(held) => held,
        Err(Untaken::Busy) => {
            let file = file();
            let file = file.display();
            return Some(Restored::Busy(format!("{file}: another joulio is at it")));
        }
        Err(Untaken::Unreadable(why)) => {
            return Some(Restored::Kept(format!("{}: {why}", file().display())));
        }
    };
    if !wanted(&held.entry.what) {
        return None;
    }
    let lines = match held.entry.what.put_back() {
        Ok(lines) => lines,
        Err(error) => return Some(Restored::Kept(error.to_string())),
    };
    Some(match journal.done(held) {
        Ok(()) => Restored::Back(lines),
        Err(error) => Restored::Kept(error.to_string()),
    })
}
