//! What a bench that a signal ended has not done.

use super::settings::Combination;
use crate::Outcome;
use crate::failure::Failure;
use joulio_workload::Method;

/// Names that are said; of more, how many.
const MAX_NAMES: usize = 8;

/// Runs that were cut short, or not begun.
#[derive(Clone, Debug, Default)]
pub struct Missing {
    cut_short: Vec<String>,
    /// Those that were not begun.
    pub not_run: Vec<String>,
}

impl Missing {
    /// A run was ended early.
    pub fn cut_short(&mut self, method: Method, combination: &Combination, of: (u32, u32)) {
        self.cut_short.push(name(method, combination, of));
    }

    /// A run was not begun.
    pub fn not_run(&mut self, method: Method, combination: &Combination, of: (u32, u32)) {
        self.not_run.push(name(method, combination, of));
    }

    /// A run was ended early and has no result: why.
    pub fn lost(&mut self, method: Method, combination: &Combination, of: (u32, u32), why: &str) {
        let name = name(method, combination, of);
        self.cut_short.push(format!("{name} ({why})"));
    }

    /// A bench of which nothing is missing is as its runs are; of another both are told.
    pub fn verdict(&self, runs: Outcome) -> Outcome {
        if self.is_empty() {
            return runs;
        }
        let parts = [("cut short", &self.cut_short), ("not run", &self.not_run)];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let mut parts: Vec<_> = parts
            .map(|(what, names)| format!("{what}: {}", list(names)))
            .collect();
        parts.extend(runs.err().map(Failure::message));
        Err(Failure::interrupted(parts.join("; ")))
    }

    fn is_empty(&self) -> bool {
        self.cut_short.is_empty() && self.not_run.is_empty()
    }
}

/// As `poll`, `io_uring poll (scheduler=none, 2 of 3)`.
fn name(method: Method, combination: &Combination, (number, of): (u32, u32)) -> String {
    let settings = combination.told.iter();
    let mut notes: Vec<_> = settings
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if of > 1 {
        notes.push(format!("{number} of {of}"));
    }
    let Method { engine, mode: way } = method;
    match notes.is_empty() {
        true => format!("{engine} {way}"),
        false => format!("{engine} {way} ({})", notes.join(", ")),
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
        let mut missing = Missing::default();
        let mut combination = Combination::default();
        missing.not_run(method, &combination, (1, 1));
        combination.told.insert("scheduler".into(), "none".into());
        missing.not_run(method, &combination, (2, 3));
        let names = ["io_uring poll", "io_uring poll (scheduler=none, 2 of 3)"];
        assert_eq!(missing.not_run, names);
    }

    #[test]
    fn of_many_the_first_are_named_and_the_rest_counted() {
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(list(&names), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        assert_eq!(list(&names[..2]), "0, 1");
    }
}
