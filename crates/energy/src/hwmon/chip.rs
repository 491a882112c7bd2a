//! A driver's directory.

use super::sensor::{Quantity, Sensor};
use crate::root::Root;
use joulio_units::Nanos;

/// Directory of all chips.
pub(super) const CLASS: &str = "/sys/class/hwmon";

/// Update interval of a driver that reports none.
const USUAL_UPDATE: Nanos = Nanos::from_millis(1_000);

/// A chip, `hwmonN`.
#[derive(Clone, Debug)]
pub(super) struct Chip {
    folder: String,
    /// The driver's `name`, followed by the device's if several chips have the same.
    name: String,
    /// The driver's `name`.
    driver: String,
}

impl Chip {
    /// Finds all chips.
    pub(super) fn all(root: &Root) -> Vec<Chip> {
        let folders = root.names(CLASS);
        let drivers: Vec<_> = folders
            .iter()
            .map(|folder| {
                root.text(&format!("{CLASS}/{folder}/name"))
                    .unwrap_or_default()
            })
            .collect();
        let named = folders.iter().zip(&drivers).map(|(folder, driver)| {
            let several = drivers.iter().filter(|other| *other == driver).count() > 1;
            let device = || {
                // The N of hwmonN depends on the order in which drivers were loaded; the device does not.
                let link = root.link(&format!("{CLASS}/{folder}/device"));
                link.unwrap_or_else(|| folder.clone())
            };
            Chip {
                folder: folder.clone(),
                name: match several || driver.is_empty() {
                    true => format!("{driver}@{}", device()),
                    false => driver.clone(),
                },
                driver: driver.clone(),
            }
        });
        named.collect()
    }

    /// Lists the energy and power sensors; of a mean and a present power, the mean.
    pub(super) fn sensors(&self, root: &Root) -> Vec<Sensor> {
        let names = root.names(&format!("{CLASS}/{}", self.folder));
        let sensor = |file: &String| {
            let (channel, attribute) = file.split_once('_')?;
            let quantity = match (channel, attribute) {
                (channel, "input") if numbered(channel, "energy") => Quantity::Energy,
                (channel, "average") if numbered(channel, "power") => Quantity::Power,
                (channel, "input") if numbered(channel, "power") => {
                    let mean = format!("{channel}_average");
                    (!names.contains(&mean)).then_some(Quantity::Power)?
                }
                _ => return None,
            };
            Some(self.sensor(root, channel, file, quantity))
        };
        let mut sensors: Vec<_> = names.iter().filter_map(sensor).collect();
        sensors.sort_by_key(|sensor| (sensor.name.len(), sensor.name.clone()));
        sensors
    }

    fn sensor(&self, root: &Root, channel: &str, file: &str, quantity: Quantity) -> Sensor {
        let path = |file: &str| format!("{CLASS}/{}/{file}", self.folder);
        let milliseconds = |file: &str| {
            let time = root.number::<u64>(&path(file)).ok()?;
            (time > 0).then(|| Nanos::from_millis(time))
        };
        let update = milliseconds(&format!("{channel}_average_interval"))
            .or_else(|| milliseconds("update_interval"));
        Sensor {
            name: format!("hwmon:{}/{channel}", self.name),
            chip: self.name.clone(),
            driver: self.driver.clone(),
            label: root
                .text(&path(&format!("{channel}_label")))
                .unwrap_or_default(),
            accuracy: root.text(&path(&format!("{channel}_accuracy"))).ok(),
            path: path(file),
            quantity,
            update: update.unwrap_or(USUAL_UPDATE),
        }
    }
}

/// Whether `channel` is a sensor such as `power1`.
fn numbered(channel: &str, kind: &str) -> bool {
    let number = channel.strip_prefix(kind);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}
