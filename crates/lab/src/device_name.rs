//! Device names.
//!
//! `emulated:PROFILE[,file=PATH][,size=BYTES][,lba=512|4096][,seed=N][,hmb=BYTES][,prealloc=1]
//! [,interrupts=joulio_uintr][#N]`, `pcie:ADDRESS[,nsid=N][,noiommu]`, or `vfio-user:SOCKET[,nsid=N]`. A profile's name alone is an emulated device's.

use crate::device_name_error::{DeviceNameError, number};
use crate::device_short_name::full_name;
use crate::emulated::Emulated;
use joulio_host::controller::{NO_IOMMU, OwnAddress};
use std::str::FromStr;

/// A device as `--device` names it.
#[derive(Clone, Debug)]
pub struct DeviceName {
    /// Full name: `emulated:optane-900p` for `optane-900p`.
    pub text: String,
    /// The namespace's identifier.
    pub nsid: u32,
    /// Back end of the device, with its address.
    pub kind: DeviceKind,
}

/// Back end that opens a device.
#[derive(Clone, Debug)]
pub enum DeviceKind {
    /// The emulated controller in this process.
    Emulated(Emulated),
    /// A controller outside of this process that joulio's driver drives.
    Own(OwnAddress),
}

impl Default for DeviceName {
    /// An emulated device with the default profile.
    fn default() -> DeviceName {
        DeviceName {
            text: format!("emulated:{DEFAULT_PROFILE}"),
            nsid: 1,
            kind: DeviceKind::Emulated(Emulated::of_profile(DEFAULT_PROFILE)),
        }
    }
}

impl FromStr for DeviceName {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<DeviceName, DeviceNameError> {
        let text = &*full_name(text)?;
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        let (rest, number) = match scheme {
            "emulated" => numbered(rest),
            _ => (rest, None),
        };
        let mut parts = rest.split(',');
        let first = parts.next().unwrap_or_default();
        let mut nsid = 1;
        let mut full = text.to_owned();
        let kind = match scheme {
            "emulated" => {
                let profile = if first.is_empty() {
                    let options = text.trim_start_matches(scheme).trim_start_matches(':');
                    full = format!("{scheme}:{DEFAULT_PROFILE}{options}");
                    DEFAULT_PROFILE
                } else {
                    first
                };
                let mut emulated = Emulated::of_profile(profile);
                for part in once(parts)? {
                    emulated.set(part)?;
                }
                if emulated.is_impossible() {
                    return Err(DeviceNameError::PreallocOfFile(text.into()));
                }
                DeviceKind::Emulated(match number {
                    Some(number) => emulated
                        .numbered(number)
                        .ok_or_else(|| DeviceNameError::CountOfFile(text.into()))?,
                    None => emulated,
                })
            }
            "pcie" | "vfio-user" => {
                let address = text.parse()?;
                nsid = only_nsid(scheme, parts)?;
                DeviceKind::Own(address)
            }
            _ => {
                return Err(DeviceNameError::unknown(text, None));
            }
        };
        Ok(DeviceName {
            text: full,
            nsid,
            kind,
        })
    }
}

/// Splits off the number of one of several equal devices: `optane-900p#3`. A `#` in a file's path is not one.
fn numbered(rest: &str) -> (&str, Option<u64>) {
    let number = rest.rsplit_once('#').and_then(|(rest, number)| {
        let is_path = rest.rsplit(',').next()?.starts_with("file=");
        (!is_path).then_some((rest, number.parse().ok()?))
    });
    match number {
        Some((rest, number)) => (rest, Some(number)),
        None => (rest, None),
    }
}

/// Profile that is used for `emulated:` without a name.
const DEFAULT_PROFILE: &str = "optane-900p";

/// Parses the namespace, which is the only parameter of a device that is not emulated here, except `noiommu`.
fn only_nsid<'a>(
    scheme: &str,
    parts: impl Iterator<Item = &'a str>,
) -> Result<u32, DeviceNameError> {
    let mut nsid = 1;
    for part in once(parts)? {
        match part.split_once('=') {
            Some(("nsid", n)) => nsid = number(part, n)?,
            // The address has parsed this parameter.
            None if scheme == "pcie" && part == NO_IOMMU => {}
            _ => {
                return Err(DeviceNameError::NotNsid {
                    scheme: scheme.into(),
                    parameter: part.into(),
                });
            }
        }
    }
    Ok(nsid)
}

/// Returns the parameters, after checking that none is given twice.
fn once<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Vec<&'a str>, DeviceNameError> {
    let parts: Vec<_> = parts.collect();
    fn key(part: &str) -> &str {
        part.split_once('=').map_or(part, |(key, _)| key)
    }
    for (at, part) in parts.iter().enumerate() {
        let again = |before: &&str| key(before) == key(part);
        if let Some(before) = parts[..at].iter().find(|before| again(before)) {
            return Err(DeviceNameError::Twice((*before).into(), (*part).into()));
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_whole_or_refused() {
        for good in [
            "emulated:instant",
            "emulated:optane-900p,file=/tmp/x.img,size=1G,lba=4096,seed=7",
            "emulated:optane-900p,size=1G#3",
            "emulated:instant,size=1G,prealloc=1",
            "emulated:instant,file=/tmp/x,prealloc=0",
            "emulated:instant,file=/tmp/x#3",
            "pcie:0000:01:00.0",
            "pcie:01:00.0,nsid=2",
            "pcie:0000:01:00.0,noiommu,nsid=2",
            "vfio-user:/run/nvme.sock",
            "vfio-user:nvme.sock,nsid=3",
        ] {
            assert!(good.parse::<DeviceName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "nvme99",
            "emulated:instant,fiel=x",
            "emulated:instant,lba=x",
            "pcie:zz",
            "pcie:0000:01:00.0,nsid=x",
            "vfio-user:",
            "vfio-user:/run/nvme.sock,lba=512",
            "emulated:instant,size=1M,size=2M",
            "emulated:instant,size=1M,seed=1,size=1M",
            "emulated:instant,file=a,file=b",
            "emulated:instant,file=a,prealloc=1",
            "emulated:instant,prealloc=yes",
            "emulated:instant,interrupts=eventfd,interrupts=eventfd",
            "emulated:instant,file=a,size=1M#2",
            "pcie:0000:01:00.0,nsid=1,nsid=2",
            "pcie:0000:01:00.0,noiommu,noiommu",
            "pcie:0000:01:00.0,noiommu=1",
            "vfio-user:/run/nvme.sock,noiommu",
            "vfio-user:nvme.sock,nsid=1,nsid=1",
        ] {
            let error = bad.parse::<DeviceName>().unwrap_err().to_string();
            assert!(!error.contains('\n') && !error.is_empty(), "{bad}");
        }
    }
}
