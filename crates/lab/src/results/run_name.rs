//! Names of runs in tables and reports.

use joulio_workload::{EngineName, RunResult};

/// Mark of a spoiled run in its name.
pub const SPOILED: &str = "!";

/// The completion mode that a run got, after the engine if that is the kernel's, before what was
/// set; marked if it was spoiled.
pub fn run_name(run: &RunResult) -> String {
    let effective = run.completion.effective.as_deref();
    let mark = if run.spoiled.is_empty() { "" } else { SPOILED };
    mode_name(run, effective.unwrap_or(&run.completion.requested)) + mark
}

/// The name of `mode`, with the engine and the settings of `run`.
pub fn mode_name(run: &RunResult, mode: &str) -> String {
    let method = match run.engine {
        // Sections with different engines have the engine in their modes.
        None | Some(EngineName::Nvme) => mode.into(),
        Some(engine) => format!("{engine} {mode}"),
    };
    let settings = run
        .settings
        .iter()
        .map(|(name, value)| match name.as_str() {
            "scheduler" => format!(" {value}"),
            name => format!(" {name}={value}"),
        });
    method + &settings.collect::<String>()
}
