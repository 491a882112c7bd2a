//! Grids: every policy on every load in virtual time, kept in a state file as they are simulated, and drawn as maps.

mod comparison;
mod csv;
mod error;
mod maps;
mod state;
mod summary;
mod tiles;

pub use comparison::{
    Comparison, KeptPromises, SharedCpus, comparisons, comparisons_by_part, kept_promises,
    on_shared_cpus,
};
pub use csv::csv;
pub use error::{PictureError, SweepError};
pub use maps::{Map, Tile, maps};
pub use state::GridState;
pub use summary::{
    PolicySummary, Spread, is_best, oracle_savings, past_tdp, policies, policy_names,
};

use crate::machine_profile;
use crate::output_file::{Existing, OutputFile};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::TwinError;
use joulio_twin::grid::{GridAxes, GridCandidate, GridCell, GridError, GridSweep, Scenario};
use joulio_units::{Nanos, Slo};
use joulio_workload::Stop;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Options of a grid.
#[derive(Clone, Debug)]
pub struct GridOptions {
    /// Machine: a name, or a path to a .toml file; `None`: the one that fits this processor, or a generic server.
    pub machine: Option<String>,
    /// Axes; views for which the machine has no watts are left out.
    pub axes: GridAxes,
    /// Number of I/Os of each run, over all jobs.
    pub number_ios: u64,
    /// Ramp in virtual time before the measurement.
    pub ramp_time: Nanos,
    /// Promise; `None`: the one of [`GridSweep::slo`].
    pub slo: Option<Slo>,
    /// Seed of all random numbers in the first replicate.
    pub seed: u64,
    /// Number of seeds with which each policy is run, at least 1.
    pub replicates: u32,
}

/// A grid whose scenarios can all be simulated.
pub struct Grid {
    axes: GridAxes,
    sweep: GridSweep,
    devices: Vec<DeviceProfile>,
    scenarios: Vec<Scenario>,
}

/// All that the rows of a grid depend on: equal headers have equal rows.
#[derive(Clone, Debug, Serialize)]
pub struct GridHeader<'a> {
    /// Version of joulio.
    pub joulio: &'static str,
    /// Always true: every figure is modelled.
    pub modelled: bool,
    /// Axes of the grid.
    pub axes: &'a GridAxes,
    /// Number of I/Os of each run, over all jobs.
    pub number_ios: u64,
    /// Ramp in seconds of virtual time before the measurement.
    pub ramp_seconds: f64,
    /// Seed of all random numbers in the first replicate.
    pub seed: u64,
    /// Number of seeds with which each policy is run.
    pub replicates: u32,
    /// Largest allowed percentiles in nanoseconds; `None`: 1 % above polling's, or on shared CPUs above those of
    /// interrupts if these are lower.
    pub slo_ns: Option<Slo>,
    /// Names of the policies beside polling.
    pub policies: Vec<&'a str>,
    /// Machine of the grid.
    pub machine: &'a MachineProfile,
    /// Devices of the grid, in the order of the axes.
    pub devices: &'a [DeviceProfile],
}

impl Grid {
    /// Reads the profiles and checks every scenario; `stop` ends a simulation in the middle.
    ///
    /// # Errors
    /// A profile is missing, the machine has no costs, or a scenario cannot be simulated.
    pub fn new(options: GridOptions, stop: Arc<AtomicBool>) -> Result<Grid, SweepError> {
        let machine = machine_profile(options.machine.as_deref())?;
        let axes = options.axes.on(&machine);
        if machine.costs.is_none() {
            let machine = machine.name;
            return Err(TwinError::NoCosts { machine }.into());
        }
        let devices = axes.devices.iter().map(|name| DeviceProfile::load(name));
        let devices = devices.collect::<Result<_, _>>()?;
        let sweep = GridSweep {
            stop,
            candidates: GridCandidate::all(&machine),
            machine,
            ios: options.number_ios,
            ramp_time: options.ramp_time,
            slo: options.slo,
            seed: options.seed,
            replicates: options.replicates,
        };
        let grid = Grid {
            scenarios: axes.scenarios(),
            axes,
            sweep,
            devices,
        };
        for (scenario, device) in grid.placed() {
            grid.sweep.check(scenario, device)?;
        }
        Ok(grid)
    }

