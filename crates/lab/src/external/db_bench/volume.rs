//! A volume of joulio for a database, on a controller that joulio drives: RocksDB's file system `joulio://`, which a
//! preloaded library adds to db_bench (neighbours/rocksdb).

use super::{DatabaseUse, MakeDatabase, unfit};
use crate::device_name::{DeviceKind, DeviceName};
use crate::external::error::ExternalError;
use crate::external::program::Program;
use crate::target_name::TargetName;
use crate::targets::{TargetOptions, open_unchecked};
use joulio_units::{Boundary, Energy, How, Joules, MIN_WINDOW, Nanos, Place};
use joulio_workload::{EngineName, Unmetered};
use std::env;
use std::env::consts::ARCH;
use std::ffi::OsString;
use std::path::PathBuf;
use tempfile::TempDir;

/// Name of the library.
const PLUGIN: &str = "libjoulio-rocksdb.so";

/// Advice on how to get the library.
const REMEDY: &str = "neighbours/rocksdb/build makes it; LD_LIBRARY_PATH says where it is";

/// Size of the smallest device in bytes.
const MIN_DEVICE_BYTES: u64 = 256 << 20;

/// A volume on a device that no process has open.
#[derive(Debug)]
pub struct VolumePlace {
    /// Name of the device for libjoulio.
    device: String,
    /// Folder of the file for an emulated device's data, which would otherwise be lost with the process.
    _folder: Option<TempDir>,
    plugin: PathBuf,
    env: Program,
}

/// Checks that the library exists, and that the data of `device` may be lost.
///
/// # Errors
/// The library is not found, or writing is not allowed.
pub fn check(device: &TargetName, allow_write: bool) -> Result<PathBuf, ExternalError> {
    let plugin = find_plugin()?;
    let options = TargetOptions {
        devices: vec![device.clone()],
        allow_write,
        ..TargetOptions::default()
    };
    match options.may_write() {
        true => Ok(plugin),
        false => Err(wrong(format!(
            "it makes a volume on {}: the data there will be lost; say --allow-write if that is meant",
            device.text()
        ))),
    }
}

/// Returns the path of the library, from the folders in which the loader searches.
fn find_plugin() -> Result<PathBuf, ExternalError> {
    let own = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let multiarch = format!("{ARCH}-linux-gnu");
    let usual = ["/usr/local/lib", "/lib", "/usr/lib", "/lib64", "/usr/lib64"].map(PathBuf::from);
    let usual = usual
        .iter()
        .flat_map(|folder| [folder.join(&multiarch), folder.clone()]);
    let folders = env::split_paths(&own).chain(usual);
    let mut paths = folders.map(|folder| folder.join(PLUGIN));
    let found = paths.find(|path| path.is_file());
    found.ok_or(ExternalError::NoLibrary {
        library: PLUGIN,
        remedy: REMEDY,
    })
}

fn wrong(problem: impl Into<String>) -> ExternalError {
    unfit(EngineName::DbBenchJoulio, problem)
}

impl VolumePlace {
    /// Prepares a volume on `device`, whose data will be lost; returns it and the device's size in bytes.
    ///
    /// # Errors
    /// Writing is not allowed, or the device cannot be opened or is too small.
    pub fn make(
        device: &DeviceName,
        make: &MakeDatabase<'_>,
    ) -> Result<(VolumePlace, u64), ExternalError> {
        let mut target = TargetName::Own(device.clone());
        let plugin = check(&target, make.allow_write)?;
        let mut folder = None;
        if let DeviceKind::Emulated(emulated) = &device.kind
            && emulated.is_in_memory()
        {
            let made = TempDir::with_prefix("joulio-db-");
            let made = made.map_err(|source| ExternalError::System {
                program: "db_bench",
                source,
            })?;
            let text = emulated.text_in_file(&device.text, &made.path().join("disk.img"));
            target = text
                .parse()
                .map_err(|why| wrong(format!("{text}: {why}")))?;
            folder = Some(made);
        }
        let device = target.text();
        if device.contains('?') {
            return Err(wrong(format!(
                "{device}: a name without '?', which ends it in a URI"
            )));
        }
        let options = TargetOptions {
            devices: vec![target],
            ..TargetOptions::default()
        };
        let targets = open_unchecked(&options, &[])?;
        let size = targets.first().map_or(0, |target| target.info().size);
        if size < MIN_DEVICE_BYTES {
            let (has, min) = (size >> 20, MIN_DEVICE_BYTES >> 20);
            return Err(wrong(format!(
                "{device} has {has} MiB: a volume with a database takes {min}"
            )));
        }
        let volume = VolumePlace {
            device,
            _folder: folder,
            plugin,
            env: Program::find("env", "it is in the package coreutils")?,
        };
        Ok((volume, size))
    }

