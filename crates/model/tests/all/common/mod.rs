//! Devices under load, for tests of times.

#![allow(dead_code)] // Each test program uses its own part.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use joulio_model::{DeviceProfile, ServiceModel};
use joulio_units::{Direction, Nanos};

pub const DRAWS: u32 = 100_000;

pub fn device(name: &str) -> DeviceProfile {
    DeviceProfile::builtin(name).unwrap()
}

/// Returns the latencies of `draws` I/Os, one at a time.
pub fn alone(profile: &DeviceProfile, direction: Direction, bytes: u32, draws: u32) -> Vec<Nanos> {
    let mut model = ServiceModel::new(profile, 7);
    let mut now = Nanos(1_000);
    let mut latencies = Vec::new();
    for _ in 0..draws {
        let finish = model.start(now, direction, bytes);
        latencies.push(finish - now);
        now = finish;
    }
    latencies
}

pub fn mean_ns(latencies: &[Nanos]) -> f64 {
    latencies
        .iter()
        .map(|latency| latency.0 as f64)
        .sum::<f64>()
        / latencies.len() as f64
}

/// Returns the latency in nanoseconds that this fraction of `latencies` does not exceed.
pub fn percentile_ns(mut latencies: Vec<Nanos>, fraction: f64) -> f64 {
    latencies.sort_unstable();
    let rank = (latencies.len() as f64 * fraction).ceil() as usize;
    latencies[rank.clamp(1, latencies.len()) - 1].0 as f64
}

/// Returns the I/Os per second and the mean latency in seconds of a closed loop with `depth` I/Os in flight.
pub fn closed_loop(
    profile: &DeviceProfile,
    direction: Direction,
    bytes: u32,
    depth: u32,
) -> (f64, f64) {
    let mut model = ServiceModel::new(profile, 11);
    let mut in_flight: BinaryHeap<_> = (0..depth)
        .map(|_| Reverse(model.start(Nanos::ZERO, direction, bytes)))
        .collect();
    let (mut now, mut latency) = (Nanos::ZERO, 0.0);
    for _ in 0..DRAWS {
        now = in_flight.pop().unwrap().0;
        let finish = model.start(now, direction, bytes);
        latency += (finish - now).seconds();
        in_flight.push(Reverse(finish));
    }
    (f64::from(DRAWS) / now.seconds(), latency / f64::from(DRAWS))
}

pub fn assert_close(got: f64, want: f64, fraction: f64) {
    assert!(
        (got / want - 1.0).abs() < fraction,
        "got {got}, want {want} within {fraction}"
    );
}
