//! Stalls between I/Os, and sizes that I/Os draw, as fio has them.

use crate::common::runs;

#[test]
fn a_job_stalls_when_nothing_is_in_flight() {
    // Two I/Os and a stall of 1 ms, ten times in 10 ms: exactly, in virtual time.
    let flags = "--twin --machine xeon-e3-1230v5 --device emulated:optane-900p --iodepth 4 \
                 --completion poll,hybrid --runtime 10ms --ramp_time 0 --thinktime 1ms --thinktime_blocks 2";
    for run in runs(flags) {
        assert_eq!(run["loop"], "closed");
        assert_eq!(run["all"]["ios"], 20, "{run}");
    }
    // A stall is no part of a latency, and I/Os are not left behind.
    let flags = "--device emulated:instant,size=1M --iodepth 4 --numjobs 2 --number_ios 20 \
                 --ramp_time 0 --thinktime 100ms --thinktime_blocks 10";
    for run in runs(flags) {
        assert_eq!(run["all"]["ios"], 40, "{run}");
        assert_eq!(run["falls_behind"], false);
        let seconds = run["seconds"].as_f64().expect("seconds");
        assert!(seconds >= 0.1, "{seconds}");
    }
}

#[test]
fn each_io_draws_its_size() {
    for flags in [
        "--twin --machine xeon-e3-1230v5",
        "--rw randread",
        "--rw rw --iodepth 8 --allow-write",
    ] {
        let flags = format!(
            "--device emulated:optane-900p,size=64M {flags} --completion poll,interrupt \
             --ramp_time 0 --number_ios 4000 --bssplit 4k/75:20k/25"
        );
        for run in runs(&flags) {
            assert_eq!(run["all"]["ios"], 4000);
            let figure = |name: &str| run["all"][name].as_f64().expect("a number");
            let bytes = figure("bandwidth_bytes_per_second") / figure("iops");
            // 8 KiB on average.
            assert!((7_600.0..8_800.0).contains(&bytes), "{bytes}");
        }
    }
}
