//! Runs that end when their rate is steady, and figures during a run.

use crate::common::{joulio, refused_with, runs};

const BENCH: &str = "--device emulated:instant,size=1M --completion interrupt --ramp_time 0 --meter none --rate_iops 1k \
                     --steadystate_check_interval 100ms --steadystate_duration 400ms";

#[test]
fn a_run_ends_when_its_rate_is_steady() {
    // Any four rates meet such a wide criterion, so the run ends long before its runtime.
    for criterion in ["iops:1000%", "bw_slope:1000%", "bw:1000g"] {
        let flags = format!("{BENCH} --runtime 3000 --steadystate {criterion}");
        for run in runs(&flags) {
            let steady = &run["steady_state"];
            assert_eq!(steady["attained"], true, "{run}");
            let seconds = steady["seconds"].as_f64().expect("seconds");
            assert!(
                seconds >= 0.4 && steady["duration_seconds"] == 0.4,
                "{steady}"
            );
            assert!(steady["criterion"].as_f64().is_some(), "{steady}");
            assert_eq!(run["interrupted"], false);
            assert!(run["all"]["ios"].as_u64() > Some(0), "{run}");
        }
    }
}

#[test]
fn a_run_that_is_never_steady_goes_on_to_its_end_and_says_so() {
    let line = format!("bench {BENCH} --runtime 1 --ss iops:0.000000001%");
    let output = joulio(&line).output().expect("it ran");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("steady state iops:0.000000001% not attained: "),
        "{text}"
    );
}

#[test]
fn a_ramp_before_the_windows_is_waited_for() {
    let flags = format!("{BENCH} --runtime 3000 --ss iops:1000% --steadystate_ramp_time 700ms");
    for run in runs(&flags) {
        let seconds = run["steady_state"]["seconds"].as_f64();
        assert!(seconds >= Some(1.1), "{run}");
    }
}

#[test]
fn a_steady_state_that_cannot_be_is_refused() {
    let emulated = "bench --device emulated:instant --runtime 5";
    refused_with(
        &format!("{emulated} --steadystate iops:2%"),
        &["--steadystate_duration"],
    );
    let window = "--steadystate iops:2% --steadystate_duration";
    refused_with(
        &format!("{emulated} {window} 6"),
        &["--steadystate", "--runtime"],
    );
    refused_with(&format!("{emulated} {window} 1"), &["two rates"]);
    refused_with(
        &format!("{emulated} --ss lat:2% --ss_dur 3"),
        &["iops_slope"],
    );
    refused_with(
        &format!("{emulated} --twin {window} 3"),
        &["--steadystate", "virtual time"],
    );
    refused_with(
        &format!("{emulated} --twin --status-interval 1"),
        &["--status-interval"],
    );
    refused_with(&format!("{emulated} --status-interval 1ms"), &["100ms"]);
}

#[test]
fn figures_so_far_come_each_interval_and_json_stays_one_document() {
    let line = "bench --device emulated:instant,size=1M --completion interrupt --ramp_time 0 --meter none \
                --rate_iops 1k --runtime 2 --status-interval 200ms --quiet --output-format json";
    let output = joulio(line).output().expect("it ran");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    let all = report["runs"][0]["all"]["ios"].as_u64().expect("I/Os");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    let lines: Vec<_> = said
        .lines()
        .filter(|line| line.contains(" I/Os: "))
        .collect();
    assert!((1..=10).contains(&lines.len()), "{said}");
    let mut before = 0;
    for line in lines {
        assert!(
            line.starts_with("joulio: nvme interrupt randread: "),
            "{line}"
        );
        let words = line.split_whitespace().collect::<Vec<_>>();
        let at = words
            .iter()
            .position(|word| *word == "I/Os:")
            .expect("I/Os");
        let ios: u64 = words[at - 1].parse().expect("a number");
        assert!((before..=all).contains(&ios), "{before} {ios} {all}");
        before = ios;
    }
}
