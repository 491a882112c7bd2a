//! `joulio selftest tpause`: pauses last as long as requested, or report that the system's limit ended them.

use super::check::SelftestCheck;
use super::error::SelftestError;
use super::latency::Latency;
use super::report::{Parts, Tested};
use super::spread::spread;
use super::waits::{DEPTHS, MeasuredWait, SLICE, state};
use joulio_cpu::{Ended, PauseLimits, Tsc, UserWait};
use joulio_units::Nanos;
use std::path::Path;

/// Longest pause if the system has no limit or does not report it.
const MAX_PAUSE: Nanos = Nanos::from_micros(20);

/// Tests pauses on the calling thread's CPU.
pub fn test(rounds: u32) -> Result<Tested, SelftestError> {
    let mut parts = Parts::default();
    let mut waits = vec![MeasuredWait::spin()];
    for depth in DEPTHS {
        let cpu = UserWait::detect(depth)?;
        let name = format!("{} {}", cpu.name(), state(depth));
        pauses(&cpu, &name, rounds, &mut parts);
        waits.push(MeasuredWait::new(name, Some(depth), move || {
            cpu.pause(SLICE);
        }));
    }
    Ok(Tested { parts, waits })
}

/// Numbers of pauses by how they ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct PauseCounts {
    /// Number of pauses that lasted as long as requested.
    kept: u64,
    /// Number of pauses that the limit ended.
    limited: u64,
    /// Number of pauses that something else ended: an interrupt.
    early: u64,
    /// Cycles from the requested time to the return, for pauses that lasted as long as requested.
    past: Vec<u64>,
}

impl PauseCounts {
    /// Counts a pause that should last `requested` cycles and lasted `lasted` cycles.
    fn add(&mut self, requested: u64, lasted: u64, ended: Ended) {
        match (ended, lasted.checked_sub(requested)) {
            (Ended::Limit, _) => self.limited += 1,
            (Ended::Other, Some(past)) => {
                self.kept += 1;
                self.past.push(past);
            }
            (Ended::Other, None) => self.early += 1,
        }
    }
}

/// Tests pauses within the system's limit, and then of twice the limit.
fn pauses(cpu: &UserWait, name: &str, rounds: u32, parts: &mut Parts) {
    let limit = PauseLimits::read(Path::new("/")).map(|limits| limits.max_cycles);
    let limit = limit.filter(|&cycles| cycles > 0).map(time_of);
    let longest = limit.map_or(MAX_PAUSE, |limit| Nanos(limit.0 / 2));
    let short = pause(cpu, rounds, |n| spread(n, longest));
    parts.checks.push(judge_short(name, &short));
    let what = format!("{name}: from the end of the requested time to the return");
    parts.latency.push(Latency::of(what, short.past));
    if let Some(limit) = limit.filter(|_| cpu.name() == "tpause") {
        let long = pause(cpu, rounds, |_| Nanos(limit.0.saturating_mul(2)));
        parts.checks.push(judge_long(name, &long));
    }
}

fn time_of(cycles: u32) -> Nanos {
    Nanos::from_seconds(f64::from(cycles) / Tsc::get().hertz())
}

fn pause(cpu: &UserWait, rounds: u32, time: impl Fn(u32) -> Nanos) -> PauseCounts {
    let mut counts = PauseCounts::default();
    for n in 0..rounds {
        let time = time(n);
        let requested = Tsc::get().cycles(time);
        let begun = Tsc::now();
        let ended = cpu.pause(time);
        counts.add(requested, Tsc::now().wrapping_sub(begun), ended);
    }
    counts
}

fn check(name: String, counts: &PauseCounts) -> SelftestCheck {
    let mut check = SelftestCheck::new(name);
    check.count("kept", counts.kept);
    check.count("by_limit", counts.limited);
    check.count("early", counts.early);
    check
}

/// Checks short pauses. An interrupt may end any of them, but not most.
fn judge_short(name: &str, counts: &PauseCounts) -> SelftestCheck {
    let mut check = check(format!("{name}, requested times"), counts);
    check.demand(counts.kept > counts.early, || {
        format!(
            "{} pauses ended before their time: it does not sleep",
            counts.early
        )
    });
    check.demand(counts.limited == 0, || {
        format!(
            "{} pauses ended by a limit that is longer than they",
            counts.limited
        )
    });
    check
}

/// Checks long pauses. A pause that an interrupt ended and after which another thread ran for long counts as one that
/// lasted as long as requested.
fn judge_long(name: &str, counts: &PauseCounts) -> SelftestCheck {
    let mut check = check(format!("{name}, twice the system's limit"), counts);
    check.demand(counts.limited > counts.kept, || {
        let PauseCounts { limited, kept, .. } = counts;
        format!("the limit ended {limited} pauses, and {kept} went on past it")
    });
    check
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_kept_cut_or_early() {
        let mut counts = PauseCounts::default();
        counts.add(100, 130, Ended::Other);
        counts.add(100, 100, Ended::Other);
        counts.add(100, 99, Ended::Other);
        counts.add(100, 50, Ended::Limit);
        let counted = PauseCounts {
            kept: 2,
            limited: 1,
            early: 1,
            past: vec![30, 0],
        };
        assert_eq!(counts, counted);
    }

    #[test]
    fn an_instruction_that_does_nothing_does_not_pass() {
        let mut nothing = PauseCounts::default();
        (0..10).for_each(|_| nothing.add(100, 2, Ended::Other));
        assert!(!judge_short("tpause", &nothing).passed);
        assert!(!judge_long("tpause", &nothing).passed);
        let mut endless = PauseCounts::default();
        (0..10).for_each(|_| endless.add(100, 200, Ended::Other));
        assert!(judge_short("tpause", &endless).passed);
        assert!(!judge_long("tpause", &endless).passed);
        let mut cut = PauseCounts::default();
        (0..10).for_each(|_| cut.add(100, 50, Ended::Limit));
        assert!(!judge_short("tpause", &cut).passed);
        assert!(judge_long("tpause", &cut).passed);
    }
}
