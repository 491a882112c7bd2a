//! Properties of a band: it contains the value, and a wider band of a figure never makes that of an energy
//! narrower.

use std::sync::LazyLock;

use joulio_model::{
    DeviceActivity, DeviceProfile, Figure, FrequencyRatio, MachineProfile, Pick, Residency,
    TransferTotals, power,
};
use joulio_units::{Band, Joules, Nanos};
use proptest::prelude::*;

const WINDOW: Nanos = Nanos(1_000_000_000);

fn time() -> impl Strategy<Value = Nanos> {
    (0..=WINDOW.0 / 6).prop_map(Nanos)
}

fn residency() -> impl Strategy<Value = Residency> {
    let times = (time(), time(), time(), time(), time(), time());
    let law = (prop::option::of(0.2..3.0f64), 0.0..0.3f64);
    (times, 0..200_000u64, 0..200_000u64, law).prop_map(|(times, wakes, timer_wakes, law)| {
        let (spin, kernel, blocked, slept, paused, monitored) = times;
        let (ratio, smt_share) = law;
        Residency {
            spin,
            kernel,
            blocked,
            slept,
            paused,
            monitored,
            smt_share,
            wakes,
            timer_wakes,
            frequency: ratio.and_then(FrequencyRatio::new),
        }
    })
}

fn transfer() -> impl Strategy<Value = TransferTotals> {
    (0..8_000_000_000u64, 0..40 * WINDOW.0).prop_map(|(bytes, service)| TransferTotals {
        ios: 0,
        bytes,
        service: Nanos(service),
    })
}

/// Returns activity in which power states saved up to nine tenths of the idle energy, or were not used.
fn activity() -> impl Strategy<Value = (TransferTotals, TransferTotals, Option<f64>)> {
    (transfer(), transfer(), prop::option::of(0.1..1.0))
}

fn activity_of(
    device: &DeviceProfile,
    (read, write, slept): (TransferTotals, TransferTotals, Option<f64>),
) -> DeviceActivity {
    DeviceActivity {
        window: WINDOW,
        read,
        write,
        idle: slept.map(|share| Joules(share * (device.power.idle_watts.watts() * WINDOW).0)),
    }
}

fn energy(
    machine: &MachineProfile,
    device: &DeviceProfile,
    activity: DeviceActivity,
    cores: &[Residency],
    pick: Pick,
) -> Joules {
    let devices = [(device, activity)];
    power::energy(machine, &devices, WINDOW, cores, pick).total()
}

/// Pairs of every built-in machine with every built-in device.
static BUILTIN: LazyLock<Vec<(MachineProfile, DeviceProfile)>> = LazyLock::new(|| {
    let devices = || DeviceProfile::names().map(|name| DeviceProfile::builtin(name).unwrap());
    let machines = MachineProfile::names().map(|name| MachineProfile::builtin(name).unwrap());
    machines
        .flat_map(|machine| devices().map(move |device| (machine.clone(), device)))
        .collect()
});

/// Returns every figure of a machine that contributes to an energy, and every figure of a device.
fn figures<'a>(
    machine: &'a mut MachineProfile,
    device: &'a mut DeviceProfile,
) -> Vec<&'a mut Figure> {
    let (core, wake, power) = (
        &mut machine.core_watts,
        &mut machine.wake,
        &mut device.power,
    );
    let mut figures = vec![
        &mut machine.base_watts,
        &mut core.spin,
        &mut core.kernel,
        &mut core.c1,
        &mut core.c1e,
        &mut core.c6,
        &mut wake.interrupt_joules,
        &mut wake.timer_joules,
        &mut power.idle_watts,
        &mut power.read_active_watts,
        &mut power.write_active_watts,
    ];
    figures.extend(machine.uncore_watts.as_mut());
    figures.extend(machine.uncore_active_watts.as_mut());
    figures.extend(core.pause_c01.as_mut());
    figures.extend(core.pause_c02.as_mut());
    figures.extend(core.monitor.as_mut());
    let law = machine.frequency.iter_mut();
    figures.extend(law.flat_map(|law| [&mut law.static_share, &mut law.exponent]));
    figures
}

/// Error that rounding may add to a sum of such sums.
const ROUNDING: f64 = 1e-9;

