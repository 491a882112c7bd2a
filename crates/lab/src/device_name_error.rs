//! Errors of device names.

use joulio_host::controller::ParseAddressError;
use joulio_workload::ParseError;
use std::str::FromStr;

/// Reason why a text is not the name of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceNameError {
    /// No device has this name.
    #[error(
        "'{text}' is not a device: {}emulated:PROFILE, pcie:0000:01:00.0 or vfio-user:SOCKET{other}",
        question(near.as_deref())
    )]
    Unknown {
        /// The name as it was written.
        text: String,
        /// A similar name that is valid.
        near: Option<String>,
        /// Other kinds of names that are accepted in this place, after a comma.
        other: &'static str,
    },
    /// The character device of an NVMe namespace, which takes no reads and writes.
    #[error(
        "'{text}' takes commands alone: --device {block} --engine io_uring_cmd sends them there"
    )]
    Character {
        /// The name as it was written.
        text: String,
        /// Block device of the same namespace.
        block: String,
    },
    /// More than one device has this short name.
    #[error("'{text}' names two devices: write {first} or {second}")]
    Ambiguous {
        /// The name as it was written.
        text: String,
        /// Full name of the first.
        first: String,
        /// Full name of the second.
        second: String,
    },
    /// The PCI address is not valid, or the path of the socket is missing.
    #[error(transparent)]
    Address(#[from] ParseAddressError),
    /// A parameter that only emulated devices accept.
    #[error("'{parameter}': a {scheme} device takes nsid=N{}", if scheme == "pcie" { ", noiommu" } else { "" })]
    NotNsid {
        /// The device's scheme.
        scheme: String,
        /// The parameter as it was written.
        parameter: String,
    },
    /// A parameter that emulated devices do not accept.
    #[error(
        "'{0}': an emulated device takes file=PATH, size=BYTES, lba=512|4096, seed=N, hmb=BYTES, prealloc=0|1, interrupts=eventfd|joulio_uintr, arbitration=rr|wrr"
    )]
    NotOfEmulated(String),
    /// A size of a host memory buffer that no device requests.
    #[error("'{0}': a host memory buffer has 4k to 4g, a multiple of 4096 bytes: hmb=64m")]
    HostMemory(String),
    /// A device in a file, whose memory cannot be allocated.
    #[error("'{0}': prealloc=1 is for a device in memory: leave it or file= out")]
    PreallocOfFile(String),
    /// A parameter that was given more than once.
    #[error("'{0}' and '{1}': give one of them")]
    Twice(String, String),
    /// The number of devices is out of range.
    #[error("'{0}': 1 to 256 devices")]
    Count(String),
    /// Several devices that would use the same file.
    #[error("'{0}': count= is for devices in memory: name those with a file= one by one")]
    CountOfFile(String),
    /// A value that has to be a number.
    #[error("'{0}': not a number")]
    NotANumber(String),
    /// A size that cannot be read, with the reason.
    #[error("{0}")]
    Size(ParseError),
}

/// Returns a similar name as a question, to stand before the list of valid names.
fn question(near: Option<&str>) -> String {
    near.map_or_else(String::new, |name| format!("did you mean {name}? Else "))
}

impl DeviceNameError {
    /// Returns the error for the unknown name `text`; `near` is a similar name.
    pub(crate) fn unknown(text: &str, near: Option<String>) -> DeviceNameError {
        DeviceNameError::Unknown {
            text: text.into(),
            near,
            other: "",
        }
    }

    /// Returns this error with `other` added to the accepted names, as `, or a path`.
    pub(crate) fn or(self, other: &'static str) -> DeviceNameError {
        match self {
            DeviceNameError::Unknown { text, near, .. } => {
                DeviceNameError::Unknown { text, near, other }
            }
            error => error,
        }
    }
}

/// Parses `text`, the number in the parameter `part`.
pub(crate) fn number<T: FromStr>(part: &str, text: &str) -> Result<T, DeviceNameError> {
    text.parse()
        .map_err(|_| DeviceNameError::NotANumber(part.into()))
}
