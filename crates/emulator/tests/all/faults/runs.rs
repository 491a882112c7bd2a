//! Runs of many commands with faults at rates: the same seed gives the same faults, and nothing
//! is left of them after a reset.

use super::{Faulty, faulty, good};
use crate::common::{Host, PAGE, options, slow_options, transfer};
use joulio_device::{Device, Doorbell};
use joulio_emulator::{Fault, FaultPlan, Faulted};
use joulio_nvme_spec::register::CSTS;
use joulio_nvme_spec::{Command, CommandId, NvmOpcode, QueueId, Status};
use joulio_units::Nanos;
use std::thread::yield_now;
use std::time::{Duration, Instant};

const RUN: &str = "status@0.01,late=20us@0.02,double@0.02,reorder@0.02,stale@0.02,unknown@0.02,\
                   lost-irq@0.02,spurious-irq@0.02,flip@0.01,drop@0.01";

/// Runs `commands` reads at a depth of 6, and returns every completion in order, with identifier and status. A command
/// that does not complete is aborted.
fn run(seed: u64, commands: u32) -> (Vec<(CommandId, Status)>, Faulted, Faulty) {
    let mut options = slow_options();
    options.faults = format!("seed={seed},{RUN}").parse().unwrap();
    let mut faulty = Faulty::with(&options);
    let mut outstanding: Vec<(u16, u64)> = Vec::new();
    let mut seen = Vec::new();
    let (mut submitted, mut completed, mut now) = (0, 0, 0);
    while completed < commands {
        while outstanding.len() < 6 && submitted < commands {
            let cid = (submitted % 1000) as u16;
            faulty.submit(NvmOpcode::READ, cid);
            outstanding.push((cid, now));
            submitted += 1;
        }
        now += 5_000;
        for (cid, status) in faulty.step(now) {
            seen.push((cid, status));
            if let Some(at) = outstanding.iter().position(|&(o, _)| o == cid.0) {
                outstanding.remove(at);
                completed += 1;
            }
        }
        for &(cid, since) in &outstanding {
            if now - since > 3_000_000 {
                let abort = Command::abort(QueueId(1), CommandId(cid));
                assert_eq!(faulty.host.must(abort).dw0.get(), 0, "{cid}");
            }
        }
    }
    let done = faulty.done();
    (seen, done, faulty)
}

#[test]
fn the_same_seed_gives_the_same_faults() {
    let (first, done, _) = run(1, 2000);
    let (again, done_again, _) = run(1, 2000);
    assert!(first == again && done == done_again);
    let (other, _, _) = run(2, 2000);
    assert!(first != other);
}

#[test]
fn ten_thousand_commands_with_faults_leave_nothing_behind() {
    let (seen, done, mut faulty) = run(3, 10_000);
    let extra = done.doubled + done.stale + done.unknown;
    let Faulted {
        status,
        dropped,
        late,
        reordered,
        flipped,
        ..
    } = done;
    for count in [status, dropped, late, reordered, flipped, done.doubled] {
        assert!(count > 10, "{done:?}");
    }
    assert!(done.stale > 10 && done.unknown > 10, "{done:?}");
    // Every command completes once, whatever else is posted.
    assert_eq!(seen.len() as u64, 10_000 + extra);
    let aborted = seen.iter().filter(|(_, s)| *s == Status::ABORT_REQUESTED);
    assert!(aborted.count() as u64 >= dropped);

    faulty.host.device.plan_faults(&FaultPlan::default());
    faulty.start_again();
    clean_run(&mut faulty);
}

/// Runs as many commands as the queue takes at a time, many times over: each completes once.
fn clean_run(faulty: &mut Faulty) {
    let before = faulty.done();
    for round in 0..1000 {
        let cids: Vec<u16> = (round * 7..(round + 1) * 7).collect();
        for &cid in &cids {
            faulty.submit(NvmOpcode::READ, cid);
        }
        let later = (1 << 60) + u64::from(round) * 1_000_000;
        assert_eq!(faulty.step(later), []);
        let done: Vec<_> = cids.into_iter().map(good).collect();
        assert_eq!(faulty.step(later + 100_000), done);
    }
    assert_eq!(faulty.done(), before);
    assert_eq!(faulty.host.step(u64::MAX).next, None);
}

#[test]
fn a_thread_wakes_for_its_faults() {
    let mut options = faulty("late=30ms@#1,reorder@#2");
    options.linger = Nanos::ZERO;
    let began = Instant::now();
    let mut host = Host::spawned(&options);
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    for cid in 1..=2 {
        pair.write(cid, transfer(NvmOpcode::READ, 0, 8, &buffer));
    }
    // Both at once: a slow test thread does not make the second late.
    pair.tail.ring(2);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen.extend(pair.reap_all());
        yield_now();
    }
    assert_eq!(seen, [CommandId(2), CommandId(1)]);
    // The clock of faults began after this one: it is parked until then.
    let soon = began.elapsed() + Duration::from_millis(20);
    let plan = format!("removed@{}ms", soon.as_millis());
    host.device.plan_faults(&plan.parse().unwrap());
    while host.device.read32(CSTS) != u32::MAX {
        yield_now();
    }
    let parked = host.device.activity();
    let expected = Faulted {
        late: 1,
        removed: 1,
        ..Faulted::default()
    };
    assert_eq!(parked.faults, expected);
}

#[test]
fn a_fault_injected_into_a_parked_device_takes_effect_at_once() {
    let mut host = Host::spawned(&options());
    let mut pair = host.pair(1, 8, None);
    let buffer = host.buffer(PAGE);
    host.device.inject(Fault::Late(Nanos::from_millis(5)));
    pair.submit(1, transfer(NvmOpcode::READ, 0, 8, &buffer));
    while pair.reap().is_none() {
        yield_now();
    }
    host.device.inject(Fault::Removed);
    assert_eq!(host.device.read32(CSTS), u32::MAX);
}

#[test]
fn a_plan_for_a_parked_device_wakes_it_in_time() {
    let mut host = Host::spawned(&options());
    let _pair = host.pair(1, 8, None);
    host.device.plan_faults(&"full@1000s".parse().unwrap());
    host.device.plan_faults(&"removed@50ms".parse().unwrap());
    while host.device.read32(CSTS) != u32::MAX {
        yield_now();
    }
}
