//! Properties of the power model: parts add up, and scale with time.

use joulio_model::{
    CoreState, CountedIos, DeviceActivity, DeviceProfile, EnergyParts, MachineProfile, Pick,
    Residency, ServiceModel, TransferTotals, power,
};
use joulio_units::{Direction, Joules, Nanos};

const SECOND: Nanos = Nanos(1_000_000_000);

fn server() -> MachineProfile {
    MachineProfile::builtin("generic-server").unwrap()
}

fn optane() -> DeviceProfile {
    DeviceProfile::builtin("optane-900p").unwrap()
}

fn energy(
    machine: &MachineProfile,
    device: &DeviceProfile,
    cores: &[Residency],
    activity: &DeviceActivity,
) -> EnergyParts {
    let devices = [(device, *activity)];
    power::energy(machine, &devices, activity.window, cores, Pick::Value)
}

fn idle(window: Nanos) -> DeviceActivity {
    DeviceActivity {
        window,
        ..Default::default()
    }
}

/// Returns a window with every kind of activity, `n` times as long.
fn busy(n: u64) -> (Vec<Residency>, DeviceActivity) {
    let core = Residency {
        spin: Nanos(n * 300_000),
        kernel: Nanos(n * 100_000),
        blocked: Nanos(n * 200_000),
        slept: Nanos(n * 100_000),
        paused: Nanos(n * 200_000),
        monitored: Nanos(n * 100_000),
        smt_share: 0.1,
        wakes: n * 30,
        timer_wakes: n * 10,
        frequency: None,
    };
    let transfer = TransferTotals {
        ios: n * 50,
        bytes: n * 50 * 4096,
        service: Nanos(n * 50 * 7_000),
    };
    let window = Nanos(n * 1_000_000);
    (
        vec![core; 2],
        DeviceActivity {
            window,
            read: transfer,
            write: transfer,
            idle: None,
        },
    )
}

fn assert_close(got: Joules, want: f64) {
    assert!(
        (got.0 - want).abs() <= want.abs() * 1e-9,
        "got {got}, want {want} J"
    );
}

#[test]
fn an_idle_box_draws_its_base_and_its_idle_device() {
    let parts = energy(&server(), &optane(), &[], &idle(SECOND));
    assert_eq!(
        parts,
        EnergyParts {
            base: Joules(105.0),
            device: Joules(5.0),
            ..Default::default()
        }
    );
}

#[test]
fn the_parts_sum_to_the_total() {
    let (cores, activity) = busy(1);
    let parts = energy(&server(), &optane(), &cores, &activity);
    assert_close(
        parts.total(),
        parts.base.0 + parts.cores.0 + parts.uncore.0 + parts.wakes.0 + parts.device.0,
    );
    assert_close((parts + parts).total(), 2.0 * parts.total().0);
}

#[test]
fn energy_is_linear_in_time() {
    let of = |n| {
        let (cores, activity) = busy(n);
        energy(&server(), &optane(), &cores, &activity)
    };
    for (once, many) in [
        (of(1).base, of(7).base),
        (of(1).cores, of(7).cores),
        (of(1).uncore, of(7).uncore),
        (of(1).wakes, of(7).wakes),
        (of(1).device, of(7).device),
    ] {
        assert!(once.0 > 0.0);
        assert_close(many, 7.0 * once.0);
    }
}

#[test]
fn a_window_of_no_length_holds_no_energy() {
    let (_, activity) = busy(1);
    let parts = energy(
        &server(),
        &optane(),
        &[],
        &DeviceActivity {
            window: Nanos::ZERO,
            ..activity
        },
    );
    assert_eq!(parts, EnergyParts::default());
}

#[test]
fn a_core_pays_its_state_above_the_c6_in_base() {
    let machine = server();
    let c6 = machine.core_watts(CoreState::C6).0;
    let none = Residency::default();
    for (core, state) in [
        (
            Residency {
                spin: SECOND,
                ..none
            },
            CoreState::Spin,
        ),
        (
            Residency {
                kernel: SECOND,
                ..none
            },
            CoreState::Kernel,
        ),
        (
            Residency {
                blocked: SECOND,
                ..none
            },
            CoreState::C1e,
        ),
        (
            Residency {
                slept: SECOND,
                ..none
            },
            CoreState::C1,
        ),
        (
            Residency {
                paused: SECOND,
                ..none
            },
            CoreState::PauseC02,
        ),
        (
            Residency {
                monitored: SECOND,
                ..none
            },
            CoreState::Monitor,
        ),
    ] {
        assert_close(
            power::cores(&machine, &[core], Pick::Value),
            machine.core_watts(state).0 - c6,
        );
    }
}

#[test]
fn a_wait_that_the_cpu_does_not_have_saves_nothing() {
    let machine = MachineProfile::builtin("xeon-e3-1230v5").unwrap();
    for state in [CoreState::PauseC01, CoreState::PauseC02, CoreState::Monitor] {
        assert_eq!(
            machine.core_watts(state),
            machine.core_watts(CoreState::Spin)
        );
    }
}

#[test]
fn mwaitx_takes_the_same_power_for_a_time_and_for_a_cache_line() {
    let mut machine = server();
    let watts = &mut machine.core_watts;
    (watts.monitor, watts.pause_c01) = (watts.pause_c02.take(), None);
    machine.validate().unwrap();
    let [pause, monitor, spin] = [CoreState::PauseC02, CoreState::Monitor, CoreState::Spin]
        .map(|state| machine.core_watts(state));
    assert_eq!(pause, monitor);
    assert!(pause < spin, "{pause:?} and {spin:?}");
}