proptest! {
    #[test]
    fn the_band_holds_the_value_for_every_machine_and_device(
        cores in prop::collection::vec(residency(), 0..6),
        activity in activity(),
    ) {
        for (machine, device) in BUILTIN.iter() {
            let activity = activity_of(device, activity);
            let of = |pick| energy(machine, device, activity, &cores, pick);
            let (band, value) = (Pick::band(of), of(Pick::Value));
            prop_assert!(band.holds(value), "{} {}: {value} {band:?}", machine.name, device.name);
            prop_assert!(band.low.0 > 0.0 && band.high.0.is_finite());
        }
    }

    #[test]
    fn the_band_at_the_cores_holds_the_value_too(
        cores in prop::collection::vec(residency(), 0..6),
    ) {
        for (machine, _) in BUILTIN.iter() {
            let of = |pick| power::cores_in_full(machine, &cores, pick);
            prop_assert!(Pick::band(of).holds(of(Pick::Value)));
        }
    }

    #[test]
    fn no_machine_within_the_bands_is_outside_the_band(
        cores in prop::collection::vec(residency(), 0..6),
        activity in activity(),
        which in any::<prop::sample::Index>(),
        places in prop::collection::vec(0.0..=1.0f64, 24),
    ) {
        let (machine, device) = which.get(&BUILTIN);
        // The energy of power states scales with the idle watts, as the band assumes.
        let (read, write, slept) = activity;
        let band = Pick::band(|pick| {
            energy(machine, device, activity_of(device, activity), &cores, pick)
        });
        let (mut other_machine, mut other_device) = (machine.clone(), device.clone());
        for (figure, place) in figures(&mut other_machine, &mut other_device)
            .into_iter()
            .zip(places)
        {
            let (low, high) = (figure.at(Pick::Low), figure.at(Pick::High));
            figure.value = low + place * (high - low);
        }
        let activity = activity_of(&other_device, (read, write, slept));
        let got = energy(&other_machine, &other_device, activity, &cores, Pick::Value).0;
        prop_assert!(band.low.0 <= got + ROUNDING, "{got} under {band:?}");
        prop_assert!(got <= band.high.0 + ROUNDING, "{got} over {band:?}");
    }

    #[test]
    fn a_figure_of_a_wider_band_never_narrows_the_energys(
        cores in prop::collection::vec(residency(), 0..6),
        activity in activity(),
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
    ) {
        let (mut machine, mut device) = which.get(&BUILTIN).clone();
        let activity = activity_of(&device, activity);
        let before = Pick::band(|pick| energy(&machine, &device, activity, &cores, pick));
        {
            let mut figures = figures(&mut machine, &mut device);
            let at = at.index(figures.len());
            let figure = &mut figures[at];
            let (low, high) = (figure.at(Pick::Low), figure.at(Pick::High));
            figure.band = Some([low * 0.9, high * 1.1]);
        }
        let after = Pick::band(|pick| energy(&machine, &device, activity, &cores, pick));
        prop_assert!(after.low.0 <= before.low.0 + ROUNDING, "{before:?} {after:?}");
        prop_assert!(before.high.0 <= after.high.0 + ROUNDING, "{before:?} {after:?}");
    }
}

fn one_core(core: Residency) -> impl Fn(&MachineProfile) -> Band {
    move |machine| Pick::band(|pick| power::cores(machine, &[core], pick))
}

#[test]
fn what_is_taken_off_is_taken_off_at_its_other_end() {
    let mut machine = MachineProfile::builtin("generic-server").unwrap();
    let band = one_core(Residency {
        blocked: WINDOW,
        ..Residency::default()
    });
    machine.core_watts.c1e.band = Some([0.5, 1.5]);
    machine.core_watts.c6.band = Some([0.0625, 0.25]);
    let got = band(&machine);
    assert_eq!((got.low, got.high), (Joules(0.25), Joules(1.4375)));
    // Overlapping bands: C1E takes no less than the C6 in base.
    machine.core_watts.c6.band = Some([0.0625, 1.0]);
    assert_eq!(band(&machine).low, Joules(0.0));
}

#[test]
fn figures_without_bands_give_a_band_of_no_width() {
    let (mut machine, mut device) = BUILTIN[0].clone();
    for figure in figures(&mut machine, &mut device) {
        figure.band = None;
    }
    let core = Residency {
        spin: WINDOW,
        wakes: 10,
        frequency: FrequencyRatio::new(0.5),
        ..Residency::default()
    };
    let activity = activity_of(&device, Default::default());
    let of = |pick| energy(&machine, &device, activity, &[core], pick);
    let band = Pick::band(of);
    assert_eq!((band.low, band.high), (of(Pick::Value), of(Pick::Value)));
}
