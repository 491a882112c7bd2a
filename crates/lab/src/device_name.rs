//! Device names.
//!
//! `emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N][,interrupts=joulio_uintr]`, `pcie:ADDRESS[,nsid=N]`,
//! or `vfio-user:SOCKET[,nsid=N]`.

use crate::emulated::Emulated;
use joulio_device::pci::{ParsePciAddressError, PciAddress};
use std::path::PathBuf;
use std::str::FromStr;

/// A device as `--device` names it.
#[derive(Clone, Debug)]
pub struct DeviceName {
    /// The name as it was written.
    pub text: String,
    /// The namespace's identifier.
    pub nsid: u32,
    /// The back end, and where it finds the device.
    pub kind: DeviceKind,
}

/// The back end that opens a device.
#[derive(Clone, Debug)]
pub enum DeviceKind {
    /// The emulated controller in this process.
    Emulated(Emulated),
    /// A PCIe function bound to vfio-pci.
    Pcie(PciAddress),
    /// A controller in another process, at a vfio-user socket.
    VfioUser(PathBuf),
}

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
    /// The PCI address is not one.
    #[error(transparent)]
    Address(#[from] ParsePciAddressError),
    /// The socket's path is missing.
    #[error("'{0}': a vfio-user device takes a socket's path")]
    NoSocket(String),
    /// A parameter that devices which are not emulated do not take.
    #[error("'{parameter}': a {scheme} device takes nsid=N")]
    NotNsid {
        /// The device's scheme.
        scheme: &'static str,
        /// The parameter as it was written.
        parameter: String,
    },
    /// A parameter that an emulated device does not take.
    #[error(
        "'{0}': an emulated device takes file=PATH, size=BYTES, lba=512|4096, seed=N, interrupts=eventfd|joulio_uintr"
    )]
    NotOfEmulated(String),
    /// A parameter that was given more than once.
    #[error("'{0}' and '{1}': give one of them")]
    Twice(String, String),
    /// A value that has to be a number.
    #[error("'{0}': not a number")]
    NotANumber(String),
    /// A size that cannot be read, with the reason.
    #[error("{0}")]
    Size(String),
}

impl FromStr for DeviceName {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<DeviceName, DeviceNameError> {
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut parts = rest.split(',');
        let first = parts.next().unwrap_or_default();
        let mut nsid = 1;
        let kind = match scheme {
            "emulated" => {
                let profile = if first.is_empty() {
                    DEFAULT_PROFILE
                } else {
                    first
                };
                let mut emulated = Emulated::of_profile(profile);
                for part in once(parts)? {
                    emulated.set(part)?;
                }
                DeviceKind::Emulated(emulated)
            }
            "pcie" => {
                let address = first.parse()?;
                nsid = only_nsid("pcie", parts)?;
                DeviceKind::Pcie(address)
            }
            "vfio-user" => {
                if first.is_empty() {
                    return Err(DeviceNameError::NoSocket(text.into()));
                }
                nsid = only_nsid("vfio-user", parts)?;
                DeviceKind::VfioUser(first.into())
            }
            _ => {
                return Err(DeviceNameError::Scheme(text.into()));
            }
        };
        Ok(DeviceName {
            text: text.into(),
            nsid,
            kind,
        })
    }
}

/// The profile of `emulated:` without a name.
const DEFAULT_PROFILE: &str = "optane-900p";

/// The namespace, the only parameter of a device that is not emulated here.
fn only_nsid<'a>(
    scheme: &'static str,
    parts: impl Iterator<Item = &'a str>,
) -> Result<u32, DeviceNameError> {
    let mut nsid = 1;
    for part in once(parts)? {
        match part.split_once('=') {
            Some(("nsid", n)) => nsid = number(part, n)?,
            _ => {
                return Err(DeviceNameError::NotNsid {
                    scheme,
                    parameter: part.into(),
                });
            }
        }
    }
    Ok(nsid)
}

/// The parameters, each of which may be there once.
fn once<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Vec<&'a str>, DeviceNameError> {
    let parts: Vec<_> = parts.collect();
    fn key(part: &str) -> Option<&str> {
        part.split_once('=').map(|(key, _)| key)
    }
    for (at, part) in parts.iter().enumerate() {
        let again = |before: &&str| key(before).is_some() && key(before) == key(part);
        if let Some(before) = parts[..at].iter().find(|before| again(before)) {
            return Err(DeviceNameError::Twice((*before).into(), (*part).into()));
        }
    }
    Ok(parts)
}

pub(crate) fn number<T: FromStr>(part: &str, text: &str) -> Result<T, DeviceNameError> {
    text.parse()
        .map_err(|_| DeviceNameError::NotANumber(part.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_whole_or_refused() {
        for good in [
            "emulated:instant",
            "emulated:optane-900p,file=/tmp/x.img,size=1G,lba=4096,seed=7",
            "pcie:0000:01:00.0",
            "pcie:01:00.0,nsid=2",
            "vfio-user:/run/nvme.sock",
            "vfio-user:nvme.sock,nsid=3",
        ] {
            assert!(good.parse::<DeviceName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "nvme0",
            "emulated:instant,fiel=x",
            "emulated:instant,lba=x",
            "pcie:zz",
            "pcie:0000:01:00.0,nsid=x",
            "vfio-user:",
            "vfio-user:/run/nvme.sock,lba=512",
            "emulated:instant,size=1M,size=2M",
            "emulated:instant,size=1M,seed=1,size=1M",
            "emulated:instant,file=a,file=b",
            "emulated:instant,interrupts=eventfd,interrupts=eventfd",
            "pcie:0000:01:00.0,nsid=1,nsid=2",
            "vfio-user:nvme.sock,nsid=1,nsid=1",
        ] {
            let error = bad.parse::<DeviceName>().unwrap_err().to_string();
            assert!(!error.contains('\n') && !error.is_empty(), "{bad}");
        }
    }
}
