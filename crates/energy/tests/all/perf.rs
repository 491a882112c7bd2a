//! RAPL through perf events, on captured machines.

use crate::common::*;
use joulio_energy::{Discovery, FindingState, MeterKind, Meters, PerfEvent, Root, Select};
use joulio_units::{Joules, Nanos};
use std::io;
use std::sync::Arc;

fn discover(root: &Root) -> Discovery {
    Meters::discover(root, &Select::all())
}

#[test]
fn perf_is_preferred_and_opened_once_a_package() {
    let tree = server_with_perf();
    let perf = Arc::new(FakePerf::counting([0]));
    let discovery = discover(&tree.root().with_perf(perf.clone()));
    assert_eq!(
        readable(&discovery),
        [
            "perf:package-0",
            "perf:package-1",
            "perf:dram-0",
            "perf:dram-1"
        ]
    );
    assert_eq!(
        *state(&discovery, "powercap:dram-1"),
        FindingState::Unused {
            why: "the same zone as perf:dram-1".into()
        }
    );
    let event = |config, cpu| PerfEvent {
        pmu: 24,
        config,
        cpu,
    };
    assert_eq!(
        *perf.opened.lock().unwrap(),
        [event(2, 0), event(2, 28), event(3, 0), event(3, 28)]
    );
}

#[test]
fn without_the_permission_for_perf_powercap_is_read() {
    let tree = server_with_perf();
    let discovery = discover(&tree.root().with_perf(denied_perf()));
    assert_eq!(readable(&discovery).len(), 4);
    assert!(
        readable(&discovery)
            .iter()
            .all(|name| name.starts_with("powercap:"))
    );
    let FindingState::Unreadable {
        allow: Some(allow), ..
    } = state(&discovery, "perf:package-0")
    else {
        panic!("{:?}", discovery.others);
    };
    assert!(
        allow.contains("setcap cap_perfmon=ep") && allow.contains("perf_event_paranoid"),
        "{allow}"
    );
}

#[test]
fn a_captured_tree_opens_no_event_of_this_machine() {
    let tree = server_with_perf();
    let discovery = discover(&tree.root());
    assert!(
        readable(&discovery)
            .iter()
            .all(|name| name.starts_with("powercap:"))
    );
    assert!(matches!(
        state(&discovery, "perf:dram-0"),
        FindingState::Unreadable { allow: None, .. }
    ));
}

#[test]
fn the_step_of_a_perf_counter_is_learnt_from_its_counts() {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "")
        .pmu(&[("energy-psys", 5)], &[(0, 0)]);
    // The hardware's 2^-14 J, shifted up by 18; at first the numbers of steps are even.
    let counts = [0, 4 << 18, 6 << 18, 7 << 18, 8 << 18];
    let perf = Arc::new(FakePerf::counting(counts));
    let clock = TestClock::at(SECOND);
    let root = tree.root().with_perf(perf).with_clock(clock);
    let mut discovery = discover(&root);
    assert_eq!(
        step(&discovery),
        Joules(1.0),
        "nothing seen: the coarsest that there is"
    );
    let _ = discovery.meters.open_unsampled();
    let learnt: Vec<_> = (0..3)
        .map(|_| {
            discovery.meters.open_unsampled().tick();
            step(&discovery)
        })
        .collect();
    assert_eq!(learnt.last(), Some(&Joules(1.0 / 16384.0)));
}

fn step(discovery: &Discovery) -> Joules {
    match kind(discovery, "perf:psys-0") {
        MeterKind::Counter { step, .. } => step,
        MeterKind::Power { .. } => panic!("RAPL counts"),
    }
}

#[test]
fn a_pmu_that_makes_no_sense_is_unreadable() {
    for (file, text) in [
        ("cpumask", "0-"),
        ("cpumask", "0-4294967295"),
        ("cpumask", "5-2"),
        ("type", "power"),
    ] {
        let tree = server_with_perf();
        tree.file(&format!("/sys/bus/event_source/devices/power/{file}"), text);
        let discovery = discover(&tree.root().with_perf(Arc::new(FakePerf::counting([0]))));
        assert!(
            matches!(
                state(&discovery, "perf:power"),
                FindingState::Unreadable { .. }
            ),
            "{text}"
        );
    }
    for (file, text) in [
        ("energy-pkg", "event=2"),
        ("energy-pkg.scale", "0"),
        ("energy-pkg.scale", "inf"),
        ("energy-pkg.unit", "Frogs"),
    ] {
        let tree = server_with_perf();
        tree.file(
            &format!("/sys/bus/event_source/devices/power/events/{file}"),
            text,
        );
        let discovery = discover(&tree.root().with_perf(Arc::new(FakePerf::counting([0]))));
        assert!(
            matches!(
                state(&discovery, "perf:package-0"),
                FindingState::Unreadable { .. }
            ),
            "{text}"
        );
        assert!(readable(&discovery).contains(&"powercap:package-0".to_owned()));
    }
}

#[test]
fn a_perf_counter_whose_cpu_is_gone_is_gone() {
    let tree = server_with_perf();
    let perf = Arc::new(FakePerf::counting([0]));
    let clock = TestClock::at(SECOND);
    let root = tree
        .root()
        .with_perf(perf.clone())
        .with_clock(clock.clone());
    let mut discovery = discover(&root);
    let window = discovery.meters.open_unsampled();
    clock.advance(Nanos(2 * SECOND.0));
    perf.wire.lock().unwrap()[0] = Err(io::ErrorKind::UnexpectedEof.into());
    for measured in window.close(None) {
        let error = measured.figure.expect_err("it was removed");
        assert!(
            error.to_string().ends_with("removed, or switched off"),
            "{error}"
        );
    }
}
