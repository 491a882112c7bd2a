//! Tests of priority classes of the jobs' queues.

use crate::common::{refused_with, runs};

const DEVICE: &str = "--device emulated:optane-p4801x,size=16M";

#[test]
fn jobs_have_queues_of_their_classes() {
    let runs = runs(&format!(
        "{DEVICE},arbitration=wrr --numjobs 2 --iodepth 32 --completion interrupt --number_ios 4000 \
         --queue_priority none,high:low --arbitration 64,1,1 --ramp_time 0"
    ));
    let points: Vec<_> = runs
        .iter()
        .map(|run| run["point"]["queue_priority"].as_str())
        .collect();
    assert_eq!(points, [Some("none"), Some("high:low")]);
    for run in &runs {
        assert_eq!(run["all"]["ios"], 8000);
        assert_eq!(run["all"]["errors"], 0);
        assert_eq!(run["per_job"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn what_no_controller_can_do_is_refused() {
    let cases: [(&str, &[&str]); 5] = [
        (
            "--queue_priority low",
            &["weighted round robin", "arbitration=wrr"],
        ),
        (
            "--queue_priority highest",
            &["urgent, high, medium and low"],
        ),
        ("--queue_priority high:low", &["1 job"]),
        (
            "--queue_priority low --arbitration 0,1,1",
            &["HIGH,MEDIUM,LOW"],
        ),
        (
            "--queue_priority low --twin",
            &["queue_priority", "not modelled"],
        ),
    ];
    for (flags, hints) in cases {
        refused_with(&format!("bench {DEVICE} --number_ios 1 {flags}"), hints);
    }
}
