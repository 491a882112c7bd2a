//! Records of windows whose energy a logger at the plug provides afterwards.
//!
//! The file has everything that the computation needs except watts: the plan, the times of each window, what the cores
//! did in it, and the markers with which the logger's clock is determined.

use super::activity::Arm;
use super::bench::{Cores, JouleMeter, MeanPower, Ran, WindowClock};
use super::block::Rounds;
use super::error::WattsError;
use super::group::{Group, MeasuredGroup};
use super::plan::Plan;
use super::protocol::Protocol;
use crate::output_file::{Existing, OutputFile};
use crate::pause::pause;
use crate::power_log::{MarkerRecord, wall_time};
use crate::text_file::read_text;
use joulio_energy::alignment::Alignment;
use joulio_energy::logger::PowerLog;
use joulio_units::Nanos;
use joulio_workload::{Spoiled, Stop};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::Path;

const VERSION: u32 = 1;
/// Size of the largest file that is read, in bytes: thousands of windows take less.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Difference between a window's length and the planned one from which on the machine's clock counts as changed.
const CLOCK_SET: Nanos = Nanos::from_millis(1_000);

/// Windows of a calibration of watts without a meter, as they are saved in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WattsRecord {
    version: u32,
    /// Plan of the measurement.
    pub(super) plan: Plan,
    blocks: u32,
    window_ns: u64,
    /// Release of the kernel.
    pub(super) kernel: String,
    /// Revision of the microcode.
    pub(super) microcode: String,
    /// Date of the measurement.
    pub(super) date: String,
    /// Groups that are done, in the plan's order.
    pub(super) groups: Vec<RecordedGroup>,
    /// Markers, at least one before and one after the windows.
    #[serde(default)]
    pub(super) markers: Vec<MarkerRecord>,
    /// Reasons why the windows do not show the machine itself.
    #[serde(default)]
    pub spoiled: Vec<Spoiled>,
}

/// Windows of a group, or the reason why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedGroup {
    windows: Vec<RecordedWindow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Times of a window, and what the cores did in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedWindow {
    start_unix_ns: u64,
    end_unix_ns: u64,
    wakes: f64,
    busy: f64,
    inside: Option<f64>,
}

/// Machine and date of a record.
#[derive(Clone, Debug)]
pub struct RecordedOn {
    /// Release of the kernel.
    pub kernel: String,
    /// Revision of the microcode.
    pub microcode: String,
    /// Date of the measurement.
    pub date: String,
}

impl WattsRecord {
    /// Returns a record of `plan` in which no window is done.
    pub fn new(plan: Plan, rounds: Rounds, on: RecordedOn) -> WattsRecord {
        WattsRecord {
            version: VERSION,
            plan,
            blocks: rounds.blocks,
            window_ns: rounds.window.0,
            kernel: on.kernel,
            microcode: on.microcode,
            date: on.date,
            groups: Vec::new(),
            markers: Vec::new(),
            spoiled: Vec::new(),
        }
    }

    /// Returns true if both records have the same plan, kernel and microcode.
    pub fn is_of(&self, other: &WattsRecord) -> bool {
        let shape = |record: &WattsRecord| (record.blocks, record.window_ns);
        let on = |record: &WattsRecord| (record.kernel.clone(), record.microcode.clone());
        self.plan == other.plan && shape(self) == shape(other) && on(self) == on(other)
    }

    /// Returns the number of blocks and the length of windows.
    pub fn rounds(&self) -> Rounds {
        Rounds {
            blocks: self.blocks,
            window: Nanos(self.window_ns),
        }
    }

    /// Reads a record from the file `path` and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or is no valid record.
    pub fn load(path: &Path) -> Result<WattsRecord, WattsError> {
        let wrong = |why: String| WattsError::Record {
            path: path.into(),
            why,
        };
        let text = read_text(path, MAX_FILE_BYTES).map_err(|error| wrong(error.to_string()))?;
        let none = "not a file of joulio calibrate --watts --record";
        let record: WattsRecord =
            serde_json::from_str(&text).map_err(|error| wrong(format!("{none}: {error}")))?;
        match record.trouble() {
            None => Ok(record),
            Some(trouble) => Err(wrong(trouble)),
        }
    }

    fn trouble(&self) -> Option<String> {
        if self.version != VERSION {
            return Some(format!("version {}, and {VERSION} is known", self.version));
        }
        let groups = self.plan.groups();
        if self.groups.len() > groups.len() || self.blocks < 2 || self.plan.used < 2 {
            return Some("its windows are not those of its plan".into());
        }
        for (group, done) in groups.iter().zip(&self.groups) {
            let windows = 2 * group.arms.len() * self.blocks as usize;
            let whole = done.why.is_some() || done.windows.len() == windows;
            let lasts = |window: &RecordedWindow| window.start_unix_ns < window.end_unix_ns;
            if !whole || !done.windows.iter().all(lasts) {
                return Some("its windows are not those of its plan".into());
            }
        }
        None
    }

