//! Profiles of devices from measurements of them.

use crate::common::device;
use joulio_job::{CompletionMode, EngineName, Job, Method, ReadWrite};
use joulio_model::{DeviceProfile, FigureKind, MachineProfile};
use joulio_twin::device_fit::{DeviceFitError, FittedRate, MeasuredBy, MeasuredRate, fit_device};
use joulio_twin::{TwinError, TwinSetup, run};
use joulio_units::Direction;
use std::sync::atomic::AtomicBool;

fn machine() -> MachineProfile {
    MachineProfile::builtin("xeon-6230").unwrap()
}

const POLLED: Method = Method {
    engine: EngineName::Nvme,
    mode: CompletionMode::Poll,
};

/// Returns the profile fitted to `rates` on [`machine`], measured with `method`.
fn fitted(
    base: &str,
    method: Method,
    rates: &[MeasuredRate],
) -> Result<(DeviceProfile, Vec<FittedRate>), DeviceFitError> {
    let machine = machine();
    let by = MeasuredBy {
        machine: &machine,
        method,
        stop: None,
    };
    fit_device("mine", &device(base), &by, rates)
}

/// Returns the rate that a measurement with polling would give on `device`.
fn measured(
    device: &DeviceProfile,
    direction: Direction,
    bytes: u32,
    iodepth: usize,
    numjobs: usize,
) -> MeasuredRate {
    measured_by(POLLED, device, direction, bytes, iodepth, numjobs)
}

fn measured_by(
    method: Method,
    device: &DeviceProfile,
    direction: Direction,
    bytes: u32,
    iodepth: usize,
    numjobs: usize,
) -> MeasuredRate {
    let machine = machine();
    let devices = [device.clone()];
    let setup = TwinSetup::new(&machine, &devices);
    let job = Job {
        rw: ReadWrite::random(direction),
        bs: u64::from(bytes).into(),
        iodepth,
        numjobs,
        // Other random numbers than in the fit.
        seed: 7,
        ..Job::random_reads(20_000 / numjobs as u64)
    };
    MeasuredRate {
        place: format!("{bytes} B, depth {iodepth} x {numjobs}"),
        direction,
        bytes,
        iodepth,
        numjobs,
        iops: run(&job, method, &setup).unwrap().iops(),
    }
}

#[test]
fn what_was_not_measured_comes_out_as_the_device_does_it() {
    for name in ["optane-900p", "samsung-983-zet", "samsung-960-evo"] {
        let real = device(name);
        let of =
            |bytes, iodepth, numjobs| measured(&real, Direction::Read, bytes, iodepth, numjobs);
        // Four kinds of data: latencies of several sizes, rates at depth, and the rate of a large size for the
        // bandwidth.
        let rates = [
            of(4096, 1, 1),
            of(65_536, 1, 1),
            of(131_072, 1, 1),
            of(4096, 8, 1),
            of(4096, 64, 4),
            of(131_072, 32, 1),
        ];
        let (profile, beside) = fitted("hdd-7200", POLLED, &rates).unwrap();
        for rate in &beside {
            let error = rate.error();
            assert!(error.abs() < 0.05, "{name}: {}: {error}", rate.place);
        }
        for held_out in [
            of(4096, 4, 1),
            of(4096, 16, 2),
            of(16_384, 1, 1),
            of(65_536, 16, 1),
        ] {
            let model = measured(
                &profile,
                Direction::Read,
                held_out.bytes,
                held_out.iodepth,
                held_out.numjobs,
            );
            let error = model.iops / held_out.iops - 1.0;
            assert!(error.abs() < 0.10, "{name}: {}: {error}", held_out.place);
        }
    }
}

#[test]
fn each_figure_says_where_it_is_from() {
    let real = device("optane-p4800x");
    let rates = [
        measured(&real, Direction::Read, 4096, 1, 1),
        measured(&real, Direction::Write, 4096, 1, 1),
    ];
    let (profile, _) = fitted("samsung-960-evo", POLLED, &rates).unwrap();
    let read = &profile.service.read[0].us;
    assert_eq!(
        (profile.service.read.len(), read.kind),
        (1, FigureKind::Fitted)
    );
    assert!(
        read.source.starts_with("4096 B, depth 1 x 1: "),
        "{}",
        read.source
    );
    // 7.0 us include the time that 4 KiB take on the machine's link: nothing shows that the device's own link is
    // slower.
    let link = machine().link.unwrap().ns_per_byte() * 4.096;
    assert!((read.value + link - 7.0).abs() < 0.1, "{}", read.value);
    // It has no drive's model number, and no drive is recognised by it.
    assert_eq!(profile.model, "joulio emulated mine");
    assert_eq!(DeviceProfile::fitting(&profile.model), None);
    let idle = &profile.power.idle_watts;
    assert_eq!(idle.kind, FigureKind::Guess);
    assert!(
        idle.source.starts_with("as samsung-960-evo: "),
        "{}",
        idle.source
    );
}

