//! On a device made up here, by a clock made up here.

use super::*;
use crate::{Energy, How, Meters};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const S: u64 = 1_000_000_000;

/// The time, which device and host share; it stands still unless it is moved, but for a reading.
#[derive(Clone, Debug, Default)]
struct Time(Arc<Mutex<u64>>);

impl Time {
    fn get(&self) -> u64 {
        *self.0.lock().unwrap()
    }

    fn advance(&self, by: u64) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for Time {
    fn now(&self) -> Nanos {
        self.advance(1_000);
        Nanos(self.get())
    }

    fn suspended(&self) -> Nanos {
        Nanos::ZERO
    }
}

/// A device's answers, and the number of times that they were read.
#[derive(Clone, Debug, Default)]
struct Inside {
    measures: bool,
    smart: Option<f64>,
    watts: f64,
    began: Option<u64>,
    generation: u8,
    readings: u32,
    stops: u32,
}

#[derive(Clone, Debug)]
struct Device {
    time: Time,
    inside: Arc<Mutex<Inside>>,
}

impl Device {
    fn new(inside: Inside) -> Device {
        Device {
            time: Time::default(),
            inside: Arc::new(Mutex::new(inside)),
        }
    }

    fn with<T>(&self, body: impl FnOnce(&mut Inside) -> T) -> T {
        body(&mut self.inside.lock().unwrap())
    }

    fn open(&self) -> Result<NvmeMeter, MeterError> {
        NvmeMeter::open(Box::new(self.clone()), &self.time)
    }
}

impl NvmePower for Device {
    fn name(&self) -> &str {
        "/dev/nvme0"
    }

    fn measures(&self) -> bool {
        self.with(|inside| inside.measures)
    }

    fn start(&mut self) -> Result<(), MeterError> {
        let now = self.time.get();
        self.with(|inside| {
            inside.began = Some(now);
            inside.generation = inside.generation.wrapping_add(1);
        });
        Ok(())
    }

    fn stop(&mut self) -> Result<(), MeterError> {
        self.with(|inside| {
            inside.stops += 1;
            inside.began = None;
        });
        Ok(())
    }

    fn log(&mut self) -> Result<PowerLogFields, MeterError> {
        let now = self.time.get();
        Ok(self.with(|inside| {
            inside.readings += 1;
            let intervals = inside.began.map_or(0, |began| (now - began) / S) as u32;
            PowerLogFields {
                generation: inside.generation,
                measuring: inside.began.is_some(),
                estimated: true,
                gaps: false,
                intervals,
                mean: (intervals > 0).then_some(Watts((inside.watts * 1e4).round() / 1e4)),
                step: FINEST,
                percent_error: None,
            }
        }))
    }

    fn interval_power(&mut self) -> Result<Option<Watts>, MeterError> {
        Ok(self.with(|inside| inside.smart.map(Watts)))
    }
}

fn measuring(watts: f64) -> Device {
    Device::new(Inside {
        measures: true,
        watts,
        ..Inside::default()
    })
}

fn total(reading: Reading) -> f64 {
    match reading.value {
        MeterValue::Total(joules) => joules.0,
        MeterValue::Power(_) => panic!("{reading:?}"),
    }
}

fn window(meter: NvmeMeter, device: &Device, seconds: u64) -> Energy {
    let mut meters = Meters::new(vec![Box::new(meter)], Arc::new(device.time.clone()));
    let mut window = meters.open_unsampled();
    for _ in 0..seconds {
        device.time.advance(S);
        window.tick();
    }
    let mut measured = window.close(None);
    measured.remove(0).figure.unwrap().total
}

#[test]
fn a_device_that_reports_nothing_is_not_supported() {
    let refused = Device::new(Inside::default()).open().unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with("not supported by this device"),
        "{refused}"
    );
}

