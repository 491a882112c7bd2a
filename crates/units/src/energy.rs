//! An energy with its zone, source and error.

use crate::{Band, Boundary, How, Joules, Nanos, Place, SumError, Watts, Zone};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Add;

/// Shortest window of an energy figure: meters are updated too rarely for less.
pub const MIN_WINDOW: Nanos = Nanos::from_millis(1_000);

/// The energy of a window: joules with their zone, source and error.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Energy {
    /// The part of the machine that is included.
    pub boundary: Boundary,
    /// The place in the machine.
    pub place: Place,
    /// The name of the meter, or of the model's profiles.
    pub source: String,
    /// Whether the energy was computed from profiles, not measured.
    pub modelled: bool,
    /// Whether the energy that the idle machine would have used in the window is subtracted.
    pub idle_subtracted: bool,
    /// The energy. With the idle energy subtracted it can be below zero, by its error.
    pub joules: Joules,
    /// Bound of the difference between `joules` and the count of the meter's hardware, from the steps of its counter,
    /// its update interval and the sampling. The hardware's own accuracy is not included. `None` if it is not known.
    pub error: Option<Joules>,
    /// Lowest and highest value that the profiles' figures allow; [`Band`] explains its width. `None` if the energy is
    /// measured, and `error` applies.
    pub band: Option<Band>,
    /// The length of the window, at this meter.
    pub window: Nanos,
    /// Provenance of the energy: measured, modelled and the like.
    pub how: How,
}

/// Greatest ratio of the longest window of a sum to its shortest. A busy machine reads one meter some tenths of a
/// second after the other, and no window is shorter than a second; windows that differ more are of two runs, or of a
/// machine too busy to be measured.
const SAME_WINDOW: f64 = 1.25;

/// Returns the sum of all, or `None` if one is not known.
fn known_sum<T: Add<Output = T>>(parts: impl Iterator<Item = Option<T>>) -> Option<T> {
    parts.reduce(|sum, part| Some(sum? + part?)).flatten()
}

impl Energy {
    /// Returns the zone of the figure.
    pub fn zone(&self) -> Zone {
        Zone {
            boundary: self.boundary,
            place: self.place.clone(),
        }
    }

    /// Returns the mean power, zero for an empty window.
    pub fn watts(&self) -> Watts {
        if self.window == Nanos::ZERO {
            Watts(0.0)
        } else {
            self.joules / self.window
        }
    }

    /// Returns `amount` per joule; `None` if no energy was used. I/Os per joule are SNIA Emerald's IOPS per watt, bytes
    /// per joule its (bytes/s) per watt.
    pub fn per_joule(&self, amount: u64) -> Option<f64> {
        (self.joules.0 > 0.0).then(|| amount as f64 / self.joules.0)
    }

    /// Adds all of `parts`, which must not overlap, and must be of one boundary and of one window: `package-0` and
    /// `package-1`, for example. If their windows differ, as they do by the time of reading the meters, the result is
    /// the sum of their mean watts over the shortest window, and the error includes what a part may have drawn in the
    /// time that only it covers.
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

    /// Adds `other`, which must not overlap `self` and must be of the same boundary.
    ///
    /// # Errors
    /// [`SumError`], as [`Energy::sum`].
    pub fn add(&self, other: &Energy) -> Result<Energy, SumError> {
        Energy::sum(&[self.clone(), other.clone()])
    }

    /// Returns the energy of `window`, which is no longer than its own, at the same mean power.
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
