//! `joulio selftest umwait`: a store by another CPU ends the wait.

use super::check::SelftestCheck;
use super::error::SelftestError;
use super::latency::Latency;
use super::pinned::pin;
use super::report::{Parts, Tested};
use super::spread::spread;
use super::waits::{DEPTHS, MeasuredWait, SLICE, state};
use joulio_cpu::{CacheLine, Ended, Tsc, UserWait};
use joulio_units::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::thread;

/// Longest single wait, which ends by itself if no store comes.
const MAX_WAIT: Nanos = Nanos::from_millis(1);
/// Longest time from the start of a round to the store.
const DELAY: Nanos = Nanos::from_micros(50);
/// Time after which a store counts as not coming.
const NEVER: Nanos = Nanos::from_millis(10_000);

/// Tests waits on the calling thread's CPU with stores from the CPU `other`.
pub fn test(rounds: u32, other: usize) -> Result<Tested, SelftestError> {
    let mut parts = Parts::default();
    let mut waits = vec![MeasuredWait::spin()];
    for depth in DEPTHS {
        let cpu = UserWait::detect(depth)?;
        let what = if cpu.name() == "tpause" {
            "umwait"
        } else {
            cpu.name()
        };
        let name = format!("{what} {}", state(depth));
        let counts = stores(&cpu, rounds, other)?;
        parts.checks.push(judge(&name, rounds, &counts));
        let took = format!("{name}: from before the store to the return");
        parts.latency.push(Latency::of(took, counts.took));
        let line = Apart::default();
        waits.push(MeasuredWait::new(name, Some(depth), move || {
            cpu.arm(CacheLine::from(&line.0));
            cpu.wait(SLICE);
        }));
    }
    Ok(Tested { parts, waits })
}

/// A value aligned to 256 bytes, so that it shares neither cache lines nor adjacent lines.
#[derive(Default)]
#[repr(align(256))]
struct Apart<T = AtomicU32>(T);

/// Memory that the two CPUs of the test share.
#[derive(Default)]
struct Shared {
    /// The monitored line, with the number of the round whose store it has.
    line: Apart,
    /// Number of the waiter's round.
    round: Apart,
    /// Number of the round whose stamps are stored.
    stamped: Apart,
    /// TSC before the last store, and after the store was visible to all CPUs.
    stamps: Apart<[AtomicU64; 2]>,
    /// True after the last round.
    over: Apart<AtomicBool>,
}

/// Numbers of waits, by the event that ended them.
#[derive(Debug, Default, PartialEq, Eq)]
struct StoreCounts {
    /// Stores that were there before the core waited.
    before: u64,
    /// Waits that ended early and after which the store was there.
    by_store: u64,
    /// Waits that the limit or the time ended.
    by_limit: u64,
    /// Waits that ended early without a store.
    otherwise: u64,
    /// Stores in the first half of a wait that lasted until its limit.
    lost: u64,
    /// Cycles from the stamp before the store to the end of the wait that it ended.
    took: Vec<u64>,
}

/// Start and end of a wait, by the TSC.
struct Span {
    begun: u64,
    end: u64,
    /// True if the wait lasted until the limit or its time.
    whole: bool,
}

fn stores(cpu: &UserWait, rounds: u32, other: usize) -> Result<StoreCounts, SelftestError> {
    let shared = Shared::default();
    thread::scope(|scope| {
        let storer = scope.spawn(|| pin(other).map(|()| store(&shared)));
        let counts = wait(cpu, rounds, &shared, || storer.is_finished());
        shared.over.0.store(true, Ordering::Release);
        match storer.join() {
            Ok(stored) => stored.and(counts),
            Err(_) => Err(SelftestError::StorerEnded),
        }
    })
}

/// Answers each round with a store some time after it began.
fn store(shared: &Shared) {
    let mut last = 0;
    while !shared.over.0.load(Ordering::Acquire) {
        let round = shared.round.0.load(Ordering::Acquire);
        if round == last {
            std::hint::spin_loop();
            continue;
        }
        last = round;
        let at = Tsc::get().after(spread(round, DELAY));
        while Tsc::now() < at {
            std::hint::spin_loop();
        }
        let before = Tsc::now();
        shared.line.0.store(round, Ordering::Release);
        // The second stamp is taken only after the store is visible to other CPUs.
        fence(Ordering::SeqCst);
        let after = Tsc::now();
        shared.stamps.0[0].store(before, Ordering::Relaxed);
        shared.stamps.0[1].store(after, Ordering::Relaxed);
        shared.stamped.0.store(round, Ordering::Release);
    }
}

