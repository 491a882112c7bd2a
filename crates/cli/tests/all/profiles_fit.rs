//! `joulio profiles fit`: a device's profile from measured rates.

use crate::common::joulio;
use predicates::prelude::*;
use serde_json::Value;
use std::fs;

const RATES: &str = "# By fio.\nrw,bs,iodepth,numjobs,iops\nrandread,4k,1,1,65400\n\
    randread,128k,1,1,17000\nrandread,4k,1,4,240600\nrandread,4k,1,20,639800\n";

#[test]
fn a_profile_is_made_that_the_twin_runs_on() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("rates.csv");
    fs::write(&csv, RATES).unwrap();
    let fit = |more: &str| {
        let mut command = joulio(&format!("profiles fit {more}"));
        command.current_dir(folder.path()).arg("rates.csv");
        command
    };
    fit("--machine xeon-6230 --write-profile mine.toml")
        .assert()
        .success()
        .stdout(predicate::str::contains("rates.csv:3"))
        .stdout(predicate::str::contains("*: modelled"));
    let text = fs::read_to_string(folder.path().join("mine.toml")).unwrap();
    assert!(text.starts_with("# By joulio profiles fit"), "{text}");
    assert!(text.contains("rates.csv:3: 65400 I/Os a second"), "{text}");
    joulio("profiles mine.toml")
        .current_dir(folder.path())
        .assert()
        .success()
        .stdout(predicate::str::contains("'mine'; figures: "));
    let run = joulio(
        "bench --twin --machine xeon-6230 --engine psync --device emulated:./mine.toml \
         --completion poll --number_ios 5000 --output json",
    )
    .current_dir(folder.path())
    .output()
    .unwrap();
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    let iops = json["runs"][0]["all"]["iops"].as_f64().unwrap();
    assert!((iops / 65_400.0 - 1.0).abs() < 0.02, "{iops}");
    // The same rates give the same figures, and an existing file is kept.
    let again = fit("--machine xeon-6230 --output json").output().unwrap();
    let json: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(json["rates"].as_array().unwrap().len(), 4);
    fit("--machine xeon-6230 --write-profile mine.toml")
        .assert()
        .code(2);
    assert_eq!(
        fs::read_to_string(folder.path().join("mine.toml")).unwrap(),
        text
    );
}

#[test]
fn rates_that_make_no_sense_are_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    for (text, want) in [
        ("", "has no rates"),
        ("bs,iops\n4k,zero\n", "x.csv:2"),
        (
            "bs,iodepth,iops\n4k,8,1000\n",
            "no reads of one job at iodepth 1",
        ),
        ("bs,iops\n4k,9e6\n", "leave a device no time"),
    ] {
        fs::write(folder.path().join("x.csv"), text).unwrap();
        let output = joulio("profiles fit x.csv --machine xeon-6230 --write-profile y.toml")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text:?}: {said}");
        assert!(
            said.contains(want) && said.lines().count() == 1,
            "{text:?}: {said}"
        );
        assert!(!folder.path().join("y.toml").exists(), "{text:?}");
    }
}
