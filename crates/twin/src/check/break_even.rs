//! The break-even rule: when a method that takes less CPU time also takes less energy.
//!
//! The energy of an I/O is `P0 T / n + Pa C`: P0 are the watts that do not depend on the core, T the time of an
//! I/O, n the number of active threads, Pa the watts of a busy core, C the CPU time of an I/O. So method a takes
//! less energy than b if `Pa < (P0 / n) (Tb - Ta) / (Ca - Cb)`. In an open loop T is the interval between arrivals
//! for every method, and P0 cancels out. If each wake-up also costs an energy W, and an I/O takes w of them, a
//! takes less if `Pa < ((P0 / n) (Tb - Ta) + W (wb - wa)) / (Ca - Cb)`.

use crate::TwinRun;
use crate::published::{BreakEvenPair, Paper, SimulationError, Simulator};
use joulio_model::CoreState;
use serde::Serialize;

/// Result of the break-even rule and of the twin for two runs, a and b.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// The source's short name.
    pub paper: String,
    /// Description of the comparison.
    pub what: String,
    /// Watts of a busy core above those of an idle one.
    pub busy_watts: f64,
    /// Watts of a busy core below which a takes less energy than b, by the rule; `None` where a takes no more CPU
    /// time than b (for example, because b polls for work while idle): then no watts decide.
    pub break_even_watts: Option<f64>,
    /// True if a takes less energy by the rule.
    pub predicted: bool,
    /// Joules of an I/O of a and of b in the twin.
    pub joules_per_io: [f64; 2],
    /// True if a takes less energy in the twin.
    pub modelled: bool,
    /// True if the published data say that the rule holds for this pair.
    pub holds: bool,
}

impl Rule {
    /// True if the rule should hold for this pair and does not.
    pub fn broken(&self) -> bool {
        self.holds && self.predicted != self.modelled
    }
}

/// Returns the results for the pairs of `paper`.
pub(super) fn rules(
    paper: &Paper,
    simulator: &mut Simulator,
) -> Result<Vec<Rule>, SimulationError> {
    let rule = |pair: &BreakEvenPair| {
        let machine = simulator.spec(&pair.a)?.machine.clone();
        let machine = simulator.profiles().machine(&machine)?;
        let (a, b) = (simulator.run(&pair.a)?, simulator.run(&pair.b)?);
        let busy = machine.core_watts(CoreState::Spin).0 - machine.core_watts(CoreState::C1).0;
        let fixed = |run: &TwinRun| {
            let parts = &run.parts;
            (parts.base + parts.uncore + parts.device).0 / run.window.seconds()
        };
        // T / n is the time of the window per I/O.
        let each = |run: &TwinRun| run.window.seconds() / run.ios().max(1) as f64;
        let cpu = |run: &TwinRun| run.cpu_per_io().unwrap_or(0.0) / 1e9;
        let joules = |run: &TwinRun| run.parts.total().0 / run.ios().max(1) as f64;
        let wakes = |run: &TwinRun| run.parts.wakes.0 / run.ios().max(1) as f64;
        let saved = fixed(&a) * (each(&b) - each(&a)) + wakes(&b) - wakes(&a);
        let more_cpu = cpu(&a) - cpu(&b);
        let per_io = [joules(&a), joules(&b)];
        Ok(Rule {
            paper: paper.name.clone(),
            what: pair.what.clone(),
            busy_watts: busy,
            break_even_watts: (more_cpu > 0.0).then(|| saved / more_cpu),
            predicted: busy * more_cpu < saved,
            joules_per_io: per_io,
            modelled: per_io[0] < per_io[1],
            holds: pair.holds,
        })
    };
    paper.break_even.iter().map(rule).collect()
}
