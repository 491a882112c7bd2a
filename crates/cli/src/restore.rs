//! `joulio restore`: restores the settings in the journal.

use crate::Outcome;
use crate::failure::Failure;
use crate::output::print;
use crate::signals::cancel;
use joulio_host::{Journal, RestoreOutcome, restore_left};
use std::fmt::Write;

/// Restores what joulio has changed and not restored itself, the latest first: because it was
/// killed, or because `joulio power-states` was not given a time. What cannot be restored
/// stays in the journal. A setting whose disk is gone, that was forgotten by a new start of the
/// system, or that somebody else has changed since, is reported and left as it is.
#[derive(clap::Args)]
pub struct RestoreArgs {}

/// Runs `joulio restore`.
pub fn run(_: &RestoreArgs) -> Outcome {
    let journal = Journal::of_user().map_err(Failure::input)?;
    let all = match journal.lock_existing().map_err(Failure::input)? {
        Some(locked) => restore_left(&locked, |_| true, &cancel()).map_err(Failure::run)?,
        None => Vec::new(),
    };
    if all.is_empty() {
        return print("nothing to restore\n");
    }
    let (mut text, mut kept) = (String::new(), 0);
    for one in &all {
        // Writing to a string cannot fail.
        match one {
            RestoreOutcome::Restored(lines) => {
                for line in lines {
                    let _ = writeln!(text, "{line}");
                }
            }
            RestoreOutcome::Busy(why) | RestoreOutcome::Kept(why) => {
                kept += 1;
                let _ = writeln!(text, "{why}; kept");
            }
        }
    }
    let printed = print(&text);
    if kept > 0 {
        return Err(Failure::run(format!(
            "{kept} of {} entries kept in {}",
            all.len(),
            journal.path().display()
        )));
    }
    printed
}
