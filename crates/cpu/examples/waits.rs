//! Prints which waits without the kernel this CPU supports, and how long one of 10 us takes.

use joulio_cpu::{Depth, Tsc, UserWait};
use joulio_units::Nanos;

/// Prints a line for each depth of the wait.
pub fn main() {
    for depth in [Depth::C01, Depth::C02] {
        match UserWait::detect(depth) {
            Ok(wait) => {
                let begin = Tsc::now();
                let ended = wait.pause(Nanos(10_000));
                let us = (Tsc::now() - begin) as f64 / Tsc::get().hertz() * 1e6;
                println!("{} {depth:?}: {us:.1} us, {ended:?}", wait.name());
            }
            Err(missing) => println!("{depth:?}: {missing}"),
        }
    }
}
