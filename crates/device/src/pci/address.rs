//! Address of a function on the PCI buses: `domain:bus:device.function`.

use std::fmt;
use std::str::FromStr;

/// The address of one PCI function, as sysfs names it (`0000:01:00.0`).
///
/// The fields are private, so that every value has a device below 32 and a function below 8. Source:
/// Documentation/PCI/sysfs-pci.rst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl PciAddress {
    /// Makes an address of its parts; `None` if the device is not below 32 or the function not below 8 (five and three
    /// bits of a routing ID).
    pub const fn new(domain: u32, bus: u8, device: u8, function: u8) -> Option<Self> {
        if device < 32 && function < 8 {
            Some(Self {
                domain,
                bus,
                device,
                function,
            })
        } else {
            None
        }
    }

    /// Returns the domain (segment). Sixteen bits in ACPI; Linux numbers the domains behind Intel VMD from `0x10000`.
    pub const fn domain(self) -> u32 {
        self.domain
    }

    /// Returns the bus, within the domain.
    pub const fn bus(self) -> u8 {
        self.bus
    }

    /// Returns the device on its bus, below 32.
    pub const fn device(self) -> u8 {
        self.device
    }

    /// Returns the function of its device, below 8.
    pub const fn function(self) -> u8 {
        self.function
    }
}

/// Writes the long form, with the domain: the name of the directory in sysfs.
impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

/// A text that is no PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a PCI address: {reason}; write it like 0000:01:00.0 or 01:00.0")]
pub struct ParsePciAddressError {
    text: String,
    reason: &'static str,
}

impl FromStr for PciAddress {
    type Err = ParsePciAddressError;

    /// Parses `0000:01:00.0`, or the short `01:00.0` of domain 0.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map_err(|reason| ParsePciAddressError {
            text: text.to_owned(),
            reason,
        })
    }
}

fn parse(text: &str) -> Result<PciAddress, &'static str> {
    let (slot, function) = text.rsplit_once('.').ok_or("it has no function")?;
    let (buses, device) = slot.rsplit_once(':').ok_or("it has no bus")?;
    let (domain, bus) = buses.rsplit_once(':').unwrap_or(("0000", buses));

    let domain = hex(domain, 4..=8).ok_or("the domain is not 4 to 8 hexadecimal digits")?;
    let bus = hex(bus, 2..=2).ok_or("the bus is not 2 hexadecimal digits")?;
    let device = hex(device, 2..=2).ok_or("the device is not 2 hexadecimal digits")?;
    let function = hex(function, 1..=1).ok_or("the function is not 1 digit")?;
    if device >= 32 {
        return Err("the device is above 1f");
    }
    if function >= 8 {
        return Err("the function is above 7");
    }
    PciAddress::new(domain, bus as u8, device as u8, function as u8).ok_or("it is out of range")
}

/// Parses hexadecimal digits only: `from_str_radix` alone would accept a sign as well.
fn hex(digits: &str, width: std::ops::RangeInclusive<usize>) -> Option<u32> {
    (width.contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit()))
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_is_domain_zero_and_is_shown_long() {
        let address: PciAddress = "0a:1f.7".parse().unwrap();
        assert_eq!(address, PciAddress::new(0, 0x0a, 0x1f, 7).unwrap());
        assert_eq!(address.to_string(), "0000:0a:1f.7");
    }

    #[test]
    fn the_long_domains_of_vmd_survive_the_round_trip() {
        for text in ["0000:01:00.0", "ffff:ff:1f.7", "10000:e1:00.0"] {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_out_of_bounds_or_malformed_is_refused_with_its_reason() {
        for (text, reason) in [
            ("0000:01:20.0", "device is above 1f"),
            ("0000:01:00.8", "function is above 7"),
            ("0000:01:00", "no function"),
            ("00.0", "no bus"),
            ("01:0.0", "device is not 2"),
            ("1:00.0", "bus is not 2"),
            ("01:00.00", "function is not 1"),
            ("000:01:00.0", "domain is not 4 to 8"),
            ("0000:+1:00.0", "bus is not 2"),
            ("0:0000:01:00.0", "domain is not 4 to 8"),
            ("", "no function"),
            (" 01:00.0", "bus is not 2"),
        ] {
            let error = text.parse::<PciAddress>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(error.contains("write it like"), "{error}");
        }
    }
}
