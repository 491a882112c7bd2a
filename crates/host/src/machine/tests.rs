//! Claims about what is read, on a tree in a folder and on this machine.

use super::*;
use crate::machine::disk;
use crate::testing::FakeMachine;
use joulio_kernel_io::Queue;
use serde_json::{Value, json};

fn disk(name: &str, controllers: &[&str]) -> Disk {
    Disk {
        name: name.into(),
        controllers: controllers.iter().map(|&c| c.into()).collect(),
        queue: Queue::default(),
    }
}

fn in_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn cpus_with_all_files_are_read_whole() {
    let made = FakeMachine::with_cpus();
    for (file, text) in [
        (
            "proc/cpuinfo",
            "processor : 0\nmodel name\t: A CPU: fast\nmicrocode\t: 0x2b\n\nmodel name\t: B",
        ),
        (
            "proc/cmdline",
            "quiet mitigations=auto mitigations=off,x root=/dev/vda",
        ),
        (
            "sys/devices/system/cpu/cpuidle/current_driver",
            "intel_idle",
        ),
        ("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu"),
        ("sys/devices/system/cpu/umwait_control/enable_c02", "1"),
        ("sys/devices/system/cpu/umwait_control/max_time", "100000"),
        (
            "sys/devices/system/cpu/vulnerabilities/meltdown",
            "Not affected",
        ),
        (
            "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
            "3",
        ),
        ("sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "1"),
    ] {
        made.put(file, text);
    }
    let cpu = in_json(&Cpu::read(made.root()));
    for (key, value) in [
        ("model", json!("A CPU: fast")),
        ("microcode", json!("0x2b")),
        ("governor", json!("powersave")),
        ("idle_driver", json!("intel_idle")),
        ("idle_governor", json!("menu")),
        ("umwait_c02", json!("1")),
        ("umwait_max_cycles", json!("100000")),
        ("mitigations", json!("off,x")),
        (
            "vulnerabilities",
            json!([{ "name": "meltdown", "state": "Not affected" }]),
        ),
        (
            "throttles",
            json!({ "counts": { "cpu0/core_throttle_count": 3 } }),
        ),
    ] {
        assert_eq!(cpu[key], json!({ "value": value }), "{key}");
    }
    let c6 = json!({ "name": "C6", "latency_ns": 133_000, "cpus": 2, "disabled_on": 1 });
    assert_eq!(cpu["idle_states"]["value"][3], c6);
}

#[test]
fn what_is_absent_is_null_with_a_reason() {
    let made = tempfile::tempdir().unwrap();
    let machine = in_json(&Machine::read(made.path(), &[]));
    assert!(machine["kernel"]["reason"].is_string());
    let cpu = machine["cpu"].as_object().unwrap();
    assert_eq!(cpu.len(), 11);
    for (name, known) in cpu {
        assert!(
            known["value"].is_null() && known["reason"].is_string(),
            "{name}: {known}"
        );
    }
    let settings = in_json(&disk::DiskSettings::read(made.path(), &disk("d", &[])));
    let known = settings.as_object().unwrap().values().skip(2);
    assert_eq!(known.clone().count(), 12);
    for known in known {
        assert!(
            known["value"].is_null() && known["reason"].is_string(),
            "{known}"
        );
    }
}

#[test]
fn a_disk_is_read_with_its_queues_and_where_its_interrupts_go() {
    let made = FakeMachine::with_disk();
    for (file, text) in [
        ("sys/block/d/mq/0/cpu_list", "0"),
        ("sys/block/d/mq/10/cpu_list", "1"),
        ("sys/block/d/device/model", "A disk"),
        ("sys/module/nvme/parameters/poll_queues", "1"),
        (
            "proc/interrupts",
            "  CPU0 CPU1\n 30: 9 0 PCI-MSIX 0-edge nvme0q0\n 31: 9 0 PCI-MSIX 1-edge nvme0q1",
        ),
        ("proc/irq/31/smp_affinity_list", "0-1"),
        ("proc/irq/31/effective_affinity_list", "1"),
    ] {
        made.put(file, text);
    }
    let known = in_json(&disk::DiskSettings::read(
        made.root(),
        &disk("d", &["nvme0"]),
    ));
    for (key, value) in [
        ("scheduler", json!("mq-deadline")),
        ("nr_requests", json!("256")),
        ("hardware_queues", json!(2)),
        ("poll_queues", json!(1)),
        ("model", json!("A disk")),
    ] {
        assert_eq!(known[key], json!({ "value": value }), "{key}");
    }
    let line = json!([{
        "irq": 31,
        "description": "PCI-MSIX 1-edge nvme0q1",
        "allowed_cpus": { "value": "0-1" },
        "effective_cpus": { "value": "1" },
    }]);
    assert_eq!(known["interrupts"]["value"], line);
    assert!(known["bus_power_state"]["reason"].is_string());
}

#[test]
fn this_machine_is_read_with_a_file_of_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let machine = Machine::read(
        "/",
        &[file.path(), Path::new("/nowhere"), Path::new("/dev/null")],
    );
    assert!(machine.kernel.value.is_some());
    assert_eq!(machine.files.len(), 1);
    assert_eq!(machine.files[0].file, file.path());
}
