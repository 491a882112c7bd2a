//! A meter whose readings the test sets.

use joulio_energy::{
    About, Boundary, Clock, Meter, MeterError, MeterKind, MeterValue, Reading, Source, Zone,
};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The next reading of a scripted meter.
pub type Step = Result<MeterValue, MeterError>;

/// A meter that shows `steps` in order; the last one stays.
#[derive(Clone, Debug)]
pub struct Scripted {
    about: About,
    steps: Arc<Mutex<VecDeque<Step>>>,
    reads: Arc<AtomicU64>,
}

impl Scripted {
    pub fn new(name: &str, boundary: Boundary, kind: MeterKind) -> Scripted {
        Scripted {
            about: About {
                name: name.into(),
                source: Source::Hwmon,
                zone: Zone::machine(boundary),
                kind,
                slow: false,
                modelled: false,
                notes: Vec::new(),
            },
            steps: Arc::default(),
            reads: Arc::default(),
        }
    }

    pub fn slow(mut self) -> Scripted {
        self.about.slow = true;
        self
    }

    /// Returns the number of readings so far.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Makes the meter show `steps` from now on.
    pub fn show(&self, steps: impl IntoIterator<Item = Step>) {
        *self.steps.lock().unwrap() = steps.into_iter().collect();
    }
}

impl Meter for Scripted {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        let mut steps = self.steps.lock().unwrap();
        let step = match steps.len() {
            1 => steps[0].clone(),
            _ => steps.pop_front().expect("the test says what it shows"),
        };
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(Reading {
            at: clock.now(),
            value: step?,
        })
    }
}
