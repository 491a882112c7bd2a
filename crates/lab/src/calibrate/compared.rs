//! A completion mode, real and in virtual time, and whether the two are alike.

use super::accounts::CpuShares;
use super::reads::{Round, median};
use joulio_nvme::wait::WaitCounters;
use joulio_twin::TwinRun;
use joulio_units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest difference of the twin's median from the real one, as a fraction of the real one.
const MAX_ERROR: f64 = 0.2;

/// The smallest share of the real I/Os that have to count the same. Other programs preempt a job
/// now and then, and what has completed by then it need not wait for.
const ALIKE: f64 = 0.95;

/// Largest difference of the mean counts an I/O, of a mode that learns: what it does hangs on
/// times, which differ from one I/O to the next.
const NEAR: f64 = 0.1;

/// Percent of a shared CPU above which threads other than the job and its neighbours spoil the comparison: each of
/// their turns makes the kernel choose again, and ends or begins one of the job's waits.
const QUIET_PERCENT: f64 = 1.0;

/// Milliseconds a second by which lost times may differ in any case: what others may have of the CPU.
const QUIET_MS_PER_SECOND: f64 = QUIET_PERCENT * 10.0;

/// The smallest run delay that is a turn of another thread: less is the switch of a wake-up, which is in the
/// latency, or a thread of the kernel's.
const A_TURN: Nanos = Nanos(200_000);

/// A completion mode, real and simulated: counts per I/O, and the median latency.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The completion mode.
    pub completion: String,
    /// Real figures, on the emulated device: the counts of most of its I/Os that were not preempted; the mean, for a
    /// mode that learns and so does not do the same for each I/O.
    pub real: Figures,
    /// The share of those real I/Os that counted what most of them did, exactly.
    pub alike: f64,
    /// Simulated figures, with the measured times.
    pub twin: Figures,
    /// Largest difference of the times lost, in milliseconds a second: a tick in the real reads' time, as
    /// turns end at ticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_ms_per_second: Option<f64>,
}

/// Counts of an I/O and its median latency, real or simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// True if the figures are simulated, in virtual time.
    pub modelled: bool,
    /// Interrupts per I/O.
    pub interrupts: f64,
    /// Timer sleeps per I/O.
    pub sleeps: f64,
    /// Blocks an I/O that an interrupt ended. The driver checks its queues some times a second,
    /// which ends a block too, and has nothing to do with the I/O.
    pub wakes: f64,
    /// Median latency in nanoseconds.
    pub median_ns: u64,
    /// Shares of the CPU and the time lost, where others shared it.
    #[serde(flatten)]
    pub beside: Option<BesideFigures>,
}

/// Shares of a job's CPU beside threads that always have work, and the time that the job lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BesideFigures {
    /// Milliseconds of each second that the job was runnable and waited for a turn of another thread.
    pub lost_ms_per_second: f64,
    /// Percent of the CPU that the threads beside the job had.
    pub neighbour_percent: f64,
    /// Percent of it that neither they nor the job had.
    pub others_percent: f64,
}

/// Interrupts, timer sleeps and wakes of one I/O.
type IoCount = [u64; 3];

fn counted(counters: &WaitCounters) -> IoCount {
    [counters.interrupts, counters.sleeps, counters.wakes]
}

/// Counts of the I/Os that nothing preempted.
struct Counted {
    /// The counts that most of them had.
    usual: [f64; 3],
    /// The share that counted that, exactly.
    alike: f64,
    mean: [f64; 3],
}

impl Counted {
    fn of(ios: impl Iterator<Item = IoCount>) -> Counted {
        let mut by_count: BTreeMap<IoCount, usize> = BTreeMap::new();
        let (mut sum, mut all) = ([0; 3], 0_usize);
        for count in ios {
            *by_count.entry(count).or_default() += 1;
            sum = std::array::from_fn(|i| sum[i] + count[i]);
            all += 1;
        }
        let usual = by_count.into_iter().max_by_key(|(_, ios)| *ios);
        let (usual, ios) = usual.unwrap_or_default();
        let all = all.max(1) as f64;
        Counted {
            usual: usual.map(|count| count as f64),
            alike: ios as f64 / all,
            mean: sum.map(|count: u64| count as f64 / all),
        }
    }

