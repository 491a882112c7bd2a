//! In an open loop, all I/Os that arrive are done.

use crate::common::{joulio, runs, short_ramp};

#[test]
fn every_io_that_arrives_is_done() {
    for rate in [
        "--rate_iops 20k",
        "--rate_iops 20k --rate_process poisson",
        "--bursts 1:50",
        "--bursts 1:1ns",
        "--bursts 8:200",
    ] {
        let flags = format!(
            "--device emulated:instant,size=1M --number_ios 1000 --iodepth 4 --numjobs 2 {rate} {}",
            short_ramp()
        );
        for run in runs(&flags) {
            assert_eq!(run["loop"], "open", "{rate}");
            assert_eq!(run["all"]["ios"], 2000, "{rate}");
            assert_eq!(run["all"]["errors"], 0, "{rate}");
        }
    }
}

#[test]
fn no_more_ios_a_second_are_done_than_arrive_however_late_a_thread_begins() {
    // The last of 200 I/Os arrives 199 ms after the first.
    let flags = "--device emulated:instant,size=1M --number_ios 200 --rate_iops 1000 --ramp_time 0";
    for run in runs(flags) {
        let iops = run["all"]["iops"].as_f64().expect("IOPS");
        assert!(iops <= 200.0 / 0.199 + 0.01, "{run}");
    }
}

#[test]
fn no_more_ios_are_done_than_arrive() {
    // Within 100 ms, I/Os arrive every 20 ms: at 0, 20, 40, 60 and 80.
    let flags = "--device emulated:instant,size=1M --runtime 100ms --ramp_time 0 --bursts 1:20ms";
    for run in runs(flags) {
        assert!(run["all"]["ios"].as_u64().is_some_and(|n| n <= 5), "{run}");
    }
}

#[test]
fn a_burst_arrives_whole() {
    // Bursts arrive at 0 and at 1 h, and the second is after the run's end.
    let flags = "--device emulated:instant,size=1M --runtime 100ms --ramp_time 0 --bursts 3:1h \
                 --iodepth 2";
    for run in runs(flags) {
        let left = run["arrivals_not_issued"].as_u64().unwrap();
        assert_eq!(run["all"]["ios"].as_u64().unwrap() + left, 3, "{run}");
    }
}

#[test]
fn random_arrivals_are_done_or_counted_as_not_issued() {
    // Many more arrive than can be done one at a time; counting them does not take as long.
    let flags = "--device emulated:instant,size=1M --runtime 100ms --ramp_time 0 --rate_iops 1G \
                 --rate_process poisson";
    for run in runs(flags) {
        let left = run["arrivals_not_issued"].as_u64().unwrap();
        let all = run["all"]["ios"].as_u64().unwrap() + left;
        assert!((99_000_000..101_000_000).contains(&all), "{all}");
        assert_eq!(run["falls_behind"], true);
    }
}

#[test]
fn a_device_that_does_not_keep_up_is_reported_whatever_ends_the_run() {
    let flags = "--device emulated:instant,size=1M --ramp_time 0 --numjobs 2";
    // No device does an I/O in a nanosecond, but every device does two in an hour.
    for (arrivals, late) in [
        ("--bursts 1:1ns --number_ios 2000", true),
        ("--bursts 1:1ns --runtime 100ms", true),
        ("--bursts 2:1h --number_ios 2", false),
    ] {
        let line = format!("{flags} {arrivals}");
        for run in runs(&line) {
            assert_eq!(run["falls_behind"], late, "{line}");
        }
        let text = joulio(&format!("bench {line}")).assert().success();
        let said = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
        let note = "the device does not keep up at this iodepth";
        assert_eq!(said.contains(note), late, "{line}: {said}");
    }
}

#[test]
fn phases_take_turns() {
    // In virtual time: exactly 10 I/Os arrive in 10 ms and 40 in the next 10 ms, twice.
    let flags = "--twin --machine xeon-e3-1230v5 --device emulated:optane-900p --completion poll \
                 --iodepth 8 --runtime 40ms --ramp_time 0 --phases 1k:10ms,4k:10ms";
    for run in runs(flags) {
        assert_eq!(run["loop"], "open");
        assert_eq!(run["all"]["ios"], 2 * (10 + 40));
        assert_eq!(run["arrivals_not_issued"], 0);
    }
    let flags = "--device emulated:instant,size=1M --iodepth 4 --numjobs 2 --rw randrw \
                 --number_ios 1000 --phases 20k:10ms,max:1ms,1k:2ms --rate_process poisson";
    for run in runs(flags) {
        assert_eq!(run["loop"], "closed and open");
        assert_eq!(run["all"]["ios"], 2000);
        assert!(run["read"]["ios"].as_u64() > Some(0) && run["write"]["ios"].as_u64() > Some(0));
    }
}

#[test]
fn without_a_rate_the_loop_is_closed() {
    for run in runs("--device emulated:instant,size=1M --number_ios 10 --ramp_time 0") {
        assert_eq!(run["loop"], "closed");
    }
}

#[test]
fn data_is_verified_in_an_open_loop_too() {
    let flags = "--device emulated:instant,size=1M --number_ios 500 --iodepth 4 --ramp_time 0 --rate_iops 20k \
                 --rw randrw --verify=crc32c";
    for run in runs(flags) {
        assert_eq!(run["verify"]["errors"], 0);
        assert!(run["verify"]["blocks"].as_u64().is_some_and(|n| n > 0));
    }
}
