//! Claims about changes, on trees in folders.

mod cpus;

use super::*;
use crate::testing::FakeMachine;
use proptest::prelude::*;

fn scheduler() -> Knob {
    Knob::queue("d", Setting::Scheduler)
}

fn made(knobs: &Knobs, knob: &Knob, value: &str) -> KnobPlan {
    let change = knobs.plan(knob, value).unwrap();
    knobs.make(&change).unwrap();
    change
}

#[test]
fn every_setting_of_a_queue_is_read_set_and_restored() {
    for (setting, old, new) in [
        (Setting::Scheduler, "mq-deadline", "kyber"),
        (Setting::NrRequests, "256", "64"),
        (Setting::Nomerges, "0", "2"),
        (Setting::RqAffinity, "1", "2"),
        (Setting::IoPoll, "0", "1"),
        (Setting::IoPollDelay, "-1", "4"),
        (Setting::WbtLatUsec, "2000", "0"),
    ] {
        let machine = FakeMachine::with_disk();
        let (knobs, knob) = (machine.knobs(), Knob::queue("d", setting));
        let reading = knobs.read(&knob).unwrap();
        assert_eq!(reading.value, old);
        assert!(reading.allowed.has(new), "{knob}: {}", reading.allowed);
        let change = made(&knobs, &knob, new);
        assert_eq!(knobs.read(&knob).unwrap().value, new);
        assert_eq!(change.old(), old);
        assert_eq!(knobs.restore(&change).unwrap(), []);
        assert_eq!(knobs.read(&knob).unwrap().value, old);
    }
}

#[test]
fn what_is_not_allowed_is_refused_and_nothing_is_changed() {
    let machine = FakeMachine::with_disk();
    let knobs = machine.knobs();
    for (setting, value, says) in [
        (
            Setting::Scheduler,
            "cfq",
            "it can be none, mq-deadline, kyber",
        ),
        (Setting::NrRequests, "3", "4 to"),
        (Setting::NrRequests, "0064", "4 to"),
        (Setting::NrRequests, "many", "4 to"),
        (Setting::Nomerges, "3", "0, 1, 2"),
        (Setting::IoPollDelay, "-2", "-1 to"),
        (Setting::WbtLatUsec, "-1", "0 to"),
    ] {
        let before = machine.queue(setting.file());
        let error = knobs.plan(&Knob::queue("d", setting), value).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(says) && error.contains(value), "{error}");
        assert_eq!(machine.queue(setting.file()), before);
    }
}

#[test]
fn what_is_absent_says_why() {
    let machine = FakeMachine::with_disk();
    std::fs::remove_file(machine.root().join("sys/block/d/queue/wbt_lat_usec")).unwrap();
    let said = |knob| machine.knobs().read(&knob).unwrap_err().to_string();
    assert!(said(Knob::queue("d", Setting::WbtLatUsec)).contains("no such file"));
    for disk in ["e", "", "..", "../block/d"] {
        let said = said(Knob::Queue {
            disk: disk.into(),
            setting: Setting::Scheduler,
        });
        assert!(said.contains("no such disk"), "{said}");
    }
    assert!(said(Knob::Governor).contains("no cpufreq driver"));
    assert!(said(Knob::MaxCstate).contains("no cpuidle driver"));
    for setting in UmwaitSetting::ALL {
        assert!(said(Knob::Umwait { setting }).contains("WAITPKG"));
    }
    let no_latency = cpu_latency(machine.root()).unwrap_err();
    assert!(no_latency.to_string().contains("cpu_dma_latency"));
}

/// The kernel makes a scheduler's settings anew when it is changed.
#[test]
fn what_a_new_scheduler_resets_is_restored_with_the_old_one() {
    let machine = FakeMachine::with_disk();
    machine.put("sys/block/d/queue/nr_requests", "512");
    let change = made(&machine.knobs(), &scheduler(), "kyber");
    machine.put("sys/block/d/queue/nr_requests", "128");
    machine.put("sys/block/d/queue/wbt_lat_usec", "0");
    machine.put("sys/block/d/queue/iosched/read_expire", "1");
    machine.put("sys/block/d/queue/iosched/new", "1");
    assert_eq!(machine.knobs().restore(&change).unwrap(), []);
    let found = ["scheduler", "nr_requests", "wbt_lat_usec"].map(|name| machine.queue(name));
    assert_eq!(found, ["mq-deadline", "512", "2000"]);
    assert_eq!(machine.queue("iosched/read_expire"), "500");
    assert_eq!(machine.queue("iosched/new"), "1");
}

#[test]
fn a_second_attempt_restores_what_the_first_one_could_not() {
    let machine = FakeMachine::with_disk();
    let change = made(&machine.knobs(), &scheduler(), "kyber");
    let restoring = machine.knobs().restoring(&change).unwrap();
    // Journals of earlier versions have this name.
    let text = serde_json::to_string(&restoring).unwrap();
    assert!(text.contains("\"undoing\":true"), "{text}");
    let requests = machine.root().join("sys/block/d/queue/nr_requests");
    std::fs::remove_file(&requests).unwrap();
    std::os::unix::fs::symlink("/dev/null", &requests).unwrap();
    assert!(machine.knobs().restore(&change).is_err());
    assert_eq!(machine.queue("scheduler"), "mq-deadline");
    std::fs::remove_file(&requests).unwrap();
    machine.put("sys/block/d/queue/nr_requests", "128");
    assert_eq!(machine.knobs().restore(&restoring).unwrap(), []);
    assert_eq!(machine.queue("nr_requests"), "256");
    // What writes nothing needs no other record.
    assert_eq!(machine.knobs().restoring(&restoring), None);
    assert_eq!(machine.knobs().restoring(&change), None);
}

