//! Arrivals that are left at the end of an open loop, and whether they show that the device is too slow.

use crate::{Arrivals, Job};

/// Number of standard errors within which chance keeps a number of arrivals 95 times out of 100.
const CHANCE: f64 = 2.0;

impl Job {
    /// Returns true if the `devices` fell behind the arrivals, of which `ios` were issued and `left` were not.
    ///
    /// A device that keeps up also leaves some arrivals, if the end comes just after several at once, but their
    /// number does not grow with the run. So a device falls behind only if more are left than all jobs may have in
    /// flight, and if the number issued is below the number that arrived by more than the standard error of a count
    /// of random arrivals, singly or in bursts. Regular arrivals have a smaller error; the difference allows for
    /// service times that vary as much.
    pub fn falls_behind(&self, devices: usize, ios: u64, left: u64) -> bool {
        let in_flight = (self.iodepth * self.numjobs.max(devices)) as u64;
        let together = self.loads(0).into_iter().map(|load| match load.arrivals {
            Arrivals::Bursts { ios, .. } => ios,
            _ => 1,
        });
        let together = together.max().unwrap_or(1);
        let arrived = ios.saturating_add(left) as f64;
        left > in_flight && left as f64 > CHANCE * (arrived * f64::from(together)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Nanos;

    fn job(iodepth: usize, arrivals: Arrivals) -> Job {
        Job {
            iodepth,
            arrivals,
            ..Job::random_reads(1)
        }
    }

    #[test]
    fn a_few_at_the_end_are_chance_and_a_part_of_all_is_not() {
        let random = job(4, Arrivals::Poisson(Nanos(1_000)));
        for (ios, left) in [(10_000, 0), (10_000, 4), (10_000, 200), (0, 4), (3, 5)] {
            assert!(!random.falls_behind(1, ios, left), "{ios} {left}");
        }
        for (ios, left) in [(10_000, 205), (9_000, 1_000), (0, 5), (10, 10)] {
            assert!(random.falls_behind(1, ios, left), "{ios} {left}");
        }
    }

    #[test]
    fn what_all_jobs_have_in_flight_is_no_backlog() {
        let mut job = job(8, Arrivals::Every(Nanos(1_000)));
        assert!(job.falls_behind(1, 40, 20));
        assert!(!job.falls_behind(3, 40, 20));
        job.numjobs = 3;
        assert!(!job.falls_behind(1, 40, 20));
        assert!(job.falls_behind(1, 40, 25));
    }

    #[test]
    fn a_burst_just_before_the_end_is_chance() {
        let every = Nanos(1_000_000);
        let bursts = job(1, Arrivals::Bursts { ios: 100, every });
        // 10 bursts, the last of which has not been issued.
        assert!(!bursts.falls_behind(1, 900, 100));
        assert!(bursts.falls_behind(1, 2_000, 8_000));
    }
}
