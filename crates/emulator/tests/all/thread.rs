//! The device's own thread: it parks, it wakes, and while parked it does nothing at all.

use crate::common::{Host, enabled, options, slow_options, transfer};
use joulio_device::{Device, Doorbell};
use joulio_emulator::{EmulatedDevice, EmulatorError, Fault, Options};
use joulio_nvme_spec::register::{CC, Cc};
use joulio_nvme_spec::{Command, CommandId, NvmOpcode, QueueId};
use std::thread::{sleep, yield_now};
use std::time::Duration;

/// Waits until the thread is parked. It must not have slept with a timeout before: then each sleep but the present one
/// has ended in a wake.
fn wait_for_park(host: &Host) {
    loop {
        let activity = host.device.activity();
        if activity.parks == activity.wakes + 1 {
            return;
        }
        yield_now();
    }
}

/// Executes `cause`, which wakes the thread once, while it is parked; it must park again soon.
fn parks_again(host: &Host, cause: impl FnOnce()) {
    wait_for_park(host);
    let before = host.device.activity();
    cause();
    loop {
        let now = host.device.activity();
        let polls = now.doorbell_polls - before.doorbell_polls;
        assert!(polls < 100, "it polls on: {polls} doorbells");
        if now.wakes > before.wakes && now.parks == now.wakes + 1 {
            return;
        }
        yield_now();
    }
}

fn read_and_wait(host: &Host, pair: &mut crate::common::Pair, cid: u16) {
    let buffer = host.buffer(4096);
    pair.submit(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    loop {
        if let Some(completion) = pair.reap() {
            assert_eq!(completion.command_id(), CommandId(cid));
            assert!(completion.status().is_success());
            return;
        }
        yield_now();
    }
}

#[test]
fn an_idle_device_polls_no_doorbell() {
    let mut host = Host::spawned(&options());
    let mut pair = host.pair(1, 16, None);
    read_and_wait(&host, &mut pair, 1);
    wait_for_park(&host);
    let parked = host.device.activity();
    sleep(Duration::from_millis(200));
    assert_eq!(host.device.activity(), parked);
    assert!(parked.doorbell_polls > 0);
}

#[test]
fn a_parked_device_wakes_for_every_doorbell() {
    let mut options = options();
    options.linger = joulio_units::Nanos::ZERO;
    let mut host = Host::spawned(&options);
    let mut pair = host.pair(1, 16, None);
    for cid in 0..200 {
        read_and_wait(&host, &mut pair, cid);
        wait_for_park(&host);
    }
    let activity = host.device.activity();
    assert!(activity.wakes >= 200, "{activity:?}");
}

/// Rings race with parking in every order that the scheduler produces.
#[test]
fn no_command_is_left_behind_by_a_device_that_parks_at_once() {
    let mut options = options();
    options.linger = joulio_units::Nanos::ZERO;
    let mut host = Host::spawned(&options);
    let mut pair = host.pair(1, 16, None);
    for round in 0..20_000u32 {
        read_and_wait(&host, &mut pair, round as u16);
        for _ in 0..round % 97 {
            std::hint::spin_loop();
        }
    }
}

#[test]
fn heads_wake_a_device_only_when_it_waits_for_them() {
    let mut host = Host::spawned(&options());
    let mut pair = host.pair(1, 16, None);
    let mut narrow = crate::common::Pair::new(&host.device, 2, 4);
    let mut create = Command::create_completion_queue(QueueId(2), 4, None);
    create.prp1.set(narrow.completion.iova().0);
    host.must(create);
    let mut create = Command::create_submission_queue(QueueId(2), 16, QueueId(2));
    create.prp1.set(pair.submission.iova().0);
    host.must(create);
    let buffer = host.buffer(4096);
    for cid in 0..9 {
        pair.write(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
    }
    narrow.tail.ring(9);
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.extend(narrow.peek().map(|completion| completion.cid.get()));
        yield_now();
    }
    wait_for_park(&host);
    narrow.free();
    while seen.len() < 9 {
        seen.extend(narrow.reap_all().iter().map(|cid| cid.0));
        yield_now();
    }
    assert_eq!(seen, (0..9).collect::<Vec<u16>>());

    wait_for_park(&host);
    let parked = host.device.activity();
    narrow.free();
    sleep(Duration::from_millis(20));
    assert_eq!(host.device.activity(), parked);
}

#[test]
fn a_device_that_waits_for_a_far_completion_sleeps_and_still_takes_new_commands() {
    let mut options = slow_options();
    // A thousand seconds: however long this test has no CPU, the read is not over.
    options.profile.service.read[0].us.value = 1e9;
    let mut host = Host::spawned(&options);
    let mut pair = host.pair(1, 16, None);
    let buffer = host.buffer(4096);
    wait_for_park(&host);
    let before = host.device.activity().parks;
    pair.submit(1, transfer(NvmOpcode::READ, 0, 1, &buffer));
    while host.device.activity().parks == before {
        yield_now();
    }
    pair.submit(2, transfer(NvmOpcode::WRITE, 0, 1, &buffer));
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = pair.reap_all();
        yield_now();
    }
    assert_eq!(seen, [CommandId(2)]);
}

