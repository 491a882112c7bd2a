//! Activity of block devices over time.

use joulio_kernel_io::{DiskStats, DiskUse, Disks, StatsError};
use joulio_units::Nanos;
use std::collections::BTreeMap;
use std::fs;

/// Entry of [`DiskActivity::on`] for a loop device, whose I/Os go to a file.
const A_FILE: &str = "a file";

/// Reason why block devices cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// No block device has this name: use one of those that the message lists.
    #[error("there is no block device '{name}': {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Text that lists the block devices of the machine.
        known: String,
    },
    /// The kernel's counters cannot be read.
    #[error(transparent)]
    Stats(#[from] StatsError),
}

/// Watched block devices, and their counters at the last snapshot.
pub struct WatchedDisks {
    disks: Disks,
    /// Names of the disks to watch; `None`: all disks.
    named: Option<Vec<String>>,
    notes: Vec<String>,
    /// Counters of each device at the last snapshot, and the names of the devices beneath it.
    before: BTreeMap<String, (DiskStats, Vec<String>)>,
    at: Nanos,
}

/// Activity of the watched block devices between two snapshots.
pub struct DiskInterval {
    /// Seconds between the snapshots.
    pub seconds: f64,
    /// Activity of the devices that were present all the time, in order of their names.
    pub devices: Vec<DiskActivity>,
    /// Notes on devices that appeared or disappeared.
    pub notes: Vec<String>,
}

/// Activity of a block device.
#[derive(Clone, Debug)]
pub struct DiskActivity {
    /// Kernel's name of the device: vda.
    pub name: String,
    /// I/Os, bytes and times of the interval.
    pub interval: DiskUse,
    /// Names of the watched devices beneath this one: they carry the same I/Os, which must count only once.
    pub on: Vec<String>,
}

impl WatchedDisks {
    /// Watches the disks `named`, or all of `disks`, from `now` on. A partition stands for its disk.
    ///
    /// # Errors
    /// A name belongs to no device, or the counters cannot be read.
    pub fn new(disks: Disks, named: &[String], now: Nanos) -> Result<WatchedDisks, DiskError> {
        let mut watched = WatchedDisks {
            disks,
            named: None,
            notes: Vec::new(),
            before: BTreeMap::new(),
            at: now,
        };
        if !named.is_empty() {
            let whole = |name: &String| whole_disk(&watched.disks, disk_name(name));
            let (disks, notes): (_, Vec<_>) = named.iter().map(whole).unzip();
            watched.named = Some(disks);
            watched.notes = notes.into_iter().flatten().collect();
        }
        let there = watched.disks.read()?;
        let missing = |name: &&String| !there.contains_key(*name);
        if let Some(name) = watched.named.iter().flatten().find(missing) {
            let known: Vec<_> = there.keys().map(String::as_str).collect();
            return Err(DiskError::Unknown {
                name: name.clone(),
                known: match known.is_empty() {
                    true => "there is none at all".into(),
                    false => format!("disks here: {}", known.join(", ")),
                },
            });
        }
        watched.keep(watched.chosen(there), now);
        Ok(watched)
    }

    /// Returns the activity since the last snapshot, and takes a new snapshot.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn snapshot(&mut self, now: Nanos) -> Result<DiskInterval, StatsError> {
        let after = self.chosen(self.disks.read()?);
        let length = now.since(self.at);
        let mut snapshot = DiskInterval {
            seconds: length.seconds(),
            devices: Vec::new(),
            notes: Vec::new(),
        };
        for (name, (before, on)) in &self.before {
            match after.get(name) {
                Some(after) => snapshot.devices.push(DiskActivity {
                    name: name.clone(),
                    interval: DiskUse::between(before, after, length),
                    on: on.clone(),
                }),
                None => snapshot.notes.push(format!("{name} was removed")),
            }
        }
        let new = after.keys().filter(|name| !self.before.contains_key(*name));
        snapshot
            .notes
            .extend(new.map(|name| format!("{name} is new: from the next line on")));
        self.keep(after, now);
        Ok(snapshot)
    }

    /// Returns notes on names that belonged to partitions.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the names of the watched devices.
    pub fn names(&self) -> Vec<String> {
        self.before.keys().cloned().collect()
    }

    /// Returns the names of the devices beneath `name`.
    pub fn beneath(&self, name: &str) -> &[String] {
        self.before.get(name).map_or(&[], |(_, on)| on)
    }

    /// Returns the block devices of the machine.
    pub fn disks(&self) -> &Disks {
        &self.disks
    }

    /// Returns true if `name` is reached through the NVMe controller `controller`.
    pub fn is_of(&self, name: &str, controller: &str) -> bool {
        self.disks.is_of(name, controller)
    }

    fn chosen(&self, mut there: BTreeMap<String, DiskStats>) -> BTreeMap<String, DiskStats> {
        if let Some(named) = &self.named {
            there.retain(|name, _| named.contains(name));
        }
        there
    }

    /// Keeps `there` as the snapshot for the next interval. The devices beneath each are read again only if a device
    /// appeared or disappeared.
    fn keep(&mut self, there: BTreeMap<String, DiskStats>, now: Nanos) {
        let same = there.keys().eq(self.before.keys());
        let on = |name: &String| match self.before.get(name) {
            Some((_, on)) if same => on.clone(),
            _ => self.on(name, &there),
        };
        let with = there
            .iter()
            .map(|(name, stats)| (name.clone(), (*stats, on(name))));
        self.before = with.collect();
        self.at = now;
    }

    /// Returns the devices of `there` that are beneath the device `name`, directly or through others.
    fn on(&self, name: &str, there: &BTreeMap<String, DiskStats>) -> Vec<String> {
        if self.disks.is_loop(name) {
            let others = there.keys().any(|other| !self.disks.is_loop(other));
            return if others {
                vec![A_FILE.into()]
            } else {
                Vec::new()
            };
        }
        let (mut seen, mut left) = (Vec::new(), self.disks.beneath(name));
        while let Some(lower) = left.pop() {
            if !seen.contains(&lower) {
                left.extend(self.disks.beneath(&lower));
                seen.push(lower);
            }
        }
        seen.retain(|lower| there.contains_key(lower));
        seen.sort();
        seen
    }
}