/// Waits for the store of each round: arms the monitor, checks the line, waits.
fn wait(
    cpu: &UserWait,
    rounds: u32,
    shared: &Shared,
    gone: impl Fn() -> bool,
) -> Result<StoreCounts, SelftestError> {
    let mut counts = StoreCounts::default();
    for round in 1..=rounds {
        shared.round.0.store(round, Ordering::Release);
        let give_up = Tsc::get().after(NEVER);
        let mut last: Option<Span> = None;
        loop {
            cpu.arm(CacheLine::from(&shared.line.0));
            if shared.line.0.load(Ordering::Acquire) == round {
                break;
            }
            if let Some(span) = &last {
                counts.empty_wait(span);
            }
            if gone() || Tsc::now() > give_up {
                return Err(SelftestError::NoStore);
            }
            last = Some(Span::of(|| cpu.wait(MAX_WAIT)));
        }
        let Some(span) = last else {
            counts.before += 1;
            continue;
        };
        while shared.stamped.0.load(Ordering::Acquire) != round {
            std::hint::spin_loop();
        }
        let stamps = shared.stamps.0.each_ref();
        let [before, after] = stamps.map(|stamp| stamp.load(Ordering::Relaxed));
        counts.answered(&span, before, after);
    }
    Ok(counts)
}

impl Span {
    fn of(wait: impl FnOnce() -> Ended) -> Span {
        let begun = Tsc::now();
        let ended = wait();
        let end = Tsc::now();
        let whole = ended == Ended::Limit || end - begun >= Tsc::get().cycles(MAX_WAIT);
        Span { begun, end, whole }
    }
}

impl StoreCounts {
    /// Counts a wait after which the store was not there yet.
    fn empty_wait(&mut self, span: &Span) {
        match span.whole {
            true => self.by_limit += 1,
            false => self.otherwise += 1,
        }
    }

    /// Counts a wait after which the store was there, which came between the two stamps. If a full wait contains the
    /// store near its end, that is chance; if long before its end, the wait missed the store.
    fn answered(&mut self, span: &Span, before: u64, after: u64) {
        if !span.whole {
            self.by_store += 1;
            self.took.push(span.end.saturating_sub(before));
            return;
        }
        self.by_limit += 1;
        self.lost += u64::from(after < span.begun + (span.end - span.begun) / 2);
    }
}

fn judge(name: &str, rounds: u32, counts: &StoreCounts) -> SelftestCheck {
    let mut check = SelftestCheck::new(format!("{name}, stores by another CPU"));
    check.count("stores", rounds.into());
    check.count("before_the_wait", counts.before);
    check.count("by_store", counts.by_store);
    check.count("by_limit", counts.by_limit);
    check.count("otherwise", counts.otherwise);
    check.count("lost", counts.lost);
    check.demand(counts.lost == 0, || {
        format!("{} stores of {rounds} did not end the wait", counts.lost)
    });
    check.demand(counts.by_store > 0, || {
        "no wait was ended by a store".into()
    });
    check
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_a_whole_wait_slept_through_is_lost_and_one_at_its_end_is_not() {
        let span = |whole| Span {
            begun: 1_000,
            end: 2_000,
            whole,
        };
        let mut counts = StoreCounts::default();
        counts.answered(&span(true), 1_100, 1_200);
        assert_eq!((counts.lost, counts.by_limit, counts.by_store), (1, 1, 0));
        counts.answered(&span(true), 1_990, 2_010);
        counts.answered(&span(false), 1_900, 1_950);
        counts.empty_wait(&span(true));
        counts.empty_wait(&span(false));
        let counted = StoreCounts {
            before: 0,
            by_store: 1,
            by_limit: 3,
            otherwise: 1,
            lost: 1,
            took: vec![100],
        };
        assert_eq!(counts, counted);
        assert!(!judge("umwait", 3, &counts).passed);
    }

    #[test]
    fn a_cpu_that_sees_no_store_does_not_pass() {
        let mut never = StoreCounts::default();
        never.empty_wait(&Span::of(|| Ended::Limit));
        never.before = 10;
        assert!(!judge("umwait", 10, &never).passed);
    }

    #[test]
    fn every_round_is_answered_with_its_stamps() {
        let shared = Shared::default();
        thread::scope(|scope| {
            scope.spawn(|| store(&shared));
            for round in 1..=50 {
                shared.round.0.store(round, Ordering::Release);
                while shared.stamped.0.load(Ordering::Acquire) != round {
                    thread::yield_now();
                }
                assert_eq!(shared.line.0.load(Ordering::Acquire), round);
                let [before, after] = shared
                    .stamps
                    .0
                    .each_ref()
                    .map(|s| s.load(Ordering::Relaxed));
                assert!(before <= after);
            }
            shared.over.0.store(true, Ordering::Release);
        });
    }
}