#[test]
fn a_window_has_the_energy_of_its_seconds() {
    let device = measuring(5.0);
    let energy = window(device.open().unwrap(), &device, 10);
    assert_eq!(
        (energy.boundary, energy.window),
        (Boundary::Device, Nanos(10 * S))
    );
    assert!((energy.joules.0 - 50.0).abs() < 1e-9, "{energy:?}");
    // Up to a second at each end, and the rounding of ten.
    let bound = energy.error.unwrap().0;
    assert!((10.0..10.1).contains(&bound), "{bound}");
    assert!(matches!(energy.how, How::Counted { .. }));
}

#[test]
fn the_device_is_read_once_a_second_however_often_the_meter_is_read() {
    let device = measuring(1.0);
    let mut meter = device.open().unwrap();
    let before = device.with(|inside| inside.readings);
    for _ in 0..1_000 {
        device.time.advance(S / 100);
        meter.read(&device.time).unwrap();
    }
    let readings = device.with(|inside| inside.readings) - before;
    assert!((9..=11).contains(&readings), "{readings}");
    assert!(total(meter.read(&device.time).unwrap()) >= 9.0);
}

#[test]
fn a_measurement_of_our_own_is_stopped_and_anothers_is_not() {
    let device = measuring(1.0);
    drop(device.open().unwrap());
    assert_eq!(device.with(|inside| inside.stops), 1);

    let mut other = device.clone();
    other.start().unwrap();
    device.time.advance(100 * S);
    let mut meter = device.open().unwrap();
    assert!(
        meter
            .about()
            .notes
            .iter()
            .any(|note| note.contains("somebody else"))
    );
    let first = meter.read(&device.time).unwrap();
    device.time.advance(5 * S);
    let last = meter.read(&device.time).unwrap();
    assert!((total(last) - total(first) - 5.0).abs() < 1e-9);
    drop(meter);
    assert_eq!(device.with(|inside| inside.stops), 1);
}

#[test]
fn a_measurement_that_is_stopped_or_started_anew_is_an_error() {
    let device = measuring(1.0);
    let mut meter = device.open().unwrap();
    device.time.advance(3 * S);
    meter.read(&device.time).unwrap();
    let mut other = device.clone();
    other.start().unwrap();
    device.time.advance(9 * S);
    let error = meter.read(&device.time).unwrap_err();
    assert!(matches!(error, MeterError::WentBack { .. }), "{error}");

    let device = measuring(1.0);
    let mut meter = device.open().unwrap();
    device.with(|inside| inside.began = None);
    device.time.advance(2 * S);
    let error = meter.read(&device.time).unwrap_err();
    assert!(matches!(error, MeterError::Removed { .. }), "{error}");
}

#[test]
fn the_smart_logs_power_is_sampled() {
    let device = Device::new(Inside {
        smart: Some(4.0),
        ..Inside::default()
    });
    let energy = window(device.open().unwrap(), &device, 10);
    assert!((energy.watts().0 - 4.0).abs() < 1e-9, "{energy:?}");
    assert!(matches!(energy.how, How::Sampled { .. }));
    let mut meter = device.open().unwrap();
    device.with(|inside| inside.smart = None);
    assert!(matches!(
        meter.read(&device.time),
        Err(MeterError::Removed { .. })
    ));
}

proptest! {
    /// Whatever the mean is rounded to: the total never falls, and is right by its step.
    #[test]
    fn totals_rise(watts in prop::collection::vec(0.0_f64..0.01, 1..60)) {
        let device = measuring(0.0);
        let mut meter = device.open().unwrap();
        let (mut sum, mut before) = (0.0, 0.0);
        for (count, watts) in watts.iter().enumerate() {
            sum += watts;
            device.with(|inside| inside.watts = sum / (count + 1) as f64);
            device.time.advance(S);
            let now = total(meter.read(&device.time).unwrap());
            prop_assert!(now >= before);
            before = now;
        }
        let MeterKind::Counter { step, .. } = meter.about().kind else { panic!("no counter") };
        prop_assert!((before - sum).abs() <= step.0, "{} {} {:?}", before, sum, step);
    }
}
