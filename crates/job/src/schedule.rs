//! Schedule of a job: the arrival, direction, size and load of each I/O.

use crate::{Arrivals, Assignment, BlockSizeSplit, Job, Load};
use joulio_units::{Direction, Nanos};
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Bernoulli, Distribution, Exp1, Poisson};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::iter::repeat;

/// Number of arrivals that [`Schedule::left`] draws one by one; the number of the others is one draw.
const MAX_DRAWN: u64 = 1 << 20;

/// An I/O that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Read or write.
    pub direction: Direction,
    /// Bytes of the I/O.
    pub len: u32,
    /// Time from which its latency is counted.
    pub arrival: Nanos,
    /// True in a closed loop, in which an I/O arrives when it is created.
    pub closed: bool,
    /// Index of the load to which the I/O belongs.
    pub load: usize,
}

/// A load with its distributions.
#[derive(Clone, Debug)]
struct Drawn {
    load: Load,
    /// Time for which the load applies.
    length: Nanos,
    reads: Bernoulli,
}

impl Drawn {
    fn new(load: Load, length: Nanos) -> Drawn {
        let reads = f64::from(load.read_percent.min(100)) / 100.0;
        Drawn {
            load,
            // A load of length zero would never end.
            length: length.max(Nanos(1)),
            reads: Bernoulli::new(reads).expect("at most 1"),
        }
    }
}

/// A job's I/Os in the order of their arrivals, for one load or several in turn. As long as one load applies, the
/// random choices for the nth I/O do not depend on how the run waits, and are the same in a real run and in virtual
/// time.
#[derive(Clone, Debug)]
pub struct Schedule {
    loads: Vec<Drawn>,
    /// Index of the load that applies.
    turn: usize,
    /// End of that load.
    until: Nanos,
    next_arrival: Nanos,
    /// I/Os left in a burst, or before a stall.
    burst: u32,
    /// Distribution from which each I/O's load is drawn; `None`: the loads take turns.
    sizes: Option<WeightedAliasIndex<u32>>,
    /// True if the job stalls, or draws the size of each I/O.
    is_rare: bool,
    /// Time from which the job issues no more I/Os; [`Nanos::MAX`] as long as it does.
    all_issued: Nanos,
    random: Pcg64Mcg,
}

impl Schedule {
    /// Returns the schedule of job `index` of `job`, which has one device, from `start` on.
    pub fn new(job: &Job, index: usize, start: Nanos) -> Schedule {
        Schedule::seeded(job, index, index, start)
    }

    /// Returns the schedule of job `index` of `job` on one of its devices, from `start` on.
    pub fn of_assignment(
        job: &Job,
        index: usize,
        assignment: Assignment,
        start: Nanos,
    ) -> Schedule {
        Schedule::seeded(job, index, assignment.index, start)
    }

    fn seeded(job: &Job, index: usize, seed: usize, start: Nanos) -> Schedule {
        let lengths = job.phases.iter().map(|phase| phase.length);
        let endless = repeat(Nanos::MAX).take_while(|_| job.phases.is_empty());
        let lengths = lengths.chain(endless);
        let split = job.split();
        let loads = job.loads(index).into_iter().zip(lengths);
        let loads: Vec<_> = loads
            .map(|(load, length)| Drawn::new(load, length))
            .collect();
        let mut schedule = Schedule {
            turn: 0,
            until: start + loads[0].length,
            next_arrival: start,
            burst: 0,
            is_rare: split.is_some() || matches!(job.arrivals, Arrivals::Think { .. }),
            sizes: split.and_then(BlockSizeSplit::draw),
            all_issued: Nanos::MAX,
            random: Pcg64Mcg::seed_from_u64(job.seed ^ (seed as u64 + 1) << 32),
            loads,
        };
        schedule.begin(start);
        schedule
    }

    /// Returns the next I/O, if it is due at `at`; in a closed loop one always is.
    #[inline(always)]
    pub fn due(&mut self, at: Nanos) -> Option<Due> {
        match self.is_rare {
            true => self.due_rarely(at),
            false => self.due_plain(at),
        }
    }

    /// Returns true if the job neither stalls nor draws sizes.
    pub fn is_plain(&self) -> bool {
        !self.is_rare
    }

