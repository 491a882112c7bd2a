//! Devices that cannot be used are refused in one line with a remedy, and nothing is changed.

use crate::common::{joulio, refused, refused_with};
use std::fs;
use tempfile::{TempDir, tempdir};

/// Address at which no machine has a device.
const ABSENT: &str = "ffff:ff:1f.7";

fn room() -> TempDir {
    tempdir().expect("a temporary directory")
}

/// Asserts that `joulio bench` with `flags` is refused, with a message that contains all of `hints`.
#[track_caller]
fn bench(flags: &str, hints: &[&str]) {
    refused_with(&format!("bench {flags}"), hints);
}

#[test]
fn an_unknown_profile_is_answered_with_the_known_ones() {
    bench("--device emulated:nope", &["nope", "optane-900p", ".toml"]);
}

#[test]
fn an_unknown_scheme_is_answered_with_what_there_is() {
    for name in ["nvme0n1", "spdk:0", "☃"] {
        bench(
            &format!("--device {name}"),
            &["emulated:PROFILE", "pcie:0000:01:00.0", "/dev/nvme0n1"],
        );
    }
}

#[test]
fn a_malformed_pcie_address_is_answered_with_a_good_one() {
    for address in ["", "zz", "01:00", "0000:01:00.8", "0000:01:20.0"] {
        bench(
            &format!("--device pcie:{address}"),
            &["not a PCI address", "0000:01:00.0"],
        );
    }
}

#[test]
fn an_absent_pcie_device_is_answered_with_how_to_list_them() {
    bench(&format!("--device pcie:{ABSENT}"), &[ABSENT, "lspci"]);
    for command in ["bind", "unbind"] {
        let said = refused(room().path(), &format!("{command} {ABSENT}"));
        assert!(said.contains(ABSENT) && said.contains("lspci"), "{said}");
    }
}

#[test]
fn writing_to_a_pcie_device_takes_a_flag_before_it_is_even_opened() {
    for rw in ["write", "randwrite", "rw", "randrw"] {
        bench(
            &format!("--device pcie:{ABSENT} --rw {rw}"),
            &["lost", "--allow-write", ABSENT],
        );
    }
    bench(
        &format!("--device pcie:{ABSENT} --rw write --allow-write"),
        &["lspci"],
    );
}

#[test]
fn writing_to_a_file_with_data_takes_a_word() {
    let room = room();
    fs::write(room.path().join("disk"), [0x5a; 1 << 20]).expect("write");
    for rw in ["write", "randwrite", "rw", "randrw"] {
        let said = refused(
            room.path(),
            &format!("bench --device emulated:instant,file=disk --rw {rw}"),
        );
        assert!(
            said.contains("lost") && said.contains("--allow-write"),
            "{said}"
        );
    }
}

#[test]
fn one_device_with_data_keeps_all_of_them_unwritten() {
    let room = room();
    fs::write(room.path().join("disk"), [0x5a; 1 << 20]).expect("write");
    let said = refused(
        room.path(),
        "bench --device emulated:instant,file=new,size=1M --device emulated:instant,file=disk \
         --numjobs 2 --rw write",
    );
    assert!(said.contains("--allow-write"), "{said}");
}

#[test]
fn only_a_regular_file_is_a_namespace() {
    bench("--device emulated:instant,file=.", &["not a regular file"]);
    bench(
        "--device emulated:instant,file=.,size=1M --rw write",
        &["not a regular file"],
    );
    bench(
        "--device emulated:instant,file=/dev/null,size=1M --rw write",
        &["not a regular file"],
    );
}

#[test]
fn a_fifo_is_refused_and_not_waited_for() {
    let room = room();
    let fifo = room.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).expect("mkfifo");
    let mut command = joulio("bench --device emulated:instant,file=fifo --rw write");
    let assert = command
        .current_dir(room.path())
        .timeout(std::time::Duration::from_secs(30))
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr);
    assert!(said.contains("not a regular file"), "{said}");
}

#[test]
fn a_missing_file_without_a_size_is_not_created() {
    bench("--device emulated:instant,file=new", &["new", "size"]);
    for command in ["id-ctrl", "id-ns", "smart-log", "list"] {
        let said = refused(
            room().path(),
            &format!("{command} emulated:instant,file=new"),
        );
        assert!(said.contains("size"), "{said}");
    }
}

#[test]
fn a_file_is_not_left_behind_by_a_refused_command() {
    let new = "--device emulated:instant,file=new,size=1M";
    bench(&format!("{new} --iodepth 99999"), &["--iodepth"]);
    bench(&format!("{new} --bs 1000"), &["--bs"]);
    bench(&format!("{new} --size 2M"), &["--size"]);
    bench(
        &format!("{new} --device emulated:instant,file=other --numjobs 2"),
        &["other"],
    );
    bench(
        "--device emulated:instant,file=new,size=1000",
        &["size=1000", "512"],
    );
    bench(
        "--device emulated:instant,file=new,size=8388607t",
        &["new", "size"],
    );
}

#[test]
fn a_file_of_another_size_is_left_alone() {
    let room = room();
    fs::write(room.path().join("disk"), [0x5a; 4096]).expect("write");
    let said = refused(
        room.path(),
        "bench --device emulated:instant,file=disk,size=1M",
    );
    assert!(said.contains("4096") && said.contains("1048576"), "{said}");
}

#[test]
fn a_namespace_has_whole_blocks_of_a_size_there_is() {
    bench(
        "--device emulated:instant,lba=1000",
        &["1000", "512 or 4096"],
    );
    bench("--device emulated:instant,lba=0", &["512 or 4096"]);
    bench(
        "--device emulated:instant,size=0",
        &["size=0", "above zero"],
    );
    bench(
        "--device emulated:instant,size=512,lba=4096",
        &["size=512", "4096"],
    );
    bench("--device emulated:instant,size=x", &["'x'", "4k"]);
}

#[test]
fn an_unknown_parameter_of_a_device_is_answered_with_the_known_ones() {
    bench(
        "--device emulated:instant,fiel=x",
        &["fiel=x", "file=PATH", "lba="],
    );
    bench(
        &format!("--device pcie:{ABSENT},lba=512"),
        &["lba=512", "nsid=N"],
    );
}

#[test]
fn a_namespace_that_memory_cannot_hold_is_refused() {
    bench(
        "--device emulated:instant,size=8388607t",
        &["size=", "file=PATH"],
    );
}

#[test]
fn a_namespace_that_is_not_there_is_answered_with_those_that_are() {
    for nsid in ["0", "2", "4294967295"] {
        let said = refused(room().path(), &format!("id-ns emulated:instant -n {nsid}"));
        assert!(said.contains(nsid) && said.contains("it has: 1"), "{said}");
    }
}

#[test]
fn control_characters_of_a_name_do_not_reach_the_terminal() {
    let output = joulio("bench --device")
        .arg("emulated:\u{1b}[31m\nred")
        .assert()
        .code(2)
        .get_output()
        .stderr
        .clone();
    let said = String::from_utf8(output).expect("UTF-8");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
