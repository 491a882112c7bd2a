//! A machine in virtual time with known watts, and a RAPL tree that shows its energy.

use super::super::activity::{Arm, CoreActivity};
use super::super::bench::{Cores, JouleMeter, MeanPower, Ran, WindowClock};
use super::super::error::WattsError;
use joulio_cpu::Depth;
use joulio_energy::alignment::{Marker, MarkerEdge};
use joulio_energy::logger::{DateOrder, PowerLog};
use joulio_energy::{Clock, Files, Meters, Root, SystemFiles};
use joulio_units::{Nanos, Watts};
use std::f64::consts::TAU;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// True watts of a machine.
#[derive(Clone, Debug)]
pub struct Truth {
    pub cores: usize,
    /// Watts of the idle machine.
    pub idle: f64,
    /// Watts of the uncore while any core is awake.
    pub uncore: f64,
    /// Additional watts of the uncore for each busy core, which the model counts as the core's.
    pub growing: f64,
    /// Watts of a spinning core above an idle one.
    pub spin: f64,
    /// Watts of a core in TPAUSE C0.2.
    pub pause: f64,
    pub c1: f64,
    pub c1e: f64,
    /// Joules of a wake-up, without the time that a thread runs.
    pub wake_joules: f64,
    /// Seconds that a thread runs after a wake-up.
    pub wake_busy: f64,
    /// Linear drift in watts per second.
    pub drift: f64,
    /// Amplitude in watts of a drift with a period of seven minutes.
    pub swing: f64,
    /// Standard deviation of the watts in each 10 ms.
    pub noise: f64,
    /// Clocks that are compared, in kHz.
    pub clocks: Vec<u64>,
    /// Share of a spinning core's watts above idle that does not depend on the clock; the rest is proportional to its
    /// square.
    pub static_share: f64,
}

impl Default for Truth {
    fn default() -> Truth {
        Truth {
            cores: 8,
            idle: 41.0,
            uncore: 6.0,
            growing: 0.25,
            spin: 3.1,
            pause: 2.4,
            c1: 1.2,
            c1e: 0.7,
            wake_joules: 30e-6,
            wake_busy: 4e-6,
            drift: 0.002,
            swing: 0.05,
            noise: 0.3,
            clocks: Vec::new(),
            static_share: 0.3,
        }
    }
}

impl Truth {
    /// Returns the watts of a core above idle in the state named `state`.
    pub fn above_idle(&self, state: &str) -> f64 {
        match state {
            "spin" | "POLL" => self.spin + self.growing,
            "spin with PAUSE" => 0.95 * self.spin + self.growing,
            "tpause C0.1" => 0.9 * self.spin + self.growing,
            "tpause C0.2" | "umwait C0.2" => self.pause + self.growing,
            "C1" => self.c1,
            "C1E" => self.c1e,
            other => panic!("{other}"),
        }
    }

    fn watts(&self, arm: &Arm) -> f64 {
        let cores = arm.cores as f64;
        let idle_state = match arm.limit.as_deref() {
            None => 0.0,
            Some(state) => self.above_idle(state),
        };
        let limited = match arm.limit {
            None => 0.0,
            Some(_) => self.uncore + idle_state * self.cores as f64,
        };
        self.idle
            + match arm.activity {
                CoreActivity::Rest => limited,
                CoreActivity::Sleeps(time) => {
                    let rate = 1.0 / (time.seconds() + self.wake_busy);
                    let busy = rate * self.wake_busy;
                    let above = self.above_idle("spin") - idle_state;
                    let uncore = if limited > 0.0 { 0.0 } else { self.uncore };
                    uncore + limited + cores * (rate * self.wake_joules + busy * above)
                }
                _ => {
                    let above = self.above_idle(&arm.activity.to_string());
                    let clock = match (arm.max_khz, self.clocks.first()) {
                        (Some(khz), Some(highest)) => khz as f64 / *highest as f64,
                        _ => 1.0,
                    };
                    let law = self.static_share + (1.0 - self.static_share) * clock.powi(2);
                    self.uncore + cores * above * law
                }
            }
    }
}

