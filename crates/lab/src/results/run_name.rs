//! Names of runs in tables and reports.

use joulio_workload::{EngineName, RunResult};

/// Mark of a spoiled run, appended to its name.
pub const SPOILED: &str = "!";

/// Returns the effective completion mode of a run, after the engine if it is the kernel's and before the settings; with
/// a mark if the run was spoiled.
pub fn run_name(run: &RunResult) -> String {
    let effective = run.completion.effective.as_deref();
    let mark = if run.spoiled.is_empty() { "" } else { SPOILED };
    mode_name(run, effective.unwrap_or(&run.completion.requested)) + mark
}

/// Returns the name of `mode` with the engine and the settings of `run`.
pub fn mode_name(run: &RunResult, mode: &str) -> String {
    let method = match run.engine {
        // For sections with different engines, the modes' names contain the engines.
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
