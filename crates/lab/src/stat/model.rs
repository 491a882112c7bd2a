//! Energy of an interval from profiles and the kernel's counters, without a meter.
//!
//! A drive's energy is that of its idle power, plus its profile's energy for the reads and writes in /proc/diskstats.
//! The cores' energy comes from the profile's watts of busy and idle cores and the times in /proc/stat. The rest of the
//! machine is left out: a guest's share of it is not known.

use super::report::{DeviceModel, EnergyShare, MeterRow};
use crate::disk_activity::{DiskActivity, WatchedDisks, disk_name, whole_disk};
use crate::machine_profile::machine_profile_at;
use crate::printable::printable;
use joulio_energy::{Boundary, Energy, Model, Root, modelled_energy};
use joulio_kernel_io::{CpuTimes, CpuUse};
use joulio_model::power::cores_in_full;
use joulio_model::{
    CoreState, CountedIos, DeviceActivity, DeviceProfile, MachineProfile, Pick, ProfileError,
    Residency,
};
use joulio_units::{Joules, Nanos};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Profile of a rotating disk's watts if the user names none.
const TURNS: &str = "hdd-7200";

/// A disk and the profile that the user gives it.
#[derive(Clone, Debug)]
pub struct DriveProfile {
    disk: String,
    profile: DeviceProfile,
}

/// Reason why words do not give a disk a profile.
#[derive(Debug, thiserror::Error)]
pub enum DriveProfileError {
    /// The disk or the profile is missing: give both.
    #[error("not DISK=PROFILE, such as vda=optane-900p")]
    Form,
    /// The profile does not exist, or its file is not a profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

impl FromStr for DriveProfile {
    type Err = DriveProfileError;

    fn from_str(text: &str) -> Result<DriveProfile, DriveProfileError> {
        match text.split_once('=') {
            Some((disk, profile)) if !disk.is_empty() && !profile.is_empty() => Ok(DriveProfile {
                disk: disk.into(),
                profile: DeviceProfile::load(profile)?,
            }),
            _ => Err(DriveProfileError::Form),
        }
    }
}

/// Reason why nothing can be modelled.
#[derive(Debug, thiserror::Error)]
pub enum StatModelError {
    /// No profile of that machine, or its file is not a profile.
    #[error("--machine: {0}")]
    Machine(#[from] ProfileError),
    /// The disk is not among the watched ones.
    #[error("--drive: no block device '{name}' is watched: {known}")]
    Unwatched {
        /// Name of the disk.
        name: String,
        /// Text that lists the watched disks.
        known: String,
    },
    /// The disk has two profiles.
    #[error("--drive: {0} is given twice: leave one out")]
    Twice(String),
}

/// Profiles of the machine and of the watched drives.
pub struct StatModel {
    machine: MachineProfile,
    /// Directory that contains /proc and /sys.
    root: PathBuf,
    named: BTreeMap<String, DeviceProfile>,
    /// Candidate profiles of every drive seen so far; `None`: the drive is not modelled.
    drives: BTreeMap<String, Option<Candidates>>,
    before: Option<CpuTimes>,
}

/// Profiles one of which fits a drive.
struct Candidates {
    profiles: Vec<DeviceProfile>,
    source: String,
}

impl StatModel {
    /// Creates the model of the machine `root`, whose files are below `folder`, with the profile `machine` or the one
    /// that fits its processor, and with the profiles `named` for drives of `watched`. Also returns notes about it, one
    /// a line.
    ///
    /// # Errors
    /// There is no profile of that machine, or a disk is not watched or named twice.
    pub fn new(
        root: &Root,
        folder: &Path,
        machine: Option<&str>,
        named: &[DriveProfile],
        watched: &WatchedDisks,
    ) -> Result<(StatModel, Vec<String>), StatModelError> {
        let there = watched.names();
        let mut profiles = BTreeMap::new();
        for DriveProfile { disk, profile } in named {
            let (name, _) = whole_disk(watched.disks(), disk_name(disk));
            if !there.contains(&name) {
                let known = match there.is_empty() {
                    true => "there is none".into(),
                    false => format!("disks here: {}", there.join(", ")),
                };
                return Err(StatModelError::Unwatched { name, known });
            }
            if profiles.insert(name.clone(), profile.clone()).is_some() {
                return Err(StatModelError::Twice(name));
            }
        }
        let machine = machine_profile_at(root, machine)?;
        let mut notes = vec![format!(
            "model:cores: watts of {} by the CPU times of /proc/stat, an idle core between C1 and C6; not of the box",
            machine.name
        )];
        notes.extend(machine.frequency_note(&[Residency::default()]));
        let mut model = StatModel {
            machine,
            root: folder.into(),
            named: profiles,
            drives: BTreeMap::new(),
            before: None,
        };
        notes.extend(model.meet(watched));
        Ok((model, notes))
    }

