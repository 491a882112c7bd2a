//! DCMI's Get Power Reading (Data Center Manageability Interface 1.5, section 6.6.1), through ipmitool.

use crate::finding::{FindingState, Found, MeterFinding};
use crate::meter::{About, Meter, MeterError, MeterKind, MeterValue, Reading, Source};
use crate::rapl::Processor;
use crate::root::Root;
use crate::{Boundary, Clock, Zone};
use joulio_units::{Nanos, Watts};
use std::io;

const NAME: &str = "ipmi:dcmi";
/// Device nodes of the kernel's driver (ipmitool tries the same).
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];
/// Update interval: BMCs measure about once a second, and are disturbed by more requests.
const UPDATE: Nanos = Nanos::from_millis(1_000);
const MISSING: &str = "not installed";

pub(super) fn discover(root: &Root) -> Found {
    if DEVICES.iter().any(|device| root.has(device)) {
        return Found::Meter(Box::new(Dcmi::new(root)));
    }
    let guest = Processor::of(root).virtual_machine;
    let state = FindingState::Absent {
        why: format!(
            "no {}{}",
            DEVICES.join(", "),
            if guest {
                ": a virtual machine has no BMC"
            } else {
                ""
            }
        ),
        allow: (!guest).then(|| "sudo modprobe -a ipmi_si ipmi_devintf".to_owned()),
    };
    let zone = Zone::machine(Boundary::Wall);
    Found::Not(MeterFinding::new(NAME, Source::Ipmi, Some(zone), state))
}

/// Returns the command that helps against `error`.
pub(crate) fn allow(error: &MeterError) -> Option<String> {
    match error {
        MeterError::Failed { why, .. } if why == MISSING => {
            Some("sudo apt install ipmitool, or as your distribution has it".into())
        }
        // No chmod: whoever may talk to the BMC may switch the machine off.
        MeterError::Failed { why, .. } if why.contains("Could not open device") => Some(
            "run joulio as root: whoever may open /dev/ipmi0 may also switch the machine off"
                .into(),
        ),
        _ => None,
    }
}

#[derive(Debug)]
struct Dcmi {
    about: About,
    root: Root,
}

impl Dcmi {
    fn new(root: &Root) -> Dcmi {
        Dcmi {
            about: About {
                name: NAME.into(),
                source: Source::Ipmi,
                zone: Zone::machine(Boundary::Wall),
                kind: MeterKind::Power {
                    step: Watts(1.0),
                    update: UPDATE,
                },
                slow: true,
                modelled: false,
                notes: vec![
                    "a process a second; some BMCs keep a kernel thread busy meanwhile".into(),
                ],
            },
            root: root.clone(),
        }
    }
}

impl Meter for Dcmi {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        let said = self
            .root
            .bmc
            .power_reading()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => MeterError::Failed {
                    what: "ipmitool".into(),
                    why: MISSING.into(),
                },
                _ => MeterError::io("ipmitool dcmi power reading", &error),
            })?;
        let watts = parse(&said)?;
        Ok(Reading {
            at: clock.now(),
            value: MeterValue::Power(watts),
        })
    }
}

/// Parses the present power in the output of `ipmitool dcmi power reading`.
fn parse(said: &str) -> Result<Watts, MeterError> {
    const WHAT: &str = "ipmitool dcmi power reading";
    let value = |key: &str| {
        let lines = said.lines().filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(name, _)| name.trim() == key);
        values.next().map(|(_, value)| value.trim())
    };
    if value("Power reading state is").is_some_and(|state| state != "activated") {
        return Err(MeterError::malformed(
            WHAT,
            "power reading state is: deactivated",
        ));
    }
    let watts = value("Instantaneous power reading").and_then(|value| {
        let (number, unit) = value.split_once(' ')?;
        (unit == "Watts").then(|| number.parse::<u16>().ok())?
    });
    match watts {
        // A running machine draws more than 0 W; a BMC without a sensor reports that.
        None | Some(0) => Err(MeterError::malformed(WHAT, said)),
        Some(watts) => Ok(Watts(watts.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURED: &str = "
    Instantaneous power reading:                    50 Watts
    Minimum during sampling period:                  6 Watts
    Maximum during sampling period:                304 Watts
    Average power reading over sample period:       49 Watts
    IPMI timestamp:                           Thu Feb 15 08:36:01 2024
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated

";

    #[test]
    fn the_present_power_is_taken_not_the_mean_since_the_bmc_began() {
        assert_eq!(parse(CAPTURED), Ok(Watts(50.0)));
    }

    #[test]
    fn a_bmc_that_does_not_measure_is_no_reading_of_zero_watts() {
        for (from, to) in [
            ("activated", "deactivated"),
            ("     50 Watts", "      0 Watts"),
            ("50 Watts", "50 BTU/hr"),
        ] {
            assert!(parse(&CAPTURED.replace(from, to)).is_err(), "{to}");
        }
        assert!(parse("").is_err());
    }
}
