//! An energy with everything that it takes to understand it.

use crate::{Band, Boundary, Place, Zone};
use joulio_units::{Joules, Nanos, Watts};
use std::ops::Add;

/// The energy of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// What it includes.
    pub boundary: Boundary,
    /// Where in the machine.
    pub place: Place,
    /// The meter, or the profiles of the model.
    pub source: String,
    /// It was computed from profiles, not measured.
    pub modelled: bool,
    /// What the idle machine would have used in the window is taken off.
    pub idle_subtracted: bool,
    /// The energy. With the idle energy taken off it can be below zero, by its error.
    pub joules: Joules,
    /// How far `joules` may be from what the meter's hardware counted: what the steps of its
    /// counter, its update interval and the sampling allow. The hardware's own accuracy is not in
    /// it. None: not known.
    pub error: Option<Joules>,
    /// The least and the most that the profiles' figures allow; [`Band`] says how wide
    /// that is taken. None: measured, and then `error` is what is known.
    pub band: Option<Band>,
    /// How long the window was, at this meter.
    pub window: Nanos,
    /// How it was obtained.
    pub how: How,
}

/// How an energy was obtained.
#[derive(Clone, Debug, PartialEq)]
pub enum How {
    /// From profiles.
    Modelled,
    /// The difference of an energy counter between the edges of the window.
    Counted {
        /// Both edges lie on an update of the counter.
        aligned: bool,
        /// What the counter counts in.
        step: Joules,
    },
    /// The integral of power readings, by trapezoids.
    Sampled {
        /// Readings, the edges among them.
        samples: u64,
        /// Readings that failed; their neighbours stand in.
        missed: u64,
        /// The longest time between two readings.
        longest_gap: Nanos,
    },
    /// The sum of several.
    Summed,
}

/// Why two energies have no sum.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SumError {
    /// The joules of one are among those of the other.
    #[error("{inner} is part of {outer}: adding them counts the same joules twice")]
    Nested {
        /// The wider, with its source.
        outer: String,
        /// The narrower.
        inner: String,
    },
    /// Both are of one zone, or of zones that overlap.
    #[error("{one} and {other} are the same joules, read twice")]
    Same {
        /// One.
        one: String,
        /// The other.
        other: String,
    },
    /// They are beside one another, and their sum has no name.
    #[error("{one} and {other} have different boundaries: a sum would have none")]
    Boundaries {
        /// One.
        one: String,
        /// The other.
        other: String,
    },
    /// They are not the same kind of figure.
    #[error("{one} and {other}: only one of them is {what}")]
    Kinds {
        /// One.
        one: String,
        /// The other.
        other: String,
        /// What one of them is.
        what: &'static str,
    },
    /// They are of different times.
    #[error("{one} and {other} are of windows of {:.3} s and {:.3} s, too far apart to be added", .windows.0.seconds(), .windows.1.seconds())]
    Windows {
        /// One.
        one: String,
        /// The other.
        other: String,
        /// Their lengths.
        windows: (Nanos, Nanos),
    },
    /// Nothing has no boundary.
    #[error("there is nothing to add")]
    Nothing,
}

/// The longest window of a sum over its shortest, at most. A busy machine reads one meter some
/// tenths of a second after the other, and no window is shorter than a second; what is further
/// apart is of two runs, or of a machine too busy to be measured.
const SAME_WINDOW: f64 = 1.25;

/// The sum of all, none if one is not known.
fn known_sum<T: Add<Output = T>>(parts: impl Iterator<Item = Option<T>>) -> Option<T> {
    parts.reduce(|sum, part| Some(sum? + part?)).flatten()
}

impl Energy {
    /// The zone that it is about.
    pub fn zone(&self) -> Zone {
        Zone {
            boundary: self.boundary,
            place: self.place.clone(),
        }
    }

    /// The mean power; zero for an empty window.
    pub fn watts(&self) -> Watts {
        if self.window == Nanos::ZERO {
            Watts(0.0)
        } else {
            self.joules / self.window
        }
    }

