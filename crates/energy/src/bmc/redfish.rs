//! Power readings of a Redfish service (DMTF DSP0266): the older `Power` resource, deprecated but everywhere, and
//! `EnvironmentMetrics`.

use super::RedfishUrl;
use crate::finding::Found;
use crate::meter::{About, Meter, MeterError, MeterKind, MeterValue, Reading, Source};
use crate::root::Root;
use crate::select::Select;
use crate::{Boundary, Clock, Zone};
use joulio_units::{Nanos, Watts};
use serde_json::Value as Json;

/// Update interval: BMCs measure about once a second, and are disturbed by more requests.
const UPDATE: Nanos = Nanos::from_millis(1_000);
/// Highest reading that is believed, in watts.
const MAX_WATTS: f64 = 1e6;

pub(super) fn discover(root: &Root, select: &Select) -> Vec<Found> {
    let meters = select.redfish().map(|url| Redfish {
        about: About {
            name: url.meter_name(),
            source: Source::Redfish,
            zone: Zone::machine(Boundary::Wall),
            kind: MeterKind::Power {
                step: Watts(1.0),
                update: UPDATE,
            },
            slow: true,
            modelled: false,
            notes: Vec::new(),
        },
        url: url.clone(),
        root: root.clone(),
    });
    meters
        .map(|meter| Found::Meter(Box::new(meter) as Box<dyn Meter>))
        .collect()
}

#[derive(Debug)]
struct Redfish {
    about: About,
    url: RedfishUrl,
    root: Root,
}

impl Meter for Redfish {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        let body = self.root.fetch.get(self.url.url());
        let body = body.map_err(|error| MeterError::io(self.url.url(), &error))?;
        let watts = parse(&body, self.url.pointer());
        let watts = watts.map_err(|said| MeterError::malformed(self.url.url(), &said))?;
        Ok(Reading {
            at: clock.now(),
            value: MeterValue::Power(watts),
        })
    }
}

/// Finds the machine's power in the document `body`: at `pointer`, in `EnvironmentMetrics`, or in the first entry of
/// `PowerControl` that has one, which is the chassis; later entries (processors, memory, on some machines) are included
/// in it.
fn parse(body: &[u8], pointer: Option<&str>) -> Result<Watts, String> {
    let document: Json = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let reading = match pointer {
        Some(pointer) => {
            let entry = document.pointer(pointer);
            of_entry(entry.ok_or_else(|| format!("nothing at {pointer}"))?)
        }
        None => of_document(&document),
    };
    match reading {
        Some(watts) if watts > 0.0 && watts < MAX_WATTS => Ok(Watts(watts)),
        Some(watts) => Err(format!("{watts} W")),
        None => Err("no PowerConsumedWatts and no PowerWatts".into()),
    }
}

fn of_document(document: &Json) -> Option<f64> {
    of_entry(document).or_else(|| {
        let entries = document.get("PowerControl")?.as_array()?;
        // If the chassis has no value at the moment, a later entry is no replacement: it is that of a part.
        let first_with = |key| entries.iter().find(|entry| entry.get(key).is_some());
        of_entry(first_with("PowerConsumedWatts").or_else(|| first_with("PowerWatts"))?)
    })
}

fn of_entry(entry: &Json) -> Option<f64> {
    let older = entry.get("PowerConsumedWatts");
    let newer = entry
        .get("PowerWatts")
        .map(|sensor| sensor.get("Reading").unwrap_or(sensor));
    older
        .and_then(Json::as_f64)
        .or_else(|| newer.and_then(Json::as_f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `Power` 1.7 of a server whose processors and memory have entries of their own.
    const POWER: &[u8] = br##"{"@odata.type":"#Power.v1_7_1.Power","Id":"Power","PowerControl":[
        {"MemberId":"0","Name":"Server Power Control","PowerConsumedWatts":344,"PowerCapacityWatts":1500,
         "PowerMetrics":{"IntervalInMin":1,"MinConsumedWatts":301,"MaxConsumedWatts":523,"AverageConsumedWatts":350}},
        {"MemberId":"1","Name":"CPU Sub-system Power","PowerConsumedWatts":126},
        {"MemberId":"2","Name":"Memory Sub-system Power","PowerConsumedWatts":28}],
        "PowerSupplies":[{"MemberId":"0","PowerInputWatts":180.5}]}"##;
    const ENVIRONMENT: &[u8] = br##"{"@odata.type":"#EnvironmentMetrics.v1_3_0.EnvironmentMetrics",
        "PowerWatts":{"DataSourceUri":"/redfish/v1/Chassis/1/Sensors/TotalPower","Reading":374.25},
        "EnergykWh":{"Reading":325675}}"##;

    #[test]
    fn the_chassis_of_both_schemas() {
        assert_eq!(parse(POWER, None), Ok(Watts(344.0)));
        assert_eq!(parse(ENVIRONMENT, None), Ok(Watts(374.25)));
    }

    #[test]
    fn a_pointer_picks_an_entry() {
        assert_eq!(parse(POWER, Some("/PowerControl/2")), Ok(Watts(28.0)));
        assert!(parse(POWER, Some("/PowerControl/3")).is_err());
    }

    #[test]
    fn no_reading_is_not_zero_watts() {
        let bodies: [&[u8]; 6] = [
            b"",
            b"{}",
            br#"{"PowerControl":[{"PowerConsumedWatts":null}]}"#,
            br#"{"PowerControl":[{"PowerConsumedWatts":0}]}"#,
            br#"{"PowerWatts":{"Reading":-5}}"#,
            br#"{"PowerWatts":{"Reading":1e300}}"#,
        ];
        for body in bodies {
            assert!(
                parse(body, None).is_err(),
                "{}",
                String::from_utf8_lossy(body)
            );
        }
    }

    #[test]
    fn an_entry_without_a_figure_is_passed_over() {
        let body = br#"{"PowerControl":[{"Name":"a limit"},{"PowerConsumedWatts":90}]}"#;
        assert_eq!(parse(body, None), Ok(Watts(90.0)));
    }

    #[test]
    fn a_part_does_not_replace_a_chassis_without_a_value() {
        let body = String::from_utf8_lossy(POWER).replace(":344,", ":null,");
        assert!(parse(body.as_bytes(), None).is_err());
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>, pointer: Option<String>) {
            let _ = parse(&body, pointer.as_deref());
        }
    }
}