    /// Begins the first interval.
    pub(super) fn begin(&mut self) {
        self.before = CpuTimes::read(&self.root).ok();
    }

    /// Finds the profiles of new drives among `watched`, and returns notes on them.
    pub(super) fn meet(&mut self, watched: &WatchedDisks) -> Vec<String> {
        let (mut notes, mut none) = (Vec::new(), Vec::new());
        let there = watched.names();
        // What comes back under the name of a drive that is gone may be another drive.
        self.drives.retain(|name, _| there.contains(name));
        for name in there {
            if self.drives.contains_key(&name) {
                continue;
            }
            let found = self.candidates(watched, &name);
            match &found {
                Some((_, note)) => notes.push(format!("{name}: {note}")),
                None => none.push(name.clone()),
            }
            self.drives.insert(name, found.map(|(found, _)| found));
        }
        if !none.is_empty() {
            notes.push(format!(
                "not modelled, being no drives or on others: {}",
                none.join(", ")
            ));
        }
        notes
    }

    /// Returns the candidate profiles of the disk `name`, and a note on how they were found.
    fn candidates(&self, watched: &WatchedDisks, name: &str) -> Option<(Candidates, String)> {
        let one = |profile: DeviceProfile, why: &str| {
            let source = format!("model of {}", profile.name);
            let note = format!("{source}, {why}");
            let profiles = vec![profile];
            (Candidates { profiles, source }, note)
        };
        if let Some(profile) = self.named.get(name) {
            return Some(one(profile.clone(), "by --drive"));
        }
        let disks = watched.disks();
        // The energy of a device on top of another belongs to the other.
        if !disks.is_drive(name) || !watched.beneath(name).is_empty() {
            return None;
        }
        let model = disks.model(name);
        if let Some(profile) = model.as_deref().and_then(DeviceProfile::fitting) {
            return Some(one(profile, "by its model name"));
        }
        let all = DeviceProfile::names().filter_map(|name| DeviceProfile::builtin(name).ok());
        let may_rotate = disks.may_rotate(name);
        let is_one = |profile: &DeviceProfile| {
            !profile.drives.is_empty() || may_rotate && profile.name == TURNS
        };
        let profiles: Vec<_> = all.filter(is_one).collect();
        let source = match may_rotate {
            true => "model of any drive",
            false => "model of any SSD",
        };
        let why = match model {
            Some(model) => format!("there is no profile of '{}'", printable(&model)),
            None => "nothing says what it is".into(),
        };
        let note = format!(
            "{source}, the median and the whole band of {} profiles: {why}; --drive {name}=PROFILE names one",
            profiles.len(),
        );
        let source = source.into();
        Some((Candidates { profiles, source }, note))
    }

    /// Returns the energy of the drive `device` in an interval; `None` if it is not modelled.
    pub(super) fn drive(&self, device: &DiskActivity) -> Option<DeviceModel> {
        let candidates = self.drives.get(&device.name)?.as_ref()?;
        let energies = candidates.profiles.iter();
        let mut energies: Vec<_> = energies.map(|of| self.drive_as(of, device)).collect();
        energies.sort_by(|one, other| one.joules.0.total_cmp(&other.joules.0));
        let ends = |energy: &Energy| energy.band;
        let band = energies.iter().filter_map(ends).reduce(|one, other| {
            let (mut low, mut high) = (one.low, one.high);
            low.0 = low.0.min(other.low.0);
            high.0 = high.0.max(other.high.0);
            joulio_units::Band { low, high }
        });
        let upper = energies.get(energies.len() / 2)?;
        let lower = &energies[(energies.len() - 1) / 2];
        let median = Energy {
            joules: Joules((lower.joules.0 + upper.joules.0) / 2.0),
            band,
            ..upper.clone()
        };
        Some(DeviceModel {
            modelled: true,
            source: candidates.source.clone(),
            all: EnergyShare::new(Some(&median), Some(device.interval.ios)),
        })
    }

