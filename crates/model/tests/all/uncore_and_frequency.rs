//! Power of the uncore by activity, and of a core by frequency.

use joulio_model::{
    CoreState, DeviceActivity, DeviceProfile, FrequencyRatio, MachineProfile, Pick, Residency,
    TransferTotals, power,
};
use joulio_units::{Joules, Nanos};

const SECOND: Nanos = Nanos(1_000_000_000);

fn machine(name: &str) -> MachineProfile {
    MachineProfile::builtin(name).unwrap()
}

fn spinning(time: Nanos) -> Residency {
    Residency {
        spin: time,
        ..Residency::default()
    }
}

fn at(ratio: f64) -> Residency {
    Residency {
        frequency: Some(FrequencyRatio::new(ratio).unwrap()),
        ..spinning(SECOND)
    }
}

fn assert_close(got: Joules, want: f64) {
    assert!(
        (got.0 - want).abs() <= want.abs() * 1e-9,
        "got {got}, want {want} J"
    );
}

/// Returns a core with all kinds of activity, unevenly.
fn mixed(part: u64) -> Residency {
    Residency {
        spin: Nanos(part * 31),
        kernel: Nanos(part * 7),
        blocked: Nanos(part * 41),
        slept: Nanos(part * 5),
        paused: Nanos(part * 11),
        monitored: Nanos(part * 3),
        smt_share: 0.0,
        wakes: part / 1_000,
        timer_wakes: part / 3_000,
        frequency: None,
    }
}

/// Computes the model as it was before it had frequency and the uncore's activity.
fn plain(
    machine: &MachineProfile,
    device: &DeviceProfile,
    cores: &[Residency],
    activity: &DeviceActivity,
) -> f64 {
    let window = activity.window.seconds();
    let watts = &machine.core_watts;
    let or_spin = |figure: &Option<joulio_model::Figure>| {
        figure.as_ref().map_or(watts.spin.value, |f| f.value)
    };
    let uncore = machine.uncore_watts.as_ref().map_or(0.0, |f| f.value);
    let longest = cores.iter().map(|c| c.total().seconds());
    let longest = longest.fold(0.0, f64::max);
    let mut joules = machine.base_watts.value * window + uncore * longest;
    for core in cores {
        for (watts_in_state, time) in [
            (watts.spin.value, core.spin),
            (watts.kernel.value, core.kernel),
            (watts.c1e.value, core.blocked),
            (watts.c1.value, core.slept),
            (or_spin(&watts.monitored().cloned()), core.paused),
            (or_spin(&watts.monitored().cloned()), core.monitored),
        ] {
            joules += (watts_in_state - watts.c6.value) * time.seconds();
        }
        joules += machine.wake.interrupt_joules.value * core.wakes as f64;
        joules += machine.wake.timer_joules.value * core.timer_wakes as f64;
    }
    let share = device.service.channel_share.as_ref();
    let share = share.map_or(1.0, |share| share.value);
    let servers = device.parallelism().get() as f64 / share;
    let used = |transfer: &TransferTotals, bandwidth: Option<f64>| {
        let moved = bandwidth.map_or(0.0, |b| transfer.bytes as f64 / (b * window));
        (transfer.service.seconds() / (servers * window)).max(moved)
    };
    let read = used(&activity.read, device.service.read_bytes_per_second());
    let write = used(&activity.write, device.service.write_bytes_per_second());
    let scale = 1.0 / (read + write).max(1.0);
    let power = &device.power;
    let idle = power.idle_watts.value;
    let working = (power.read_active_watts.value - idle) * read * scale
        + (power.write_active_watts.value - idle) * write * scale;
    joules + activity.idle.map_or(idle * window, |joules| joules.0) + working * window
}

#[test]
fn at_the_reference_and_without_uncore_activity_it_is_the_plain_formula() {
    let cores = [mixed(10_000_000), mixed(7_000_000), at(1.0)];
    for machine_name in MachineProfile::names() {
        for device_name in DeviceProfile::names() {
            for idle in [None, Some(Joules(0.75))] {
                let mut machine = machine(machine_name);
                machine.uncore_active_watts = None;
                let device = DeviceProfile::builtin(device_name).unwrap();
                let activity = DeviceActivity {
                    window: SECOND,
                    read: TransferTotals {
                        ios: 1,
                        bytes: 300_000_000,
                        service: Nanos(200_000_000),
                    },
                    write: TransferTotals {
                        ios: 1,
                        bytes: 100_000_000,
                        service: Nanos(900_000_000),
                    },
                    idle,
                };
                let devices = [(&device, activity)];
                let got = power::energy(&machine, &devices, SECOND, &cores, Pick::Value);
                let want = plain(&machine, &device, &cores, &activity);
                assert_close(got.total(), want);
            }
        }
    }
}

#[test]
fn the_uncore_is_awake_once_for_as_long_as_the_longest_core() {
    let mut machine = machine("xeon-e3-1230v5");
    machine.uncore_active_watts = None;
    let awake = machine.uncore_watts.as_ref().unwrap().value;
    let blocked = Residency {
        blocked: SECOND,
        ..Residency::default()
    };
    let cores = [spinning(Nanos(SECOND.0 / 2)), blocked];
    assert_close(power::uncore(&machine, &cores, Pick::Value), awake);
    assert_eq!(power::uncore(&machine, &[], Pick::Value), Joules(0.0));
}

