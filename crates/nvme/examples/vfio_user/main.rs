//! How much of a third-party controller's speed the driver keeps: 4 KiB random reads over a vfio-user socket, by
//! joulio's driver and, for comparison, by the barest loop on the same rings.
//!
//! `benches/vfio-user` starts a server and runs this.
//!
//!     vfio_user SOCKET DEPTH ROUNDS MILLISECONDS    both in turns, medians and their ratio
//!     vfio_user SOCKET DEPTH bare|driver IOS        one of them, for an instruction counter

mod bare;
mod driver;

use bare::Bare;
use driver::Driver;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BYTES: usize = 4096;

/// A loop that keeps `DEPTH` reads in flight.
trait Loop {
    /// Fills the queue.
    fn start(&mut self);
    /// Takes the completions, and submits as many reads again. Returns their number.
    fn turn(&mut self) -> usize;
    /// Takes the completions that are still to come.
    fn finish(&mut self);
}

fn timed(reads: &mut impl Loop, time: Duration) -> f64 {
    reads.start();
    let begin = Instant::now();
    let mut done = 0;
    while begin.elapsed() < time {
        for _ in 0..1024 {
            done += reads.turn();
        }
    }
    let rate = done as f64 / begin.elapsed().as_secs_f64();
    reads.finish();
    rate
}

/// Reads with a pause before each poll, in which all reads complete, so that no counted poll is empty.
fn counted(reads: &mut impl Loop, ios: usize) {
    reads.start();
    let mut done = 0;
    while done < ios {
        std::thread::sleep(Duration::from_millis(2));
        done += reads.turn();
    }
    reads.finish();
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn compare(path: &Path, depth: usize, rounds: usize, time: Duration) -> Outcome<()> {
    let (mut bare, mut driver, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut measure = |which: usize| -> Outcome<()> {
            match which {
                0 => bare.push(timed(&mut Bare::open(path, depth)?, time)),
                _ => driver.push(timed(&mut Driver::open(path, depth)?, time)),
            }
            Ok(())
        };
        // Alternates the order, so that neither always runs second.
        measure(round & 1)?;
        measure(1 - (round & 1))?;
        ratios.push(driver[round] / bare[round]);
    }
    println!(
        "depth {depth}: bare loop {:.0} IOPS, driver {:.0} IOPS, ratio {:.3} (medians of {rounds} rounds)",
        median(&mut bare),
        median(&mut driver),
        median(&mut ratios),
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, depth, which, amount] = arguments.as_slice() else {
        return Err(
            "usage: vfio_user SOCKET DEPTH (ROUNDS MILLISECONDS | bare IOS | driver IOS)".into(),
        );
    };
    let (path, depth, amount) = (Path::new(socket), depth.parse()?, amount.parse()?);
    match which.as_str() {
        "bare" => counted(&mut Bare::open(path, depth)?, amount),
        "driver" => counted(&mut Driver::open(path, depth)?, amount),
        rounds => compare(
            path,
            depth,
            rounds.parse()?,
            Duration::from_millis(amount as u64),
        )?,
    }
    Ok(())
}

/// Random numbers (xorshift64, Marsaglia 2003), the same for both loops.
struct Random(u64);

impl Random {
    #[inline]
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The upper half of the product: no division.
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}
