//! Laps of a window whose threads read meters at the same time.

use joulio_energy::{
    About, Boundary, Clock, Meter, MeterError, MeterKind, MeterValue, Meters, Monotonic, Place,
    Reading, Source, Zone,
};
use joulio_units::{Nanos, Watts};
use std::sync::Arc;
use std::time::Duration;

/// A meter that always shows 250 W; each reading takes some time.
#[derive(Debug)]
struct Steady {
    about: About,
    takes: Duration,
}

impl Steady {
    fn new(name: &str, takes: Duration) -> Box<Steady> {
        let about = About {
            name: name.into(),
            source: Source::Hwmon,
            zone: Zone {
                boundary: Boundary::Wall,
                place: Place::Part(name.into()),
            },
            kind: MeterKind::Power {
                step: Watts(0.0),
                update: Nanos::from_millis(100),
            },
            slow: !takes.is_zero(),
            modelled: false,
            notes: Vec::new(),
        };
        Box::new(Steady { about, takes })
    }
}

impl Meter for Steady {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        std::thread::sleep(self.takes);
        Ok(Reading {
            at: clock.now(),
            value: MeterValue::Power(Watts(250.0)),
        })
    }
}

/// The edges of quick meters are taken first. While a slow meter is read for its edge, the threads go on reading
/// the quick ones: those readings belong to the next lap.
#[test]
fn a_slow_meter_spoils_no_lap_of_a_quick_one() {
    let quick = Steady::new("quick", Duration::ZERO);
    let slow = Steady::new("slow", Duration::from_millis(400));
    let mut meters = Meters::new(vec![quick, slow], Arc::new(Monotonic));
    let mut window = meters.open().expect("threads");
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(1_100));
        for measured in window.lap(None) {
            let name = &measured.about.name;
            let total = measured
                .figure
                .unwrap_or_else(|why| panic!("{name}: {why}"))
                .total;
            assert!((total.watts().0 - 250.0).abs() < 1e-6, "{total:?}");
        }
    }
}
