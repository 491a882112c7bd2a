//! `joulio serve`: refused requests, and how it ends.

use crate::common::settings::{ended_by_many, full_pipe};
use crate::common::{failed, joulio, refused};
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Stdio};

/// Starts a server and waits until it listens.
fn serving(room: &Path, line: &str) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut child = crate::common::program()
        .args(line.split_whitespace())
        .current_dir(room)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    out.read_line(&mut said).unwrap();
    (child, out, said)
}

#[test]
fn what_cannot_be_served_is_refused_in_one_line() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("file"), "mine").unwrap();
    for (rest, says) in [
        ("--device pcie:0000:01:00.0 --socket s", "only an emulated"),
        ("--device emulated:nosuch --socket s", "nosuch"),
        (
            "--device emulated:instant,file=new,size=1m --socket file",
            "not a socket",
        ),
        (
            "--device emulated:instant,file=new,size=1m --socket s --cpu 100000",
            "CPU",
        ),
        (
            "--device emulated:instant,size=1m --socket no/dir",
            "no/dir",
        ),
        (
            "--device emulated:instant,size=1m --socket s --queues 0",
            "--queues",
        ),
        (
            "--device emulated:instant,size=1m --socket s --cpu 100000",
            "CPU",
        ),
        (
            "--device emulated:instant,size=1m --socket s --doorbells both",
            "both",
        ),
        (
            "--device emulated:instant,file=file,size=1m --socket s",
            "file",
        ),
        ("--device emulated:instant", "--socket"),
    ] {
        let said = refused(room.path(), &format!("serve {rest}"));
        assert!(said.contains(says), "{rest}: {said}");
    }
}

#[test]
fn a_link_to_a_disk_that_is_not_mounted_stays() {
    let room = tempfile::tempdir().unwrap();
    let link = room.path().join("disk");
    std::os::unix::fs::symlink("/nowhere/disk", &link).unwrap();
    let line = "serve --device emulated:instant,file=disk,size=1m --socket s";
    let said = refused(room.path(), line);
    assert!(said.contains("cannot create it"), "{said}");
    assert!(link.is_symlink());
}

#[test]
fn a_signal_ends_it_and_the_socket_with_it() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let room = tempfile::tempdir().unwrap();
        let line = "serve --device emulated:instant,size=1m --socket s --stats --doorbells trapped";
        let (mut child, mut out, said) = serving(room.path(), line);
        assert_eq!(
            said,
            "serving emulated:instant,size=1m at s, doorbells trapped\n"
        );
        assert!(room.path().join("s").exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(!room.path().join("s").exists());
        let mut stats = String::new();
        out.read_to_string(&mut stats).unwrap();
        assert!(stats.starts_with("clients=0 "), "{stats}");
    }
}

#[test]
fn a_second_signal_removes_the_socket_of_a_server_that_hangs() {
    let room = tempfile::tempdir().unwrap();
    // The output has no reader, and the pipe is full.
    let (_reader, writer) = full_pipe();
    let child = crate::common::program()
        .args("serve --device emulated:instant,size=1m --socket s".split_whitespace())
        .current_dir(room.path())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    crate::common::wait_for("socket", || room.path().join("s").exists().then_some(()));
    let (status, said) = ended_by_many(child, Signal::TERM);
    assert_eq!(status, Some(143), "{said}");
    assert!(!room.path().join("s").exists());
}

#[test]
fn a_socket_left_behind_is_replaced_and_one_in_use_is_not() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("s");
    drop(UnixListener::bind(&path).unwrap());
    let line = "serve --device emulated:instant,size=1m --socket s";
    let (mut child, _out, said) = serving(room.path(), line);
    assert!(said.starts_with("serving"));
    let said = failed(room.path(), line, 2);
    assert!(said.contains("another server"), "{said}");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(path.exists());
    let (mut child, _out, _) = serving(room.path(), line);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn help_says_that_a_mapped_doorbell_wakes_nobody() {
    joulio("serve --help")
        .assert()
        .success()
        .stdout(contains("wakes nobody"));
}
