//! Where a job's I/Os come from: one load, or several in turn.

use crate::TwinError;
use crate::job_check::loads;
use joulio_job::{Arrivals, Job, Load};
use joulio_units::{Direction, Nanos};
use joulio_wait::Class;
use rand_distr::{Bernoulli, Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

/// An I/O that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub(crate) direction: Direction,
    pub(crate) class: Class,
    pub(crate) arrival: Nanos,
    /// Index of the load that the I/O is of.
    pub(crate) load: usize,
}

/// A load, ready to draw from.
#[derive(Clone, Debug)]
struct Drawn {
    load: Load,
    /// Time that the load lasts.
    length: Nanos,
    reads: Bernoulli,
    classes: [Class; 2],
}

impl Drawn {
    fn new(load: Load, length: Nanos) -> Result<Drawn, TwinError> {
        let reads = Bernoulli::new(f64::from(load.read_percent) / 100.0);
        Ok(Drawn {
            load,
            length,
            reads: reads.map_err(|_| TwinError::Job {
                field: "read_percent",
                problem: "must be 0 to 100".into(),
            })?,
            classes: [Direction::Read, Direction::Write].map(|d| Class::new(d, load.bs)),
        })
    }
}

/// A job's I/Os, in the order of their arrivals. What it draws for the nth is the same whatever
/// waits, as long as one load holds.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    loads: Vec<Drawn>,
    /// The one that holds, until when.
    turn: usize,
    until: Nanos,
    next_arrival: Nanos,
    /// I/Os that are left of a burst.
    burst: u32,
    random: Pcg64Mcg,
}

impl Source {
    pub(crate) fn new(job: &Job, random: Pcg64Mcg) -> Result<Source, TwinError> {
        let lengths = job.phases.iter().map(|phase| phase.length);
        let lengths = lengths.chain(job.phases.is_empty().then_some(Nanos::MAX));
        let loads = loads(job).into_iter().zip(lengths);
        let loads = loads.map(|(load, length)| Drawn::new(load, length));
        let loads = loads.collect::<Result<Vec<_>, _>>()?;
        let mut source = Source {
            turn: 0,
            until: loads[0].length,
            next_arrival: Nanos::ZERO,
            burst: 0,
            random,
            loads,
        };
        source.begin(Nanos::ZERO);
        Ok(source)
    }

    /// The next I/O, if it is due at `at`. In a closed loop one always is, and arrives when the
    /// workload has taken `app` for it, for that is not the I/O's time.
    #[inline]
    pub(crate) fn due(&mut self, at: Nanos, app: Nanos) -> Option<Due> {
        while at >= self.until && self.next_arrival >= self.until {
            self.turn = (self.turn + 1) % self.loads.len();
            let start = self.until;
            self.until = start + self.loads[self.turn].length;
            self.begin(start);
        }
        let arrivals = self.loads[self.turn].load.arrivals;
        let arrival = match arrivals {
            Arrivals::Closed => at + app,
            _ if self.next_arrival > at => return None,
            _ => self.next_arrival,
        };
        let drawn = &self.loads[self.turn];
        let (direction, class) = match drawn.reads.sample(&mut self.random) {
            true => (Direction::Read, drawn.classes[0]),
            false => (Direction::Write, drawn.classes[1]),
        };
        self.advance(arrivals);
        Some(Due {
            direction,
            class,
            arrival,
            load: self.turn,
        })
    }

    /// When the next I/O of an open loop arrives, or a load ends before that; of a closed loop there
    /// is no such time.
    pub(crate) fn next(&self) -> Nanos {
        match self.loads[self.turn].load.arrivals {
            Arrivals::Closed => Nanos::MAX,
            _ => self.next_arrival.min(self.until),
        }
    }

    /// I/Os of open loops that arrive before `end`, at most `most`, from the next on.
    pub(crate) fn left(mut self, end: Nanos, most: u64) -> u64 {
        let mut left = 0;
        let last = end - Nanos(1);
        while left < most && self.next() < end && self.due(last, Nanos::ZERO).is_some() {
            left += 1;
        }
        left
    }

    /// A load begins at `start`.
    fn begin(&mut self, start: Nanos) {
        let arrivals = self.loads[self.turn].load.arrivals;
        // A closed loop goes on until its time is over.
        let closed = arrivals == Arrivals::Closed;
        self.next_arrival = if closed { self.until } else { start };
        if let Arrivals::Bursts { ios, .. } = arrivals {
            self.burst = ios;
        }
    }

    /// An I/O has been taken.
    #[inline]
    fn advance(&mut self, arrivals: Arrivals) {
        match arrivals {
            Arrivals::Closed => {}
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
    use joulio_job::Phase;
    use rand_pcg::rand_core::SeedableRng;

    fn source(phases: Vec<Phase>) -> Source {
        let job = Job {
            phases,
            ..Job::random_reads(1)
        };
        Source::new(&job, Pcg64Mcg::seed_from_u64(1)).unwrap()
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

    /// Load and arrival of all that is due by `at`, in microseconds.
    fn taken(source: &mut Source, at: u64) -> Vec<(usize, u64)> {
        let at = Nanos::from_micros(at);
        let mut taken = Vec::new();
        while let Some(due) = source.due(at, Nanos::ZERO) {
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
        let mut source = source(vec![
            phase(15, 4096, bursts),
            phase(10, 512, Arrivals::Every(us(4))),
        ]);
        assert_eq!(taken(&mut source, 0), [(0, 0); 3]);
        assert_eq!(source.next(), us(10));
        assert_eq!(taken(&mut source, 14), [(0, 10); 3]);
        // The end of the load, though no burst is due before 20.
        assert_eq!(source.next(), us(15));
        assert_eq!(taken(&mut source, 24), [(1, 15), (1, 19), (1, 23)]);
        assert_eq!(taken(&mut source, 25), [(0, 25); 3]);
        assert_eq!(source.left(us(40), 99), 3 + 3 - 3);
    }

    #[test]
    fn who_is_late_issues_what_arrived_before_the_next_load() {
        let us = Nanos::from_micros;
        let mut source = source(vec![
            phase(10, 4096, Arrivals::Every(us(5))),
            phase(10, 512, Arrivals::Closed),
        ]);
        let due = |source: &mut Source, at| source.due(us(at), Nanos(7)).unwrap();
        assert_eq!(due(&mut source, 12).arrival, us(0));
        assert_eq!(due(&mut source, 12).arrival, us(5));
        let closed = due(&mut source, 12);
        assert_eq!((closed.load, closed.arrival), (1, us(12) + Nanos(7)));
        assert_eq!(source.next(), Nanos::MAX);
        assert_eq!(due(&mut source, 20).load, 0);
    }

    #[test]
    fn random_arrivals_have_their_mean() {
        let mean = Nanos::from_micros(10);
        let source = source(vec![phase(1_000_000, 4096, Arrivals::Poisson(mean))]);
        let left = source.left(Nanos::from_millis(1_000), u64::MAX);
        assert!((99_000..101_000).contains(&left), "{left}");
    }
}
