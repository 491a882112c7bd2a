//! The watts of a busy core at which two candidates take the same energy.

use super::candidate::Figures;
use serde::Serialize;

/// The watts of a busy core at which the better of two candidates is no longer the better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakEven {
    /// Watts of a busy core at which both take the same energy.
    pub watts: f64,
    /// Watts that a busy core takes on this machine.
    pub spin_watts: f64,
}

/// Largest break-even that is reported, as a multiple of the watts of this machine's busy core: no core draws more.
const MAX_BREAK_EVEN_RATIO: f64 = 20.0;

impl BreakEven {
    /// Returns the break-even of `best` and `other` on a machine whose busy core takes `spin_watts`; `None` if no power
    /// of a busy core makes their energy equal.
    ///
    /// If a busy core takes W watts more, an I/O costs W times its CPU time more.
    pub(super) fn between(best: &Figures, other: &Figures, spin_watts: f64) -> Option<BreakEven> {
        let seconds = (best.cpu_us_per_io - other.cpu_us_per_io) * 1e-6;
        let joules = other.joules_per_io.value - best.joules_per_io.value;
        let watts = spin_watts + joules / seconds;
        (seconds != 0.0 && (0.0..MAX_BREAK_EVEN_RATIO * spin_watts).contains(&watts) && watts > 0.0)
            .then_some(BreakEven { watts, spin_watts })
    }

    /// Returns true if the better candidate is better only below the break-even, false if only above it.
    pub fn holds_below(&self) -> bool {
        self.spin_watts < self.watts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Interval;
    use std::collections::BTreeMap;

    fn figures(cpu_us: f64, microjoules: f64) -> Figures {
        let none = Interval::around(0.0, 0.0);
        Figures {
            iops: none,
            mean_ns: none,
            percentiles_ns: BTreeMap::new(),
            watts: none,
            joules_per_io: Interval::around(microjoules * 1e-6, 0.0),
            joules_per_io_band: None,
            cpu_us_per_io: cpu_us,
        }
    }

    #[test]
    fn energy_is_the_same_at_the_break_even() {
        // Polling holds a core of 4 W for 10 us; an interrupt for 4 us, and 30 uJ more.
        let (poll, interrupt) = (figures(10.0, 40.0), figures(4.0, 46.0));
        let even = BreakEven::between(&poll, &interrupt, 4.0).unwrap();
        assert!((even.watts - 5.0).abs() < 1e-9, "{even:?}");
        assert!(even.holds_below());
        let other = BreakEven::between(&figures(4.0, 34.0), &figures(10.0, 40.0), 4.0).unwrap();
        assert!((other.watts - 3.0).abs() < 1e-9, "{other:?}");
        assert!(!other.holds_below());
        assert_eq!(BreakEven::between(&poll, &poll, 4.0), None);
        assert_eq!(
            BreakEven::between(&figures(4.0, 4.0), &figures(5.0, 40.0), 4.0),
            None
        );
    }
}
