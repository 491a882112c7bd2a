//! Times with garbage collection and slow reads.

use crate::common::{alone, assert_close, closed_loop, device, mean_ns, percentile_ns};
use joulio_model::device::{GarbageCollection, Tail};
use joulio_model::{DeviceProfile, Figure, FigureKind, ServiceModel};
use joulio_units::{Direction, Nanos};
use proptest::prelude::*;

const BLOCK: u32 = 4096;

fn figure(value: f64) -> Figure {
    Figure {
        value,
        kind: FigureKind::Guess,
        source: "a test".to_owned(),
        band: None,
    }
}

/// Returns a profile with one server, 10 us for everything and no spread: a burst of `us` after every `blocks`
/// written.
fn collecting(blocks: u32, us: f64, fraction: f64) -> DeviceProfile {
    let mut profile = device("instant");
    let service = &mut profile.service;
    service.read[0].us.value = 10.0;
    service.write[0].us.value = 10.0;
    service.garbage_collection = Some(GarbageCollection {
        bytes: figure(f64::from(blocks * BLOCK)),
        us: figure(us),
        fraction: figure(fraction),
    });
    profile
}

#[test]
fn a_burst_begins_with_the_write_that_completes_the_bytes_and_delays_what_follows() {
    let mut model = ServiceModel::new(&collecting(2, 500.0, 1.0), 0);
    let mut start = |us, direction| model.start(Nanos::from_micros(us), direction, BLOCK);
    let read = Direction::Read;
    assert_eq!(start(0, Direction::Write), Nanos::from_micros(10));
    assert_eq!(start(100, read), Nanos::from_micros(110));
    assert_eq!(start(200, Direction::Write), Nanos::from_micros(210));
    // From 200 to 700 no I/O is served.
    assert_eq!(start(300, read), Nanos::from_micros(710));
    assert_eq!(start(800, read), Nanos::from_micros(810));
}

#[test]
fn a_burst_reaches_its_fraction_of_the_medium() {
    const READS: usize = 10_000;
    for fraction in [0.0, 0.25, 1.0] {
        let mut profile = collecting(1, 1e6, fraction);
        // With so many servers no read waits for another.
        profile.service.parallelism.value = READS as f64 + 1.0;
        let mut model = ServiceModel::new(&profile, 1);
        model.start(Nanos::ZERO, Direction::Write, BLOCK);
        let read = |_| model.start(Nanos::from_micros(1), Direction::Read, BLOCK);
        let finishes: Vec<Nanos> = (0..READS).map(read).collect();
        let waited = finishes.iter().filter(|finish| finish.seconds() > 1.0);
        let waited = waited.count() as f64 / READS as f64;
        assert!((waited - fraction).abs() < 0.02, "{waited}, not {fraction}");
    }
}

#[test]
fn reads_alone_never_collect() {
    let profile = device("flash-gc");
    let mut without = profile.clone();
    without.service.garbage_collection = None;
    let read = |profile| alone(profile, Direction::Read, BLOCK, 10_000);
    assert_eq!(read(&profile), read(&without));
}

#[test]
fn a_flood_of_writes_pays_for_its_bursts() {
    // 100 writes of 10 us, the last of which starts 500 us of collection; 10 us of these are its own.
    let (iops, _) = closed_loop(&collecting(100, 500.0, 1.0), Direction::Write, BLOCK, 1);
    assert_close(iops, 100.0 / (99.0 * 10e-6 + 500e-6), 0.01);
}

