//! `list`, `id-ctrl`, `id-ns` and `smart-log` on emulated devices.

use crate::common::{joulio, json};
use predicates::str::contains;

const MODEL: &str = "joulio emulated Optane 900P";
const DEVICE: &str = "emulated:optane-900p,size=1M";

#[test]
fn identify_controller_names_the_model() {
    let text = joulio(&format!("id-ctrl {DEVICE}")).assert().success();
    text.stdout(contains(MODEL));
    let json = json(&format!("id-ctrl {DEVICE} -o json"));
    assert_eq!(json["mn"].as_str().map(str::trim_end), Some(MODEL));
}

#[test]
fn identify_namespace_has_the_size_that_was_requested() {
    let text = joulio(&format!("id-ns {DEVICE}")).assert().success();
    text.stdout(contains("NVME Identify Namespace 1"));
    assert_eq!(json(&format!("id-ns {DEVICE} -o json"))["nsze"], 2048);
    let by_number = json("id-ns emulated:instant,size=1M,lba=4096 -n 1 --output json");
    assert_eq!(by_number["nsze"], 256);
}

#[test]
fn the_smart_log_of_a_new_device_has_no_warning() {
    let text = joulio(&format!("smart-log {DEVICE}")).assert().success();
    text.stdout(contains("critical_warning\t\t\t: 0"));
    let json = json(&format!("smart-log {DEVICE} --output-format json"));
    assert_eq!(json["critical_warning"], 0);
    assert_eq!(json["avail_spare"], 100);
}

#[test]
fn a_list_has_a_line_for_each_device_named() {
    let line = format!("list {DEVICE} emulated:instant,size=2M,lba=4096");
    let text = joulio(&line).assert().success();
    text.stdout(contains(MODEL))
        .stdout(contains("joulio emulated instant"));
    let devices = &json(&format!("{line} -o json"))["Devices"];
    assert_eq!(devices[0]["ModelNumber"], MODEL);
    assert_eq!(devices[0]["PhysicalSize"], 1 << 20);
    assert_eq!(devices[1]["PhysicalSize"], 2 << 20);
    assert_eq!(devices[1]["SectorSize"], 4096);
    assert!(devices[2].is_null());
}

#[test]
fn a_list_of_nothing_named_says_what_is_on_any_machine() {
    joulio("list")
        .assert()
        .success()
        .stdout(contains("emulated:instant"))
        .stdout(contains("emulated:optane-900p"));
    assert!(json("list -o json")["Devices"].is_array());
}

#[test]
fn a_file_is_inspected_without_being_changed() {
    let room = tempfile::tempdir().expect("a temporary directory");
    let disk = room.path().join("disk");
    std::fs::write(&disk, [0x5a; 4096]).expect("write");
    for command in ["list", "id-ctrl", "id-ns", "smart-log"] {
        joulio(&format!(
            "{command} emulated:instant,file={}",
            disk.display()
        ))
        .assert()
        .success();
    }
    assert_eq!(std::fs::read(&disk).expect("read"), [0x5a; 4096]);
}
