//! Calibration of watts by the meters that can be read: a core in each kind of wait, a wake-up,
//! and what cores share.

mod activity;
mod bench;
mod block;
mod error;
mod figures;
mod metered;
mod plan;
mod profile;
mod protocol;
mod quiet;
#[cfg(test)]
mod tests;
mod threads;
mod topology;

pub use block::Rounds;
use error::WORDS;
pub use error::WattsError;
pub use figures::{CoresAwake, MeasuredWatts, StateWatts, WakeJoules};
pub use profile::with_watts;

use crate::power_log::wall_time;
use joulio_energy::Discovery;
use joulio_host::Machine;
use joulio_workload::{Spoiled, Stop};
use metered::Metered;
use plan::Plan;
use protocol::Protocol;
use quiet::Quiet;
use std::path::PathBuf;
use threads::CoreThreads;
use topology::Topology;

/// Options of a calibration of watts.
#[derive(Clone, Debug)]
pub struct WattsRequest {
    /// Root of the file tree in which meters, cores and idle states are read: `/`, or a captured one.
    pub root: PathBuf,
    /// Number and length of the measurements of each state.
    pub rounds: Rounds,
    /// Names of the states beside spinning; none: all.
    pub states: Vec<String>,
    /// Ends as soon as the machine is not quiet.
    pub strict: bool,
}

/// A calibration of watts whose meters and cores are found.
pub struct WattsCalibration<'a> {
    request: WattsRequest,
    discovery: &'a mut Discovery,
    topology: Topology,
    plan: Plan,
}

impl<'a> WattsCalibration<'a> {
    /// Number of windows of all rounds.
    pub fn windows(&self) -> u64 {
        u64::from(self.plan.windows()) * u64::from(self.request.rounds.blocks)
    }

    /// Checks that there is a meter among those of `discovery`, and that there are cores enough.
    ///
    /// # Errors
    /// There is no meter, or one core; each meter says why. One round is too few, and states have to
    /// be this machine's.
    pub fn new(
        request: WattsRequest,
        discovery: &'a mut Discovery,
    ) -> Result<WattsCalibration<'a>, WattsError> {
        if request.rounds.blocks < 2 {
            return Err(WattsError::OneRound);
        }
        Metered::of(discovery, &Stop::default())?;
        let allowed = rustix::thread::sched_getaffinity(None);
        let allowed = allowed.map_err(|errno| WattsError::Pin { cpu: 0, errno })?;
        let allowed: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU)
            .filter(|&cpu| allowed.is_set(cpu))
            .collect();
        let topology = Topology::read(&request.root, &allowed);
        if topology.used.len() < 2 {
            return Err(WattsError::OneCore(topology.used.len()));
        }
        let plan = Plan::of(&request.root, &topology, &request.states);
        let idle: Vec<String> = plan.idle.iter().map(|state| state.name.clone()).collect();
        let unknown = |word: &&String| {
            let mut known = WORDS.into_iter().chain(idle.iter().map(String::as_str));
            !known.any(|name| name.eq_ignore_ascii_case(word))
        };
        if let Some(word) = request.states.iter().find(unknown) {
            let word = word.clone();
            return Err(WattsError::NoState { word, idle });
        }
        Ok(WattsCalibration {
            request,
            discovery,
            topology,
            plan,
        })
    }

    /// Measures, and returns what spoiled it, if anything did. `report` receives lines about
    /// settings that could not be put back, `tick` is called after each window.
    ///
    /// # Errors
    /// A meter fails, spinning cannot be told from idling, or it was stopped or spoiled.
    pub fn run(
        self,
        stop: &Stop,
        report: &dyn Fn(&str),
        tick: &mut dyn FnMut(),
    ) -> Result<(MeasuredWatts, Vec<Spoiled>), WattsError> {
        let WattsRequest {
            root,
            rounds,
            strict,
            ..
        } = self.request;
        let machine = Machine::read(&root, &[]);
        let mut quiet = Quiet::begin_all(strict);
        let mut joules = Metered::of(self.discovery, stop)?;
        let (meter, boundary) = (joules.names(), joules.boundary());
        let mut cores = CoreThreads {
            root,
            cpus: self.topology.used,
            lag: joules.lag(),
            quiet: &mut quiet,
            stop,
            report,
        };
        let protocol = Protocol {
            plan: &self.plan,
            rounds,
            cores: &mut cores,
            joules: &mut joules,
            tick,
        };
        let found = protocol.run().map_err(|error| match error {
            WattsError::Indistinguishable { cores, within, .. } => WattsError::Indistinguishable {
                meter: meter.clone(),
                cores,
                within,
            },
            error => error,
        })?;
        let spoiled = quiet.end_all();
        if let Some(first) = spoiled.first().filter(|_| strict) {
            return Err(WattsError::Spoiled(first.clone()));
        }
        let unknown = || "unknown".to_string();
        let watts = MeasuredWatts {
            meter,
            boundary,
            cores_used: self.plan.used,
            cores: self.plan.cores,
            rounds: rounds.blocks,
            window_seconds: rounds.window.seconds(),
            kernel: machine.kernel.value.unwrap_or_else(unknown),
            microcode: machine.cpu.microcode.value.unwrap_or_else(unknown),
            date: wall_time::utc(wall_time::now()).chars().take(10).collect(),
            idle_state: self.plan.deepest().map(|state| state.name.clone()),
            awake: found.awake,
            uncore: found.uncore,
            states: found.states,
            wakes: found.wakes,
        };
        Ok((watts, spoiled))
    }
}
