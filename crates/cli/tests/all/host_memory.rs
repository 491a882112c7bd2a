//! Devices that request host memory: joulio provides it, and reports it when devices differ.

use crate::common::{joulio, json, refused_with};

/// Returns the description of the devices that `bench` used.
fn devices(names: &str) -> serde_json::Value {
    let line = format!("bench --device {names} --completion poll --number_ios 64 --output json");
    json(&line)["manifest"]["devices"].clone()
}

#[test]
fn what_a_device_has_is_in_the_manifest() {
    let devices = devices("emulated:instant,size=1m,hmb=16m+emulated:instant,size=1m");
    assert_eq!(devices[0]["host_memory_bytes"], 16 << 20, "{devices}");
    assert_eq!(devices[0]["apst"], false, "{devices}");
    assert!(devices[1]["host_memory_bytes"].is_null(), "{devices}");
}

#[test]
fn unlike_devices_are_said_to_be_so_and_like_ones_are_not() {
    let run = |names: &str| {
        let line = format!("bench --device {names} --completion poll --number_ios 64 --meter none");
        let ran = joulio(&line).assert().success();
        String::from_utf8(ran.get_output().stdout.clone()).expect("UTF-8")
    };
    let said = "a host memory buffer of 16384 KiB";
    let unlike = run("emulated:instant,size=1m,hmb=16m+emulated:instant,size=1m");
    assert!(
        unlike.contains(said) && unlike.contains("may differ by that"),
        "{unlike}"
    );
    let like = run("emulated:instant,size=1m,hmb=16m+emulated:instant,size=2m,hmb=16m");
    assert!(!like.contains("may differ by that"), "{like}");
}

#[test]
fn sizes_that_no_device_wants_are_refused() {
    for size in ["0", "4097", "5g"] {
        let line = format!("bench --device emulated:instant,hmb={size}");
        refused_with(&line, &["hmb=64m"]);
    }
}
