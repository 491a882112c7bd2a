//! I/Os by which a meter's joules are divided.

use crate::disk_activity::DiskActivity;
use joulio_energy::{About, Boundary, MeterResult, Place, Source, WindowError};

/// Counter of the I/Os by which one meter's joules are divided.
#[derive(Default)]
pub struct IoShare {
    ios: u64,
}

/// I/Os in one window of a meter.
#[derive(Debug, PartialEq)]
pub struct ShareOfIos {
    /// Number of reads and writes.
    pub ios: u64,
    /// Devices of these I/Os, or the reason why there are none.
    pub of: Result<Vec<String>, String>,
}

impl IoShare {
    /// Adds the I/Os of `devices` in the interval that `measured` belongs to. If a window was too short for its meter,
    /// it continues, and its I/Os are kept for the next interval.
    pub fn lap(
        &mut self,
        measured: &MeterResult,
        devices: &[DiskActivity],
        is_of: impl Fn(&str, &str) -> bool,
    ) -> ShareOfIos {
        let of = whose(&measured.about, devices, is_of);
        let is_counted = |name| of.as_ref().is_ok_and(|names| names.contains(name));
        let counted = devices.iter().filter(|device| is_counted(&device.name));
        let counts = counted.map(|device| device.interval.ios);
        let ios = counts.fold(self.ios, u64::saturating_add);
        self.ios = ios;
        if !matches!(measured.figure, Err(WindowError::TooShort { .. })) {
            self.ios = 0;
        }
        ShareOfIos { ios, of }
    }
}

/// Returns the devices whose I/Os use the energy that the meter counts. Of devices on top of each other only the lowest
/// counts, so that an I/O counts once.
fn whose(
    about: &About,
    devices: &[DiskActivity],
    is_of: impl Fn(&str, &str) -> bool,
) -> Result<Vec<String>, String> {
    let lowest = devices.iter().filter(|device| device.on.is_empty());
    let mut names: Vec<_> = lowest.map(|device| device.name.clone()).collect();
    if about.zone.boundary != Boundary::Device {
        return Ok(names);
    }
    match (&about.zone.place, about.source) {
        (Place::Part(controller), Source::Nvme) => {
            let controller = controller.strip_prefix("/dev/").unwrap_or(controller);
            names.retain(|name| is_of(name, controller));
            match names.is_empty() {
                true => Err("none of the block devices is this one's".into()),
                false => Ok(names),
            }
        }
        _ if names.len() == 1 => Ok(names),
        _ => Err("which device it includes is not known: name that one alone".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_energy::{MeterError, MeterKind, Zone};
    use joulio_kernel_io::DiskUse;
    use joulio_units::{Nanos, Watts};

    fn device(name: &str, ios: u64, on: &[&str]) -> DiskActivity {
        DiskActivity {
            name: name.into(),
            interval: DiskUse {
                ios,
                ..DiskUse::default()
            },
            on: on.iter().map(ToString::to_string).collect(),
        }
    }

    fn measured(source: Source, zone: Zone, error: WindowError) -> MeterResult {
        MeterResult {
            about: About {
                name: "meter".into(),
                source,
                zone,
                kind: MeterKind::Power {
                    step: Watts(0.1),
                    update: Nanos::from_millis(1_000),
                },
                slow: false,
                modelled: false,
                notes: Vec::new(),
            },
            figure: Err(error),
        }
    }

    fn part(name: &str) -> Zone {
        Zone {
            boundary: Boundary::Device,
            place: Place::Part(name.into()),
        }
    }

    fn gone() -> WindowError {
        WindowError::Meter(MeterError::Removed { what: "it".into() })
    }

    #[test]
    fn an_io_counts_once_however_many_devices_it_goes_through() {
        let package = measured(Source::Perf, Zone::package(Boundary::Package, 0), gone());
        let devices = [
            device("dm-0", 100, &["sda"]),
            device("sda", 100, &[]),
            device("sdb", 7, &[]),
        ];
        let ios = IoShare::default().lap(&package, &devices, |_, _| false);
        assert_eq!(ios.ios, 107);
        assert_eq!(ios.of, Ok(vec!["sda".to_string(), "sdb".to_string()]));
        let most = [device("sda", u64::MAX, &[]), device("sdb", 7, &[])];
        let ios = IoShare::default().lap(&package, &most, |_, _| false);
        assert_eq!(ios.ios, u64::MAX);
    }

    #[test]
    fn the_ios_of_a_window_that_goes_on_are_kept() {
        let zone = Zone::machine(Boundary::Wall);
        let short = WindowError::TooShort {
            window: Nanos::from_millis(1_000),
            needed: Nanos::from_millis(3_000),
        };
        let (short, over) = (
            measured(Source::Ipmi, zone.clone(), short),
            measured(Source::Ipmi, zone, gone()),
        );
        let (mut share, devices) = (IoShare::default(), [device("sda", 10, &[])]);
        let laps = [&short, &short, &over, &short];
        let ios = laps.map(|lap| share.lap(lap, &devices, |_, _| false).ios);
        assert_eq!(ios, [10, 20, 30, 10]);
    }

    #[test]
    fn a_devices_own_meter_is_over_its_own_ios() {
        let devices = [device("nvme0n1", 5, &[]), device("nvme1n1", 50, &[])];
        let meter = measured(Source::Nvme, part("/dev/nvme0"), gone());
        let is_of = |name: &str, controller: &str| name.starts_with(controller);
        let ios = IoShare::default().lap(&meter, &devices, is_of);
        assert_eq!((ios.ios, ios.of), (5, Ok(vec!["nvme0n1".to_string()])));
        let ios = IoShare::default().lap(&meter, &devices[1..], is_of);
        assert_eq!(ios.ios, 0);
        assert!(ios.of.is_err());
    }

    #[test]
    fn a_sensor_of_some_device_is_over_the_only_one() {
        let meter = measured(Source::Hwmon, part("ina226"), gone());
        let devices = [device("sda", 5, &[]), device("sdb", 50, &[])];
        assert!(
            IoShare::default()
                .lap(&meter, &devices, |_, _| true)
                .of
                .is_err()
        );
        let ios = IoShare::default().lap(&meter, &devices[..1], |_, _| false);
        assert_eq!((ios.ios, ios.of), (5, Ok(vec!["sda".to_string()])));
    }
}
