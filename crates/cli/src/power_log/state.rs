//! What is kept between steps: the plan, the windows, the markers.

use crate::failure::Failure;
use crate::output_file::{Existing, OutputFile};
use joulio_energy::Boundary;
use joulio_energy::alignment::{Edge, Marker};
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

const VERSION: u32 = 1;
/// Hundreds of steps take less.
const LARGEST: u64 = 16 << 20;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    version: u32,
    /// What a person was asked to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// What was done.
    #[serde(default)]
    pub windows: Vec<Window>,
    #[serde(default)]
    markers: Vec<MarkerRecord>,
}

/// Devices to put in, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Their names.
    pub devices: Vec<String>,
    /// How long the machine idles with each.
    pub window_ns: u64,
    /// Each window has a marker before and after it.
    pub markers: bool,
}

/// A time with a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The device.
    pub name: String,
    /// By the machine's clock, since 1970 UTC.
    pub start_unix_ns: u64,
    /// The same.
    pub end_unix_ns: u64,
    /// What the machine's own meters said.
    #[serde(default)]
    pub measured: Vec<Measured>,
}

/// What a meter said of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The meter.
    pub meter: String,
    /// What it includes.
    pub boundary: Boundary,
    /// The energy.
    pub joules: f64,
    /// In this time, by the meter's own edges.
    pub seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkerRecord {
    edges: Vec<EdgeRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeRecord {
    unix_ns: u64,
    monotonic_ns: u64,
    rising: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            version: VERSION,
            plan: None,
            windows: vec![],
            markers: vec![],
        }
    }
}

impl State {
    /// Nothing of `plan` is done yet.
    pub fn of(plan: Plan) -> State {
        State {
            plan: Some(plan),
            ..State::default()
        }
    }

    /// Reads and checks a file.
    pub fn load(path: &Path) -> Result<State, Failure> {
        let wrong = |why: String| Failure::input(format!("{}: {why}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let mut text = String::new();
        let read = file.take(LARGEST + 1).read_to_string(&mut text);
        read.map_err(|error| wrong(error.to_string()))?;
        if text.len() as u64 > LARGEST {
            return Err(wrong("too large for a file of joulio power swap".into()));
        }
        let state: State = serde_json::from_str(&text)
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
        let lasts = |window: &Window| window.start_unix_ns < window.end_unix_ns;
        if let Some(window) = self.windows.iter().find(|window| !lasts(window)) {
            return Some(format!("window '{}' ends before it begins", window.name));
        }
        let plan = self.plan.as_ref()?;
        let strange = |window: &&Window| !plan.devices.contains(&window.name);
        let strange = self.windows.iter().find(strange)?;
        Some(format!(
            "window '{}' is of no device of the plan",
            strange.name
        ))
    }

    /// Writes it to `path`: whatever happens, the old one or the new one is there whole.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(self).map_err(Failure::run)?;
        text.push('\n');
        let file = OutputFile::open(path, Existing::Replace);
        let saved = file.and_then(|file| file.write(&text));
        saved.map_err(|error| Failure::run(format!("--file: {error}")))
    }

    /// Refuses a `path` to which it cannot be saved, before anything is done.
    pub fn check(path: &Path) -> Result<(), Failure> {
        match OutputFile::open(path, Existing::Replace) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::input(format!("--file: {error}"))),
        }
    }

    /// Adds a marker that was made now.
    pub fn add_marker(&mut self, marker: &Marker) {
        let edges = marker.edges.iter().map(|edge| EdgeRecord {
            unix_ns: edge.realtime.0,
            monotonic_ns: edge.monotonic.0,
            rising: edge.rising,
        });
        self.markers.push(MarkerRecord {
            edges: edges.collect(),
        });
    }

    /// The markers, in the order in which they were made.
    pub fn markers(&self) -> Vec<Marker> {
        let marker = |record: &MarkerRecord| Marker {
            edges: record.edges.iter().map(EdgeRecord::edge).collect(),
        };
        self.markers.iter().map(marker).collect()
    }

    /// The next device to put in, and its place among all.
    pub fn next(&self) -> Option<(usize, &str)> {
        let devices = self.plan.iter().flat_map(|plan| &plan.devices);
        let is_done = |name: &str| self.windows.iter().any(|window| window.name == name);
        let mut devices = devices.map(String::as_str).enumerate();
        devices.find(|(_, name)| !is_done(name))
    }
}

impl EdgeRecord {
    fn edge(&self) -> Edge {
        Edge {
            realtime: Nanos(self.unix_ns),
            monotonic: Nanos(self.monotonic_ns),
            rising: self.rising,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn refusal(text: &str) -> String {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("state.json");
        fs::write(&path, text).unwrap();
        match State::load(&path) {
            Err(Failure::Input(why)) => why,
            other => panic!("not refused: {:?}", other.ok()),
        }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("state.json");
        let mut state = State::default();
        let edge = |time: u64| Edge {
            realtime: Nanos(time),
            monotonic: Nanos(time + 1),
            rising: time == 5,
        };
        let marker = Marker {
            edges: vec![edge(5), edge(6)],
        };
        state.add_marker(&marker);
        assert!(State::check(&path).is_ok());
        assert!(!path.exists());
        assert!(state.save(&path).is_ok());
        assert_eq!(State::load(&path).ok(), Some(state.clone()));
        assert_eq!(state.markers(), [marker]);
        // Nothing is left beside it.
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