    fn drive_as(&self, profile: &DeviceProfile, device: &DiskActivity) -> Energy {
        let did = &device.interval;
        let window = seconds(did.seconds);
        let counted = |ios: u64, bytes, mean_ms: Option<f64>| CountedIos {
            ios,
            bytes,
            outstanding: seconds(mean_ms.unwrap_or(0.0) / 1e3 * ios as f64),
        };
        let read = counted(did.reads, did.read_bytes, did.read_await_ms);
        let write = counted(did.writes, did.write_bytes, did.write_await_ms);
        let activity = DeviceActivity::counted(profile, window, read, write);
        let model = Model {
            machine: &self.machine,
            devices: vec![(Some(profile), activity)],
        };
        model.devices_energy(window)
    }

    /// Returns the energy of the cores in an interval of `seconds`, divided among the I/Os of `devices`.
    pub(super) fn cores(&mut self, devices: &[DiskActivity], interval: f64) -> MeterRow {
        let lowest = devices.iter().filter(|device| device.on.is_empty());
        let counts = lowest.clone().map(|device| device.interval.ios);
        let ios = counts.fold(0, u64::saturating_add);
        let names = lowest.map(|device| device.name.clone()).collect();
        let source = format!("model of {}", self.machine.name);
        let now = CpuTimes::read(&self.root);
        let energy = match (&now, &self.before) {
            (Ok(now), Some(before)) => {
                let cores = self.by_core(now.since(before));
                Ok(self.cores_energy(&cores, seconds(interval), source.clone()))
            }
            (Err(why), _) => Err(why.to_string()),
            (Ok(_), None) => Err("no CPU times at the beginning".into()),
        };
        self.before = now.ok();
        MeterRow::modelled(energy.as_ref().map_err(String::clone), source, ios, names)
    }

    /// Groups the CPUs' times by core, each with a list of its threads.
    fn by_core(&self, cpus: BTreeMap<usize, CpuUse>) -> Vec<Vec<CpuUse>> {
        let mut cores: BTreeMap<String, Vec<CpuUse>> = BTreeMap::new();
        for (cpu, used) in cpus {
            let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            let siblings = fs::read_to_string(self.root.join(file));
            let core = siblings.unwrap_or_else(|_| cpu.to_string());
            cores.entry(core).or_default().push(used);
        }
        cores.into_values().collect()
    }

