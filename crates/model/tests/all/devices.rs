//! Profiles reproduce the measurements of their devices.
//!
//! A profile describes the device alone, and most measurements include the host: the difference must be that of a
//! possible host, from the least to the most of [`HOST`]. Measured throughput is reproduced as far as it is the
//! device's own limit.

use crate::common::{DRAWS, alone, assert_close, closed_loop, device, mean_ns, percentile_ns};
use joulio_model::device::PowerState;
use joulio_units::Direction::{self, Read, Write};

/// Microseconds of software around one I/O: polled and without a file system (XRP: crossing 0.351, system call
/// 0.199, bio 0.379, driver 0.113), and with an interrupt in addition (HotStorage'22: 2.0).
const HOST: [f64; 2] = [1.042, 3.05];

/// Returns the mean microseconds of a 4 KiB I/O that is alone on the device.
fn alone_us(name: &str, direction: Direction) -> f64 {
    mean_ns(&alone(&device(name), direction, 4096, DRAWS)) / 1e3
}

fn saturated(name: &str, direction: Direction, bytes: u32) -> f64 {
    closed_loop(&device(name), direction, bytes, 256).0
}

fn assert_host(measured_us: f64, device_us: f64) {
    let host = measured_us - device_us;
    // A tenth of a microsecond for the rounding of the measurements.
    assert!(
        (HOST[0] - 0.1..HOST[1] + 0.1).contains(&host),
        "measured {measured_us}, device {device_us}: no host takes {host} us"
    );
}

#[test]
fn the_p4800x_is_as_quick_as_anandtech_found_it() {
    let profile = device("optane-p4800x");
    assert_host(8.9, alone_us("optane-p4800x", Read));
    let (iops, latency) = closed_loop(&profile, Read, 4096, 16);
    assert_close(iops, 584_800.0, 0.01);
    // 25.5 us there: the time of the host between two I/Os is part of neither latency.
    assert_close(latency * 1e6, 25.5, 0.08);
}

#[test]
fn the_p4800xs_percentiles_are_anandtechs() {
    let profile = device("optane-p4800x");
    let latencies = alone(&profile, Read, 4096, 1_000_000);
    let host = 8.9 - mean_ns(&latencies) / 1e3;
    let p99 = percentile_ns(latencies.clone(), 0.99) / 1e3;
    let five_nines = percentile_ns(latencies, 0.99999) / 1e3;
    assert_close(p99 + host, 10.0, 0.02);
    assert_close(five_nines + host, 37.0, 0.05);
}

#[test]
fn the_p4801x_leaves_hotstorage_23_its_driver_and_no_more() {
    // With SQPOLL and IOPOLL: bio and driver, and at most a hand-over between two threads.
    for (direction, measured) in [(Read, 7.81), (Write, 12.19)] {
        let host = measured - alone_us("optane-p4801x", direction);
        assert!((0.39..1.5).contains(&host), "{direction:?}: {host} us");
    }
}

#[test]
fn the_p5800x_is_as_quick_as_its_papers_say() {
    let profile = device("optane-p5800x");
    let small = mean_ns(&alone(&profile, Read, 512, DRAWS)) / 1e3;
    assert_close(small, 3.224, 0.01); // XRP
    assert_close(alone_us("optane-p5800x", Read), 4.1, 0.01); // Aeolia
    assert_host(1e6 / 169_800.0, 4.1); // DPAS, one thread
    // Axboe: 20.36 M IOPS of 512 B from four. At 4 KiB DPAS's four threads must not be the device.
    assert_close(saturated("optane-p5800x", Read, 512), 20.36e6 / 4.0, 0.05);
    assert!(saturated("optane-p5800x", Read, 4096) > 642_000.0 * 1.5);
}

#[test]
fn samsungs_drives_meet_their_tables() {
    for (name, direction, iops) in [
        ("samsung-960-evo", Read, 14_000.0),
        ("samsung-960-evo", Write, 50_000.0),
        ("samsung-850-evo", Read, 10_000.0),
        ("samsung-850-evo", Write, 40_000.0),
        ("samsung-970-evo-plus", Read, 19_000.0),
        ("samsung-970-evo-plus", Write, 60_000.0),
        ("samsung-980-pro", Read, 22_000.0),
        ("samsung-980-pro", Write, 60_000.0),
    ] {
        assert_host(1e6 / iops, alone_us(name, direction));
    }
    // At depth 32, with four threads and with sixteen; the profiles give the sources.
    for (name, direction, depth, measured) in [
        ("samsung-960-evo", Read, 4 * 32, 330_000.0),
        ("samsung-960-evo", Write, 4 * 32, 330_000.0),
        ("samsung-970-evo-plus", Read, 4 * 32, 600_000.0),
        ("samsung-970-evo-plus", Write, 4 * 32, 550_000.0),
        ("samsung-980-pro", Read, 16 * 32, 1_000_000.0),
        ("samsung-980-pro", Write, 16 * 32, 1_000_000.0),
    ] {
        let iops = closed_loop(&device(name), direction, 4096, depth).0;
        assert_close(iops, measured, 0.03);
    }
    for (name, bytes_per_second) in [
        ("samsung-850-evo", 540e6),
        ("samsung-970-evo-plus", 3.5e9),
        ("samsung-980-pro", 7.0e9),
    ] {
        let sequential = saturated(name, Read, 131_072) * 131_072.0;
        assert_close(sequential, bytes_per_second, 0.01);
    }
}

