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
    /// True if an emulated device may stand in for the device of the other sweeps.
    pub stands_in: bool,
    /// True if its runs write.
    pub writes: bool,
}

/// The command that makes the records of the first of `sweeps` of `experiment`, whose sweeps are `all`, and of those of
/// the others that stand beside it on a device that stands in; on `platform` or, where the sweep cannot be run there, on
/// the first on which it can.
pub fn command(
    experiment: &str,
    sweeps: &[&str],
    all: &[SweepSource],
    platform: Platform,
) -> String {
    let mut sources = sweeps
        .iter()
        .map(|name| all.iter().find(|one| one.name == **name));
    let source = sources.next().flatten();
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
    let beside = sources.flatten().filter(|source| source.stands_in);
    let name = alone.map_or_else(String::new, |source| {
        let names = [source]
            .into_iter()
            .chain(beside)
            .map(|one| one.name.as_str());
        format!(" --sweep {}", names.collect::<Vec<_>>().join(","))
    });
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