    /// Writes the record to the file `path`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), WattsError> {
        let wrong = |why: String| WattsError::Record {
            path: path.into(),
            why,
        };
        let text = serde_json::to_string(self).map_err(|error| wrong(error.to_string()))?;
        let file = OutputFile::open(path, Existing::Replace);
        let saved = file.and_then(|file| file.write(&format!("{text}\n")));
        saved.map_err(|error| wrong(error.to_string()))
    }

    /// Returns the groups that are not done.
    pub fn left(&self) -> Vec<Group> {
        self.plan.groups().split_off(self.groups.len())
    }

    /// Runs `group`, the next one of the plan, without a meter, and records it.
    ///
    /// # Errors
    /// A window fails, or the measurement was stopped.
    pub fn record(
        &mut self,
        group: Group,
        cores: &mut dyn Cores,
        clock: &mut dyn WindowClock,
        tick: &mut dyn FnMut(),
    ) -> Result<(), WattsError> {
        let windows = RefCell::default();
        let mut protocol = Protocol {
            rounds: self.rounds(),
            cores: &mut Recording {
                cores,
                windows: &windows,
            },
            joules: &mut Timed {
                clock,
                windows: &windows,
            },
            tick,
        };
        let measured = protocol.measure(group)?;
        self.groups.push(match measured.blocks {
            Ok(_) => RecordedGroup {
                windows: windows.into_inner(),
                why: None,
            },
            Err(why) => RecordedGroup {
                windows: Vec::new(),
                why: Some(why),
            },
        });
        Ok(())
    }

    /// Returns the groups with the watts from `log`, whose clock `alignment` relates to the machine's.
    ///
    /// # Errors
    /// Windows were not done, or one is not covered by the log.
    pub fn measured(
        &self,
        log: &PowerLog,
        alignment: &Alignment,
    ) -> Result<Vec<MeasuredGroup>, WattsError> {
        let groups = self.plan.groups();
        let left = groups.len() - self.groups.len();
        if left > 0 {
            return Err(WattsError::RecordUnfinished(left));
        }
        let groups = groups.into_iter().zip(&self.groups);
        let measure = |(group, done): (Group, &RecordedGroup)| match &done.why {
            Some(why) => Ok(MeasuredGroup {
                purpose: group.purpose,
                blocks: Err(why.clone()),
            }),
            None => {
                let at = RefCell::new(done.windows.iter());
                let mut protocol = Protocol {
                    rounds: self.rounds(),
                    cores: &mut Replayed(&at),
                    joules: &mut Logged {
                        log,
                        alignment,
                        at: &at,
                    },
                    tick: &mut || {},
                };
                protocol.measure(group)
            }
        };
        groups.map(measure).collect()
    }
}

/// Cores whose activity is recorded with each window.
struct Recording<'a> {
    cores: &'a mut dyn Cores,
    windows: &'a RefCell<Vec<RecordedWindow>>,
}

impl Cores for Recording<'_> {
    fn run(
        &mut self,
        arm: &Arm,
        during: &mut dyn FnMut() -> Result<(), WattsError>,
    ) -> Result<Ran, WattsError> {
        let ran = self.cores.run(arm, during)?;
        if let Some(window) = self.windows.borrow_mut().last_mut() {
            (window.wakes, window.busy) = (ran.wakes, ran.busy);
            window.inside = ran.inside;
        }
        Ok(ran)
    }
}

/// Wall clock of the machine.
pub struct MachineClock<'a> {
    /// Stops the wait for the end of a window.
    pub stop: &'a Stop,
}

impl WindowClock for MachineClock<'_> {
    fn over(&mut self, time: Nanos) -> Result<[Nanos; 2], WattsError> {
        let start = wall_time::now();
        if !pause(time, self.stop, |_| {}) {
            return Err(WattsError::Interrupted);
        }
        let end = wall_time::now();
        let off = end.since(start).0.abs_diff(time.0);
        if off > CLOCK_SET.0 {
            return Err(WattsError::ClockSet(Nanos(off).seconds()));
        }
        Ok([start, end])
    }
}

/// Recorder of a window's times, in place of a meter.
struct Timed<'a> {
    clock: &'a mut dyn WindowClock,
    windows: &'a RefCell<Vec<RecordedWindow>>,
}

impl JouleMeter for Timed<'_> {
    fn over(&mut self, time: Nanos) -> Result<MeanPower, WattsError> {
        let [start, end] = self.clock.over(time)?;
        self.windows.borrow_mut().push(RecordedWindow {
            start_unix_ns: start.0,
            end_unix_ns: end.0,
            wakes: 0.0,
            busy: 0.0,
            inside: None,
        });
        Ok(MeanPower::default())
    }
}

type Windows<'a> = RefCell<std::slice::Iter<'a, RecordedWindow>>;

/// Recorded activity of the cores, in place of cores.
struct Replayed<'a>(&'a Windows<'a>);

impl Cores for Replayed<'_> {
    fn run(
        &mut self,
        _: &Arm,
        during: &mut dyn FnMut() -> Result<(), WattsError>,
    ) -> Result<Ran, WattsError> {
        let window = self.0.borrow().as_slice().first().copied();
        let window = window.ok_or(WattsError::RecordUnfinished(1))?;
        during()?;
        Ok(Ran {
            wakes: window.wakes,
            busy: window.busy,
            inside: window.inside,
        })
    }
}

/// A logger's record in place of a meter.
struct Logged<'a> {
    log: &'a PowerLog,
    alignment: &'a Alignment,
    at: &'a Windows<'a>,
}

impl JouleMeter for Logged<'_> {
    fn over(&mut self, _: Nanos) -> Result<MeanPower, WattsError> {
        let window = self.at.borrow_mut().next();
        let window = window.ok_or(WattsError::RecordUnfinished(1))?;
        let [start, end] = [window.start_unix_ns, window.end_unix_ns].map(Nanos);
        let energy = self.alignment.energy(self.log, start, end);
        energy
            .map(MeanPower::from)
            .map_err(|error| WattsError::Meter {
                name: format!("the window of {}", wall_time::utc(start)),
                why: error.to_string(),
            })
    }
}