    fn cores_energy(&self, cores: &[Vec<CpuUse>], window: Nanos, source: String) -> Energy {
        let machine = &self.machine;
        let joules = |pick| {
            cores.iter().fold(Joules::default(), |sum, threads| {
                let core = residency(threads, window, pick);
                let asleep = window.since(core.total() + stolen(threads));
                let asleep = match pick {
                    Pick::Low => machine.core_watts_at(CoreState::C6, None, pick) * asleep,
                    _ => Joules::default(),
                };
                sum + cores_in_full(machine, &[core], pick) + asleep
            })
        };
        modelled_energy(Boundary::Cores, source, window, joules)
    }
}

/// Returns the times of a core in each state, from the times of its threads. It is not known when two threads ran at
/// once: the core was busy at least for the longest of their times (low end), at most for their sum (high end), and for
/// the time in between that independent threads give (middle). When idle, it was in C6 at the low end, which the caller
/// adds, in C1 at the high end, and in C1E in the middle.
fn residency(threads: &[CpuUse], window: Nanos, pick: Pick) -> Residency {
    let busy_of = |used: &CpuUse| (used.busy + used.interrupts).min(window);
    let parts = threads
        .iter()
        .map(|used| busy_of(used).seconds() / window.seconds());
    let part = match pick {
        _ if window == Nanos::ZERO => 0.0,
        Pick::Low => parts.fold(0.0, f64::max),
        Pick::Value => 1.0 - parts.fold(1.0, |idle, part| idle * (1.0 - part)),
        Pick::High => parts.sum::<f64>().min(1.0),
    };
    let busy = seconds(part * window.seconds());
    let sum = |of: fn(&CpuUse) -> Nanos| threads.iter().map(of).fold(0.0, |a, b| a + b.seconds());
    let (user, all) = (
        sum(|used| used.user),
        sum(|used| used.busy + used.interrupts),
    );
    let share = if all > 0.0 { user / all } else { 0.0 };
    let spin = seconds(share * busy.seconds()).min(busy);
    let idle = window.since(busy + stolen(threads));
    let mut core = Residency {
        spin,
        kernel: busy.since(spin),
        ..Residency::default()
    };
    match pick {
        Pick::Low => {}
        Pick::Value => core.blocked = idle,
        Pick::High => core.slept = idle,
    }
    core
}

/// Returns the time for which the host ran something else on the whole core.
fn stolen(threads: &[CpuUse]) -> Nanos {
    let stolen = threads.iter().map(|used| used.stolen);
    stolen.min().unwrap_or_default()
}

fn seconds(seconds: f64) -> Nanos {
    Nanos::nearest(seconds * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Nanos = Nanos::from_millis(1_000);

    fn used(user: u64, system: u64, stolen: u64) -> CpuUse {
        let ms = Nanos::from_millis;
        CpuUse {
            busy: ms(user + system),
            user: ms(user),
            interrupts: Nanos::ZERO,
            stolen: ms(stolen),
        }
    }

    #[test]
    fn two_threads_of_a_core_are_busy_together_or_in_turn() {
        let threads = [used(500, 0, 0), used(0, 500, 0)];
        let busy = |pick| residency(&threads, WINDOW, pick).busy().seconds();
        let all = [Pick::Low, Pick::Value, Pick::High].map(busy);
        assert_eq!(all, [0.5, 0.75, 1.0]);
        let core = residency(&threads, WINDOW, Pick::Value);
        assert_eq!(
            (core.spin, core.blocked),
            (core.kernel, Nanos::from_millis(250))
        );
    }

    #[test]
    fn stolen_time_is_the_hosts_and_more_ticks_than_time_are_no_more() {
        let core = residency(&[used(200, 0, 300)], WINDOW, Pick::High);
        assert_eq!(core.slept, Nanos::from_millis(500));
        let core = residency(&[used(900, 130, 0)], WINDOW, Pick::Value);
        assert_eq!((core.busy(), core.blocked), (WINDOW, Nanos::ZERO));
        let nothing = residency(&[used(0, 0, 0)], Nanos::ZERO, Pick::Value);
        assert_eq!(nothing.total(), Nanos::ZERO);
    }

    #[test]
    fn an_idle_core_is_between_c6_and_c1_and_a_busy_one_as_the_profile_has_it() {
        let model = StatModel {
            machine: MachineProfile::builtin("generic-server").unwrap(),
            root: "/nowhere".into(),
            named: BTreeMap::new(),
            drives: BTreeMap::new(),
            before: None,
        };
        let watts = &model.machine.core_watts;
        let energy = |used| model.cores_energy(&[vec![used]], WINDOW, String::new());
        let idle = energy(used(0, 0, 0));
        let band = idle.band.unwrap();
        assert_eq!(idle.joules.0, watts.c1e.value);
        assert_eq!(
            (band.low.0, band.high.0),
            (watts.c6.at(Pick::Low), watts.c1.at(Pick::High))
        );
        assert_eq!(energy(used(1_000, 0, 0)).joules.0, watts.spin.value);
        assert_eq!(energy(used(0, 1_000, 0)).joules.0, watts.kernel.value);
    }

    #[test]
    fn a_drive_that_is_gone_is_forgotten() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("proc")).unwrap();
        fs::write(tree.path().join("proc/diskstats"), "").unwrap();
        let disks = joulio_kernel_io::Disks::at(tree.path());
        let watched = WatchedDisks::new(disks, &[], Nanos::ZERO).unwrap();
        let mut model = StatModel {
            machine: MachineProfile::builtin("generic-server").unwrap(),
            root: tree.path().into(),
            named: BTreeMap::new(),
            drives: BTreeMap::from([("sdb".into(), None)]),
            before: None,
        };
        model.meet(&watched);
        assert!(model.drives.is_empty());
    }
}