    /// The counts of most, or the mean where each is not `alike`.
    fn counts(&self, alike: bool) -> [f64; 3] {
        if alike { self.usual } else { self.mean }
    }
}

/// Milliseconds of each second of `window` that turns of others took, of I/Os with these run delays.
fn lost(delays: impl Iterator<Item = Nanos>, window: Nanos) -> f64 {
    let lost: u64 = delays
        .filter(|delay| *delay >= A_TURN)
        .map(|delay| delay.0)
        .sum();
    lost as f64 / window.0.max(1) as f64 * 1e3
}

impl Figures {
    /// Figures with these counts.
    fn new(
        modelled: bool,
        [interrupts, sleeps, wakes]: [f64; 3],
        median_ns: u64,
        beside: Option<BesideFigures>,
    ) -> Figures {
        Figures {
            modelled,
            interrupts,
            sleeps,
            wakes,
            median_ns,
            beside,
        }
    }

    /// Returns what all I/Os of `done` that nothing preempted counted, or the mean where they differ.
    pub(super) fn of_twin(done: &TwinRun) -> Figures {
        let undisturbed = done.per_io.iter().filter(|io| io.preemptions == 0);
        let counted = Counted::of(undisturbed.map(|io| counted(&io.counters)));
        let delays = done.per_io.iter().map(|io| io.run_delay);
        let beside = done.neighbour_percent.map(|percent| BesideFigures {
            lost_ms_per_second: lost(delays, done.window),
            neighbour_percent: percent,
            others_percent: 0.0,
        });
        let counts = counted.counts(counted.alike == 1.0);
        let median = done.read.latency.value_at_quantile(0.5);
        Figures::new(true, counts, median, beside)
    }

    /// Returns what most of the real reads of `round` counted, or all of them in the mean where each is not
    /// `alike`, with their median latency; and the share that counted what most did.
    pub(super) fn of_real(round: &Round, alike: bool) -> (Figures, f64) {
        let undisturbed = round.reads.iter().filter(|read| !read.preempted);
        let counted = Counted::of(undisturbed.map(|read| counted(&read.counters)));
        let beside = round.shares.map(|shares: CpuShares| BesideFigures {
            lost_ms_per_second: lost(round.reads.iter().map(|r| r.run_delay), shares.window),
            neighbour_percent: shares.neighbour_percent(),
            others_percent: shares.others_percent(),
        });
        let median = median(&round.reads) as u64;
        let figures = Figures::new(false, counted.counts(alike), median, beside);
        (figures, counted.alike)
    }

    /// Interrupts, timer sleeps and wakes an I/O.
    pub fn counts(&self) -> [f64; 3] {
        [self.interrupts, self.sleeps, self.wakes]
    }

    /// Returns whether every I/O did the same.
    pub(super) fn are_alike(&self) -> bool {
        self.counts().iter().all(|count| count.fract() == 0.0)
    }
}

impl Compared {
    /// Returns whether all of the twin's I/Os do what nearly all of the real ones do; where the twin's differ from
    /// each other, whether the means are close.
    pub fn same_counts(&self) -> bool {
        let (real, twin) = (self.real.counts(), self.twin.counts());
        if self.twin.are_alike() {
            return real == twin && self.alike >= ALIKE;
        }
        real.iter()
            .zip(twin)
            .all(|(real, twin)| (real - twin).abs() <= NEAR)
    }

    /// The twin's median less the real one, over the real one.
    pub fn error(&self) -> f64 {
        let real = self.real.median_ns.max(1) as f64;
        self.twin.median_ns as f64 / real - 1.0
    }

    /// Medians are near each other.
    pub fn same_median(&self) -> bool {
        self.error().abs() <= MAX_ERROR
    }

    /// True if the times that were lost to others are near each other, as those of jobs with a CPU of their own
    /// are.
    pub fn same_loss(&self) -> bool {
        let lost = |figures: &Figures| figures.beside.map_or(0.0, |it| it.lost_ms_per_second);
        let (real, twin) = (lost(&self.real), lost(&self.twin));
        let tick = self.tick_ms_per_second.unwrap_or(0.0);
        let may = [MAX_ERROR * real, tick, QUIET_MS_PER_SECOND];
        (twin - real).abs() <= may.into_iter().fold(0.0, f64::max)
    }

