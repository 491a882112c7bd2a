//! Requests that would do nothing are refused, instead of doing nothing with status 0.

use crate::common::machine::{file, guest, server};
use crate::common::{joulio, refused_with};
use std::fs;
use tempfile::tempdir;

#[test]
fn settings_of_a_disk_that_is_not_there_are_not_shown() {
    let tree = guest();
    let root = tree.path().display();
    refused_with(
        &format!("knobs nope --root {root}"),
        &["no disk 'nope'", "there is none"],
    );
    fs::create_dir_all(tree.path().join("sys/block/vdb")).expect("made");
    fs::create_dir_all(tree.path().join("sys/block/vda")).expect("made");
    for disk in ["nope", "/dev/nope", "../..", "/", "vd"] {
        refused_with(
            &format!("knobs {disk} --root {root}"),
            &["no disk", "there are vda, vdb"],
        );
    }
    refused_with(
        &format!("knobs nope --root {root} --set scheduler=bfq --for 1"),
        &["no disk 'nope'"],
    );
    joulio(&format!("knobs vda --root {root}"))
        .assert()
        .success();
    refused_with("knobs --root /nowhere", &["--root", "not a folder"]);
}

#[test]
fn no_lines_are_not_shown_and_no_time_is_not_waited() {
    refused_with("stat --count 0", &["--count", "at least 1"]);
    refused_with("power --watch --count 0", &["--count", "at least 1"]);
    refused_with(
        "knobs --set max-cstate=C1 --for 0",
        &["--for", "above zero"],
    );
    refused_with(
        "power-states emulated:instant --set 0 --for 0",
        &["--for", "above zero"],
    );
}

#[test]
fn a_server_whose_hosts_could_do_nothing_is_not_begun() {
    let serve = "serve --device emulated:instant,size=1M --socket s";
    refused_with(
        &format!("{serve} --max-regions 0"),
        &["--max-regions", "from 1"],
    );
    refused_with(&format!("{serve} --max-memory 0"), &["--max-memory", "4k"]);
}

#[test]
fn a_meter_that_is_requested_and_cannot_be_had_is_reported() {
    let tree = guest();
    file(&tree, "proc/diskstats", "");
    let root = tree.path().display();
    for command in [
        "stat --count 1",
        "bench --device emulated:instant,size=1M --number_ios 1",
        "power --watch",
        "power --idle 1",
    ] {
        for (word, why) in [
            ("perf", "virtual machine"),
            ("powercap", "virtual machine"),
            ("hwmon", "no /sys/class/hwmon"),
            ("psys", "there is none here"),
            ("nvme", "no "),
        ] {
            if word == "nvme" && command.starts_with("bench") {
                // The bench's device has such a meter.
                continue;
            }
            refused_with(
                &format!("{command} --root {root} --meter {word}"),
                &["--meter: no meter can be read for", word, why],
            );
        }
    }
    let tree = server();
    file(&tree, "proc/diskstats", "");
    let root = tree.path().display();
    refused_with(
        &format!("stat --count 1 --root {root} --meter package,dram"),
        &["no meter can be read for 'dram'"],
    );
    // The list of meters shows why there is none.
    joulio(&format!("power --root {root} --meter dram"))
        .assert()
        .success();
    joulio(&format!(
        "stat --count 1 --root {root} --meter package,wall"
    ))
    .assert()
    .success();
}

#[test]
fn a_device_that_has_no_meter_is_reported_when_it_is_named() {
    for word in ["nvme", "device", "nvme:emulated:hdd-7200"] {
        refused_with(
            &format!(
                "bench --device emulated:hdd-7200 --number_ios 1 --faults drop@0 --meter {word}"
            ),
            &["--meter: no meter can be read for", word],
        );
    }
}

#[test]
fn options_of_an_engine_that_is_not_used_are_not_taken() {
    for option in [
        "--fixedbufs",
        "--registerfiles",
        "--sqthread_poll_cpu 0",
        "--sqthread_poll_idle 10",
    ] {
        refused_with(
            &format!("bench --device emulated:instant --number_ios 1 {option}"),
            &["--sqthread_*", "io_uring", "--engine"],
        );
    }
}

#[test]
fn io_that_a_device_does_not_do_is_not_played() {
    let grid = "twin grid --machine generic-server --iodepth 1 --numjobs 1 --rwmixread 100 \
                --load closed --number_ios 1000 --ramp_time 1ms";
    for (bs, hint) in [
        ("1", "1 is not a multiple"),
        ("4k,513", "513 is not a multiple"),
        ("2G", "at most 1073741824"),
    ] {
        refused_with(
            &format!("{grid} --device optane-900p --bs {bs}"),
            &["bs: ", hint],
        );
    }
}

#[test]
fn files_that_do_not_end_or_begin_are_not_read() {
    let room = tempdir().expect("a temporary directory");
    let at = |name: &str| room.path().join(name);
    std::os::unix::fs::symlink("/dev/zero", at("zero.toml")).expect("a link");
    fs::create_dir(at("folder.toml")).expect("made");
    let modes = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo.toml"), modes).expect("made");
    for name in ["zero.toml", "folder.toml", "fifo.toml"] {
        let path = at(name);
        let path = path.display();
        for line in [
            format!("profiles {path}"),
            format!("bench --number_ios 1 --machine {path}"),
            format!("bench --number_ios 1 --device emulated:{path}"),
        ] {
            refused_with(&line, &[name, "not a regular file"]);
        }
    }
    refused_with(
        "bench --number_ios 1 --device emulated:instant --idle-baseline /dev/zero",
        &["/dev/zero", "idle baseline"],
    );
}
