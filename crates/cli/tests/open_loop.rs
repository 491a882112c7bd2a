//! I/Os that arrive by the clock are all done.

mod common;

use common::runs;

#[test]
fn every_io_that_arrives_is_done() {
    for rate in ["--rate_iops 20k", "--thinktime 50", "--thinktime 1ns"] {
        let flags = format!(
            "--device emulated:instant,size=1M --number_ios 1000 --iodepth 4 --numjobs 2 {rate}"
        );
        for run in runs(&flags) {
            assert_eq!(run["loop"], "open", "{rate}");
            assert_eq!(run["all"]["ios"], 2000, "{rate}");
            assert_eq!(run["all"]["errors"], 0, "{rate}");
        }
    }
}

#[test]
fn no_more_ios_are_done_than_arrive() {
    // An arrival every 20 ms of 100: at 0, 20, 40, 60 and 80.
    let flags = "--device emulated:instant,size=1M --runtime 100ms --ramp_time 0 --thinktime 20ms";
    for run in runs(flags) {
        assert!(run["all"]["ios"].as_u64().is_some_and(|n| n <= 5), "{run}");
    }
}

#[test]
fn without_a_rate_the_loop_is_closed() {
    for run in runs("--device emulated:instant,size=1M --number_ios 10") {
        assert_eq!(run["loop"], "closed");
    }
}

#[test]
fn data_is_verified_in_an_open_loop_too() {
    let flags = "--device emulated:instant,size=1M --number_ios 500 --iodepth 4 --rate_iops 20k \
                 --rw randrw --verify=crc32c";
    for run in runs(flags) {
        assert_eq!(run["verify"]["errors"], 0);
        assert!(run["verify"]["blocks"].as_u64().is_some_and(|n| n > 0));
    }
}