#[test]
fn a_change_that_was_only_planned_is_restored_by_doing_nothing() {
    let machine = FakeMachine::with_disk();
    let change = machine.knobs().plan(&scheduler(), "kyber").unwrap();
    assert_eq!(machine.knobs().restore(&change).unwrap(), []);
    assert_eq!(machine.queue("scheduler"), "none [mq-deadline] kyber");
    // And what somebody else does meanwhile is not ours.
    machine.put("sys/block/d/queue/nr_requests", "7");
    let left = machine.knobs().restore(&change).unwrap();
    assert!(
        matches!(&left[..], [LeftAlone::Beside { now, .. }] if now == "7"),
        "{left:?}"
    );
    assert_eq!(machine.queue("nr_requests"), "7");
}

#[test]
fn what_somebody_else_has_changed_is_reported_and_left() {
    let machine = FakeMachine::with_disk();
    let change = made(&machine.knobs(), &scheduler(), "kyber");
    machine.put("sys/block/d/queue/scheduler", "[none] mq-deadline");
    let left = machine.knobs().restore(&change).unwrap();
    let foreign = LeftAlone::Foreign {
        file: "sys/block/d/queue/scheduler".into(),
        now: "none".into(),
        old: "mq-deadline".into(),
        new: "kyber".into(),
    };
    assert_eq!(left, [foreign]);
    assert_eq!(machine.queue("scheduler"), "[none] mq-deadline");
}

#[test]
fn a_device_that_went_and_one_that_came_in_its_place_are_left() {
    let machine = FakeMachine::with_disk();
    let change = made(&machine.knobs(), &scheduler(), "kyber");
    machine.unplug();
    let left = machine.knobs().restore(&change).unwrap();
    assert!(matches!(&left[..], [LeftAlone::Removed { .. }]), "{left:?}");
    machine.put("sys/block/d/queue/scheduler", "[kyber]");
    let left = machine.knobs().restore(&change).unwrap();
    assert!(matches!(&left[..], [LeftAlone::Another { .. }]), "{left:?}");
    assert_eq!(machine.queue("scheduler"), "[kyber]");
}

#[test]
fn after_a_new_start_nothing_is_left_of_it() {
    let machine = FakeMachine::with_disk();
    let change = made(&machine.knobs(), &scheduler(), "kyber");
    machine.put("proc/sys/kernel/random/boot_id", "second");
    assert_eq!(
        machine.knobs().restore(&change).unwrap(),
        [LeftAlone::Restarted]
    );
    assert_eq!(machine.queue("scheduler"), "kyber");
}

#[test]
fn a_value_that_the_kernel_does_not_keep_is_an_error_and_does_not_stay() {
    // A file that keeps nothing, as io_poll since 5.19.
    let machine = FakeMachine::with_disk();
    let path = machine.root().join("sys/block/d/queue/io_poll");
    let change = {
        let knob = Knob::queue("d", Setting::IoPoll);
        machine.knobs().plan(&knob, "1").unwrap()
    };
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let error = machine.knobs().make(&change).unwrap_err().to_string();
    assert!(error.contains("1 was written and"), "{error}");
}

#[test]
fn a_change_is_written_down_and_read_again() {
    let machine = FakeMachine::with_disk();
    let change = made(&machine.knobs(), &scheduler(), "kyber");
    let text = serde_json::to_string(&change).unwrap();
    let read: KnobPlan = serde_json::from_str(&text).unwrap();
    assert_eq!(read, change);
    // One that somebody else wrote does not reach other files.
    for strange in ["etc/passwd", "sys/block/d/queue/../../e/queue/scheduler"] {
        let text = text.replace("sys/block/d/queue/scheduler", strange);
        let read: KnobPlan = serde_json::from_str(&text).unwrap();
        let error = machine.knobs().restore(&read).unwrap_err();
        assert!(matches!(error, KnobError::ForeignFile { .. }), "{error}");
    }
    assert_eq!(machine.knobs().restore(&change).unwrap(), []);
}

#[test]
fn every_setting_has_a_name_of_its_own() {
    for knob in Knob::all(Some("d")) {
        assert_eq!(Knob::by_name(knob.name(), Some("d")), Some(knob));
    }
    assert_eq!(Knob::by_name("colour", Some("d")), None);
    assert_eq!(
        Knob::queue("cciss/c0d0", Setting::IoPoll).disk(),
        Some("cciss!c0d0")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_panics_and_what_it_sets_is_restored(text in "[\\[\\] a-z0-9-]{0,30}", value in "[a-z0-9-]{0,9}") {
        let machine = FakeMachine::with_disk();
        for setting in Setting::ALL {
            machine.put(&format!("sys/block/d/queue/{}", setting.file()), &text);
        }
        for knob in Knob::all(Some("d")) {
            let Ok(change) = machine.knobs().plan(&knob, &value) else { continue };
            let before = machine.knobs().read(&knob).unwrap().value;
            let _ = machine.knobs().make(&change);
            machine.knobs().restore(&change).unwrap();
            prop_assert_eq!(machine.knobs().read(&knob).unwrap().value, before);
        }
    }
}
