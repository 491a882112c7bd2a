//! A simulated person and a simulated meter.

use super::super::gauge::GaugeReading;
use super::super::state::WindowEnergy;
use super::*;
use joulio_energy::Boundary;
use std::collections::VecDeque;
use tempfile::TempDir;

/// A person who does as asked `times` times, and then leaves.
struct Script {
    times: usize,
    heard: String,
}

impl Person for Script {
    fn report(&mut self, text: &str) {
        self.heard += text;
    }

    fn done(&mut self) -> Result<bool, PowerLogError> {
        let there = self.times > 0;
        self.times = self.times.saturating_sub(1);
        Ok(there)
    }
}

/// Joules in each window to come; `None`: the meter fails.
struct Plug {
    joules: VecDeque<Option<f64>>,
    lengths: Vec<Nanos>,
    /// Index of the window in which a signal comes.
    stopped_in: Option<usize>,
}

impl Plug {
    fn of(joules: &[f64]) -> Plug {
        Plug {
            joules: joules.iter().map(|&joules| Some(joules)).collect(),
            lengths: vec![],
            stopped_in: None,
        }
    }
}

impl Gauge for Plug {
    fn measures(&self) -> bool {
        true
    }

    fn watch(&mut self, length: Nanos, stop: &Stop) -> Result<Option<GaugeReading>, PowerLogError> {
        if self.stopped_in == Some(self.lengths.len()) {
            stop.stop();
            return Ok(None);
        }
        // The window must not be empty on a clock with nanoseconds.
        std::thread::sleep(std::time::Duration::from_micros(10));
        self.lengths.push(length);
        let mut watched = GaugeReading::default();
        match self.joules.pop_front().flatten() {
            Some(joules) => watched.measured.push(WindowEnergy {
                meter: "plug".into(),
                boundary: Boundary::Wall,
                joules,
                seconds: 10.0,
            }),
            None => watched.failed.push("plug: removed".into()),
        }
        Ok(Some(watched))
    }
}

struct Room {
    folder: TempDir,
    stop: Stop,
}

impl Room {
    fn new() -> Room {
        Room {
            folder: tempfile::tempdir().unwrap(),
            stop: Stop::default(),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("swap.json")
    }

    fn state(&self) -> SwapState {
        SwapState::load(&self.file()).ok().unwrap()
    }

    /// Continues with the file's state; returns what the person was told.
    fn run(
        &self,
        state: SwapState,
        times: usize,
        plug: &mut Plug,
    ) -> (String, Vec<LoggedDevicePower>) {
        let file = self.file();
        let mut steps = SwapSteps {
            state,
            file: &file,
            shape: Shape {
                spin: Nanos::from_millis(1),
                idle: Nanos::from_millis(1),
                times: 2,
            },
            stop: &self.stop,
        };
        let heard = String::new();
        let mut person = Script { times, heard };
        assert!(steps.run(&mut person, plug).is_ok());
        (person.heard, steps.figures())
    }
}

fn planned(devices: &[&str], markers: bool) -> SwapState {
    SwapState::of(SwapPlan {
        devices: devices.iter().map(|name| name.to_string()).collect(),
        window_ns: 10_000_000_000,
        markers,
    })
}

#[test]
fn every_device_is_requested_and_compared_with_none() {
    let room = Room::new();
    let mut plug = Plug::of(&[880.0, 930.0, 905.0]);
    let state = planned(&["no device", "hdd", "ssd"], false);
    let (heard, figures) = room.run(state, 3, &mut plug);
    for name in [
        "[1/3] Now: no device",
        "[2/3] Now: hdd",
        "[3/3] Now: ssd",
        "All done",
    ] {
        assert!(heard.contains(name), "{heard}");
    }
    assert_eq!(plug.lengths, [Nanos::from_millis(10_000); 3]);
    let above: Vec<_> = figures
        .iter()
        .map(|one| one.above_no_device_watts)
        .collect();
    assert_eq!(above, [Some(0.0), Some(5.0), Some(2.5)]);
    assert_eq!(room.state().windows.len(), 3);
    assert!(room.state().markers().is_empty() && !heard.contains("power import"));
}

#[test]
fn a_person_who_goes_finds_the_rest_to_do() {
    let room = Room::new();
    let state = planned(&["no device", "hdd", "ssd"], false);
    let (heard, _) = room.run(state, 1, &mut Plug::of(&[880.0]));
    assert!(
        heard.contains("Stopped before 'hdd'") && heard.contains("--resume"),
        "{heard}"
    );
    assert_eq!(room.state().next(), Some((1, "hdd")));
    let (heard, figures) = room.run(room.state(), 2, &mut Plug::of(&[930.0, 905.0]));
    assert!(
        !heard.contains("Now: no device") && heard.contains("[2/3] Now: hdd"),
        "{heard}"
    );
    assert_eq!(figures.len(), 3);
    assert_eq!(figures[2].above_no_device_watts, Some(2.5));
    assert_eq!(room.state().next(), None);
}

#[test]
fn a_window_that_is_stopped_is_not_done() {
    let room = Room::new();
    let mut plug = Plug::of(&[880.0, 930.0]);
    plug.stopped_in = Some(1);
    let (heard, figures) = room.run(planned(&["no device", "hdd"], false), 9, &mut plug);
    assert!(heard.contains("Stopped before 'hdd'"), "{heard}");
    assert_eq!((figures.len(), room.state().next()), (1, Some((1, "hdd"))));
}

#[test]
fn a_meter_that_fails_leaves_the_window() {
    let room = Room::new();
    let mut plug = Plug::of(&[]);
    let (heard, figures) = room.run(planned(&["hdd"], false), 1, &mut plug);
    assert!(
        heard.contains("No figure of plug: removed") && figures.is_empty(),
        "{heard}"
    );
    assert_eq!(room.state().windows[0].name, "hdd");
}

#[test]
fn markers_stand_around_each_window() {
    let room = Room::new();
    let (heard, _) = room.run(planned(&["a", "b"], true), 2, &mut Plug::of(&[1.0, 2.0]));
    assert!(
        heard.contains("joulio power import FILE.csv --windows"),
        "{heard}"
    );
    let (state, markers) = (room.state(), room.state().markers());
    assert_eq!(markers.len(), 4);
    for (window, markers) in state.windows.iter().zip(markers.chunks(2)) {
        let last = markers[0].edges.last().unwrap().realtime.0;
        assert!(last <= window.start_unix_ns);
        assert!(window.end_unix_ns <= markers[1].edges[0].realtime.0);
    }
}

#[test]
fn a_clock_that_was_set_spoils_the_window() {
    let second = |n: u64| Nanos::from_millis(n * 1000);
    assert!(check_clock(second(600), second(600) + Nanos::from_millis(300)).is_ok());
    for (wall, steady) in [(600, 602), (602, 600)] {
        let set = check_clock(second(wall), second(steady));
        assert!(matches!(set, Err(error) if error.to_string().contains("2.0 s")));
    }
}
