//! Power, in watts: energy over time.

use crate::{Joules, Nanos};
use core::fmt;
use core::ops::{Add, Div, Mul};

/// A power in watts.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Watts(pub f64);

impl Mul<Nanos> for Watts {
    type Output = Joules;
    #[inline]
    fn mul(self, time: Nanos) -> Joules {
        Joules(self.0 * time.seconds())
    }
}

impl Div<Nanos> for Joules {
    type Output = Watts;
    #[inline]
    fn div(self, time: Nanos) -> Watts {
        Watts(self.0 / time.seconds())
    }
}

impl Add for Watts {
    type Output = Watts;
    #[inline]
    fn add(self, other: Watts) -> Watts {
        Watts(self.0 + other.0)
    }
}

impl fmt::Display for Watts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        f.write_str(" W")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watt_for_a_second_is_a_joule() {
        assert_eq!(Watts(1.0) * Nanos::from_seconds(1.0), Joules(1.0));
        assert_eq!(Joules(3.0) / Nanos::from_millis(1_500), Watts(2.0));
    }
}
