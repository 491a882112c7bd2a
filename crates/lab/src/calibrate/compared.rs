//! Comparison of a completion mode's real run with its run in virtual time.

use super::accounts::CpuShares;
use super::reads::{Round, median};
use joulio_nvme::wait::WaitCounters;
use joulio_twin::TwinRun;
use joulio_units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest difference between the twin's median and the real one, as a fraction of the real one.
const MAX_ERROR: f64 = 0.2;

/// Smallest share of the real I/Os whose counts have to be equal. Other programs sometimes preempt a job, and it need
/// not wait for I/Os that have completed by the time it runs again.
const ALIKE: f64 = 0.95;

/// Largest difference between the mean counts per I/O of a mode that learns: its waits depend on measured times, which
/// differ between I/Os.
const NEAR: f64 = 0.1;

/// Percentage of a shared CPU above which threads other than the job and its neighbours spoil the comparison: each time
/// one of them runs, the scheduler chooses anew, which ends or begins one of the job's waits.
const QUIET_PERCENT: f64 = 1.0;

/// Difference in lost time, in milliseconds per second, that is always allowed: the time that other threads may use.
const QUIET_MS_PER_SECOND: f64 = QUIET_PERCENT * 10.0;

/// Smallest run delay that counts as a turn of another thread. Shorter delays are the context switch of a wake-up,
/// which the latency includes, or a thread of the kernel.
const A_TURN: Nanos = Nanos(200_000);

/// A completion mode's counts per I/O and median latency, real and simulated.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The completion mode.
    pub completion: String,
    /// Real figures on the emulated device. The counts are those that most of the I/Os without preemption had; for a
    /// mode that learns, whose counts vary between I/Os, they are means.
    pub real: Figures,
    /// Share of these real I/Os whose counts are exactly those that most of them had.
    pub alike: f64,
    /// Simulated figures, with the measured times of this machine.
    pub twin: Figures,
    /// Allowed difference in lost time, in milliseconds per second: one timer tick in the time of the real reads,
    /// because turns end at ticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_ms_per_second: Option<f64>,
    /// Percentage of the time that the job lost to other programs, for a mode that waits differently beside them and
    /// ran without neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<f64>,
}

/// Counts per I/O and median latency, real or simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// True if the figures are simulated, in virtual time.
    pub modelled: bool,
    /// Interrupts per I/O.
    pub interrupts: f64,
    /// Timer sleeps per I/O.
    pub sleeps: f64,
    /// Blocks per I/O that an interrupt ended. Blocks that the driver's periodic check of its queues ended are not
    /// counted.
    pub wakes: f64,
    /// Median latency in nanoseconds.
    pub median_ns: u64,
    /// Shares of the CPU and the lost time, if other threads shared the CPU.
    #[serde(flatten)]
    pub beside: Option<BesideFigures>,
}

/// Use of a job's CPU by neighbours that always have work, and the time that the job lost to them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BesideFigures {
    /// Milliseconds per second in which the job was runnable and waited for another thread's turn to end.
    pub lost_ms_per_second: f64,
    /// Percentage of the CPU that the neighbours used.
    pub neighbour_percent: f64,
    /// Percentage of the CPU that neither the job nor its neighbours used.
    pub others_percent: f64,
}

/// Interrupts, timer sleeps and wakes of one I/O.
type IoCount = [u64; 3];

fn counted(counters: &WaitCounters) -> IoCount {
    [counters.interrupts, counters.sleeps, counters.wakes]
}

/// Counts of the I/Os without preemption.
struct Counted {
    /// Counts that occurred most often.
    usual: [f64; 3],
    /// Share of the I/Os that had exactly these counts.
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

    /// Returns the most frequent counts if the I/Os are `alike`, otherwise the means.
    fn counts(&self, alike: bool) -> [f64; 3] {
        if alike { self.usual } else { self.mean }
    }
}

/// Returns the time that was lost to turns of other threads, in milliseconds per second of `window`, from the I/Os' run
/// delays.
pub(super) fn lost(delays: impl Iterator<Item = Nanos>, window: Nanos) -> f64 {
    let lost: u64 = delays
        .filter(|delay| *delay >= A_TURN)
        .map(|delay| delay.0)
        .sum();
    lost as f64 / window.0.max(1) as f64 * 1e3
}

impl Figures {
    /// Creates figures with these counts.
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