#[test]
fn the_tail_of_reads_among_writes_is_the_bursts() {
    let latencies = |profile: &DeviceProfile| {
        let mut model = ServiceModel::new(profile, 3);
        // Reads and writes in turn, 200 k IOPS, which are 400 MB/s of writes: a burst every 164 ms.
        let direction = |i: u64| [Direction::Read, Direction::Write][(i % 2) as usize];
        let finish = |i: u64| model.start(Nanos(i * 5_000), direction(i), BLOCK) - Nanos(i * 5_000);
        let latencies = (0..400_000).map(finish);
        latencies.step_by(2).collect::<Vec<_>>()
    };
    let profile = device("flash-gc");
    let mut without = profile.clone();
    without.service.garbage_collection = None;
    let (with, without) = (latencies(&profile), latencies(&without));
    let median = percentile_ns(with.clone(), 0.5);
    assert_close(median, percentile_ns(without.clone(), 0.5), 0.05);
    assert!(percentile_ns(with, 0.99) > 10.0 * median);
    assert!(percentile_ns(without, 0.99) < 10.0 * median);
}

#[test]
fn slow_reads_are_as_many_as_the_tail_says_and_part_of_the_mean() {
    let mut profile = device("optane-900p");
    profile.service.tail = Some(Tail {
        probability: figure(0.002),
        us: figure(100.0),
    });
    profile.validate().unwrap();
    let reads = alone(&profile, Direction::Read, BLOCK, 1_000_000);
    let slow = reads.iter().filter(|latency| latency.0 > 100_000).count();
    assert_close(slow as f64, 2_000.0, 0.1);
    assert_close(mean_ns(&reads), 7_000.0, 0.005);
    let least = reads.iter().min().unwrap().0 as f64;
    assert!(least >= 0.9 * 7_000.0 - 1.0, "{least} is under the floor");
    let writes = alone(&profile, Direction::Write, BLOCK, 100_000);
    assert!(writes.iter().all(|latency| latency.0 < 100_000));
}

#[test]
fn a_slowed_device_takes_so_many_times_as_long() {
    let profile = device("samsung-960-evo");
    for direction in [Direction::Read, Direction::Write, Direction::Other] {
        let (mut one, mut other) = (
            ServiceModel::new(&profile, 5),
            ServiceModel::new(&profile, 5),
        );
        for i in 0..1_000 {
            let now = Nanos::from_millis(i * 20);
            let full = one.start(now, direction, 65_536) - now;
            let slow = other.start_at_pace(now, direction, 65_536, 1.5) - now;
            assert!(slow.0.abs_diff(full.0 * 3 / 2) <= 1, "{full:?}, {slow:?}");
        }
    }
}

proptest! {
    /// Whatever a host does, an I/O never ends before now, never later than the queue and one burst explain, and at
    /// the same time again with the same seed.
    #[test]
    fn a_burst_costs_at_most_itself(
        seed: u64,
        blocks in 1_u32..64,
        us in 0_u64..5_000,
        fraction in 0.0..=1.0,
        ios in proptest::collection::vec((0_u64..200, any::<bool>()), 1..200),
    ) {
        let profile = collecting(blocks, us as f64, fraction);
        profile.validate().unwrap();
        let run = || {
            let mut model = ServiceModel::new(&profile, seed);
            let (mut now, mut free) = (Nanos::ZERO, Nanos::ZERO);
            let mut finishes = Vec::new();
            for &(gap, write) in &ios {
                now += Nanos::from_micros(gap);
                let direction = if write { Direction::Write } else { Direction::Read };
                let finish = model.start(now, direction, BLOCK);
                let quick = now.max(free) + Nanos::from_micros(10);
                assert!(finish >= quick);
                assert!(finish <= quick + Nanos::from_micros(us));
                free = finish;
                finishes.push(finish);
            }
            finishes
        };
        prop_assert_eq!(run(), run());
    }

    /// With a longer burst, or one that reaches more of the medium, a flood of writes is never quicker.
    #[test]
    fn more_collection_is_never_quicker(blocks in 1_u32..64, us in 1_u64..2_000) {
        let rate = |us: u64| {
            let profile = collecting(blocks, us as f64, 1.0);
            let mut model = ServiceModel::new(&profile, 0);
            (0..500).fold(Nanos::ZERO, |now, _| model.start(now, Direction::Write, BLOCK))
        };
        prop_assert!(rate(us) <= rate(us * 2));
    }
}
