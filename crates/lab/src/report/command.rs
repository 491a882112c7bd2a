//! Commands that make a sweep's records.

use crate::record::Platform;

/// A sweep with its platforms and the properties that its command depends on.
#[derive(Clone, Debug)]
pub struct SweepSource {
    /// Name of the sweep.
    pub name: String,
    /// Platforms that the sweep can be run on; not empty.
    pub on: Vec<Platform>,
    /// Command that makes its records, if `joulio lab run` alone does not.
    pub made_by: Option<String>,
    /// True if an emulated device may be used in place of the other sweeps' device.
    pub stands_in: bool,
    /// True if its runs write or trim.
    pub writes: bool,
}

/// Returns the command that makes the records of the first of `sweeps` of `experiment`, together with those of the
/// other sweeps that use a stand-in device. `all` are the experiment's sweeps. The command is for `platform`, or if the
/// sweep cannot be run there, for its first platform.
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
    // A sweep that has no run in virtual time is named by itself, because the others need no device.
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
