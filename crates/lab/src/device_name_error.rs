//! Errors of device names.

use joulio_host::controller::ParseAddressError;
use std::str::FromStr;

/// Why a text names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceNameError {
    /// The scheme is none of the three: write one of them.
    #[error("'{0}' is not a device: emulated:PROFILE, pcie:0000:01:00.0 or vfio-user:SOCKET")]
    Scheme(String),
    /// The scheme is none of the three, where something else is taken too.
    #[error(
        "'{0}' is not a device: emulated:PROFILE, pcie:0000:01:00.0 or vfio-user:SOCKET, or {1}"
    )]
    SchemeOrPath(String, &'static str),
    /// The PCI address is not one, or the socket's path is missing.
    #[error(transparent)]
    Address(#[from] ParseAddressError),
    /// A parameter that devices which are not emulated do not take.
    #[error("'{parameter}': a {scheme} device takes nsid=N")]
    NotNsid {
        /// The device's scheme.
        scheme: String,
        /// The parameter as it was written.
        parameter: String,
    },
    /// A parameter that an emulated device does not take.
    #[error(
        "'{0}': an emulated device takes file=PATH, size=BYTES, lba=512|4096, seed=N, interrupts=eventfd|joulio_uintr, arbitration=rr|wrr"
    )]
    NotOfEmulated(String),
    /// A parameter that was given more than once.
    #[error("'{0}' and '{1}': give one of them")]
    Twice(String, String),
    /// A number of devices that cannot be.
    #[error("'{0}': 1 to 256 devices")]
    Count(String),
    /// Several devices that would share a file.
    #[error("'{0}': count= is for devices in memory: name those with a file= one by one")]
    CountOfFile(String),
    /// A value that has to be a number.
    #[error("'{0}': not a number")]
    NotANumber(String),
    /// A size that cannot be read, with the reason.
    #[error("{0}")]
    Size(String),
}

/// Reads the number `text` of the parameter `part`.
pub(crate) fn number<T: FromStr>(part: &str, text: &str) -> Result<T, DeviceNameError> {
    text.parse()
        .map_err(|_| DeviceNameError::NotANumber(part.into()))
}