#[test]
fn the_micron_9550_max_meets_its_table() {
    let profile = device("micron-9550-max");
    assert_host(60.0, alone_us("micron-9550-max", Read));
    assert_host(15.0, alone_us("micron-9550-max", Write));
    for (direction, measured) in [(Read, 3.3e6), (Write, 640e3)] {
        let iops = closed_loop(&profile, direction, 4096, 512).0;
        assert_close(iops, measured, 0.03);
    }
    let sequential = saturated("micron-9550-max", Read, 131_072) * 131_072.0;
    assert_close(sequential, 14e9, 0.01);
}

#[test]
fn reads_that_meet_in_the_flash_bend_throughput_before_it_saturates() {
    for (name, depth) in [
        ("samsung-970-evo-plus", 16),
        ("samsung-980-pro", 16),
        ("micron-9550-max", 96),
    ] {
        let profile = device(name);
        let servers = profile.parallelism().get() as f64;
        let m = f64::from(depth);
        assert!(
            m < servers,
            "{name}: no I/O would have to wait for want of servers"
        );
        let gain = closed_loop(&profile, Read, 4096, depth).0 * alone_us(name, Read) / 1e6;
        // Times that vary as much as their mean would keep this many servers busy; these vary less.
        let least = servers * m / (servers + m - 1.0);
        assert!((least..0.9 * m).contains(&gain), "{name}: {gain} of {m}");
    }
}

#[test]
fn the_z_ssd_lies_between_optane_and_flash_as_anandtech_found_it() {
    assert_host(16.0, alone_us("samsung-983-zet", Read));
    let [optane, z, flash] =
        ["optane-p4800x", "samsung-983-zet", "samsung-960-evo"].map(|name| alone_us(name, Read));
    assert!(optane < z && z < flash);
}

#[test]
fn the_tipro9000_leaves_spdk_its_share_of_cycles() {
    // HotStorage'25: 15.17 % of a core for 56 reads in flight of 32.1 us each are 0.09 us per read, which is also
    // SPDK's own record; and the next poll of the loop.
    let software = 0.1517 * 32.1 / 56.0 + 0.1;
    assert_close(alone_us("tipro9000", Read) + software, 32.1, 0.01);
    assert_close(alone_us("tipro9000", Write) + software, 4.9, 0.02);
}

#[test]
fn the_disk_seeks_and_turns() {
    // HotStorage'20's HDDs take 10 ms; 8.2 ms of seek and half a turn of 8.33 ms are 12.4.
    assert_close(alone_us("hdd-7200", Read), 8_200.0 + 8_333.0 / 2.0, 0.02);
    let latencies = alone(&device("hdd-7200"), Read, 4096, DRAWS);
    let mean = mean_ns(&latencies);
    let square = latencies
        .iter()
        .map(|l| (l.0 as f64 - mean).powi(2))
        .sum::<f64>();
    let sigma = (square / f64::from(DRAWS)).sqrt();
    // Of a turn 8.33 / sqrt(12) ms, and of a seek 3 ms.
    assert_close(sigma / 1e6, 2.4_f64.hypot(3.0), 0.05);
    assert_close(saturated("hdd-7200", Read, 4096), 1e3 / 12.4, 0.02);
}

#[test]
fn idle_powers_are_those_that_hotstorage_20_saw_at_the_wall() {
    for (name, with) in [
        ("hdd-7200", 39.0),
        ("samsung-850-evo", 31.0),
        ("samsung-960-evo", 31.0),
        ("optane-900p", 34.0),
    ] {
        assert_eq!(device(name).power.idle_watts.value, with - 29.0, "{name}");
    }
}

#[test]
fn the_client_drives_have_the_power_states_that_were_printed() {
    let row = |state: &PowerState| {
        let us = |latency: &joulio_model::Figure| latency.count();
        (
            state.max_power_watts.value,
            state.operational,
            us(&state.entry_latency_us),
            us(&state.exit_latency_us),
        )
    };
    for (name, printed) in [
        (
            "samsung-960-evo", // HotStorage'20, table 3
            [
                (6.04, true, 0, 0),
                (5.09, true, 0, 0),
                (4.08, true, 0, 0),
                (0.04, false, 210, 1_500),
                (0.005, false, 2_200, 6_000),
            ],
        ),
        (
            "samsung-970-evo-plus", // AnandTech
            [
                (7.8, true, 0, 0),
                (6.0, true, 0, 0),
                (3.4, true, 0, 0),
                (0.07, false, 210, 1_200),
                (0.01, false, 2_000, 8_000),
            ],
        ),
        (
            "samsung-980-pro", // AnandTech
            [
                (8.49, true, 0, 0),
                (4.48, true, 0, 200),
                (3.18, true, 0, 1_000),
                (0.04, false, 2_000, 1_200),
                (0.005, false, 500, 9_500),
            ],
        ),
    ] {
        let rows: Vec<_> = device(name).power.states.iter().map(row).collect();
        assert_eq!(rows, printed, "{name}");
    }
}
