//! If a device does not answer admin commands, the wait ends after `--io_timeout`, or when the user interrupts it.

use crate::common::{begin, interrupt, wait_for};
use std::fs;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::process::{Child, Output};
use tempfile::tempdir;

const BENCH: &str = "bench --device emulated:instant,size=1m --completion poll --number_ios 2000";

/// Returns the output of the command after it has ended by itself, within half a minute, which is half of the driver's
/// own limit.
fn ended(child: Child) -> (Output, String) {
    let output = crate::common::ended(child);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn has_device(child: &Child) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id()));
    tasks.into_iter().flatten().flatten().any(|task| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "joulio-device\n")
    })
}

#[test]
fn a_controller_that_does_not_answer_when_it_is_opened_is_given_up_in_time() {
    let line = format!("{BENCH} --io_timeout 10ms --faults admin-stuck@0s");
    let (output, said) = ended(begin(&line));
    assert!(!output.status.success());
    assert!(
        said.contains("Identify Controller") && said.contains("1000 ms"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn an_abort_that_is_not_answered_ends_in_a_reset_in_time() {
    let line =
        format!("{BENCH} --io_timeout 100ms --max_retries 1 --faults admin-stuck@#100,drop@#101");
    let (output, said) = ended(begin(&line));
    assert!(output.status.success(), "{said}");
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(table.contains("1 controller resets"), "{table}");
}

#[test]
fn opening_a_controller_that_does_not_answer_is_ended_by_a_signal() {
    let line = format!("{BENCH} --io_timeout 3600 --faults admin-stuck@0s");
    let child = begin(&line);
    wait_for("device", || has_device(&child).then_some(()));
    interrupt(&child);
    let (output, said) = ended(child);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.starts_with("joulio: ended by SIGINT; "), "{said}");
    assert!(said.contains("stopped"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_server_that_never_answers_is_not_waited_for_after_a_signal() {
    let room = tempdir().expect("a temporary directory");
    let socket = room.path().join("s");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let child = begin(&format!("power --device vfio-user:{}", socket.display()));
    let (mut client, _) = listener.accept().expect("a client");
    // The first message has been sent: signals are handled, and the command waits for the reply.
    client.read_exact(&mut [0; 16]).expect("a header");
    interrupt(&child);
    let (output, said) = ended(child);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.starts_with("joulio: ended by SIGINT; "), "{said}");
    // The message of the full timeout must not appear: the wait was cut short.
    assert!(!said.contains("within 5 s"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
