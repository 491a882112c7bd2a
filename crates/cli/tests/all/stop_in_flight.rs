//! A run whose device no longer answers ends soon after a signal, whatever the timeout of its I/Os.

use crate::common::{begin, ended, interrupt, wait_for};
use std::fs;
use std::process::Child;

/// Returns true if the job is blocked waiting for an interrupt: its I/Os are in flight.
fn waits_for_interrupts(child: &Child) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id()));
    tasks.into_iter().flatten().flatten().any(|task| {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        // ppoll (x86-64), or a kernel that does not show the system call.
        let call = read("syscall");
        read("comm") == "joulio-job-0\n" && (call.is_empty() || call.starts_with("271 "))
    })
}

fn ends_when_signalled(more: &str) {
    let line = format!(
        "bench --device emulated:instant,size=1m --completion interrupt,poll --iodepth 4 \
         --runtime 3600 --io_timeout 3600 --faults drop {more}"
    );
    let child = begin(&line);
    wait_for("I/O in flight", || {
        waits_for_interrupts(&child).then_some(())
    });
    interrupt(&child);
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    // The run is reported like any other that a signal ended, with what the device did.
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.starts_with("joulio: ended by SIGINT; cut short: nvme interrupt")
            && said.contains("; not run: nvme poll")
            && said.lines().count() == 1,
        "{said}"
    );
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("in flight") || said.contains("had not ended"),
        "{table}{said}"
    );
    assert!(table.contains("completion"), "{table}{said}");
}

#[test]
fn ios_in_flight_on_a_device_that_drops_them_are_not_waited_for() {
    ends_when_signalled("--rw randread");
}

#[test]
fn nor_are_those_of_the_pass_that_lays_out_what_is_verified() {
    ends_when_signalled("--rw randrw --verify crc32c --allow-write");
}
