//! An energy with everything that it takes to understand it.

use crate::{Band, Boundary, How, Joules, Nanos, Place, SumError, Watts, Zone};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Add;

/// The shortest window of an energy figure: meters are brought up to date too seldom for less.
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
    /// Whether the energy that the idle machine would have used in the window is taken off.
    pub idle_subtracted: bool,
    /// The energy. With the idle energy taken off it can be below zero, by its error.
    pub joules: Joules,
    /// The distance that `joules` may have from what the meter's hardware counted: what the steps
    /// of its counter, its update interval and the sampling allow. The hardware's own accuracy is
    /// not in it. None: not known.
    pub error: Option<Joules>,
    /// The lowest and highest value that the profiles' figures allow; [`Band`] says how wide
    /// that is taken. None: measured, and then `error` is what is known.
    pub band: Option<Band>,
    /// The length of the window, at this meter.
    pub window: Nanos,
    /// Provenance of the energy.
    pub how: How,
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
    /// The zone that the figure is about.
    pub fn zone(&self) -> Zone {
        Zone {
            boundary: self.boundary,
            place: self.place.clone(),
        }
    }

    /// The mean power, zero for an empty window.
    pub fn watts(&self) -> Watts {
        if self.window == Nanos::ZERO {
            Watts(0.0)
        } else {
            self.joules / self.window
        }
    }

    /// The part of `amount` that one joule paid for; none where no energy was spent. I/Os per joule
    /// are SNIA Emerald's IOPS per watt, bytes per joule its (bytes/s) per watt.
    pub fn per_joule(&self, amount: u64) -> Option<f64> {
        (self.joules.0 > 0.0).then(|| amount as f64 / self.joules.0)
    }

    /// Adds all of `parts`, which must be apart, of one boundary and of one window:
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

    /// Adds `other`, which must be apart from `self` and of the same boundary.
    ///
    /// # Errors
    /// [`SumError`], as [`Energy::sum`].
    pub fn add(&self, other: &Energy) -> Result<Energy, SumError> {
        Energy::sum(&[self.clone(), other.clone()])
    }

    /// The energy of `window`, which is no longer than its own, at the same mean power.
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
