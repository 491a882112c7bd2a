//! Addresses with which any process, in any directory, finds a controller again.

use joulio_device::pci::{NoIommu, ParsePciAddressError, PciAddress};
use std::fmt;
use std::path::{PathBuf, absolute};
use std::str::FromStr;

/// Address of a controller that outlives the process: `/dev/nvme0`, `pcie:0000:01:00.0` or
/// `vfio-user:/run/nvme.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerAddress {
    /// Character device of a controller that the kernel drives.
    Kernel(PathBuf),
    /// Controller that joulio's own driver drives.
    Own(OwnAddress),
}

/// Address of a controller for joulio's own driver: `pcie:0000:01:00.0`, `pcie:0000:01:00.0,noiommu` or
/// `vfio-user:/run/nvme.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnAddress {
    /// PCIe function that is bound to vfio-pci.
    Pcie(PcieFunction),
    /// Socket of a controller in another process.
    VfioUser(PathBuf),
}

/// PCIe function for joulio's own driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieFunction {
    /// PCI address.
    pub address: PciAddress,
    /// Permission to drive the function without an IOMMU.
    pub no_iommu: NoIommu,
}

/// Parameter of a `pcie:` device that permits driving it without an IOMMU.
pub const NO_IOMMU: &str = "noiommu";

/// Error of a text that is no address of a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseAddressError {
    /// The text is neither a path nor has a known scheme.
    #[error(
        "'{text}' is not a controller: write /dev/nvme0, pcie:0000:01:00.0 or vfio-user:SOCKET"
    )]
    Scheme {
        /// Text that was given.
        text: String,
    },
    /// The text after `pcie:` is no function's address.
    #[error(transparent)]
    Pcie(#[from] ParsePciAddressError),
    /// The text after `vfio-user:` is no socket's path.
    #[error("'{text}': a vfio-user device takes a socket's path")]
    Socket {
        /// Text that was given.
        text: String,
    },
}

impl ControllerAddress {
    /// Returns the address with an absolute socket path, so that it holds in any directory.
    pub fn to_lasting(&self) -> ControllerAddress {
        match self {
            ControllerAddress::Own(OwnAddress::VfioUser(path)) => {
                let path = absolute(path).unwrap_or_else(|_| path.clone());
                ControllerAddress::Own(OwnAddress::VfioUser(path))
            }
            other => other.clone(),
        }
    }
}

impl FromStr for ControllerAddress {
    type Err = ParseAddressError;

    /// Parses an address; a namespace after a comma (`,nsid=2`) is ignored.
    fn from_str(text: &str) -> Result<ControllerAddress, ParseAddressError> {
        match text.starts_with('/') {
            true => Ok(ControllerAddress::Kernel(text.into())),
            false => text.parse().map(ControllerAddress::Own),
        }
    }
}

impl FromStr for OwnAddress {
    type Err = ParseAddressError;

    /// Parses an address; parameters after a comma (`,nsid=2`) other than `noiommu` are ignored.
    fn from_str(text: &str) -> Result<OwnAddress, ParseAddressError> {
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut parts = rest.split(',');
        let place = parts.next().unwrap_or_default();
        match scheme {
            "pcie" => Ok(OwnAddress::Pcie(PcieFunction {
                address: place.parse()?,
                no_iommu: match parts.any(|part| part == NO_IOMMU) {
                    true => NoIommu::Allowed,
                    false => NoIommu::Refused,
                },
            })),
            "vfio-user" if place.is_empty() => Err(ParseAddressError::Socket { text: text.into() }),
            "vfio-user" => Ok(OwnAddress::VfioUser(place.into())),
            _ => Err(ParseAddressError::Scheme { text: text.into() }),
        }
    }
}

impl fmt::Display for ControllerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerAddress::Kernel(path) => path.display().fmt(f),
            ControllerAddress::Own(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for OwnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OwnAddress::Pcie(PcieFunction { address, no_iommu }) => match no_iommu {
                NoIommu::Refused => write!(f, "pcie:{address}"),
                NoIommu::Allowed => write!(f, "pcie:{address},{NO_IOMMU}"),
            },
            OwnAddress::VfioUser(path) => write!(f, "vfio-user:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written_down() {
        for text in [
            "/dev/nvme0",
            "pcie:0000:01:00.0",
            "pcie:0000:01:00.0,noiommu",
            "vfio-user:/run/nvme.sock",
        ] {
            let address: ControllerAddress = text.parse().unwrap();
            assert_eq!(address.to_lasting().to_string(), text);
        }
        // The form of earlier versions.
        let address: ControllerAddress = "pcie:01:00.0,nsid=2".parse().unwrap();
        assert_eq!(address.to_string(), "pcie:0000:01:00.0");
        for text in ["", "nvme0", "vfio-user:", "pcie:zz", "emulated:instant"] {
            assert!(text.parse::<ControllerAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_socket_is_found_from_another_directory() {
        let address: ControllerAddress = "vfio-user:nvme.sock".parse().unwrap();
        let lasting = address.to_lasting().to_string();
        assert!(lasting.starts_with("vfio-user:/"), "{lasting}");
    }
}
