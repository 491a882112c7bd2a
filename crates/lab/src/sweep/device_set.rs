//! Devices of one run, as a value of the factor `device`.

use crate::device_name_error::DeviceNameError;
use crate::device_short_name::full_name;
use crate::{TargetName, TargetNames};
use std::fmt;
use std::str::FromStr;

/// Devices that the jobs of a run are spread over, written as on a command line: `A --device B`.
#[derive(Clone, Debug)]
pub struct DeviceSet(Vec<TargetNames>);

/// Prefixes of device names; a `+` before one of them separates two devices.
const BEGINNINGS: [&str; 7] = [
    "emulated:",
    "pcie:",
    "vfio-user:",
    "nvme-tcp:",
    "/",
    "./",
    "../",
];

/// Separator of the devices of one run.
const BESIDE: &str = " --device ";

impl DeviceSet {
    /// Returns true if each device is emulated in this process.
    pub fn is_emulated(&self) -> bool {
        self.targets().iter().all(TargetName::is_emulated)
    }

    /// Returns the devices one by one.
    pub fn targets(&self) -> Vec<TargetName> {
        let all = self.0.iter().flat_map(TargetNames::names);
        all.cloned().collect()
    }

    /// Returns every set with one device of each of `flags`.
    pub fn of_flags(flags: &[ComparedDevices]) -> Vec<DeviceSet> {
        let mut sets = vec![DeviceSet(Vec::new())];
        for flag in flags {
            let longer = sets.iter().flat_map(|set| {
                let one = |name: &TargetNames| {
                    let more = set.0.iter().chain([name]).cloned();
                    DeviceSet(more.collect())
                };
                flag.0.iter().map(one).collect::<Vec<_>>()
            });
            sets = longer.collect();
        }
        sets
    }
}

/// Devices that are compared, each in runs of its own: a flag's `A+B`.
#[derive(Clone, Debug)]
pub struct ComparedDevices(Vec<TargetNames>);

impl FromStr for ComparedDevices {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<ComparedDevices, DeviceNameError> {
        let names = compared(text).into_iter().map(str::parse);
        names.collect::<Result<_, _>>().map(ComparedDevices)
    }
}

/// Splits `A+B` into names; a plus within a path is part of the path.
fn compared(flag: &str) -> Vec<&str> {
    compared_by(flag, |name| full_name(name).is_ok())
}

/// Splits like [`compared`]; `is_short` recognises names of devices and files without a [prefix](BEGINNINGS).
fn compared_by(flag: &str, is_short: impl Fn(&str) -> bool) -> Vec<&str> {
    let begins = |text: &str| {
        BEGINNINGS
            .iter()
            .any(|beginning| text.starts_with(beginning))
    };
    if !begins(flag) && is_short(flag) {
        return vec![flag];
    }
    let mut names = Vec::new();
    let mut start = 0;
    for (at, _) in flag.match_indices('+') {
        let (before, rest) = (&flag[start..at], &flag[at + 1..]);
        let next = rest.split('+').next().unwrap_or_default();
        let short = |name: &str| !begins(name) && is_short(name);
        if !before.is_empty() && (begins(rest) || short(before) || short(next)) {
            names.push(before);
            start = at + 1;
        }
    }
    names.push(&flag[start..]);
    names
}

impl FromStr for DeviceSet {
    type Err = DeviceNameError;

    fn from_str(text: &str) -> Result<DeviceSet, DeviceNameError> {
        let names = text.split(BESIDE).map(str::parse);
        names.collect::<Result<_, _>>().map(DeviceSet)
    }
}

impl fmt::Display for DeviceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(TargetNames::text).collect();
        f.write_str(&names.join(BESIDE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(flags: &[&str]) -> Vec<String> {
        let flags: Vec<_> = flags.iter().map(|flag| flag.parse().unwrap()).collect();
        let sets = DeviceSet::of_flags(&flags);
        sets.iter().map(DeviceSet::to_string).collect()
    }

    #[test]
    fn a_plus_compares_and_a_second_flag_shares() {
        assert_eq!(
            sets(&["emulated:a+emulated:b"]),
            ["emulated:a", "emulated:b"]
        );
        assert_eq!(
            sets(&["emulated:a,size=1M+/dev/x", "pcie:01:00.0"]),
            [
                "emulated:a,size=1M --device pcie:01:00.0",
                "/dev/x --device pcie:01:00.0"
            ]
        );
    }

    #[test]
    fn a_plus_in_a_path_is_a_part_of_it() {
        assert_eq!(sets(&["./a+b.img"]), ["./a+b.img"]);
        assert_eq!(sets(&["./a+b.img+./c"]), ["./a+b.img", "./c"]);
    }

    #[test]
    fn short_names_are_compared_too() {
        let is_short = |name: &str| ["optane-900p", "nvme0n1", "a+b.img"].contains(&name);
        for (flag, names) in [
            ("optane-900p+nvme0n1", &["optane-900p", "nvme0n1"][..]),
            ("/dev/x+optane-900p", &["/dev/x", "optane-900p"]),
            ("emulated:a+nvme0n1+./c", &["emulated:a", "nvme0n1", "./c"]),
            ("optane-900p+mistyped", &["optane-900p", "mistyped"]),
            ("a+b.img", &["a+b.img"]),
            ("./a+b.img", &["./a+b.img"]),
        ] {
            assert_eq!(compared_by(flag, is_short), names, "{flag}");
        }
    }

    #[test]
    fn a_set_reads_back() {
        for text in ["emulated:a", "./x --device pcie:0000:01:00.0"] {
            assert_eq!(text.parse::<DeviceSet>().unwrap().to_string(), text);
        }
        assert!("".parse::<DeviceSet>().is_err());
    }
}