#[test]
fn each_wake_costs_its_price() {
    let machine = server();
    let core = Residency {
        wakes: 1_000,
        timer_wakes: 100,
        ..Default::default()
    };
    let want =
        1_000.0 * machine.wake.interrupt_joules.value + 100.0 * machine.wake.timer_joules.value;
    assert_close(power::wakes(&machine, &[core], Pick::Value), want);
}

#[test]
fn a_saturated_device_draws_its_active_power_and_no_more() {
    let profile = optane();
    let full = |bandwidth: f64| TransferTotals {
        bytes: bandwidth as u64,
        ..Default::default()
    };
    let (read, write) = (full(2.395e9), full(2.0e9));
    assert_close(
        power::device(
            &profile,
            &DeviceActivity {
                read,
                ..idle(SECOND)
            },
            Pick::Value,
        ),
        7.4,
    );
    assert_close(
        power::device(
            &profile,
            &DeviceActivity {
                write,
                ..idle(SECOND)
            },
            Pick::Value,
        ),
        13.0,
    );
    let both = DeviceActivity {
        read,
        write,
        ..idle(SECOND)
    };
    assert_close(
        power::device(&profile, &both, Pick::Value),
        (7.4 + 13.0) / 2.0,
    );
}

#[test]
fn the_busier_of_servers_and_link_counts() {
    let profile = optane();
    // Seven servers, each busy for all of the second.
    let read = TransferTotals {
        service: Nanos(7 * SECOND.0),
        ..Default::default()
    };
    assert_close(
        power::device(
            &profile,
            &DeviceActivity {
                read,
                ..idle(SECOND)
            },
            Pick::Value,
        ),
        7.4,
    );
    let half = TransferTotals {
        service: Nanos(7 * SECOND.0 / 2),
        ..Default::default()
    };
    assert_close(
        power::device(
            &profile,
            &DeviceActivity {
                read: half,
                ..idle(SECOND)
            },
            Pick::Value,
        ),
        6.2,
    );
}

#[test]
fn a_device_whose_ios_hold_a_channel_for_half_of_their_time_is_half_as_busy() {
    let mut profile = optane();
    profile.service.channel_share.as_mut().unwrap().value = 0.5;
    let draws = |in_service: f64| {
        let read = TransferTotals {
            service: Nanos::from_seconds(in_service * SECOND.seconds()),
            ..Default::default()
        };
        let activity = DeviceActivity {
            read,
            ..idle(SECOND)
        };
        power::device(&profile, &activity, Pick::Value)
    };
    // Seven servers: a quarter of the 2.4 W that reads add to 5 W.
    assert_close(draws(3.5), 5.6);
    // Twice as many I/Os in service as there are servers saturate it.
    assert_close(draws(14.0), 7.4);
    assert_close(draws(28.0), 7.4);
}

#[test]
fn a_second_thread_draws_its_share_of_a_running_core_and_none_of_a_halted_one() {
    let machine = server();
    let (cores, _) = busy(1);
    let one = Residency {
        smt_share: 0.0,
        ..cores[0]
    };
    let halted = Residency {
        blocked: one.blocked,
        slept: one.slept,
        ..Residency::default()
    };
    let joules = |core| power::cores(&machine, &[core], Pick::Value).0;
    let running = joules(one) - joules(halted);
    assert_close(
        power::cores(&machine, &cores[..1], Pick::Value),
        joules(one) + 0.1 * running,
    );
    let uncore = |core| power::uncore(&machine, &[core], Pick::Value);
    assert_eq!(uncore(cores[0]), uncore(one));
}

#[test]
fn a_device_that_slept_idled_for_less() {
    let (device, window) = (optane(), SECOND);
    let awake = power::device(&device, &idle(window), Pick::Value);
    let slept = DeviceActivity {
        idle: Some(Joules(0.5)),
        ..idle(window)
    };
    assert_close(power::device(&device, &slept, Pick::Value), 0.5);
    assert_close(awake, device.power.idle_watts.value);
}

#[test]
fn what_a_kernel_counted_costs_what_the_profile_says_of_so_many_ios() {
    let device = optane();
    let counted = |outstanding: Nanos| CountedIos {
        ios: 10_000,
        bytes: 10_000 * 512,
        outstanding,
    };
    let of = |outstanding| {
        let read = counted(outstanding);
        let activity = DeviceActivity::counted(&device, SECOND, read, CountedIos::default());
        (activity, power::device(&device, &activity, Pick::Value).0)
    };
    let (activity, joules) = of(SECOND);
    let alone = ServiceModel::new(&device, 0).mean(Direction::Read, 512);
    let read = TransferTotals {
        ios: 10_000,
        bytes: 10_000 * 512,
        service: Nanos(alone.0 * 10_000),
    };
    assert_eq!(
        (activity.read, activity.write),
        (read, TransferTotals::default())
    );
    let idle = device.power.idle_watts.value;
    assert!(joules > idle, "{joules}");
    // Answered by a cache: the device cannot have worked for longer than the kernel waited.
    let (activity, cached) = of(Nanos::from_millis(1));
    assert_eq!(activity.read.service, Nanos::from_millis(1));
    assert!(idle < cached && cached < joules, "{cached}");
    // Without I/O the device is idle.
    let none = CountedIos::default();
    let nothing = DeviceActivity::counted(&device, SECOND, none, none);
    assert_close(power::device(&device, &nothing, Pick::Value), idle);
}

#[test]
fn an_io_larger_than_a_command_is_several() {
    let device = optane();
    let max = u64::from(device.max_transfer());
    let of = |ios: u64, bytes: u64| {
        let read = CountedIos {
            ios,
            bytes,
            outstanding: SECOND,
        };
        let none = CountedIos::default();
        DeviceActivity::counted(&device, SECOND, read, none)
            .read
            .service
    };
    assert_eq!(of(1, 4 * max), of(4, 4 * max));
}