#[test]
fn the_uncore_is_active_by_the_share_of_the_cores_that_are_busy() {
    let mut machine = machine("xeon-e3-1230v5");
    machine.uncore_watts = None;
    let active = machine.uncore_active_watts.as_ref().unwrap().value;
    let of = |cores: &[Residency]| power::uncore(&machine, cores, Pick::Value);
    let halted = Residency {
        blocked: SECOND,
        paused: SECOND,
        ..Residency::default()
    };
    assert_eq!(of(&[halted]), Joules(0.0));
    let in_kernel = Residency {
        kernel: SECOND,
        ..Residency::default()
    };
    assert_close(of(&[in_kernel]), active / 4.0);
    assert_close(of(&[spinning(SECOND); 2]), active / 2.0);
    assert_close(of(&[spinning(SECOND); 4]), active);
    // Eight threads on four cores: all cores are busy, and not more than that.
    assert_close(of(&[spinning(SECOND); 8]), active);
}

#[test]
fn a_machine_at_full_load_draws_what_its_figures_were_derived_from() {
    // HS23: 52 W between load and idle, 2.4 W of which are the device's.
    let machine = machine("xeon-e3-1230v5");
    let kernel = Residency {
        kernel: SECOND,
        ..Residency::default()
    };
    let cores = [kernel; 4];
    let above_base = power::cores_in_full(&machine, &cores, Pick::Value)
        + power::uncore(&machine, &cores, Pick::Value);
    assert_close(above_base, 52.0 - 2.4);
}

#[test]
fn the_reference_frequency_changes_nothing() {
    for name in MachineProfile::names() {
        let machine = machine(name);
        for pick in [Pick::Low, Pick::Value, Pick::High] {
            let (unknown, reference) = (spinning(SECOND), at(1.0));
            assert_eq!(
                power::cores(&machine, &[unknown], pick),
                power::cores(&machine, &[reference], pick)
            );
        }
    }
}

#[test]
fn a_slower_core_draws_its_static_share_and_a_power_of_the_rest() {
    let machine = machine("generic-server");
    let law = machine.frequency.as_ref().unwrap();
    let (share, spin) = (law.static_share.value, machine.core_watts.spin.value);
    assert_eq!(law.exponent.value, 2.0);
    for ratio in [0.5, 2.0] {
        let want = spin * (share + (1.0 - share) * ratio * ratio);
        let got = power::cores_in_full(&machine, &[at(ratio)], Pick::Value);
        assert_close(got, want);
    }
}

#[test]
fn waiting_never_costs_more_than_spinning_at_any_frequency() {
    for name in MachineProfile::names() {
        let machine = machine(name);
        for ratio in [0.05, 0.2, 0.5, 1.0, 1.8] {
            let ratio = FrequencyRatio::new(ratio);
            let watts = |state| machine.core_watts_at(state, ratio, Pick::Value);
            for state in [
                CoreState::PauseC01,
                CoreState::PauseC02,
                CoreState::Monitor,
                CoreState::C1,
                CoreState::C1e,
                CoreState::C6,
            ] {
                assert!(watts(state) <= watts(CoreState::Spin), "{name} {state:?}");
                assert!(watts(state).0 > 0.0);
            }
        }
    }
}

#[test]
fn a_ratio_that_no_clock_has_is_none() {
    for ratio in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-3, 1e3] {
        assert_eq!(FrequencyRatio::new(ratio), None, "{ratio}");
    }
    let machine = machine("generic-server");
    let ratio = machine.frequency_ratio(1.05e9).map(FrequencyRatio::get);
    assert_eq!(ratio, Some(0.5));
    assert_eq!(machine.frequency_ratio(0.0), None);
}

#[test]
fn a_run_that_cannot_say_its_frequency_reports_so() {
    let mut machine = machine("generic-server");
    assert_eq!(
        machine
            .frequency_note(&[at(0.5), spinning(SECOND)])
            .unwrap(),
        "core frequency not known: watts are those of generic-server at 2.1 GHz"
    );
    assert_eq!(machine.frequency_note(&[at(0.5)]), None);
    assert_eq!(machine.frequency_note(&[]), None);
    machine.frequency = None;
    assert_eq!(
        machine.frequency_note(&[at(0.5)]).unwrap(),
        "core watts are those of generic-server, whatever the frequency: \
         the profile has no [frequency]"
    );
}

#[test]
fn an_uncore_or_a_law_of_impossible_numbers_is_refused_by_the_name_of_the_field() {
    fn set(figure: &mut Option<joulio_model::Figure>, value: f64) {
        let figure = figure.as_mut().unwrap();
        (figure.value, figure.band) = (value, None);
    }
    for (change, want) in [
        (
            (|m| set(&mut m.uncore_active_watts, -1.0)) as fn(&mut MachineProfile),
            "uncore_active_watts must be from 0 to 10000 watts, is -1",
        ),
        (
            |m| m.frequency.as_mut().unwrap().reference_hertz.value = 0.0,
            "frequency.reference_hertz must be from 1000000 to 100000000000 hertz, is 0",
        ),
        (
            |m| m.frequency.as_mut().unwrap().static_share.band = Some([0.2, 1.2]),
            "frequency.static_share.band must be from 0 to 1, is [0.2, 1.2]",
        ),
        (
            |m| m.frequency.as_mut().unwrap().exponent.band = Some([1.0, 9.0]),
            "frequency.exponent.band must be from 0 to 4, is [1, 9]",
        ),
    ] {
        let mut machine = machine("generic-server");
        change(&mut machine);
        let message = machine.validate().unwrap_err().to_string();
        assert_eq!(message, format!("generic-server: {want}"));
    }
}
