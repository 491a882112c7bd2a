//! The directory of files that joulio keeps between its runs.

use rustix::process::geteuid;
use std::path::PathBuf;

/// Returns the directory of the user's state (XDG Base Directory Specification): `$XDG_STATE_HOME/joulio`; without that
/// /var/lib/joulio for root and ~/.local/state/joulio for others. `None` if the environment names no directory.
pub fn state_folder() -> Option<PathBuf> {
    let variable = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let state = match variable("XDG_STATE_HOME") {
        Some(state) => state,
        None if geteuid().is_root() => "/var/lib".into(),
        None => variable("HOME")?.join(".local/state"),
    };
    Some(state.join("joulio"))
}
