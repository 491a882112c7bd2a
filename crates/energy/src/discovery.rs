//! The meters of a machine, and the reasons why others are not available.

use crate::finding::{FindingState, Found, MeterFinding};
use crate::meter::{Meter, Source};
use crate::root::Root;
use crate::select::{Choice, Select};
use crate::window::Meters;
use crate::{About, Boundary, Zone, bmc, hwmon, rapl};
use std::sync::Arc;

/// The meters of a machine, and the others that were found.
#[derive(Debug)]
pub struct Discovery {
    /// Meters that are chosen and readable. Of RAPL's interfaces only one reads a zone.
    pub meters: Meters,
    /// Meters that are not read, each with the reason.
    pub others: Vec<MeterFinding>,
    /// Words of the choice that match nothing found.
    pub unmatched: Vec<String>,
}

impl Meters {
    /// Looks for every meter of `root`, opens those that `select` chooses, and gives the reason for each other one.
    pub fn discover(root: &Root, select: &Select) -> Discovery {
        let mut found = rapl::perf(root);
        found.extend(rapl::powercap(root));
        found.extend(hwmon::discover(root, select));
        found.extend(bmc::discover(root, select));
        found.extend(named(root).map(Found::Not));
        let mut discovery = Discovery {
            meters: Meters::new(Vec::new(), Arc::clone(root.clock())),
            others: Vec::new(),
            unmatched: select.unmatched(&found),
        };
        for found in found {
            match found {
                Found::Meter(meter) => discovery.take(meter, root, select),
                Found::Not(finding) => discovery.others.push(finding),
            }
        }
        discovery
    }
}

/// Returns meters that are not searched for, but named by the user.
fn named(root: &Root) -> impl Iterator<Item = MeterFinding> {
    const CLASS: &str = "/sys/class/nvme";
    let devices = root.names(CLASS);
    let state = match devices.first() {
        Some(first) => FindingState::Unused {
            why: format!(
                "{} there: name it to read it, as --device /dev/{first}",
                devices.join(", ")
            ),
        },
        None => FindingState::Absent {
            why: format!("no {CLASS}/nvme*"),
            allow: None,
        },
    };
    let logger = FindingState::Absent {
        why: "a logger's file is imported after the run".into(),
        allow: None,
    };
    [
        MeterFinding::new("nvme", Source::Nvme, None, state),
        MeterFinding::new(
            "logger",
            Source::Logger,
            Some(Zone::machine(Boundary::Wall)),
            logger,
        ),
    ]
    .into_iter()
}

impl Discovery {
    /// Adds `meter` if it is chosen, can be read, and is not the second reader of a zone.
    fn take(&mut self, mut meter: Box<dyn Meter>, root: &Root, select: &Select) {
        let about = meter.about().clone();
        let choice = select.choice(&about);
        let twin = self
            .meters
            .about()
            .into_iter()
            .find(|other| is_twin(other, &about));
        let state = match (choice, twin) {
            (Choice::Left, _) => FindingState::Unused {
                why: "not chosen".into(),
            },
            // Chosen by its name, it is wanted in addition to the other.
            (Choice::BySource, Some(twin)) => FindingState::Unused {
                why: format!("the same zone as {}", twin.name),
            },
            (Choice::BySource | Choice::ByName, _) => match meter.read(&**root.clock()) {
                Ok(_) => return self.meters.push(meter),
                Err(error) => FindingState::Unreadable {
                    why: error.to_string(),
                    allow: crate::allow::command(&about, &error),
                },
            },
        };
        let finding = MeterFinding::new(about.name, about.source, Some(about.zone), state);
        self.others.push(finding);
    }
}

/// Whether both read the same counter of the processor.
fn is_twin(one: &About, other: &About) -> bool {
    let rapl = |about: &About| {
        matches!(
            about.source,
            Source::Perf | Source::Powercap | Source::PowercapMmio
        )
    };
    rapl(one) && rapl(other) && one.zone == other.zone
}
