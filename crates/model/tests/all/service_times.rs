//! Times of the service model, on the built-in profiles.

use crate::common::{DRAWS, assert_close, closed_loop, mean_ns};
use joulio_model::{DeviceProfile, Figure, FigureKind, Link, ServiceModel};
use joulio_units::{Direction, Nanos};

fn optane() -> DeviceProfile {
    crate::common::device("optane-900p")
}

fn alone(profile: &DeviceProfile, direction: Direction, bytes: u32) -> Vec<Nanos> {
    crate::common::alone(profile, direction, bytes, DRAWS)
}

#[test]
fn the_mean_of_many_draws_is_the_profiles_mean() {
    let profile = optane();
    let model = ServiceModel::new(&profile, 0);
    for direction in [Direction::Read, Direction::Write, Direction::Other] {
        for bytes in [512, 4096, 16_384, 131_072] {
            let want = model.mean(direction, bytes).0 as f64;
            assert_close(mean_ns(&alone(&profile, direction, bytes)), want, 0.01);
        }
    }
}

#[test]
fn no_draw_goes_under_the_floor() {
    let profile = optane();
    let floor = profile.service.floor.value * 7_000.0;
    let least = alone(&profile, Direction::Read, 4096)
        .into_iter()
        .min()
        .unwrap();
    assert!(least.0 as f64 >= floor - 1.0, "{least:?} is under {floor}");
}

#[test]
fn the_spread_puts_the_99th_percentile_where_the_sibling_has_it() {
    let mut latencies = alone(&optane(), Direction::Read, 4096);
    latencies.sort_unstable();
    // The P4800X's p99 is 1.1 us above its mean.
    let p99 = latencies[latencies.len() * 99 / 100].0 as f64;
    assert_close(p99, 7_000.0 + 1_100.0, 0.01);
}

#[test]
fn a_closed_loop_saturates_at_the_link() {
    let profile = optane();
    for (direction, bandwidth) in [(Direction::Read, 2.395e9), (Direction::Write, 2.0e9)] {
        for bytes in [4096_u32, 131_072] {
            let (iops, _) = closed_loop(&profile, direction, bytes, 64);
            assert_close(iops, bandwidth / f64::from(bytes), 0.01);
        }
    }
}

#[test]
fn a_larger_request_may_be_quicker_as_far_as_a_link_carries_it() {
    let mut profile = optane();
    profile.service.read[2].us.value = 6.0;
    profile.service.read[2].us.band = None;
    profile.validate().unwrap();
    let model = ServiceModel::new(&profile, 0);
    let [page, large] = [4096, 131_072].map(|bytes| model.mean(Direction::Read, bytes));
    assert!(large == Nanos(6_000) && large < page);
    // Beyond the table, more data takes as long as it does on the link.
    let beyond = model.mean(Direction::Read, 262_144);
    assert_close((beyond - large).0 as f64, 131_072.0 / 2.395, 0.01);
}

#[test]
fn of_two_links_the_lesser_holds() {
    let link = |bytes_per_second: f64| {
        let figure = |value| Figure {
            value,
            kind: FigureKind::Guess,
            source: "a test".into(),
            band: None,
        };
        Link {
            generation: figure(3.0),
            lanes: figure(4.0),
            bytes_per_second: figure(bytes_per_second),
        }
    };
    let mut profile = optane();
    profile.service.spread.value = 0.0;
    profile.service.tail = None;
    let took = |link: Option<&Link>| {
        let mut model = ServiceModel::on_link(&profile, 1, link);
        model.start(Nanos(0), Direction::Read, 131_072)
    };
    assert_eq!(took(None), Nanos(60_000));
    assert_eq!(took(Some(&link(3.5e9))), took(None));
    let slower = 131_072.0 * (1.0 / 1.0 - 1.0 / 2.395);
    let slow = took(Some(&link(1e9))) - took(None);
    assert!(
        (slow.0 as f64 - slower).abs() < 2.0,
        "{slow:?} for {slower}"
    );
    // And its bandwidth limits many I/Os together.
    let slow = link(1e9);
    let mut model = ServiceModel::on_link(&profile, 1, Some(&slow));
    let mut last = Nanos::ZERO;
    for _ in 0..1_000 {
        last = last.max(model.start(Nanos::ZERO, Direction::Read, 131_072));
    }
    assert_close(last.seconds(), 1_000.0 * 131_072.0 / 1e9, 0.01);
}

#[test]
fn a_closed_loop_saturates_at_the_servers_when_no_link_binds() {
    let mut profile = optane();
    profile.service.read_bandwidth = None;
    profile.service.channel_share = None;
    for servers in [1.0, 3.0, 7.0] {
        profile.service.parallelism.value = servers;
        let (iops, _) = closed_loop(&profile, Direction::Read, 4096, 64);
        assert_close(iops, servers / 7e-6, 0.01);
    }
}

#[test]
fn eight_deep_the_optane_reads_as_fast_as_was_measured() {
    // HotStorage'22, classic polling, 8 threads: 571,659 IOPS. The profile's link comes from another device of the
    // family, so that this is a test and not a fit.
    let (iops, _) = closed_loop(&optane(), Direction::Read, 4096, 8);
    assert_close(iops, 571_659.0, 0.03);
}

#[test]
fn where_the_address_says_which_server_throughput_bends_before_it_saturates() {
    let profile = optane();
    let mut any = profile.clone();
    any.service.channel_share = None;
    let iops = |profile, depth| closed_loop(profile, Direction::Read, 4096, depth).0;
    // Alone nothing collides; at depth some I/Os do; and then only the link matters.
    assert_close(iops(&profile, 1), iops(&any, 1), 0.01);
    assert!(iops(&profile, 4) < 0.9 * iops(&any, 4));
    assert_close(iops(&profile, 64), iops(&any, 64), 0.01);
}

#[test]
fn throughput_times_latency_is_the_depth() {
    for depth in [1, 2, 7, 32] {
        let (iops, latency) = closed_loop(&optane(), Direction::Read, 4096, depth);
        assert_close(iops * latency, f64::from(depth), 0.01);
    }
}

#[test]
fn time_never_runs_back() {
    let mut model = ServiceModel::new(&optane(), 3);
    let directions = [Direction::Read, Direction::Write, Direction::Other];
    for i in 0..u64::from(DRAWS) {
        let now = Nanos(i * 900);
        let finish = model.start(now, directions[(i % 3) as usize], 4096 << (i % 5));
        assert!(finish > now, "{finish:?} is not after {now:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_times_and_another_does_not() {
    let times = |seed| -> Vec<Nanos> {
        let mut model = ServiceModel::new(&optane(), seed);
        (0..100)
            .map(|i| model.start(Nanos(i * 1_000), Direction::Read, 4096))
            .collect()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}

#[test]
fn a_flush_waits_for_no_server() {
    let mut profile = optane();
    profile.service.spread.value = 0.0;
    let mut model = ServiceModel::new(&profile, 0);
    for _ in 0..100 {
        model.start(Nanos::ZERO, Direction::Write, 131_072);
    }
    assert_eq!(model.start(Nanos::ZERO, Direction::Other, 0), Nanos(3_000));
}

#[test]
fn an_instant_device_takes_no_time_at_any_depth() {
    let mut model = ServiceModel::new(&DeviceProfile::builtin("instant").unwrap(), 0);
    for direction in [Direction::Read, Direction::Write, Direction::Other] {
        for _ in 0..100 {
            assert_eq!(model.start(Nanos(5), direction, u32::MAX), Nanos(5));
        }
    }
}
