//! Options without an equivalent flag: they are accepted if what they request is the case here, and refused otherwise.

use super::error::JobFileError;
use super::sections::{Given, find};
use super::typed_flags::TypedFlags;
use joulio_units::Direction;
use joulio_workload::ReadWrite;

/// Checks the options of a section that have no equivalent flag.
pub(super) fn check(options: &[&Given], typed: &TypedFlags) -> Result<(), JobFileError> {
    if let Some(given) = find(options, "readonly").filter(|_| typed.has("--allow-write")) {
        return Err(given.refused("--allow-write is given too: leave one of them out"));
    }
    check_policy(options, typed)?;
    check_rate(options, typed)
}

/// Returns an error if a mixed workload has a rate: that of fio is for each direction, and `--rate_iops` for all.
fn check_rate(options: &[&Given], typed: &TypedFlags) -> Result<(), JobFileError> {
    let rate = ["rate", "rate_iops"]
        .iter()
        .find_map(|key| find(options, key));
    let Some(given) = rate.filter(|_| !typed.has("--rate_iops")) else {
        return Ok(());
    };
    // The last of the two names counts.
    let mut named = options.iter().rev();
    let named = named.find(|one| matches!(one.key.as_str(), "rw" | "readwrite"));
    let rw = typed.value("--rw").or_else(|| named?.value.clone());
    let mixed = |rw: &str| {
        let rw = rw.trim().parse::<ReadWrite>();
        rw.is_ok_and(|rw| {
            rw.trims_and_writes() || rw.does(Direction::Read) && rw.does(Direction::Write)
        })
    };
    match rw.iter().flat_map(|list| list.split(',')).any(mixed) {
        true => Err(given.refused(
            "fio's rate is of each direction: write a section for each, or give --rate_iops, without --name, for both together",
        )),
        false => Ok(()),
    }
}

/// Returns an error if several jobs should share all CPUs.
fn check_policy(options: &[&Given], typed: &TypedFlags) -> Result<(), JobFileError> {
    let Some(given) = find(options, "cpus_allowed_policy") else {
        return Ok(());
    };
    let cpus = value("cpus_allowed", options, typed);
    match given.value.as_deref() {
        Some("split") => Ok(()),
        Some("shared") if cpus.is_some_and(|cpus| cpus.parse::<usize>().is_ok()) => Ok(()),
        Some("shared") => Err(given.refused(
            "each job has a CPU of its own, as with split: use taskset -c CPUS joulio bench to share several",
        )),
        _ => Err(given.refused("shared or split")),
    }
}

/// Returns the value of the option `key`, which is also a flag's name: the typed one, or otherwise the section's.
fn value(key: &str, options: &[&Given], typed: &TypedFlags) -> Option<String> {
    let given = || find(options, key)?.value.clone();
    typed.value(&format!("--{key}")).or_else(given)
}
