//! Runs that are missing from an experiment that was ended early.

use joulio_workload::Method;
use std::collections::BTreeMap;

/// Largest number of names in a summary; if there are more, only their number is given.
const MAX_NAMES: usize = 8;

/// Runs of an experiment that were cut short or not begun.
#[derive(Clone, Debug, Default)]
pub struct MissingRuns {
    cut_short: Vec<String>,
    /// Names of the runs that were not begun.
    pub not_run: Vec<String>,
}

impl MissingRuns {
    /// Adds a run that was ended early.
    pub(crate) fn cut_short(&mut self, name: String) {
        self.cut_short.push(name);
    }

    /// Adds a run that was not begun.
    pub(crate) fn not_run(&mut self, name: String) {
        self.not_run.push(name);
    }

    /// Adds a run that was ended early without a result, and the reason.
    pub(crate) fn lost(&mut self, name: &str, why: &str) {
        self.cut_short.push(format!("{name} ({why})"));
    }

    /// Returns the number of missing runs.
    pub(crate) fn count(&self) -> usize {
        self.cut_short.len() + self.not_run.len()
    }

    /// Describes the missing runs in one line; `None` if all were done.
    pub fn summary(&self) -> Option<String> {
        let parts = [("cut short", &self.cut_short), ("not run", &self.not_run)];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<_> = parts
            .map(|(what, names)| format!("{what}: {}", list(names)))
            .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Returns the name of a run among others: `io_uring poll (scheduler=none, 2 of 3)`.
pub fn run_name(
    Method { engine, mode }: Method,
    settings: &BTreeMap<String, String>,
    (number, of): (u32, u32),
) -> String {
    let mut notes: Vec<_> = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if of > 1 {
        notes.push(format!("{number} of {of}"));
    }
    match notes.is_empty() {
        true => format!("{engine} {mode}"),
        false => format!("{engine} {mode} ({})", notes.join(", ")),
    }
}

fn list(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_workload::{CompletionMode, EngineName};

    #[test]
    fn runs_are_named_by_what_makes_them_different() {
        let method = Method {
            engine: EngineName::IoUring,
            mode: CompletionMode::Poll,
        };
        let mut settings = BTreeMap::new();
        assert_eq!(run_name(method, &settings, (1, 1)), "io_uring poll");
        settings.insert("scheduler".into(), "none".into());
        let name = run_name(method, &settings, (2, 3));
        assert_eq!(name, "io_uring poll (scheduler=none, 2 of 3)");
    }

    #[test]
    fn of_many_the_first_are_named_and_the_rest_counted() {
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(list(&names), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        assert_eq!(list(&names[..2]), "0, 1");
    }
}