    /// Returns the axes of the grid, without views for which the machine has no watts.
    pub fn axes(&self) -> &GridAxes {
        &self.axes
    }

    /// Returns the header of the grid's state file and output.
    pub fn header(&self) -> GridHeader<'_> {
        let sweep = &self.sweep;
        let policies = sweep.candidates.iter().map(|one| one.name.as_str());
        GridHeader {
            joulio: env!("CARGO_PKG_VERSION"),
            modelled: true,
            axes: &self.axes,
            number_ios: sweep.ios,
            ramp_seconds: sweep.ramp_time.seconds(),
            seed: sweep.seed,
            replicates: sweep.replicates,
            slo_ns: sweep.slo,
            policies: policies.collect(),
            machine: &sweep.machine,
            devices: &self.devices,
        }
    }

    /// Returns the names of all policies: polling, those of the header, and `adaptive`.
    pub fn policies(&self) -> Vec<&str> {
        let candidates = self.header().policies;
        [&["poll"], candidates.as_slice(), &["adaptive"]].concat()
    }

    /// Opens the state file `path` of this grid; without a path the state is kept in memory.
    ///
    /// # Errors
    /// The state file cannot be used.
    pub fn state(&self, path: Option<&Path>) -> Result<GridState, SweepError> {
        Ok(GridState::open(
            path,
            &self.header(),
            self.axes.views.len(),
        )?)
    }

    /// Opens the file of the grid's picture.
    ///
    /// # Errors
    /// There are too many maps for a picture, or the file cannot be written.
    pub fn picture(&self, path: &Path, existing: Existing) -> Result<OutputFile, PictureError> {
        let count = maps::count(&self.axes);
        if count > maps::MAX_MAPS {
            let path = path.into();
            return Err(PictureError::TooMany { path, count });
        }
        Ok(OutputFile::open(path, existing)?)
    }

    /// Draws the maps of `rows` into `file`.
    ///
    /// # Errors
    /// Drawing or writing fails.
    pub fn draw(&self, file: &OutputFile, rows: &[GridCell]) -> Result<(), PictureError> {
        let maps = maps(&self.axes, rows);
        let text = tiles::draw(&self.sweep.machine.name, &self.axes, &maps)?;
        Ok(file.write(&text)?)
    }

    /// Simulates the scenarios that `state` does not have, on `threads` threads, until `stop` is set, and returns the
    /// rows of all that are done. `progress` receives the number of scenarios and the number of those that are done.
    ///
    /// # Errors
    /// A scenario cannot be simulated, or the state file cannot be written.
    pub fn simulate(
        &self,
        threads: usize,
        mut state: GridState,
        stop: &Stop,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Vec<GridCell>, SweepError> {
        let placed: Vec<_> = self.placed().collect();
        let all = placed.len();
        let open = placed.into_iter();
        let open: Vec<_> = open.filter(|(scenario, _)| !state.has(scenario)).collect();
        let mut done = all - open.len();
        progress(all, done);
        let next = AtomicUsize::new(0);
        let (rows, inbox) = channel();
        thread::scope(|scope| {
            for _ in 0..threads.min(open.len()) {
                let (rows, next, open) = (rows.clone(), &next, &open);
                scope.spawn(move || {
                    while !stop.stopped()
                        && let Some(&(scenario, device)) =
                            open.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let simulated = self.sweep.simulate(scenario, device, &self.axes.views);
                        if rows.send((scenario, simulated)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(rows);
            for (scenario, rows) in inbox {
                match rows {
                    Err(GridError::Twin(TwinError::Stopped)) => continue,
                    rows => state.add(scenario, rows?)?,
                }
                done += 1;
                progress(all, done);
            }
            Ok::<_, SweepError>(())
        })?;
        Ok(state.rows(&self.scenarios))
    }

    /// Returns every scenario with its device.
    fn placed(&self) -> impl Iterator<Item = (&Scenario, &DeviceProfile)> {
        self.scenarios.iter().filter_map(|scenario| {
            let mut names = self.axes.devices.iter();
            let at = names.position(|name| *name == scenario.device)?;
            Some((scenario, self.devices.get(at)?))
        })
    }
}