    /// [`Schedule::due`] for a job that [is plain](Schedule::is_plain).
    #[inline(always)]
    pub fn due_plain(&mut self, at: Nanos) -> Option<Due> {
        while at >= self.until && self.next_arrival >= self.until {
            self.next_load();
        }
        let drawn = &self.loads[self.turn];
        let load = drawn.load;
        let closed = matches!(load.arrivals, Arrivals::Closed);
        let arrival = if closed { at } else { self.next_arrival };
        if arrival > at {
            return None;
        }
        let direction = match drawn.reads.sample(&mut self.random) {
            true => Direction::Read,
            false => Direction::Write,
        };
        self.advance(load.arrivals);
        Some(Due {
            direction,
            len: load.bs,
            arrival,
            closed,
            load: self.turn,
        })
    }

    /// Returns the next I/O of a job that stalls, or that draws the size of each I/O.
    #[cold]
    fn due_rarely(&mut self, at: Nanos) -> Option<Due> {
        let mut due = self.due_plain(at)?;
        if self.stalls() {
            (due.closed, due.arrival) = (true, at);
            self.burst -= 1;
            if self.burst == 0 {
                // Until no I/O is in flight.
                self.next_arrival = Nanos::MAX;
            }
        }
        if let Some(sizes) = &self.sizes {
            due.load = sizes.sample(&mut self.random);
            due.len = self.loads[due.load].load.bs;
        }
        Some(due)
    }

    /// Returns true if the job stalls at times, so that [`Schedule::drained`] must be called.
    #[inline]
    pub fn stalls(&self) -> bool {
        self.is_rare && matches!(self.loads[self.turn].load.arrivals, Arrivals::Think { .. })
    }

    /// Reports that no I/O is in flight at `at`: a stall begins, if one is due.
    pub fn drained(&mut self, at: Nanos) {
        if let Arrivals::Think { time, blocks } = self.loads[self.turn].load.arrivals
            && self.burst == 0
        {
            self.burst = blocks;
            self.next_arrival = at + time;
        }
    }

    /// Returns the arrival of an open loop's next I/O, or the end of its load if that comes first; the end of a
    /// stall; [`Nanos::MAX`] in a closed loop without a stall.
    pub fn next(&self) -> Nanos {
        match self.loads[self.turn].load.arrivals {
            Arrivals::Closed => Nanos::MAX,
            _ => self.next_arrival.min(self.until),
        }
    }

    /// Reports that the job has issued all its I/Os at `at`: later arrivals are none of its own. Only the first call
    /// has an effect.
    #[inline]
    pub fn all_issued(&mut self, at: Nanos) {
        self.all_issued = self.all_issued.min(at);
    }

    /// Returns the number of I/Os of open loops that arrive before `end` and before the job has issued all, from the
    /// next one on; at most `max`.
    pub fn left(mut self, end: Nanos, max: u64) -> u64 {
        let end = end.min(self.all_issued);
        let mut left = self.left_of_load(end, max);
        while left < max && self.until < end {
            self.next_load();
            left = left.saturating_add(self.left_of_load(end, max - left));
        }
        left.min(max)
    }

    /// Returns the number of I/Os of the present load that arrive before `end`.
    fn left_of_load(&mut self, end: Nanos, max: u64) -> u64 {
        let end = end.min(self.until);
        let left = end - self.next_arrival;
        if left == Nanos::ZERO {
            return 0;
        }
        let every = |interval: Nanos| left.0.div_ceil(interval.0.max(1));
        match self.loads[self.turn].load.arrivals {
            Arrivals::Closed | Arrivals::Think { .. } => 0,
            Arrivals::Every(interval) => every(interval),
            Arrivals::Bursts { ios, every: apart } => {
                let whole = (every(apart) - 1).saturating_mul(ios.into());
                whole.saturating_add(self.burst.into())
            }
            Arrivals::Poisson(mean) => {
                let mut drawn = 0;
                while self.next_arrival < end && drawn < max.min(MAX_DRAWN) {
                    self.due(self.next_arrival);
                    drawn += 1;
                }
                if self.next_arrival >= end || drawn >= max {
                    return drawn;
                }
                // The number of arrivals after the next does not depend on those before.
                let more = (end - self.next_arrival).0 as f64 / mean.0.max(1) as f64;
                let more = Poisson::new(more).map(|more| more.sample(&mut self.random));
                (drawn + 1).saturating_add(more.unwrap_or(0.0) as u64)
            }
        }
    }

    /// Begins the next load, at the time when the present one ends.
    fn next_load(&mut self) {
        self.turn = (self.turn + 1) % self.loads.len();
        let start = self.until;
        self.until = start + self.loads[self.turn].length;
        self.begin(start);
    }