    /// `amount` per joule; none where no energy was spent. I/Os per joule are SNIA Emerald's
    /// IOPS per watt, bytes per joule its (bytes/s) per watt.
    pub fn per_joule(&self, amount: u64) -> Option<f64> {
        (self.joules.0 > 0.0).then(|| amount as f64 / self.joules.0)
    }

    /// The energy of all of `parts`, which must be apart, of one boundary and of one window:
    /// `package-0` and `package-1`, say. Where their windows differ, as they do by how long the
    /// meters took to be read, it is the sum of their mean watts over the shortest of them, and
    /// the error has what a part may have drawn in the time that only it saw.
    ///
    /// # Errors
    /// [`SumError`], naming the first two that cannot be added.
    pub fn sum(parts: &[Energy]) -> Result<Energy, SumError> {
        let (first, rest) = parts.split_first().ok_or(SumError::Nothing)?;
        for (at, one) in parts.iter().enumerate() {
            for other in &parts[at + 1..] {
                one.check_beside(other)?;
            }
        }
        if rest.is_empty() {
            return Ok(first.clone());
        }
        let window = parts.iter().map(|part| part.window).min();
        let window = window.unwrap_or_default();
        let parts: Vec<_> = parts.iter().map(|part| part.over(window)).collect();
        let names: Vec<_> = parts.iter().map(|part| part.source.as_str()).collect();
        Ok(Energy {
            place: Place::Several(parts.iter().map(|part| part.place.clone()).collect()),
            source: names.join(" + "),
            joules: parts
                .iter()
                .fold(Joules::default(), |sum, p| sum + p.joules),
            error: known_sum(parts.iter().map(|part| part.error)),
            band: known_sum(parts.iter().map(|part| part.band)),
            window,
            how: How::Summed,
            ..first.clone()
        })
    }

    /// Adds `other`, which must be beside it.
    ///
    /// # Errors
    /// As [`Energy::sum`].
    pub fn add(&self, other: &Energy) -> Result<Energy, SumError> {
        Energy::sum(&[self.clone(), other.clone()])
    }

    /// Its mean power over `window`, which is no longer than its own.
    fn over(&self, window: Nanos) -> Energy {
        if self.window == window {
            return self.clone();
        }
        let part = window.seconds() / self.window.seconds();
        let alone = self.watts() * self.window.since(window);
        Energy {
            joules: Joules(self.joules.0 * part),
            error: self
                .error
                .map(|error| Joules(error.0 * part + alone.0.abs())),
            band: self.band.map(|band| Band {
                low: Joules(band.low.0 * part),
                high: Joules(band.high.0 * part),
            }),
            window,
            ..self.clone()
        }
    }

    fn name(&self) -> String {
        format!("{} ({})", self.zone(), self.source)
    }

    fn check_beside(&self, other: &Energy) -> Result<(), SumError> {
        let (mine, its) = (self.zone(), other.zone());
        let (one, two) = (self.name(), other.name());
        if mine.holds(&its) {
            return Err(SumError::Nested {
                outer: one,
                inner: two,
            });
        }
        if its.holds(&mine) {
            return Err(SumError::Nested {
                outer: two,
                inner: one,
            });
        }
        let other_name = two;
        if mine.same(&its) {
            return Err(SumError::Same {
                one,
                other: other_name,
            });
        }
        if self.boundary != other.boundary {
            return Err(SumError::Boundaries {
                one,
                other: other_name,
            });
        }
        let kinds = [
            (self.modelled != other.modelled, "modelled"),
            (
                self.idle_subtracted != other.idle_subtracted,
                "without the idle energy",
            ),
        ];
        if let Some((_, what)) = kinds.into_iter().find(|(differ, _)| *differ) {
            return Err(SumError::Kinds {
                one,
                other: other_name,
                what,
            });
        }
        let (shorter, longer) = (self.window.min(other.window), self.window.max(other.window));
        if longer.seconds() > shorter.seconds() * SAME_WINDOW {
            return Err(SumError::Windows {
                one,
                other: other_name,
                windows: (self.window, other.window),
            });
        }
        Ok(())
    }
}