/// State and clock of the machine.
#[derive(Debug)]
struct State {
    truth: Truth,
    now: u64,
    /// Energy in joules until the time `counted`, in nanoseconds.
    joules: f64,
    counted: u64,
    watts: f64,
    random: u64,
    /// Energy in joules at the end of each second.
    seconds: Vec<f64>,
}

/// Value of the counter when it is first read: it wraps around some seconds later.
const START: u64 = (1 << 32) - 5_000_000;
const UNIT_NJ: u64 = 61_035;
/// Nanoseconds that a reading of the clock takes, so that a wait for an update ends.
const READING: u64 = 20_000;
const SLICE: u64 = 10_000_000;
const UPDATE: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// Start of the machine in nanoseconds since 1970.
const EPOCH: u64 = 1_790_000_000_000_000_000;

impl State {
    /// Advances the time to `until`, slice by slice.
    fn pass(&mut self, until: u64) {
        while self.counted + UPDATE <= until {
            // Noise is drawn for each slice.
            let left = until - self.counted;
            let step = left.min(SLICE);
            let step = step - step % UPDATE;
            let at = self.counted as f64 * 1e-9;
            let drift = self.truth.drift * at + self.truth.swing * (TAU * at / 420.0).sin();
            let noise = self.truth.noise * (SLICE as f64 / step as f64).sqrt() * self.normal();
            self.joules += (self.watts + drift + noise) * step as f64 * 1e-9;
            self.counted += step;
            if self.counted / SECOND > self.seconds.len() as u64 {
                self.seconds.push(self.joules);
            }
        }
        self.now = self.now.max(until);
    }

    /// Returns a random number of mean 0 and deviation 1: the sum of twelve uniform ones, less 6.
    fn normal(&mut self) -> f64 {
        let mut even = || {
            // SplitMix64.
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.random;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as f64 / u64::MAX as f64
        };
        (0..12).map(|_| even()).sum::<f64>() - 6.0
    }

    /// Returns the content of the counter's file: 32 bits of energy units, in microjoules.
    fn energy_uj(&self) -> u64 {
        let steps = START + (self.joules * 1e9 / UNIT_NJ as f64) as u64;
        (steps % (1 << 32)) * UNIT_NJ / 1000
    }
}

#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap())
    }
}

impl Clock for Shared {
    fn now(&self) -> Nanos {
        self.with(|state| {
            state.pass(state.now + READING);
            Nanos(state.now)
        })
    }

    fn suspended(&self) -> Nanos {
        Nanos::ZERO
    }
}

impl Files for Shared {
    fn read(&self, path: &Path, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        if !path.ends_with("energy_uj") {
            return SystemFiles.read(path, offset, limit);
        }
        Ok(format!("{}\n", self.with(|state| state.energy_uj())).into_bytes())
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        SystemFiles.names(path)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        SystemFiles.link(path)
    }

    fn has(&self, path: &Path) -> bool {
        SystemFiles.has(path)
    }
}

/// A simulated machine.
pub struct Simulated {
    state: Shared,
    tree: TempDir,
}

impl Simulated {
    pub fn new(truth: Truth, seed: u64) -> Simulated {
        let tree = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = tree.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(
            "proc/cpuinfo",
            "vendor_id\t: GenuineIntel\nflags\t\t: fpu\n\n",
        );
        let zone = "sys/class/powercap/intel-rapl:0";
        put(&format!("{zone}/name"), "package-0\n");
        let range = u64::from(u32::MAX) * UNIT_NJ / 1000;
        put(
            &format!("{zone}/max_energy_range_uj"),
            &format!("{range}\n"),
        );
        put(&format!("{zone}/energy_uj"), "0\n");
        let watts = truth.idle;
        let state = State {
            truth,
            now: 0,
            joules: 0.0,
            counted: 0,
            watts,
            random: seed.wrapping_mul(0x5851_f42d_4c95_7f2d),
            seconds: Vec::new(),
        };
        Simulated {
            state: Shared(Arc::new(Mutex::new(state))),
            tree,
        }
    }

    pub fn cores(&self) -> SimulatedCores {
        SimulatedCores(self.state.clone())
    }