    /// Begins a load at `start`.
    fn begin(&mut self, start: Nanos) {
        let arrivals = self.loads[self.turn].load.arrivals;
        // A closed loop ends when the time of its load is over.
        let closed = arrivals == Arrivals::Closed;
        self.next_arrival = if closed { self.until } else { start };
        if let Arrivals::Bursts { ios, .. } | Arrivals::Think { blocks: ios, .. } = arrivals {
            self.burst = ios;
        }
    }

    /// Computes the next arrival after an I/O was taken.
    #[inline]
    fn advance(&mut self, arrivals: Arrivals) {
        match arrivals {
            // The function `drained` begins a stall.
            Arrivals::Closed | Arrivals::Think { .. } => {}
            Arrivals::Every(interval) => self.next_arrival += interval,
            Arrivals::Poisson(mean) => {
                let gap: f64 = Exp1.sample(&mut self.random);
                self.next_arrival += Nanos::nearest(gap * mean.0 as f64);
            }
            Arrivals::Bursts { ios, every } => {
                self.burst -= 1;
                if self.burst == 0 {
                    self.burst = ios;
                    self.next_arrival += every;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    fn schedule(phases: Vec<Phase>) -> Schedule {
        let job = Job {
            phases,
            ..Job::random_reads(1)
        };
        Schedule::new(&job, 0, Nanos::ZERO)
    }

    fn phase(us: u64, bs: u32, arrivals: Arrivals) -> Phase {
        Phase {
            length: Nanos::from_micros(us),
            load: Load {
                read_percent: 100,
                bs,
                arrivals,
            },
        }
    }

    /// Returns the load and the arrival, in microseconds, of all I/Os that are due by `at`.
    fn taken(schedule: &mut Schedule, at: u64) -> Vec<(usize, u64)> {
        let at = Nanos::from_micros(at);
        let mut taken = Vec::new();
        while let Some(due) = schedule.due(at) {
            taken.push((due.load, due.arrival.0 / 1_000));
        }
        taken
    }

    #[test]
    fn bursts_come_whole_and_loads_take_turns() {
        let us = Nanos::from_micros;
        let bursts = Arrivals::Bursts {
            ios: 3,
            every: us(10),
        };
        let mut schedule = schedule(vec![
            phase(15, 4096, bursts),
            phase(10, 512, Arrivals::Every(us(4))),
        ]);
        assert_eq!(taken(&mut schedule, 0), [(0, 0); 3]);
        assert_eq!(schedule.next(), us(10));
        assert_eq!(taken(&mut schedule, 14), [(0, 10); 3]);
        // The end of the load, although no burst is due before 20.
        assert_eq!(schedule.next(), us(15));
        assert_eq!(taken(&mut schedule, 24), [(1, 15), (1, 19), (1, 23)]);
        assert_eq!(taken(&mut schedule, 25), [(0, 25); 3]);
        assert_eq!(schedule.left(us(40), 99), 3 + 3 - 3);
    }

    #[test]
    fn who_is_late_issues_what_arrived_before_the_next_load() {
        let us = Nanos::from_micros;
        let mut schedule = schedule(vec![
            phase(10, 4096, Arrivals::Every(us(5))),
            phase(10, 512, Arrivals::Closed),
        ]);
        let due = |schedule: &mut Schedule, at| schedule.due(us(at)).unwrap();
        assert_eq!(due(&mut schedule, 12).arrival, us(0));
        assert_eq!(due(&mut schedule, 12).arrival, us(5));
        let closed = due(&mut schedule, 12);
        assert_eq!((closed.load, closed.arrival), (1, us(12)));
        assert_eq!(schedule.next(), Nanos::MAX);
        assert_eq!(due(&mut schedule, 20).load, 0);
    }

    #[test]
    fn what_is_left_is_what_would_be_due() {
        let us = Nanos::from_micros;
        let bursts = Arrivals::Bursts {
            ios: 3,
            every: us(7),
        };
        let mut loads = vec![
            phase(20, 4096, bursts),
            phase(20, 4096, Arrivals::Poisson(us(2))),
            phase(10, 4096, Arrivals::Every(us(3))),
        ];
        loads[1].load.read_percent = 50;
        let schedule = schedule(loads);
        for end in 1..200 {
            let mut issued = schedule.clone();
            issued.due(us(0));
            let left = issued.clone().left(us(end), u64::MAX);
            let due = std::iter::from_fn(|| issued.due(us(end) - Nanos(1)));
            assert_eq!(due.count() as u64, left, "{end}");
            assert_eq!(schedule.clone().left(us(end), 2), 2.min(left + 1));
        }
    }

    #[test]
    fn arrivals_behind_a_closed_loop_are_left_too() {
        let us = Nanos::from_micros;
        let schedule = schedule(vec![
            phase(10, 4096, Arrivals::Every(us(5))),
            phase(10, 4096, Arrivals::Closed),
        ]);
        assert_eq!(schedule.left(us(40), 99), 4);
    }

    #[test]
    fn what_arrives_after_the_last_io_is_not_left() {
        let us = Nanos::from_micros;
        let mut schedule = schedule(vec![phase(100, 4096, Arrivals::Every(us(5)))]);
        schedule.all_issued(us(20));
        schedule.all_issued(us(30));
        assert_eq!(schedule.clone().left(us(15), 99), 3);
        assert_eq!(schedule.left(us(40), 99), 4);
    }

    #[test]
    fn more_arrivals_than_are_drawn_one_by_one_have_their_mean_too() {
        let every = phase(1_000_000, 4096, Arrivals::Poisson(Nanos(100)));
        let left = schedule(vec![every]).left(Nanos::from_millis(1_000), u64::MAX);
        assert!((9_980_000..10_020_000).contains(&left), "{left}");
    }

    #[test]
    fn a_seed_and_an_index_are_a_schedule() {
        let draw = |seed, index| {
            let job = Job {
                seed,
                arrivals: Arrivals::Poisson(Nanos(1_000)),
                rw: crate::ReadWrite::RandRw,
                ..Job::random_reads(1)
            };
            let mut schedule = Schedule::new(&job, index, Nanos(7));
            let due = std::iter::from_fn(|| schedule.due(Nanos::from_micros(50)));
            due.collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_eq!(draw(1, 0)[0].arrival, Nanos(7));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }

    #[test]
    fn a_stall_begins_when_nothing_is_in_flight() {
        let us = Nanos::from_micros;
        let job = Job {
            arrivals: Arrivals::Think {
                time: us(50),
                blocks: 2,
            },
            ..Job::random_reads(1)
        };
        let mut schedule = Schedule::new(&job, 0, Nanos::ZERO);
        assert!(schedule.stalls());
        assert_eq!(taken(&mut schedule, 0), [(0, 0); 2]);
        assert_eq!((schedule.due(us(9)), schedule.next()), (None, Nanos::MAX));
        schedule.drained(us(10));
        assert_eq!((schedule.due(us(59)), schedule.next()), (None, us(60)));
        // A stall goes on even if nothing is in flight.
        schedule.drained(us(20));
        assert_eq!(schedule.next(), us(60));
        let due = schedule.due(us(61)).expect("it is over");
        assert!(due.closed && due.arrival == us(61));
        schedule.drained(us(62));
        assert!(schedule.due(us(62)).is_some() && schedule.due(us(62)).is_none());
        assert_eq!(schedule.left(us(1_000), 9), 0);
    }

    #[test]
    fn each_io_draws_its_size() {
        let job = Job {
            bs: "4k/25:64k/75".parse().expect("a split"),
            ..Job::random_reads(1)
        };
        let mut schedule = Schedule::new(&job, 0, Nanos::ZERO);
        let drawn = std::iter::from_fn(|| schedule.due(Nanos::ZERO)).take(10_000);
        let drawn: Vec<_> = drawn.collect();
        let long = drawn.iter().filter(|due| due.len == 65_536).count();
        assert!((7_300..7_700).contains(&long), "{long}");
        let loads = job.loads(0);
        assert!(drawn.iter().all(|due| loads[due.load].bs == due.len));
        assert_eq!(job.all_loads().len(), 2);
    }

    #[test]
    fn a_mix_is_about_what_it_says() {
        let mut load = phase(1_000_000, 4096, Arrivals::Closed);
        load.load.read_percent = 70;
        let mut schedule = schedule(vec![load]);
        let due = std::iter::from_fn(|| schedule.due(Nanos::ZERO));
        let reads = due
            .take(10_000)
            .filter(|due| due.direction == Direction::Read)
            .count();
        assert!((6_700..7_300).contains(&reads), "{reads}");
    }

    #[test]
    fn random_arrivals_have_their_mean() {
        let mean = Nanos::from_micros(10);
        let schedule = schedule(vec![phase(1_000_000, 4096, Arrivals::Poisson(mean))]);
        let left = schedule.left(Nanos::from_millis(1_000), u64::MAX);
        assert!((99_000..101_000).contains(&left), "{left}");
    }
}