#[test]
fn doorbells_of_a_controller_that_does_not_run_do_not_keep_its_thread_awake() {
    for fault in [Fault::Cfs, Fault::Removed] {
        let mut host = Host::spawned(&options());
        let pair = host.pair(1, 16, None);
        parks_again(&host, || host.device.inject(fault));
        parks_again(&host, || pair.tail.ring(1));
        parks_again(&host, || host.admin.tail.ring(5));
    }
    let mut host = Host::spawned(&options());
    wait_for_park(&host);
    host.device.write32(CC, 0);
    parks_again(&host, || host.admin.tail.ring(5));
    // It notices all the same that it is enabled.
    host.enable();
    let mut pair = host.pair(1, 16, None);
    read_and_wait(&host, &mut pair, 1);
}

#[test]
fn doorbells_of_commands_that_have_to_wait_do_not_keep_the_thread_awake() {
    let mut options = slow_options();
    // A thousand seconds, two at a time: the others wait in their queues.
    options.profile.service.read[0].us.value = 1e9;
    options.weighted_round_robin = true;
    let mut host = Host::spawned(&options);
    host.device.write32(CC, 0);
    host.enable_as(enabled().with_ams(Cc::WEIGHTED));
    let mut pairs = [1, 2].map(|qid| host.pair(qid, 16, None));
    let buffer = host.buffer(4096);
    for pair in &mut pairs {
        for cid in 0..3 {
            pair.write(cid, transfer(NvmOpcode::READ, 0, 1, &buffer));
        }
    }
    for pair in &pairs {
        parks_again(&host, || pair.ring());
    }
}

#[test]
fn a_device_can_be_reset_again_and_again() {
    let mut host = Host::spawned(&options());
    for round in 0..200 {
        let mut pair = host.pair(1, 8, None);
        read_and_wait(&host, &mut pair, round);
        host.device.write32(CC, 0);
        host.enable();
    }
}

#[test]
fn the_thread_has_a_name_and_an_identifier_and_ends_with_the_last_device() {
    let host = Host::spawned(&options());
    let id = host.device.thread_id().unwrap();
    let comm = format!("/proc/self/task/{id}/comm");
    assert_eq!(std::fs::read_to_string(&comm).unwrap(), "joulio-device\n");
    let clone = host.device.clone();
    let doorbell = clone.doorbell(0x1000).unwrap();
    drop(host);
    assert!(std::fs::exists(&comm).unwrap());
    let memory = clone.allocate(4096).unwrap();
    drop(clone);
    // A thread that was joined may be in /proc a moment longer; one that runs stays there.
    while std::fs::exists(&comm).unwrap() {
        yield_now();
    }
    doorbell.ring(1);
    drop(memory);
}

#[test]
fn the_thread_runs_on_the_cpu_it_is_bound_to() {
    let spawn = |cpu| {
        let options = Options {
            cpus: vec![cpu],
            ..options()
        };
        EmulatedDevice::spawn(&options)
    };
    let device = spawn(0).unwrap();
    let id = device.thread_id().unwrap();
    let status = std::fs::read_to_string(format!("/proc/self/task/{id}/status")).unwrap();
    let allowed = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"));
    assert_eq!(allowed.unwrap().split_whitespace().last(), Some("0"));
    for cpu in [1023, usize::MAX] {
        assert!(matches!(spawn(cpu), Err(EmulatorError::Cpus { .. })));
    }
}
