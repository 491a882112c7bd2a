//! `joulio selftest`: without the hardware support it reports what is missing, and does not succeed. Tests with the
//! hardware run in a guest (`guests/bochs`).

use crate::common::{failed, json, refused};
use std::fs;
use tempfile::tempdir;

/// Returns true if the kernel lists `flag` for this CPU.
fn has(flag: &str) -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").expect("Linux");
    info.split_whitespace().any(|word| word == flag)
}

#[test]
fn a_machine_without_the_instructions_shows_which_it_lacks() {
    if has("waitpkg") || has("mwaitx") {
        let report = json("selftest tpause --rounds 10");
        assert_eq!(report["selftest"], "tpause");
        assert_eq!(report["passed"], true);
        return;
    }
    let room = tempdir().expect("a temporary directory");
    for what in ["tpause", "umwait --output json"] {
        let said = refused(room.path(), &format!("selftest {what}"));
        assert!(said.contains("WAITPKG (CPUID 7.0:ECX[5])"), "{said}");
    }
}

#[test]
fn without_user_interrupts_or_their_module_nothing_passes() {
    if fs::exists("/dev/joulio_uintr").expect("a file or none") {
        return;
    }
    let room = tempdir().expect("a temporary directory");
    let said = failed(room.path(), "selftest uintr", 2);
    let missing = if has("waitpkg") {
        ["CPUID 7.0:EDX[5]", "load kmod/joulio_uintr"]
    } else {
        ["this CPU has no", "CPUID 7.0:"]
    };
    assert!(
        missing.iter().any(|missing| said.contains(missing)),
        "{said}"
    );
}

#[test]
fn a_device_is_not_read_where_its_completions_cannot_be_waited_for_as_requested() {
    let room = tempdir().expect("a temporary directory");
    for (what, flag) in [
        ("tpause", "waitpkg"),
        ("umwait", "waitpkg"),
        ("uintr", "uintr"),
    ] {
        if has(flag) || has("mwaitx") {
            continue;
        }
        let said = refused(
            room.path(),
            &format!("selftest {what} --device emulated:instant,size=1M"),
        );
        assert!(said.contains("CPUID 7.0:"), "{what}: {said}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let room = tempdir().expect("a temporary directory");
    for (line, says) in [
        ("selftest everything", "tpause, umwait, uintr"),
        ("selftest tpause --rounds 0", "--rounds"),
        ("selftest tpause --seconds 500ms", "at least 1 s"),
        (
            "selftest tpause --cpu 1023",
            "CPU 1023 is not one that this process may use",
        ),
        ("selftest tpause --meter nope", "--meter"),
        ("selftest uintr --device nvme0n1", "pcie:0000:01:00.0"),
        ("selftest uintr --device /dev/nvme0n1", "pcie:0000:01:00.0"),
        ("selftest uintr --device pcie:zz", "not a PCI address"),
        ("selftest uintr --device pcie:ffff:ff:1f.7", "lspci"),
        (
            "selftest umwait --device emulated:instant --store-cpu 1",
            "--store-cpu",
        ),
    ] {
        let said = refused(room.path(), line);
        assert!(said.contains(says), "{line}: {said}");
    }
}
