//! Prints the first arrivals of random reads at 20,000 per second: at a fixed interval, and at random.

use joulio_job::{Arrivals, Job, JobError, Schedule};
use joulio_units::Nanos;

/// Prints five arrivals of each kind.
pub fn main() -> Result<(), JobError> {
    let interval = Nanos(50_000);
    for arrivals in [Arrivals::Every(interval), Arrivals::Poisson(interval)] {
        let job = Job {
            arrivals,
            ..Job::random_reads(5)
        };
        job.check()?;
        let mut schedule = Schedule::new(&job, 0, Nanos::ZERO);
        println!("{arrivals:?}");
        for _ in 0..5 {
            let next = schedule.next();
            if let Some(due) = schedule.due(next) {
                println!(
                    "  {:?} of {} bytes at {:?}",
                    due.direction, due.len, due.arrival
                );
            }
        }
    }
    Ok(())
}