    /// Returns the clock of the machine.
    pub fn clock(&self) -> SimulatedClock {
        SimulatedClock(self.state.clone())
    }

    /// Runs a marker of three spins of five seconds each and returns it.
    pub fn marker(&self) -> Marker {
        let mut edges = Vec::new();
        self.state.with(|state| {
            let all = Arm::on(CoreActivity::Spin, state.truth.cores);
            let mut pass = |arm: &Arm| {
                state.watts = state.truth.watts(arm);
                state.pass(state.now + 5 * SECOND);
                state.now
            };
            let mut at = pass(&Arm::idle());
            for _ in 0..3 {
                for (arm, rising) in [(&all, true), (&Arm::idle(), false)] {
                    edges.push(MarkerEdge {
                        realtime: Nanos(EPOCH + at),
                        monotonic: Nanos(at),
                        rising,
                    });
                    at = pass(arm);
                }
            }
        });
        Marker { edges }
    }

    /// Returns the record of a logger at the plug whose clock is `ahead`.
    pub fn log(&self, ahead: Nanos) -> PowerLog {
        let seconds = self.state.with(|state| state.seconds.clone());
        let start = Nanos(EPOCH + SECOND) + ahead;
        let samples = seconds.iter().enumerate().map(|(at, joules)| {
            let before = at.checked_sub(1).map_or(0.0, |before| seconds[before]);
            let time = start + Nanos(at as u64 * SECOND);
            (time, Watts(joules - before))
        });
        PowerLog {
            start,
            offset: 0,
            date_order: DateOrder::MonthDayYear,
            interval: Nanos(SECOND),
            averaged: true,
            samples: samples.collect(),
            events: Vec::new(),
            serials: vec!["123".into()],
            gaps: Vec::new(),
            truncated: false,
        }
    }

    /// Returns RAPL's reader on the simulated files.
    pub fn joules(&self) -> SimulatedJoules {
        let root = Root::at(self.tree.path())
            .with_files(Arc::new(self.state.clone()))
            .with_clock(Arc::new(self.state.clone()));
        let meters = Meters::discover(&root, &"package".parse().unwrap()).meters;
        assert!(!meters.is_empty());
        SimulatedJoules {
            meters,
            state: self.state.clone(),
        }
    }
}

pub struct SimulatedCores(Shared);

impl Cores for SimulatedCores {
    fn run(
        &mut self,
        arm: &Arm,
        during: &mut dyn FnMut() -> Result<(), WattsError>,
    ) -> Result<Ran, WattsError> {
        let ran = self.0.with(|state| {
            state.watts = state.truth.watts(arm);
            state.pass(state.now + 200_000_000);
            match arm.activity {
                CoreActivity::Sleeps(time) => {
                    let wakes = 1.0 / (time.seconds() + state.truth.wake_busy);
                    Ran {
                        wakes,
                        busy: wakes * state.truth.wake_busy,
                        inside: None,
                    }
                }
                CoreActivity::Pause(Depth::C02) => Ran {
                    inside: Some(0.97),
                    ..Ran::default()
                },
                _ => Ran::default(),
            }
        });
        during()?;
        Ok(ran)
    }
}

pub struct SimulatedClock(Shared);

impl WindowClock for SimulatedClock {
    fn over(&mut self, time: Nanos) -> Result<[Nanos; 2], WattsError> {
        self.0.with(|state| {
            let start = state.now;
            state.pass(start + time.0);
            Ok([Nanos(EPOCH + start), Nanos(EPOCH + state.now)])
        })
    }
}

pub struct SimulatedJoules {
    meters: Meters,
    state: Shared,
}

impl JouleMeter for SimulatedJoules {
    fn over(&mut self, time: Nanos) -> Result<MeanPower, WattsError> {
        let window = self.meters.open_unsampled();
        self.state.with(|state| state.pass(state.now + time.0));
        let measured = window.close(None).remove(0);
        let figure = measured.figure.map_err(|why| WattsError::Meter {
            name: measured.about.name,
            why: why.to_string(),
        })?;
        Ok(figure.total.into())
    }
}
