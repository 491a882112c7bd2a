//! `joulio restore`: puts back what the journal has.

use crate::Outcome;
use crate::failure::Failure;
use crate::journal::{Journal, Untaken, What, take};
use crate::output::print;
use std::path::Path;

/// Puts back what joulio has changed and not put back itself, the latest first: because it was
/// killed, or because `joulio power-states` was not told for how long. What cannot be put back
/// stays in the journal. A setting whose disk is gone, that was forgotten by a new start of the
/// system, or that somebody else has changed since, is told and left as it is.
#[derive(clap::Args)]
pub struct Args {}

/// What became of an entry.
pub enum Restored {
    /// It is put back, or was left to somebody else: lines of that.
    Back(Vec<String>),
    /// It is kept, for somebody works on it.
    Busy(String),
    /// It is kept, for it could not be put back.
    Kept(String),
}

/// `joulio restore`.
pub fn run(_: &Args) -> Outcome {
    let journal = Journal::place()?;
    let all = put_back_left(&journal, |_| true)?;
    if all.is_empty() {
        return print("nothing to restore\n");
    }
    let mut kept = 0;
    for one in &all {
        let lines = match one {
            Restored::Back(lines) => lines.clone(),
            Restored::Busy(why) | Restored::Kept(why) => {
                kept += 1;
                vec![format!("{why}; kept")]
            }
        };
        for line in lines {
            print(&format!("{line}\n"))?;
        }
    }
    if kept > 0 {
        return Err(Failure::run(format!(
            "{kept} of {} entries kept in {}",
            all.len(),
            journal.path().display()
        )));
    }
    Ok(())
}

/// Puts back the entries that nobody works on and that are `wanted`, the latest first.
pub fn put_back_left(
    journal: &Journal,
    wanted: impl Fn(&What) -> bool,
) -> Result<Vec<Restored>, Failure> {
    let entries = journal.entries()?.into_iter();
    Ok(entries
        .filter_map(|(_, file)| one(&file, &wanted))
        .collect())
}

/// None when somebody else has just done it, or it is not wanted.
fn one(file: &Path, wanted: impl Fn(&What) -> bool) -> Option<Restored> {
    let held = match take(file) {
        Ok(held) => held,
        Err(Untaken::Gone) => return None,
        Err(Untaken::Busy) => {
            let file = file.display();
            return Some(Restored::Busy(format!("{file}: another joulio is at it")));
        }
        Err(Untaken::Unreadable(why)) => {
            return Some(Restored::Kept(format!("{}: {why}", file.display())));
        }
    };
    if !wanted(&held.entry.what) {
        return None;
    }
    let back = held.entry.what.put_back();
    let done = back.and_then(|lines| held.done().map(|()| lines).map_err(Failure::message));
    Some(done.map_or_else(Restored::Kept, Restored::Back))
}
