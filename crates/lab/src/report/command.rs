//! Command by which a sweep's records are made.

use crate::record::Platform;

/// Platforms of a sweep, and what its command takes there.
#[derive(Clone, Debug)]
pub struct SweepSource {
    /// Name of the sweep.
    pub name: String,
    /// Platforms that it can be run on; not empty.
    pub on: Vec<Platform>,
    /// Command that makes its records, where `joulio lab run` alone does not.
    pub made_by: Option<String>,
    /// True if its runs write.
    pub writes: bool,
}

/// The command that makes the records of `sweep` of `experiment`, whose sweeps are `all`, on `platform` or,
/// where the sweep cannot be run there, on the first on which it can.
pub fn command(
    experiment: &str,
    sweep: Option<&str>,
    all: &[SweepSource],
    platform: Platform,
) -> String {
    let source = all.iter().find(|one| sweep == Some(&one.name));
    let on = source.map_or(&[][..], |source| &source.on);
    let platform = match on.first() {
        Some(first) if !on.contains(&platform) => *first,
        _ => platform,
    };
    if let Some(made_by) = source.and_then(|source| source.made_by.clone()) {
        return made_by;
    }
    // A sweep that is not in virtual time stands for itself: the others need no device.
    let alone = source.filter(|source| !source.on.contains(&Platform::Twin));
    let name = alone.map_or_else(String::new, |source| format!(" --sweep {}", source.name));
    let writes = match alone {
        Some(source) => source.writes,
        None => all.iter().any(|source| source.writes),
    };
    let on = match platform {
        Platform::Twin => " --twin",
        Platform::Emulated => " --emulated",
        Platform::Real | Platform::Guest if writes => " --device DEVICE --allow-write",
        Platform::Real | Platform::Guest => " --device DEVICE",
    };
    format!("joulio lab run {experiment}{name}{on}")
}
