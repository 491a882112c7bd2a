//! Check that a measurement had its CPUs to itself. With another program on them, a switch between two threads that
//! takes 2,223 ns was measured as 87 ns.

use super::driver::CalibrateCpus;
use super::error::CalibrateError;
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use joulio_workload::spoiled::by_others;
use joulio_workload::{CpuUse, Happened, Spoiled, Surroundings};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;

/// Share of a CPU that other programs may use. Over 15 seconds the kernel's ticks show the use of a CPU to within 1 or
/// 2 %, and the kernel's threads and the daemons of an idle machine use less.
pub(super) const TOLERATED: f64 = 0.05;

/// Observation of a measurement for disturbances.
pub struct Watch {
    /// True if the measurement ends as soon as it is spoiled.
    strict: bool,
    cpus: CalibrateCpus,
    surroundings: Surroundings,
    /// CPU time that this process had used on all CPUs when the observation began.
    own: Nanos,
    spoiled: Vec<Spoiled>,
}

impl Watch {
    /// Begins to observe a measurement on `cpus`; with `strict`, it ends as soon as it is spoiled.
    pub fn begin(cpus: CalibrateCpus, strict: bool) -> Watch {
        Watch {
            strict,
            cpus,
            surroundings: Surroundings::now(Path::new("/")),
            own: own(),
            spoiled: Vec::new(),
        }
    }

    /// Runs `what`, during which this process always has a thread to run on the jobs' CPU and runs on no other. The
    /// time in which it did not run counts as another program's.
    pub fn alone<T>(
        &mut self,
        what: impl FnOnce() -> Result<T, CalibrateError>,
    ) -> Result<T, CalibrateError> {
        let (start, before) = (now(), own());
        let done = what()?;
        let (ran, window) = (own() - before, now() - start);
        let cpu = format!("CPU {}", self.cpus.job);
        let others = by_others(&cpu, window.since(ran), window, TOLERATED);
        self.spoiled.extend(others);
        match self.spoiled.first() {
            // The rest would be useless, and takes a minute on a busy machine.
            Some(first) if self.strict => Err(CalibrateError::Spoiled(first.clone())),
            _ => Ok(done),
        }
    }

    /// Returns everything that spoiled the measurement.
    pub fn end(self) -> Vec<Spoiled> {
        let happened = Surroundings::now(Path::new("/")).since(&self.surroundings);
        let cpus = [self.cpus.job, self.cpus.device];
        let mut spoiled = self.spoiled;
        spoiled.extend(others(&happened, cpus, own() - self.own));
        spoiled.extend(happened.spoiled(&cpus));
        spoiled
    }
}

/// Returns a reason if other programs ran on `cpus`, on which this process ran for `own` and nowhere else.
fn others(happened: &Happened, cpus: [usize; 2], own: Nanos) -> Option<Spoiled> {
    let used = cpus.map(|cpu| happened.cpus.get(&cpu).copied());
    let [
        Some(CpuUse { busy: one, .. }),
        Some(CpuUse { busy: other, .. }),
    ] = used
    else {
        return None;
    };
    let names = format!("CPUs {} and {}", cpus[0], cpus[1]);
    by_others(&names, (one + other).since(own), happened.window, TOLERATED)
}

/// Returns the CPU time that all threads of this process have used.
pub(super) fn own() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |time: i64| u64::try_from(time).unwrap_or(0);
    Nanos(part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_not_ours_is_another_programs() {
        let ms = Nanos::from_millis;
        let of = |busy: [u64; 2]| {
            let used = busy.map(|busy| CpuUse {
                busy: ms(busy),
                ..CpuUse::default()
            });
            Happened {
                window: ms(10_000),
                cpus: BTreeMap::from([(2, used[0]), (5, used[1])]),
                ..Happened::default()
            }
        };
        assert_eq!(others(&of([9_000, 3_000]), [2, 5], ms(11_700)), None);
        // The kernel's ticks may have missed some of this process's time.
        assert_eq!(others(&of([9_000, 3_000]), [2, 5], ms(12_500)), None);
        let spoiled = others(&of([10_000, 3_000]), [2, 5], ms(9_000)).unwrap();
        assert_eq!(spoiled.share, Some(0.4));
        let why = "CPUs 2 and 5 ran other programs for 40 % of the time (4.000 s): stop them";
        assert_eq!(spoiled.why, why);
        assert_eq!(others(&of([9_000, 9_000]), [2, 6], ms(0)), None);
    }
}