#[test]
fn smaller_writes_leave_the_servers_to_the_reads() {
    let real = device("optane-900p");
    let of = |direction, bytes, iodepth| measured(&real, direction, bytes, iodepth, 1);
    let mut rates = vec![
        of(Direction::Read, 4096, 1),
        of(Direction::Read, 4096, 16),
        of(Direction::Write, 512, 1),
    ];
    let servers = |rates: &[MeasuredRate]| {
        let service = fitted("hdd-7200", POLLED, rates).unwrap().0.service;
        (service.parallelism.kind, service.parallelism.value)
    };
    let without = servers(&rates);
    assert_eq!(without.0, FigureKind::Fitted);
    rates.push(of(Direction::Write, 512, 16));
    assert_eq!(servers(&rates), without);
}

/// Returns a rate of one job's reads.
fn rate(bytes: u32, iodepth: usize, iops: f64) -> MeasuredRate {
    MeasuredRate {
        place: format!("a.csv:{iodepth}"),
        direction: Direction::Read,
        bytes,
        iodepth,
        numjobs: 1,
        iops,
    }
}

#[test]
fn a_rate_at_depth_below_that_alone_is_no_bandwidth() {
    let mut rates = vec![
        rate(4096, 1, 50e3),
        rate(4096, 16, 200e3),
        rate(65_536, 1, 6e3),
        rate(65_536, 16, 5e3),
    ];
    let (profile, beside) = fitted("hdd-7200", POLLED, &rates).unwrap();
    assert!(profile.service.read_bandwidth.is_none());
    for rate in beside.iter().filter(|rate| rate.iodepth == 1) {
        assert!(rate.error().abs() < 0.01, "{rate:?}");
    }
    // A rate above it is refused.
    rates[3].iops = 12e3;
    let (profile, _) = fitted("hdd-7200", POLLED, &rates).unwrap();
    let bandwidth = profile.service.read_bandwidth.unwrap().value;
    assert!(
        (bandwidth / (12e3 * 65_536.0) - 1.0).abs() < 0.01,
        "{bandwidth}"
    );
}

#[test]
fn rates_that_are_no_device_s_are_refused() {
    let refused = |rates: &[MeasuredRate]| {
        let psync = Method {
            engine: EngineName::Psync,
            ..POLLED
        };
        fitted("optane-900p", psync, rates).unwrap_err()
    };
    let deep = refused(&[rate(4096, 8, 1e5)]);
    assert!(matches!(deep, DeviceFitError::NoReads), "{deep}");
    let twice = refused(&[rate(4096, 1, 1e5), rate(4096, 1, 2e5)]);
    assert!(matches!(twice, DeviceFitError::Twice { .. }), "{twice}");
    let quick = refused(&[rate(4096, 1, 5e6)]).to_string();
    assert!(
        quick.contains("leave a device no time") && quick.contains("xeon-6230"),
        "{quick}"
    );
    let deeper = rate(4096, 5000, 1e5);
    let place = deeper.place.clone();
    let deeper = refused(&[rate(4096, 1, 1e5), deeper]).to_string();
    assert!(deeper.starts_with(&format!("{place}: iodepth")), "{deeper}");
}

#[test]
fn rates_by_interrupts_give_the_same_device_if_that_is_said() {
    let real = device("optane-p4800x");
    let interrupt = Method {
        engine: EngineName::IoUring,
        mode: CompletionMode::Interrupt,
    };
    let of = |iodepth| measured_by(interrupt, &real, Direction::Read, 4096, iodepth, 1);
    let rates = [of(1), of(16)];
    let us = |method| {
        fitted("hdd-7200", method, &rates).unwrap().0.service.read[0]
            .us
            .value
    };
    let right = us(interrupt);
    // If the method is said to be polling, the time to wake is counted as the device's.
    let link = machine().link.unwrap().ns_per_byte() * 4.096;
    assert!((right + link - 7.0).abs() < 0.1, "{right}");
    let polled = Method {
        mode: CompletionMode::Poll,
        ..interrupt
    };
    assert!(us(polled) > right + 1.0, "{} and {right}", us(polled));
}

#[test]
fn a_fit_ends_when_it_is_stopped() {
    let machine = machine();
    let stop = AtomicBool::new(true);
    let by = MeasuredBy {
        machine: &machine,
        method: POLLED,
        stop: Some(&stop),
    };
    let real = device("optane-p4800x");
    let rates = [measured(&real, Direction::Read, 4096, 1, 1)];
    let ended = fit_device("mine", &real, &by, &rates).unwrap_err();
    assert!(
        matches!(ended, DeviceFitError::Twin(TwinError::Stopped)),
        "{ended}"
    );
}