    /// Percent of the job's CPU that threads other than its neighbours had, if it is so much that the lost time is
    /// meaningless.
    pub fn disturbed(&self) -> Option<f64> {
        let others = self.real.beside?.others_percent;
        (others > QUIET_PERCENT).then_some(others)
    }

    /// Counts are the same, and medians and lost times near each other.
    pub fn agrees(&self) -> bool {
        let same = self.same_counts() && self.same_median() && self.same_loss();
        same && self.disturbed().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads::Read;
    use super::*;

    fn read(latency: u64, interrupts: u64, preempted: bool, run_delay: u64) -> Read {
        Read {
            latency: Nanos(latency),
            counters: WaitCounters {
                interrupts,
                wakes: interrupts,
                ..WaitCounters::default()
            },
            preempted,
            run_delay: Nanos(run_delay),
        }
    }

    /// A hundred reads in a tenth of a second, of which the first `odd` did not wait; ten more were
    /// preempted, and two waited for a turn of 4 ms.
    fn round(odd: usize) -> Round {
        let mut reads: Vec<Read> = (0..100)
            .map(|i| read(80_000, u64::from(i >= odd), false, 3_000))
            .collect();
        reads.extend((0..10).map(|_| read(90_000, 0, true, 0)));
        reads[50].run_delay = Nanos(4_000_000);
        reads[105].run_delay = Nanos(4_000_000);
        Round {
            reads,
            shares: Some(CpuShares {
                window: Nanos(100_000_000),
                job: Nanos(20_000_000),
                neighbours: Nanos(79_500_000),
            }),
        }
    }

    fn compared(odd: usize, twin_lost: f64, median_ns: u64) -> Compared {
        let (real, alike) = Figures::of_real(&round(odd), true);
        Compared {
            completion: "interrupt".into(),
            real,
            alike,
            twin: Figures::new(
                true,
                [1.0, 0.0, 1.0],
                median_ns,
                Some(BesideFigures {
                    lost_ms_per_second: twin_lost,
                    neighbour_percent: 78.0,
                    others_percent: 0.0,
                }),
            ),
            tick_ms_per_second: None,
        }
    }

    #[test]
    fn counts_are_of_reads_that_nothing_preempted_and_lost_is_what_turns_took() {
        let (real, alike) = Figures::of_real(&round(5), true);
        assert_eq!((real.counts(), alike), ([1.0, 0.0, 1.0], 0.95));
        let beside = real.beside.unwrap();
        // Two turns of 4 ms in a tenth of a second; 3 us are the switch of a wake-up.
        assert_eq!(beside.lost_ms_per_second, 80.0);
        assert_eq!(beside.neighbour_percent, 79.5);
        assert_eq!(beside.others_percent, 0.5);
        let (mean, _) = Figures::of_real(&round(5), false);
        assert_eq!(mean.counts(), [0.95, 0.0, 0.95]);
    }

    #[test]
    fn ninety_five_of_a_hundred_alike_and_a_fifth_of_median_and_loss_agree() {
        assert!(compared(5, 80.0, 80_000).agrees());
        assert!(!compared(6, 80.0, 80_000).same_counts());
        assert!(compared(0, 96.0, 96_000).agrees());
        assert!(!compared(0, 80.0, 96_100).same_median());
        assert!(compared(0, 86.0, 80_000).agrees());
        let lost = compared(0, 97.0, 80_000);
        assert!(lost.same_median() && !lost.same_loss() && !lost.agrees());
        // A tick more or less in the reads' time is no difference.
        let ticks = Compared {
            tick_ms_per_second: Some(40.0),
            ..lost
        };
        assert!(ticks.agrees());
    }

    #[test]
    fn what_others_had_of_the_cpu_is_not_judged() {
        let quiet = compared(0, 80.0, 80_000);
        let mut busy = quiet.clone();
        busy.real.beside.as_mut().unwrap().others_percent = 1.1;
        assert_eq!((quiet.disturbed(), busy.disturbed()), (None, Some(1.1)));
        assert!(quiet.agrees() && !busy.agrees());
    }
}
