//! File that gets the report instead of standard output: completely, at the end of the command, or not at all.

use crate::Outcome;
use crate::failure::Failure;
use joulio_lab::output_file::{Existing, OutputFile};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A report that will be written to a file.
struct Report {
    file: OutputFile,
    text: String,
    /// True if only the beginning has been added.
    only_begun: bool,
}

/// The report, if it goes to a file.
static REPORT: Mutex<Option<Report>> = Mutex::new(None);

fn report() -> MutexGuard<'static, Option<Report>> {
    REPORT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Directs the report to the file `path`. Nothing is created or changed before [`finish`].
pub fn begin(path: &Path, existing: Existing) -> Outcome {
    let file = OutputFile::open(path, existing);
    let file = file.map_err(|error| Failure::input(format!("--output: {error}")))?;
    *report() = Some(Report {
        file,
        text: String::new(),
        only_begun: false,
    });
    Ok(())
}

/// Adds `text` to the report; returns false if the report goes to standard output.
pub fn add(text: &str) -> bool {
    let mut report = report();
    let Some(report) = &mut *report else {
        return false;
    };
    report.text.push_str(text);
    report.only_begun = false;
    true
}

/// Marks the text that was added last as only the beginning of a report.
pub fn only_begun() {
    if let Some(report) = &mut *report() {
        report.only_begun = true;
    }
}

/// Returns true if the report goes to a file.
pub fn is_open() -> bool {
    report().is_some()
}

/// Writes the file at the end of a command with this `outcome`. A report that was printed is written even if the
/// command then fails, for example because of --strict; one that was only begun is not. An empty one is never written.
pub fn finish(outcome: Outcome) -> Outcome {
    let Some(report) = report().take() else {
        return outcome;
    };
    if report.text.is_empty() || outcome.is_err() && report.only_begun {
        return outcome;
    }
    let written = report.file.write(&report.text);
    let written = written.map_err(|error| Failure::run(format!("--output: {error}")));
    outcome.and(written)
}
