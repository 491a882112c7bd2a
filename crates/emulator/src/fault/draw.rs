//! The faults that happen now: a plan and its progress.

use super::{Fault, FaultPlan, When};
use joulio_units::Nanos;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Number of draws of which a probability is a share.
const DRAWS: u64 = 1 << 53;

/// A plan in progress. It has a random sequence of its own, of which every I/O command uses the same number of draws,
/// whatever happens to it.
#[derive(Debug)]
pub(crate) struct Draw {
    random: Pcg64,
    /// Random faults, with how many of [`DRAWS`] cause them.
    rates: Vec<(u64, Fault)>,
    /// Faults at a command, the first on top.
    commands: Vec<(u64, Fault)>,
    /// Faults at a time, the first on top.
    times: Vec<(Nanos, Fault)>,
    /// Faults of commands that apply to the next command.
    armed: Vec<Fault>,
    /// Number of I/O commands so far.
    count: u64,
}

impl Draw {
    pub(crate) fn new(plan: &FaultPlan) -> Draw {
        let mut draw = Draw {
            random: Pcg64::seed_from_u64(plan.seed),
            rates: Vec::new(),
            commands: Vec::new(),
            times: Vec::new(),
            armed: Vec::new(),
            count: 0,
        };
        for planned in &plan.faults {
            let fault = planned.fault;
            match planned.when {
                When::Rate(rate) => draw.rates.push(((rate * DRAWS as f64) as u64, fault)),
                When::Command(number) => draw.commands.push((number, fault)),
                When::After(time) => draw.times.push((time, fault)),
            }
        }
        // Both are taken from the end; faults of the same moment in the order of the plan.
        draw.commands.sort_by_key(|&(number, _)| number);
        draw.commands.reverse();
        draw.times.sort_by_key(|&(time, _)| time);
        draw.times.reverse();
        draw
    }

    /// Returns the faults of an I/O command that is fetched.
    pub(crate) fn strike(&mut self) -> Vec<Fault> {
        self.count += 1;
        let mut struck = std::mem::take(&mut self.armed);
        while let Some((_, fault)) = self.commands.pop_if(|(number, _)| *number <= self.count) {
            struck.push(fault);
        }
        for &(hits, fault) in &self.rates {
            if self.random.next_u64() >> 11 < hits {
                struck.push(fault);
            }
        }
        struck
    }

    /// Returns the next fault that is due, `since` after CC.EN was first set.
    pub(crate) fn due(&mut self, since: Nanos) -> Option<Fault> {
        let due = self.times.pop_if(|(time, _)| *time <= since);
        due.map(|(_, fault)| fault)
    }

    /// Time of the next timed fault, since CC.EN was first set.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.times.last().map(|&(time, _)| time)
    }

    /// Continues with another plan from here.
    pub(crate) fn replace(&mut self, mut other: Draw) {
        other.count = self.count;
        other.commands.retain(|&(number, _)| number > other.count);
        *self = other;
    }

    /// Applies `fault` to the next command that is fetched.
    pub(crate) fn arm(&mut self, fault: Fault) {
        self.armed.push(fault);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn strikes(plan: &str, commands: usize) -> Vec<Vec<Fault>> {
        let mut draw = Draw::new(&plan.parse().unwrap());
        (0..commands).map(|_| draw.strike()).collect()
    }

    #[test]
    fn rates_of_zero_and_one_leave_nothing_to_chance() {
        assert!(strikes("drop@0", 1000).iter().all(Vec::is_empty));
        assert!(strikes("drop@1", 1000).iter().all(|s| s == &[Fault::Drop]));
    }

    #[test]
    fn a_rate_is_a_share_of_the_commands_and_a_seed_says_which() {
        let hits = |plan| {
            let struck = strikes(plan, 10_000);
            let hit = struck.iter().enumerate().filter(|(_, s)| !s.is_empty());
            hit.map(|(at, _)| at).collect::<Vec<usize>>()
        };
        let first = hits("seed=1,drop@0.1");
        // Three standard deviations of 30 on each side.
        assert!((910..=1090).contains(&first.len()), "{}", first.len());
        assert_eq!(first, hits("seed=1,drop@0.1"));
        assert_ne!(first, hits("seed=2,drop@0.1"));
    }

    #[test]
    fn numbered_commands_are_struck_once_in_the_order_of_the_plan() {
        let struck = strikes("stale@#3,double@#3,drop@#1,flip@#4", 6);
        let expected: [&[Fault]; 6] = [
            &[Fault::Drop],
            &[],
            &[Fault::Stale, Fault::Double],
            &[Fault::Flip],
            &[],
            &[],
        ];
        assert_eq!(struck, expected);
    }

    #[test]
    fn timed_faults_come_when_their_time_has_come() {
        let mut draw = Draw::new(&"cfs@2s,drop@1s".parse().unwrap());
        assert_eq!(draw.next(), Some(Nanos::from_millis(1000)));
        assert_eq!(draw.due(Nanos(999_999_999)), None);
        assert_eq!(draw.due(Nanos::from_millis(3000)), Some(Fault::Drop));
        assert_eq!(draw.due(Nanos::from_millis(3000)), Some(Fault::Cfs));
        assert_eq!((draw.due(Nanos(u64::MAX)), draw.next()), (None, None));
    }
}
