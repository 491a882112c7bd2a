//! The command that makes a meter readable.

use crate::meter::{About, MeterError, Source};
use crate::{bmc, rapl};

/// Returns the command that permits the meter `about`, which failed with `error`; `None` when no command would.
pub(crate) fn command(about: &About, error: &MeterError) -> Option<String> {
    match (about.source, error) {
        (Source::Powercap | Source::PowercapMmio, MeterError::Denied { what }) => {
            Some(rapl::allow_powercap(what))
        }
        (Source::Hwmon, MeterError::Denied { what }) => Some(format!("sudo chmod a+r {what}")),
        (Source::Ipmi, error) => bmc::allow_ipmi(error),
        (Source::Redfish, MeterError::Denied { .. }) => Some(bmc::CREDENTIALS.to_owned()),
        _ => None,
    }
}
