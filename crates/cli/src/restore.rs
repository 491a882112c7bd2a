//! `joulio restore`: puts back what the journal has.

use crate::Outcome;
use crate::failure::Failure;
use crate::output::print;
use crate::power_states::journal::{Held, Journal, Untaken, take};
use crate::power_states::port::PortName;
use std::path::Path;

/// Puts back what `joulio power-states` has changed and not put back itself: because it was killed,
/// or because it was not told for how long. An entry whose device is gone stays.
#[derive(clap::Args)]
pub struct Args {}

/// `joulio restore`.
pub fn run(_: &Args) -> Outcome {
    let journal = Journal::place()?;
    let files = journal.files()?;
    let mut kept = 0;
    for file in &files {
        let told = match one(file) {
            Ok(None) => continue,
            Ok(Some(done)) => done,
            Err(why) => {
                kept += 1;
                format!("{why}; kept")
            }
        };
        print(&format!("{told}\n"))?;
    }
    if files.is_empty() {
        return print("nothing to restore\n");
    }
    if kept > 0 {
        return Err(Failure::run(format!(
            "{kept} of {} entries kept in {}",
            files.len(),
            journal.path().display()
        )));
    }
    Ok(())
}

/// What was put back; none when somebody else has just done it.
fn one(file: &Path) -> Result<Option<String>, String> {
    let held = match take(file) {
        Ok(held) => held,
        Err(Untaken::Gone) => return Ok(None),
        Err(Untaken::Busy) => {
            return Err(format!("{}: another joulio is at it", file.display()));
        }
        Err(Untaken::Unreadable(why)) => return Err(format!("{}: {why}", file.display())),
    };
    let told = put_back(&held)?;
    held.done().map_err(said)?;
    Ok(Some(told))
}

fn put_back(held: &Held) -> Result<String, String> {
    let entry = &held.entry;
    let port = entry.device.parse::<PortName>()?.open().map_err(said)?;
    if port.serial() != entry.serial {
        return Err(format!(
            "{}: another device has that name now: serial {}, not {}",
            entry.device,
            port.serial(),
            entry.serial
        ));
    }
    let result = entry.old.put_back(&port);
    result.map_err(|error| error.to_string())?;
    Ok(format!(
        "{}: {} put back",
        entry.device,
        entry.old.describe()
    ))
}

fn said(failure: Failure) -> String {
    match failure {
        Failure::Input(message) | Failure::Run(message) => message,
        Failure::Pipe => "standard output was closed".into(),
    }
}