    /// Returns the figures of the twin's I/Os that were not preempted: their common counts, or the means if the counts
    /// differ.
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

    /// Returns the figures of the real reads of `round` that were not preempted: their most frequent counts if they
    /// should be `alike`, otherwise the means. Also returns the share of reads that had the most frequent counts.
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

    /// Returns the interrupts, timer sleeps and wakes per I/O.
    pub fn counts(&self) -> [f64; 3] {
        [self.interrupts, self.sleeps, self.wakes]
    }

    /// Returns true if every I/O had the same counts.
    pub(super) fn are_alike(&self) -> bool {
        self.counts().iter().all(|count| count.fract() == 0.0)
    }
}

impl Compared {
    /// Returns true if the real counts match the twin's: if the twin's I/Os are all alike, nearly all real ones have to
    /// have the same counts; otherwise the means have to be close.
    pub fn same_counts(&self) -> bool {
        let (real, twin) = (self.real.counts(), self.twin.counts());
        if self.twin.are_alike() {
            return real == twin && self.alike >= ALIKE;
        }
        real.iter()
            .zip(twin)
            .all(|(real, twin)| (real - twin).abs() <= NEAR)
    }

    /// Returns the relative error of the twin's median: its difference from the real median, over the real one.
    pub fn error(&self) -> f64 {
        let real = self.real.median_ns.max(1) as f64;
        self.twin.median_ns as f64 / real - 1.0
    }

    /// Returns true if the medians are close to each other.
    pub fn same_median(&self) -> bool {
        self.error().abs() <= MAX_ERROR
    }

    /// Returns true if the times lost to other threads are close to each other; jobs that had a CPU to themselves lost
    /// none.
    pub fn same_loss(&self) -> bool {
        let lost = |figures: &Figures| figures.beside.map_or(0.0, |it| it.lost_ms_per_second);
        let (real, twin) = (lost(&self.real), lost(&self.twin));
        let tick = self.tick_ms_per_second.unwrap_or(0.0);
        let may = [MAX_ERROR * real, tick, QUIET_MS_PER_SECOND];
        (twin - real).abs() <= may.into_iter().fold(0.0, f64::max)
    }

    /// Returns the percentage of the job's CPU that threads other than its neighbours used, or of the time that the job
    /// lost to them, if it is so high that the comparison means nothing.
    pub fn disturbed(&self) -> Option<f64> {
        let beside = self.real.beside.map(|beside| beside.others_percent);
        let others = beside.or(self.lost_percent)?;
        (others > QUIET_PERCENT).then_some(others)
    }

    /// Returns true if the counts are the same, medians and lost times are close, and no other threads disturbed the
    /// run.
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

    /// A round of a hundred reads in a tenth of a second, of which the first `odd` did not wait; ten more reads were
    /// preempted, and two waited 4 ms for another thread's turn to end.
    fn round(odd: usize) -> Round {
        let mut reads: Vec<Read> = (0..100)
            .map(|i| read(80_000, u64::from(i >= odd), false, 3_000))
            .collect();
        reads.extend((0..10).map(|_| read(90_000, 0, true, 0)));
        reads[50].run_delay = Nanos(4_000_000);
        reads[105].run_delay = Nanos(4_000_000);
        Round {
            reads,
            observed: Some(Nanos(100_000_000)),
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
            lost_percent: None,
        }
    }

    #[test]
    fn counts_are_of_reads_that_nothing_preempted_and_lost_is_what_turns_took() {
        let (real, alike) = Figures::of_real(&round(5), true);
        assert_eq!((real.counts(), alike), ([1.0, 0.0, 1.0], 0.95));
        let beside = real.beside.unwrap();
        // Two turns of 4 ms in a tenth of a second; delays of 3 us are the context switch of a wake-up.
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
        // A difference of one tick in the time of the reads is allowed.
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
        // Without neighbours it is what the job lost; those of a round with neighbours are not others.
        assert_eq!(round(0).lost_percent(), None);
        let alone = Round {
            shares: None,
            ..round(0)
        };
        assert_eq!(alone.lost_percent(), Some(8.0));
        let mut alone = compared(0, 80.0, 80_000);
        (alone.real.beside, alone.twin.beside) = (None, None);
        assert!(alone.agrees());
        alone.lost_percent = Some(8.0);
        assert!(alone.disturbed() == Some(8.0) && !alone.agrees());
    }
}