/// Returns the disk `name`, or the disk that the partition `name` belongs to with a note about it: settings and
/// counters are the disk's.
pub fn whole_disk(disks: &Disks, name: String) -> (String, Option<String>) {
    match disks.disk_of(&name) {
        None => (name, None),
        Some(disk) => {
            let note = format!("{name} is a partition: what is reported is of its disk, {disk}");
            (disk, Some(note))
        }
    }
}

/// Returns the kernel's name of the device `name`, which may be `/dev/vda` or a symbolic link to it.
pub(crate) fn disk_name(name: &str) -> String {
    if !name.starts_with('/') {
        return name.into();
    }
    let path = fs::canonicalize(name).unwrap_or_else(|_| name.into());
    let path = path.strip_prefix("/dev").unwrap_or(&path);
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tempfile::TempDir;

    fn write(tree: &TempDir, path: &str, text: &str) {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("made");
        fs::write(path, text).expect("written");
    }

    fn tree(names: &[&str]) -> TempDir {
        let tree = tempfile::tempdir().expect("a temporary directory");
        for name in names {
            write(&tree, &format!("sys/block/{name}/size"), "8");
        }
        count(&tree, names, 0);
        tree
    }

    fn count(tree: &TempDir, names: &[&str], reads: u64) {
        let line = |name: &&str| format!("1 1 {name} {reads} 0 8 0 0 0 0 0 0 0 0\n");
        write(
            tree,
            "proc/diskstats",
            &names.iter().map(line).collect::<String>(),
        );
    }

    fn watched(tree: &TempDir, named: &[&str]) -> Result<WatchedDisks, DiskError> {
        let named: Vec<_> = named.iter().map(ToString::to_string).collect();
        WatchedDisks::new(Disks::at(tree.path()), &named, Nanos::ZERO)
    }

    fn ok<T, E>(result: Result<T, E>) -> T {
        result.unwrap_or_else(|_| panic!("an error"))
    }

    #[test]
    fn one_that_goes_is_reported_once_and_one_that_comes_counts_from_there() {
        let tree = tree(&["sda", "sdb"]);
        let mut watched = ok(watched(&tree, &[]));
        count(&tree, &["sda"], 5);
        let snapshot = ok(watched.snapshot(Nanos::from_millis(1_000)));
        assert_eq!(snapshot.notes, ["sdb was removed"]);
        assert_eq!(
            (snapshot.devices.len(), snapshot.devices[0].interval.reads),
            (1, 5)
        );
        count(&tree, &["sda", "sdb"], 7);
        let snapshot = ok(watched.snapshot(Nanos::from_millis(2_000)));
        assert_eq!(snapshot.devices.len(), 1);
        assert!(
            snapshot.notes[0].starts_with("sdb is new"),
            "{:?}",
            snapshot.notes
        );
        count(&tree, &["sda", "sdb"], 10);
        let snapshot = ok(watched.snapshot(Nanos::from_millis(3_000)));
        let reads: Vec<_> = snapshot.devices.iter().map(|d| d.interval.reads).collect();
        assert_eq!((reads, snapshot.notes.len()), (vec![3, 3], 0));
    }

    #[test]
    fn a_partition_is_watched_as_its_disk() {
        let tree = tree(&["sda", "sdb"]);
        write(&tree, "sys/block/sda/sda1/partition", "1");
        let mut watched = ok(watched(&tree, &["sda1"]));
        count(&tree, &["sda", "sdb"], 7);
        let snapshot = ok(watched.snapshot(Nanos::from_millis(1_000)));
        assert_eq!(snapshot.devices.len(), 1);
        assert_eq!(snapshot.devices[0].name, "sda");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let tree = tree(&["sda", "sdb"]);
        match watched(&tree, &["sda", "/dev/sdc"]) {
            Err(DiskError::Unknown { name, known }) => {
                let why = format!("{name}: {known}");
                assert!(why.contains("sdc: disks here: sda, sdb"), "{why}");
            }
            _ => panic!("not refused"),
        }
        let mut named = ok(watched(&tree, &["/dev/sdb"]));
        let snapshot = ok(named.snapshot(Nanos::from_millis(1_000)));
        assert_eq!(
            (snapshot.devices.len(), snapshot.devices[0].name.as_str()),
            (1, "sdb")
        );
    }

    #[test]
    fn what_stands_on_another_is_reported_through_all_floors() {
        let tree = tree(&["dm-1", "loop0", "sda"]);
        write(&tree, "sys/block/dm-1/slaves/dm-0/size", "8");
        write(&tree, "sys/block/dm-0/slaves/sda/size", "8");
        write(&tree, "sys/block/loop0/loop/backing_file", "/x");
        let on = |named: &[&str], index: usize| {
            let mut watched = ok(watched(&tree, named));
            ok(watched.snapshot(Nanos::from_millis(1_000))).devices[index]
                .on
                .clone()
        };
        assert_eq!(on(&[], 0), ["sda"]);
        assert_eq!(on(&[], 1), ["a file"]);
        assert!(on(&[], 2).is_empty());
        // If the device beneath is not watched, the I/Os count here.
        assert!(on(&["dm-1"], 0).is_empty());
        assert!(on(&["loop0"], 0).is_empty());
    }
}
