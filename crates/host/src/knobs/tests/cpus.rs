//! Claims about settings of all CPUs.

use super::*;

#[test]
fn idle_states_deeper_than_the_one_named_are_switched_off_on_every_cpu() {
    let machine = FakeMachine::with_cpus();
    let knobs = machine.knobs();
    let disabled = || {
        let all = idle_states(machine.root()).into_iter();
        all.map(|(_, states)| {
            states
                .iter()
                .map(|s| s.disabled == Some(true))
                .collect::<Vec<_>>()
        })
        .collect::<Vec<_>>()
    };
    let reading = knobs.read(&Knob::MaxCstate).unwrap();
    assert_eq!(reading.value, "C6");
    assert_eq!(reading.allowed.to_string(), "C0, POLL, C1, C1E, C6");
    // One that was off already is off again afterwards.
    machine.put("sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "1");
    assert_eq!(knobs.read(&Knob::MaxCstate).unwrap().value, "C6, C1E");
    for (name, off) in [
        ("C0", [false, true, true, true]),
        ("C1", [false, false, true, true]),
        ("C6", [false; 4]),
    ] {
        let change = made(&knobs, &Knob::MaxCstate, name);
        assert_eq!(disabled(), [off; 2], "{name}");
        assert_eq!(knobs.restore(&change).unwrap(), []);
        assert_eq!(disabled(), [[false; 4], [false, false, false, true]]);
    }
    let latency = idle_states(machine.root())[0].1[3].latency;
    assert_eq!(latency, Some(joulio_units::Nanos::from_micros(133)));
    assert!(knobs.plan(&Knob::MaxCstate, "C7").is_err());
}

#[test]
fn a_cpu_that_went_is_reported_and_the_others_are_restored() {
    let machine = FakeMachine::with_cpus();
    let change = made(&machine.knobs(), &Knob::MaxCstate, "C1");
    std::fs::remove_dir_all(machine.root().join("sys/devices/system/cpu/cpu1/cpuidle")).unwrap();
    let left = machine.knobs().restore(&change).unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(machine.knobs().read(&Knob::MaxCstate).unwrap().value, "C6");
}

#[test]
fn the_governor_is_set_on_every_policy_and_restored_with_the_preference() {
    let machine = FakeMachine::with_cpus();
    let file = |cpu, name| format!("sys/devices/system/cpu/cpufreq/policy{cpu}/{name}");
    let change = made(&machine.knobs(), &Knob::Governor, "performance");
    for cpu in 0..2 {
        assert_eq!(machine.get(&file(cpu, "scaling_governor")), "performance");
        machine.put(&file(cpu, "energy_performance_preference"), "performance");
    }
    assert_eq!(machine.knobs().restore(&change).unwrap(), []);
    for cpu in 0..2 {
        assert_eq!(machine.get(&file(cpu, "scaling_governor")), "powersave");
        let preference = machine.get(&file(cpu, "energy_performance_preference"));
        assert_eq!(preference, "balance_performance");
    }
    assert!(machine.knobs().plan(&Knob::Governor, "schedutil").is_err());
}

#[test]
fn the_highest_frequency_is_set_on_every_policy_and_restored() {
    let machine = FakeMachine::with_cpus();
    let file = |cpu| format!("sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_max_freq");
    machine.put(&file(1), "3000000");
    let knobs = machine.knobs();
    let reading = knobs.read(&Knob::MaxFrequency).unwrap();
    assert_eq!(reading.value, "3900000, 3000000");
    let change = made(&knobs, &Knob::MaxFrequency, "1200000");
    assert_eq!([0, 1].map(|cpu| machine.get(&file(cpu))), ["1200000"; 2]);
    assert_eq!(knobs.restore(&change).unwrap(), []);
    let back = [0, 1].map(|cpu| machine.get(&file(cpu)));
    assert_eq!(back, ["3900000", "3000000"]);
    for khz in ["700000", "4000000", "fast"] {
        let refused = knobs.plan(&Knob::MaxFrequency, khz).unwrap_err();
        assert!(
            refused.to_string().contains("800000 to 3900000"),
            "{refused}"
        );
    }
}

#[test]
fn umwait_is_set_and_restored() {
    let machine = FakeMachine::new();
    machine.put("sys/devices/system/cpu/umwait_control/enable_c02", "1");
    machine.put("sys/devices/system/cpu/umwait_control/max_time", "100000");
    let [c02, time] = UmwaitSetting::ALL.map(|setting| Knob::Umwait { setting });
    let knobs = machine.knobs();
    let changes = [made(&knobs, &c02, "0"), made(&knobs, &time, "0")];
    let value = |knob| knobs.read(knob).unwrap().value;
    assert_eq!([value(&c02), value(&time)], ["0", "0"]);
    assert!(
        knobs
            .plan(&time, "5")
            .unwrap_err()
            .to_string()
            .contains("steps of 4")
    );
    for change in changes.iter().rev() {
        assert_eq!(knobs.restore(change).unwrap(), []);
    }
    assert_eq!([value(&c02), value(&time)], ["1", "100000"]);
}

#[test]
fn the_latency_is_held_as_long_as_it_is_wanted() {
    let machine = FakeMachine::new();
    machine.put("dev/cpu_dma_latency", "");
    let held = CpuLatency::hold(machine.root(), 20).unwrap();
    assert_eq!(held.microseconds(), 20);
    assert_eq!(cpu_latency(machine.root()).unwrap(), 20);
}
