//! Energy, in joules.

use core::fmt;
use core::ops::{Add, AddAssign};

/// An energy in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Joules(pub f64);

impl Add for Joules {
    type Output = Joules;
    #[inline]
    fn add(self, other: Joules) -> Joules {
        Joules(self.0 + other.0)
    }
}

impl AddAssign for Joules {
    #[inline]
    fn add_assign(&mut self, other: Joules) {
        self.0 += other.0;
    }
}

impl fmt::Display for Joules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        f.write_str(" J")
    }
}