    /// Returns the program and arguments that start `db_bench` with this volume.
    pub fn command(&self, db_bench: &Program, how: DatabaseUse<'_>) -> (&Program, Vec<OsString>) {
        let keys = match how {
            DatabaseUse::Fill => "format=overwrite&meter=none".to_owned(),
            DatabaseUse::Read { job, mode, metered } => {
                let meter = if metered { "all" } else { "none" };
                format!("completion={mode}&queues={}&meter={meter}", job.numjobs)
            }
        };
        let mut preload = OsString::from("LD_PRELOAD=");
        preload.push(&self.plugin);
        let words = [
            preload,
            db_bench.path().into(),
            format!("--fs_uri=joulio://{}?allow_write=1&{keys}", self.device).into(),
            "--db=/db".into(),
        ];
        (&self.env, words.into())
    }
}

/// Returns the energy at the boundary of the device in a run of `seconds`, from the library's last line on `stderr`, or
/// the reason why there is none. joulio itself reads the machine's meters.
///
/// # Errors
/// The line is missing.
pub fn energy(
    db_bench: &Program,
    stderr: &str,
    seconds: f64,
) -> Result<(Vec<Energy>, Vec<Unmetered>), ExternalError> {
    // On a terminal, the progress before the carriage return would be overwritten.
    let line = stderr
        .lines()
        .filter_map(|line| line.rsplit('\r').next())
        .filter(|line| line.starts_with("joulio: "))
        .find_map(|line| line.split_once(" blocks; "));
    let (_, figures) =
        line.ok_or_else(|| db_bench.failed(format!("its output has no line of {PLUGIN}")))?;
    let (mut energy, mut unmetered) = (Vec::new(), Vec::new());
    for part in figures.split("; ") {
        match (figure(part), part.strip_prefix("joules: ")) {
            (Some(figure), _) => energy.push(figure),
            (None, Some(why)) if why != "no meter" => unmetered.push(Unmetered {
                meter: PLUGIN.into(),
                why: crate::printable(why),
                too_short: seconds < 2.0 * MIN_WINDOW.seconds(),
            }),
            _ => {}
        }
    }
    energy.retain(|figure| figure.boundary == Boundary::Device);
    Ok((energy, unmetered))
}

/// Parses `device by nvme:emulated:optane-900p, modelled: 34.92 J in 5.812 s, 8713 J per million operations`.
fn figure(text: &str) -> Option<Energy> {
    let (boundary, rest) = text.split_once(" by ")?;
    let (meter, figures) = rest.rsplit_once(": ")?;
    let (joules, rest) = figures.split_once(" J in ")?;
    let (seconds, _) = rest.split_once(" s, ")?;
    let (source, modelled) = match meter.strip_suffix(", modelled") {
        Some(source) => (source, true),
        None => (meter, false),
    };
    // The file is temporary and exists only for this run.
    let (source, _) = source.split_once(",file=").unwrap_or((source, ""));
    Some(Energy {
        boundary: boundary.parse().ok()?,
        place: Place::Part(source.strip_prefix("nvme:").unwrap_or(source).into()),
        source: crate::printable(source),
        modelled,
        idle_subtracted: false,
        joules: Joules(joules.parse().ok()?),
        error: None,
        band: None,
        window: Nanos::from_seconds(seconds.parse().ok()?),
        how: How::Summed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(figures: &str) -> (Vec<Energy>, Vec<Unmetered>) {
        let db_bench = Program::find("sh", "").unwrap();
        let text = format!(
            "a line\n... finished 9 ops \rjoulio: emulated:x, poll: 9 reads (1.0 MiB, p99 2.0 us), 1 writes (0.0 MiB), 0 syncs; an operation: 1.00 polls, 0.00 interrupts, 0.00 blocks; {figures}\n"
        );
        energy(&db_bench, &text, 1.5).unwrap()
    }

    #[test]
    fn the_devices_joules_are_those_of_the_last_line() {
        let figures = "package by perf:package-0: 88.1 J in 4.001 s, 8.81e+06 J per million operations; device by nvme:emulated:optane-900p,size=1G,file=/tmp/x, modelled: 34.92 J in 5.812 s, 8713 J per million operations";
        let (energy, unmetered) = found(figures);
        assert!(unmetered.is_empty());
        let [one] = energy.as_slice() else {
            panic!("{energy:?}");
        };
        assert_eq!((one.boundary, one.modelled), (Boundary::Device, true));
        assert_eq!(one.source, "nvme:emulated:optane-900p,size=1G");
        assert_eq!(
            (one.joules, one.window),
            (Joules(34.92), Nanos(5_812_000_000))
        );
    }

    #[test]
    fn without_joules_the_line_says_why() {
        assert_eq!(found("joules: no meter"), (Vec::new(), Vec::new()));
        let (energy, unmetered) = found("joules: a window of less than 1 s");
        assert!(energy.is_empty());
        assert_eq!(unmetered[0].why, "a window of less than 1 s");
        assert!(unmetered[0].too_short);
        let db_bench = Program::find("sh", "").unwrap();
        assert!(super::energy(&db_bench, "joulio: not all could be written", 1.5).is_err());
    }
}
