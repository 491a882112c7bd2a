//! Order of a sweep's runs.

use crate::record::Point;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use std::fmt;
use std::str::FromStr;

/// Order of the points within a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Order of the lists.
    #[default]
    Listed,
    /// Random order, a new one in each repetition that is drawn from the seed, so that a drift of the machine
    /// favours no point.
    Random,
}

/// A run of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// Factors of the run.
    pub point: Point,
    /// Repetition of the point, from 1.
    pub replicate: u32,
    /// Position in the order, from 1.
    pub order: u64,
}

/// Returns a run of every one of `points` in each of `replicates` repetitions; a repetition is complete before the next
/// one begins.
pub fn plan(points: &[Point], replicates: u32, order: Order, seed: u64) -> Vec<PlannedRun> {
    let mut runs = Vec::new();
    for replicate in 1..=replicates {
        let mut turn: Vec<&Point> = points.iter().collect();
        if order == Order::Random {
            // The order of a repetition does not depend on the number of repetitions.
            let mut random = Pcg64::seed_from_u64(seed.wrapping_add(replicate.into()));
            turn.shuffle(&mut random);
        }
        for point in turn {
            runs.push(PlannedRun {
                point: point.clone(),
                replicate,
                order: runs.len() as u64 + 1,
            });
        }
    }
    runs
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Listed => "listed",
            Order::Random => "random",
        })
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        match text {
            "listed" => Ok(Order::Listed),
            "random" => Ok(Order::Random),
            _ => Err(format!("'{text}' is not an order: listed or random")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn points(count: usize) -> Vec<Point> {
        let point = |n: usize| Point::from([("iodepth".to_owned(), n.to_string())]);
        (1..=count).map(point).collect()
    }

    fn depths(runs: &[PlannedRun], replicate: u32) -> Vec<String> {
        let of = runs.iter().filter(|run| run.replicate == replicate);
        of.map(|run| run.point["iodepth"].clone()).collect()
    }

    #[test]
    fn a_repetition_has_every_point_once_and_is_whole_before_the_next() {
        for order in [Order::Listed, Order::Random] {
            let runs = plan(&points(20), 3, order, 1);
            let orders: Vec<_> = runs.iter().map(|run| run.order).collect();
            assert_eq!(orders, (1..=60).collect::<Vec<_>>());
            assert!(runs.is_sorted_by_key(|run| run.replicate));
            for replicate in 1..=3 {
                let all: BTreeSet<_> = depths(&runs, replicate).into_iter().collect();
                assert_eq!(all.len(), 20, "{order}");
            }
        }
    }

    #[test]
    fn the_random_order_is_the_seeds_and_another_in_each_repetition() {
        let of = |seed, replicates| plan(&points(20), replicates, Order::Random, seed);
        assert_eq!(of(1, 2), of(1, 2));
        assert_eq!(of(1, 2)[..], of(1, 3)[..40]);
        assert_ne!(depths(&of(1, 2), 1), depths(&of(1, 2), 2));
        assert_ne!(depths(&of(1, 1), 1), depths(&of(2, 1), 1));
        let listed = plan(&points(20), 1, Order::Listed, 1);
        assert_ne!(depths(&of(1, 1), 1), depths(&listed, 1));
    }
}
