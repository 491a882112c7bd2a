//! The rules for a profile's numbers, with their error messages.

use crate::range::Range;
use crate::{Figure, ProfileError};

/// Checks the fields of one profile; every error names the profile and the field.
pub(crate) struct FigureCheck<'a> {
    /// Name of the file, or the built-in name.
    pub(crate) origin: &'a str,
}

type Checked = Result<(), ProfileError>;

impl FigureCheck<'_> {
    /// Returns an error about `field`.
    pub(crate) fn refuse(&self, field: &str, problem: impl Into<String>) -> ProfileError {
        ProfileError::Invalid {
            origin: self.origin.to_owned(),
            field: field.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns an error with `problem` about `field`, unless the rule is `held`.
    pub(crate) fn rule(&self, held: bool, field: &str, problem: &str) -> Checked {
        if held {
            Ok(())
        } else {
            Err(self.refuse(field, problem))
        }
    }

    /// Checks that a text is not empty.
    pub(crate) fn text(&self, field: &str, text: &str) -> Checked {
        self.rule(!text.trim().is_empty(), field, "is empty: say what it is")
    }

    /// Checks that the number is finite, has a source, and is inside its band if it has one.
    fn sound(&self, field: &str, figure: &Figure) -> Checked {
        let value = figure.value;
        if !value.is_finite() {
            return Err(self.refuse(field, format!("must be a finite number, is {value}")));
        }
        self.text(&format!("{field}.source"), &figure.source)?;
        let held = |low: f64, high: f64| low <= value && value <= high && (high - low).is_finite();
        match figure.band {
            Some([low, high]) if !held(low, high) => Err(self.refuse(
                &format!("{field}.band"),
                format!("must hold the value {value}, is [{low}, {high}]"),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a figure is sound, and that its value and both ends of its band are `right`; `must` is the rule
    /// in words.
    fn all(
        &self,
        field: &str,
        figure: &Figure,
        must: &str,
        right: impl Fn(f64) -> bool,
    ) -> Checked {
        self.sound(field, figure)?;
        if !right(figure.value) {
            return Err(self.refuse(field, format!("must {must}, is {}", figure.value)));
        }
        match figure.band {
            Some([low, high]) if !(right(low) && right(high)) => Err(self.refuse(
                &format!("{field}.band"),
                format!("must {must}, is [{low}, {high}]"),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a figure is inside `range`.
    pub(crate) fn inside(&self, field: &str, figure: &Figure, range: Range) -> Checked {
        let must = format!("be {range}");
        self.all(field, figure, &must, |x| range.holds(x))
    }

    /// Checks that a figure is inside `range`, or zero, which means `zero`.
    pub(crate) fn zero_or_inside(
        &self,
        field: &str,
        figure: &Figure,
        zero: &str,
        range: Range,
    ) -> Checked {
        let must = format!("be 0 ({zero}) or {range}");
        self.all(field, figure, &must, |x| x == 0.0 || range.holds(x))
    }

    /// Checks that a count or a fraction, which has no unit, is from `low` to `high`, both included.
    pub(crate) fn within(&self, field: &str, figure: &Figure, low: f64, high: f64) -> Checked {
        self.inside(field, figure, Range::of(low, high, ""))
    }

    /// Checks that a figure is a whole number from `low` to `high`, both included.
    pub(crate) fn whole(&self, field: &str, figure: &Figure, low: f64, high: f64) -> Checked {
        self.within(field, figure, low, high)?;
        if figure.value.fract() != 0.0 {
            let value = figure.value;
            return Err(self.refuse(field, format!("must be a whole number, is {value}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FigureKind;

    const CHECK: FigureCheck<'static> = FigureCheck { origin: "test" };
    const WATTS: Range = Range::of(0.0, 10.0, "watts");

    fn figure(value: f64) -> Figure {
        Figure {
            value,
            kind: FigureKind::Guess,
            source: "a test".to_owned(),
            band: None,
        }
    }

    fn refusal(checked: Checked) -> String {
        checked.expect_err("this must be refused").to_string()
    }

    #[test]
    fn a_figure_without_a_source_is_refused() {
        let figure = Figure {
            source: " ".to_owned(),
            ..figure(1.0)
        };
        assert_eq!(
            refusal(CHECK.inside("power.idle_watts", &figure, WATTS)),
            "test: power.idle_watts.source is empty: say what it is"
        );
    }

    #[test]
    fn a_value_outside_its_band_is_refused() {
        let inf = f64::INFINITY;
        for band in [
            [2.0, 3.0],
            [0.0, 0.5],
            [3.0, 0.0],
            [f64::NAN, 2.0],
            [0.0, inf],
        ] {
            let figure = Figure {
                band: Some(band),
                ..figure(1.0)
            };
            assert!(
                refusal(CHECK.inside("x", &figure, WATTS)).contains("x.band must hold the value 1")
            );
        }
    }

    #[test]
    fn a_band_keeps_the_rule_of_its_value() {
        let figure = Figure {
            band: Some([-1.0, 2.0]),
            ..figure(1.0)
        };
        assert_eq!(
            refusal(CHECK.inside("x", &figure, WATTS)),
            "test: x.band must be from 0 to 10 watts, is [-1, 2]"
        );
        assert!(refusal(CHECK.within("x", &figure, 0.0, 3.0)).contains("x.band must be from 0"));
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for value in [f64::NAN, f64::INFINITY] {
            assert!(refusal(CHECK.inside("x", &figure(value), WATTS)).contains("finite"));
        }
    }

    #[test]
    fn zero_can_mean_something_of_its_own() {
        let range = Range::of(5.0, 9.0, "bytes");
        let of = |value| CHECK.zero_or_inside("x", &figure(value), "no limit", range);
        assert!(of(0.0).is_ok() && of(5.0).is_ok());
        assert_eq!(
            refusal(of(4.0)),
            "test: x must be 0 (no limit) or from 5 to 9 bytes, is 4"
        );
    }

    #[test]
    fn the_bounds_are_part_of_the_range() {
        for value in [0.0, 10.0] {
            assert!(CHECK.inside("x", &figure(value), WATTS).is_ok());
        }
        for value in [-0.1, 10.1] {
            assert!(CHECK.inside("x", &figure(value), WATTS).is_err());
        }
        assert!(CHECK.within("x", &figure(1.0), 0.0, 1.0).is_ok());
        assert!(CHECK.within("x", &figure(1.1), 0.0, 1.0).is_err());
        assert!(CHECK.whole("x", &figure(2.0), 2.0, 9.0).is_ok());
        assert!(CHECK.whole("x", &figure(2.5), 2.0, 9.0).is_err());
    }
}
