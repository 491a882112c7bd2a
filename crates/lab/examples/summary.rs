//! Prints a summary of five repetitions of a run, and the confidence interval of their mean.

use joulio_lab::statistics::{Interval, Summary};

/// Prints the summary and the interval.
pub fn main() {
    let repetitions = [1099.2, 1103.8, 1087.1, 1111.0, 1094.6];
    println!("{:?}", Summary::of(&repetitions));
    println!("{:?}", Interval::of(&repetitions, 0.0));
}
