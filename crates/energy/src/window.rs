//! The energy between two times, by several meters.

mod align;
mod edge;
mod error;
mod result;
mod run;
mod sampler;
mod track;

pub use error::WindowError;
pub use result::{MeterFigure, MeterResult};

use crate::{About, Baseline, Clock, Energy, Meter, Monotonic};
use align::edges;
use joulio_units::Nanos;
use sampler::{Sampler, Shared, lock};
use std::io;
use std::sync::{Arc, Mutex};
use track::Track;

/// Meters that are read together.
#[derive(Debug)]
pub struct Meters {
    tracks: Vec<Shared>,
    clock: Arc<dyn Clock>,
}

impl Default for Meters {
    /// Makes a group without meters, with the system's clock.
    fn default() -> Meters {
        Meters::new(Vec::new(), Arc::new(Monotonic))
    }
}

impl Meters {
    /// Groups `meters`, read with `clock`; in their order, but the slow ones last.
    pub fn new(meters: Vec<Box<dyn Meter>>, clock: Arc<dyn Clock>) -> Meters {
        let mut new = Meters {
            tracks: Vec::new(),
            clock,
        };
        meters.into_iter().for_each(|meter| new.push(meter));
        new
    }

    /// Adds a meter.
    pub fn push(&mut self, meter: Box<dyn Meter>) {
        let at = match meter.about().slow {
            true => self.tracks.len(),
            false => fast(&self.tracks),
        };
        self.tracks
            .insert(at, Arc::new(Mutex::new(Track::new(meter))));
    }

    /// Whether there are no meters.
    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }

    /// Returns the descriptions of all meters, in their order.
    pub fn about(&self) -> Vec<About> {
        self.tracks
            .iter()
            .map(|track| lock(track).about())
            .collect()
    }

    /// Opens a window: on return every meter has been read, each counter at one of its updates if one came within 10
    /// ms. Threads of the window read power meters, and counters that wrap, in between.
    ///
    /// A meter that fails has no figure; the others are not affected.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn open(&mut self) -> io::Result<Window<'_>> {
        let mut window = self.open_unsampled();
        window.sampler = Some(Sampler::start(window.tracks, window.clock)?);
        Ok(window)
    }

    /// Opens a window as [`Meters::open`] does, without threads: the caller has to call [`Window::tick`] often enough.
    pub fn open_unsampled(&mut self) -> Window<'_> {
        let clock = &*self.clock;
        let suspended = clock.suspended();
        let (fast, slow) = self.tracks.split_at(fast(&self.tracks));
        // The slow ones first: the windows of the others begin when this returns.
        let slow_edges = edges(slow, clock);
        let edges = edges(fast, clock).into_iter().chain(slow_edges);
        for (track, edge) in self.tracks.iter().zip(edges) {
            lock(track).begin(edge);
        }
        Window {
            tracks: &self.tracks,
            clock: &self.clock,
            sampler: None,
            suspended,
        }
    }
}

/// Returns the number of meters that are read quickly, which come first.
fn fast(tracks: &[Shared]) -> usize {
    tracks.partition_point(|track| !lock(track).slow())
}

/// An open window.
#[derive(Debug)]
pub struct Window<'a> {
    tracks: &'a [Shared],
    clock: &'a Arc<dyn Clock>,
    sampler: Option<Sampler>,
    suspended: Nanos,
}

impl Window<'_> {
    /// Reads every meter now.
    pub fn tick(&mut self) {
        for track in self.tracks {
            lock(track).tick(&**self.clock);
        }
    }

    /// Begins again, without what was read so far: on return the quick meters have an edge, and then the slow ones.
    pub fn restart(&mut self) {
        let clock = &**self.clock;
        self.suspended = clock.suspended();
        let (quick, slow) = self.tracks.split_at(fast(self.tracks));
        let edges = edges(quick, clock).into_iter();
        let edges = edges.chain(self::edges(slow, clock));
        for (track, edge) in self.tracks.iter().zip(edges) {
            lock(track).begin(edge);
        }
    }

    /// Returns the figures since the window was opened, or since the last lap; the next lap begins where they end. A
    /// meter whose lap is too short continues it.
    pub fn lap(&mut self, baseline: Option<&Baseline>) -> Vec<MeterResult> {
        let clock = &**self.clock;
        let (fast, slow) = self.tracks.split_at(fast(self.tracks));
        let edges = edges(fast, clock).into_iter();
        let edges = edges.chain(self::edges(slow, clock));
        let slept = clock.suspended().since(self.suspended);
        self.suspended += slept;
        let laps = self.tracks.iter().zip(edges);
        laps.map(|(track, edge)| {
            let mut track = lock(track);
            let energy = match awake(slept) {
                Ok(()) => track.lap(edge),
                // Neither does a lap that was too short, and would continue.
                Err(asleep) => {
                    track.begin(edge);
                    Err(asleep)
                }
            };
            let about = track.about();
            let figure = energy.map(|total| figure(total, &about, baseline));
            MeterResult { about, figure }
        })
        .collect()
    }

    /// Ends the window, and returns a figure or a reason for each meter.
    pub fn close(mut self, baseline: Option<&Baseline>) -> Vec<MeterResult> {
        let measured = self.lap(baseline);
        // Its threads have nothing left to read.
        drop(self.sampler.take());
        measured
    }
}

fn awake(slept: Nanos) -> Result<(), WindowError> {
    /// Least difference of the two clocks that is a suspension: suspending takes longer, reading two clocks takes less.
    const ASLEEP: Nanos = Nanos::from_millis(100);
    match slept > ASLEEP {
        true => Err(WindowError::Suspended { slept }),
        false => Ok(()),
    }
}

/// Makes the figure of the meter `about`, whose window's energy is `total`.
fn figure(total: Energy, about: &About, baseline: Option<&Baseline>) -> MeterFigure {
    MeterFigure {
        above_idle: baseline.and_then(|baseline| baseline.subtract(&about.name, &total)),
        total,
    }
}
