//! Flags that are given twice or contradict each other are refused; none of them is silently ignored.

use crate::common::{refused, refused_with};
use tempfile::tempdir;

#[test]
fn a_parameter_of_a_device_is_given_once() {
    for [first, second] in [
        ["size=1M", "size=2M"],
        ["size=1M", "size=1M"],
        ["lba=512", "lba=4096"],
        ["seed=1", "seed=2"],
        ["file=a", "file=b"],
        ["interrupts=eventfd", "interrupts=joulio_uintr"],
    ] {
        let device = format!("emulated:instant,{first},lba=512,{second}");
        let device = device.replace(",lba=512,lba=4096", ",lba=4096");
        for line in [
            format!("bench --number_ios 1 --device {device}"),
            format!("id-ctrl {device}"),
            format!("serve --socket s --device {device}"),
            format!("power-states {device}"),
        ] {
            refused_with(&line, &[first, second, "give one of them"]);
        }
    }
    for scheme in ["pcie:ffff:ff:1f.7", "vfio-user:s"] {
        refused_with(
            &format!("id-ctrl {scheme},nsid=1,nsid=2"),
            &["'nsid=1' and 'nsid=2'", "give one of them"],
        );
    }
}

#[test]
fn faults_have_one_seed() {
    for line in [
        "bench --faults seed=1,drop@0.1,seed=2",
        "serve --device emulated:instant --socket s --faults seed=1,seed=1",
    ] {
        refused_with(line, &["a seed already"]);
    }
}

#[test]
fn a_setting_has_one_value() {
    refused_with(
        "knobs --for 1 --set max-cstate=C1 --set max-cstate=C6",
        &["--set max-cstate", "twice"],
    );
    refused_with(
        "bench --set max-cstate=C1 --set max-cstate=C6",
        &["--set max-cstate", "twice"],
    );
}

#[test]
fn a_choice_of_meters_does_not_contradict_or_repeat_itself() {
    for command in [
        "power",
        "power --watch",
        "stat --count 1",
        "bench --number_ios 1",
        "selftest tpause",
        "power swap --devices a --time 1",
    ] {
        for words in ["all,none", "none,all", "none,perf", "none,nvme:emulated"] {
            refused_with(
                &format!("{command} --meter {words}"),
                &["--meter", "none excludes every other meter"],
            );
        }
        refused_with(
            &format!("{command} --meter all --meter none"),
            &["none excludes every other meter"],
        );
        refused_with(
            &format!("{command} --meter wall,wall"),
            &["wall is given twice"],
        );
    }
}

#[test]
fn a_value_is_in_a_list_of_the_grid_once() {
    for (flag, values, twice) in [
        ("--device", "hdd-7200,instant,hdd-7200", "hdd-7200"),
        ("--iodepth", "1,2,1", "1"),
        ("--numjobs", "4,4", "4"),
        ("--bs", "4k,8k,4096", "4096"),
        ("--rwmixread", "0,0", "0"),
        ("--load", "closed,closed", "closed"),
    ] {
        refused_with(
            &format!("twin grid {flag} {values}"),
            &[&format!("{flag}: {twice} is given twice")],
        );
    }
}

#[test]
fn a_device_is_read_for_its_power_once() {
    for command in ["power", "stat --count 1"] {
        refused_with(
            &format!("{command} --device emulated:instant --device emulated:instant"),
            &["--device: emulated:instant is given twice"],
        );
    }
}

#[test]
fn a_password_in_a_choice_of_meters_is_not_repeated() {
    let room = tempdir().expect("a temporary directory");
    let url = "redfish=https://root:calvin@bmc/redfish/v1/Chassis/1/Power";
    let said = refused(room.path(), &format!("power --meter {url},{url}"));
    assert!(said.contains("twice") && !said.contains("calvin"), "{said}");
}
