//! The power of an idle machine.

use crate::meter::MeterError;
use crate::root::Root;
use crate::window::MeterResult;
use crate::{Boundary, Energy, Place};
use joulio_units::{Joules, Nanos, Watts};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The idle power of a machine, by meter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Baseline {
    /// Version of this file's format.
    pub version: u32,
    /// The machine and its setup.
    pub host: Host,
    /// Time of the measurement, in seconds since 1970.
    pub measured_unix_seconds: u64,
    /// Idle power of each meter.
    pub meters: Vec<IdlePower>,
}

/// Identity of a machine, and the settings that its idle power depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// Hash of its machine-id, which must not be exposed itself (machine-id(5)).
    pub machine: String,
    /// The kernel's release.
    pub kernel: String,
    /// Frequency governors of its CPUs; empty without cpufreq.
    pub governors: Vec<String>,
}

/// Idle power of a meter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdlePower {
    /// The meter's name.
    pub meter: String,
    /// Boundary of the energy.
    pub boundary: Boundary,
    /// Place of the meter in the machine.
    pub place: Place,
    /// Mean power in watts.
    pub watts: f64,
    /// Error bound of the power in watts, relative to the counts of the meter's hardware.
    pub error_watts: f64,
    /// Seconds that it was measured for.
    pub seconds: f64,
}

/// Reason why a baseline is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// The file is not a baseline.
    #[error("not an idle baseline: {0}: measure one by joulio power --idle 60s")]
    Malformed(String),
    /// The baseline is another machine's.
    #[error(
        "the idle baseline is another machine's: measure this one's by joulio power --idle 60s"
    )]
    OtherMachine,
}

impl Host {
    /// Reads the identity of the machine `root`.
    ///
    /// # Errors
    /// When the machine has no identity.
    pub fn of(root: &Root) -> Result<Host, MeterError> {
        const ID: &str = "/etc/machine-id";
        let id = root.text(ID)?;
        if id.is_empty() {
            return Err(MeterError::malformed(ID, ""));
        }
        Ok(Host {
            machine: hash(&id),
            kernel: root.text("/proc/sys/kernel/osrelease").unwrap_or_default(),
            governors: governors(root),
        })
    }
}

/// Hashes `id` with a key for this purpose, so that no two programs' hashes are the same.
fn hash(id: &str) -> String {
    let digest = Sha256::digest(format!("joulio idle baseline {id}"));
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn governors(root: &Root) -> Vec<String> {
    const CPUS: &str = "/sys/devices/system/cpu";
    let names = root.names(CPUS);
    let cpus = names.iter().filter(|name| {
        let number = name.strip_prefix("cpu");
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    let governor = |cpu: &String| {
        root.text(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor"))
            .ok()
    };
    let all: BTreeSet<_> = cpus.filter_map(governor).collect();
    all.into_iter().collect()
}

impl Baseline {
    const VERSION: u32 = 1;

    /// Makes a baseline of a window in which nothing ran; a meter without a figure is left out.
    pub fn new(host: Host, unix_seconds: u64, measured: &[MeterResult]) -> Baseline {
        let idle = |measured: &MeterResult| {
            let total = &measured.figure.as_ref().ok()?.total;
            let window = total.window;
            Some(IdlePower {
                meter: measured.about.name.clone(),
                boundary: total.boundary,
                place: total.place.clone(),
                watts: total.watts().0,
                error_watts: total.error.map_or(0.0, |error| (error / window).0),
                seconds: window.seconds(),
            })
        };
        Baseline {
            version: Baseline::VERSION,
            host,
            measured_unix_seconds: unix_seconds,
            meters: measured.iter().filter_map(idle).collect(),
        }
    }

    /// Parses the text of [`Baseline::to_json`], and checks that it is of `host`.
    ///
    /// # Errors
    /// [`BaselineError`].
    pub fn from_json(text: &str, host: &Host) -> Result<Baseline, BaselineError> {
        let malformed = |why: String| BaselineError::Malformed(why);
        let baseline: Baseline =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if baseline.version != Baseline::VERSION {
            return Err(malformed(format!("version {}", baseline.version)));
        }
        let sound = |idle: &IdlePower| idle.watts.is_finite() && idle.error_watts.is_finite();
        if !baseline.meters.iter().all(sound) {
            return Err(malformed("a power is not a finite number".into()));
        }
        match baseline.host.machine == host.machine {
            true => Ok(baseline),
            false => Err(BaselineError::OtherMachine),
        }
    }

    /// Whether `text` is a baseline, of any machine and version.
    pub fn is_one(text: &str) -> bool {
        let value = serde_json::from_str::<serde_json::Value>(text);
        value.is_ok_and(|value| {
            ["version", "host", "meters"]
                .iter()
                .all(|key| value.get(key).is_some())
        })
    }

    /// Returns the baseline as the text of a file.
    pub fn to_json(&self) -> String {
        // Strings and finite numbers can always be written as JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Lists in words what has changed since the baseline was measured.
    pub fn differences(&self, host: &Host) -> Vec<String> {
        let mut differences = Vec::new();
        if self.host.kernel != host.kernel {
            differences.push(format!(
                "kernel {} then, {} now",
                self.host.kernel, host.kernel
            ));
        }
        if self.host.governors != host.governors {
            let names = |host: &Host| host.governors.join(", ");
            differences.push(format!(
                "governor {} then, {} now",
                names(&self.host),
                names(host)
            ));
        }
        differences
    }

    /// Returns `total` of the meter `name` without the idle machine's energy.
    pub(crate) fn subtract(&self, name: &str, total: &Energy) -> Option<Energy> {
        let same = |idle: &&IdlePower| {
            idle.meter == name && idle.boundary == total.boundary && idle.place == total.place
        };
        let idle = self.meters.iter().find(same)?;
        Some(Energy {
            idle_subtracted: true,
            joules: Joules(total.joules.0 - (Watts(idle.watts) * total.window).0),
            error: total.error.map(|error| error + idle.error(total.window)),
            band: None,
            ..total.clone()
        })
    }
}

impl IdlePower {
    fn error(&self, window: Nanos) -> Joules {
        Watts(self.error_watts) * window
    }
}
