//! State between steps: the plan, the windows, the markers.

use super::error::PowerLogError;
use super::marker_record::MarkerRecord;
use crate::output_file::{Existing, OutputFile};
use crate::text_file::read_text;
use joulio_energy::Boundary;
use joulio_energy::alignment::Marker;
use serde::{Deserialize, Serialize};
use std::path::Path;

const VERSION: u32 = 1;
/// Size of the largest file that is read, in bytes: hundreds of steps, or a bench of thousands of runs, take less.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// State of a person's steps, as `joulio power swap` saves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwapState {
    version: u32,
    /// Plan of the steps that the person has to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<SwapPlan>,
    /// Windows that were done.
    #[serde(default)]
    pub windows: Vec<SwapWindow>,
    #[serde(default)]
    markers: Vec<MarkerRecord>,
}

/// Devices that a person installs one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwapPlan {
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Nanoseconds that the machine idles with each device.
    pub window_ns: u64,
    /// True if each window has a marker before and after it.
    pub markers: bool,
}

/// A window in which the machine idled with a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwapWindow {
    /// Name of the device.
    pub name: String,
    /// Start in nanoseconds since 1970 UTC, by the machine's clock.
    pub start_unix_ns: u64,
    /// End in nanoseconds since 1970 UTC.
    pub end_unix_ns: u64,
    /// Energy measured by each of the machine's own meters.
    #[serde(default)]
    pub measured: Vec<WindowEnergy>,
}

/// Energy in a window, measured by one meter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowEnergy {
    /// Name of the meter.
    pub meter: String,
    /// Boundary of the meter.
    pub boundary: Boundary,
    /// Energy in joules.
    pub joules: f64,
    /// Seconds over which the joules were counted, from the first to the last of the meter's readings.
    pub seconds: f64,
}

impl Default for SwapState {
    fn default() -> SwapState {
        SwapState {
            version: VERSION,
            plan: None,
            windows: vec![],
            markers: vec![],
        }
    }
}

impl SwapState {
    /// Returns a state in which no step of `plan` is done.
    pub fn of(plan: SwapPlan) -> SwapState {
        SwapState {
            plan: Some(plan),
            ..SwapState::default()
        }
    }

    /// Reads a state from the file `path` and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or is not valid.
    pub fn load(path: &Path) -> Result<SwapState, PowerLogError> {
        SwapState::parse(path, &read(path)?)
    }

    /// Parses and checks `text`, the content of the file `path`.
    pub(super) fn parse(path: &Path, text: &str) -> Result<SwapState, PowerLogError> {
        let wrong = |why: String| PowerLogError::File {
            path: path.into(),
            why,
        };
        let state: SwapState = serde_json::from_str(text)
            .map_err(|error| wrong(format!("not a file of joulio power swap: {error}")))?;
        match state.trouble() {
            None => Ok(state),
            Some(trouble) => Err(wrong(trouble)),
        }
    }

    fn trouble(&self) -> Option<String> {
        if self.version != VERSION {
            return Some(format!("version {}, and {VERSION} is known", self.version));
        }
        let lasts = |window: &SwapWindow| window.start_unix_ns < window.end_unix_ns;
        if let Some(window) = self.windows.iter().find(|window| !lasts(window)) {
            return Some(format!("window '{}' ends before it begins", window.name));
        }
        let plan = self.plan.as_ref()?;
        let strange = |window: &&SwapWindow| !plan.devices.contains(&window.name);
        let strange = self.windows.iter().find(strange)?;
        Some(format!(
            "window '{}' is of no device of the plan",
            strange.name
        ))
    }

    /// Writes the state to `path`: after any failure either the old or the new file is complete.
    ///
    /// # Errors
    /// Writing fails, for example because the disk is full.
    pub fn save(&self, path: &Path) -> Result<(), PowerLogError> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        let file = OutputFile::open(path, Existing::Replace);
        let saved = file.and_then(|file| file.write(&text));
        saved.map_err(PowerLogError::NotSaved)
    }

    /// Checks that the state can be saved to `path`, before anything is done.
    ///
    /// # Errors
    /// The folder does not exist, or there is no permission.
    pub fn check(path: &Path) -> Result<(), PowerLogError> {
        match OutputFile::open(path, Existing::Replace) {
            Ok(_) => Ok(()),
            Err(error) => Err(PowerLogError::Unwritable(error)),
        }
    }

    /// Adds a marker that was just made.
    pub fn add_marker(&mut self, marker: &Marker) {
        self.markers.push(marker.into());
    }

    /// Returns the markers, in the order in which they were made.
    pub fn markers(&self) -> Vec<Marker> {
        self.markers.iter().map(Marker::from).collect()
    }

    /// Returns the next device to install, and its index among all.
    pub fn next(&self) -> Option<(usize, &str)> {
        let devices = self.plan.iter().flat_map(|plan| &plan.devices);
        let is_done = |name: &str| self.windows.iter().any(|window| window.name == name);
        let mut devices = devices.map(String::as_str).enumerate();
        devices.find(|(_, name)| !is_done(name))
    }
}

/// Reads the text of a file of windows.
pub(super) fn read(path: &Path) -> Result<String, PowerLogError> {
    let wrong = |why: String| PowerLogError::File {
        path: path.into(),
        why,
    };
    read_text(path, MAX_FILE_BYTES).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_energy::alignment::MarkerEdge;
    use joulio_units::Nanos;
    use std::fs;

    fn refusal(text: &str) -> String {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("state.json");
        fs::write(&path, text).unwrap();
        match SwapState::load(&path) {
            Err(error @ PowerLogError::File { .. }) => error.to_string(),
            other => panic!("not refused: {:?}", other.ok()),
        }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("state.json");
        let mut state = SwapState::default();
        let edge = |time: u64| MarkerEdge {
            realtime: Nanos(time),
            monotonic: Nanos(time + 1),
            rising: time == 5,
        };
        let marker = Marker {
            edges: vec![edge(5), edge(6)],
        };
        state.add_marker(&marker);
        assert!(SwapState::check(&path).is_ok());
        assert!(!path.exists());
        assert!(state.save(&path).is_ok());
        assert_eq!(SwapState::load(&path).ok(), Some(state.clone()));
        assert_eq!(state.markers(), [marker]);
        // No temporary file is left beside it.
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        for (text, hint) in [
            ("", "not a file of joulio power swap"),
            ("{}", "version"),
            (r#"{"version":1,"speed":2}"#, "speed"),
            (r#"{"version":2}"#, "version 2"),
            (
                r#"{"version":1,"windows":[{"name":"a","start_unix_ns":2,"end_unix_ns":2}]}"#,
                "ends before it begins",
            ),
            (
                r#"{"version":1,"plan":{"devices":["b"],"window_ns":1,"markers":false},
                    "windows":[{"name":"a","start_unix_ns":1,"end_unix_ns":2}]}"#,
                "no device of the plan",
            ),
        ] {
            let said = refusal(text);
            assert!(said.contains(hint), "{text}: {said}");
        }
    }
}
