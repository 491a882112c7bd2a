//! Which block devices are watched, and what they did.

use crate::failure::{Failure, say};
use joulio_kernel_io::{DiskStats, Disks, Interval, StatsError};
use joulio_units::Nanos;
use std::collections::BTreeMap;
use std::fs;

/// What stands in [`Device::on`] for what is beneath a loop device.
const A_FILE: &str = "a file";

/// The block devices that are watched.
pub struct Watched {
    disks: Disks,
    /// None: all.
    named: Option<Vec<String>>,
    /// What each had done at the last look, and what it stands on.
    before: BTreeMap<String, (DiskStats, Vec<String>)>,
    at: Nanos,
}

/// What they did between two looks.
pub struct StatInterval {
    /// Seconds between the looks.
    pub seconds: f64,
    /// Those that were there all the time, by name.
    pub devices: Vec<Device>,
    /// Which came and went.
    pub notes: Vec<String>,
}

/// A block device.
#[derive(Clone, Debug)]
pub struct Device {
    /// The kernel's name: vda.
    pub name: String,
    /// What it did.
    pub interval: Interval,
    /// What it stands on, if that is watched too: their I/Os are the same, and count once.
    pub on: Vec<String>,
}

impl Watched {
    /// Those of `disks` that are `named`, or all, as they are `now`.
    pub fn new(disks: Disks, named: &[String], now: Nanos) -> Result<Watched, Failure> {
        let mut watched = Watched {
            disks,
            named: None,
            before: BTreeMap::new(),
            at: now,
        };
        if !named.is_empty() {
            let whole = |name: &String| whole_disk(&watched.disks, plain(name));
            watched.named = Some(named.iter().map(whole).collect());
        }
        let there = watched.disks.read().map_err(Failure::input)?;
        let missing = |name: &&String| !there.contains_key(*name);
        if let Some(name) = watched.named.iter().flatten().find(missing) {
            let known: Vec<_> = there.keys().map(String::as_str).collect();
            return Err(Failure::input(format!(
                "there is no block device {name}: {}",
                match known.is_empty() {
                    true => "there is none".into(),
                    false => known.join(", "),
                }
            )));
        }
        watched.keep(watched.chosen(there), now);
        Ok(watched)
    }

    /// What they did since the last look.
    pub fn look(&mut self, now: Nanos) -> Result<StatInterval, StatsError> {
        let after = self.chosen(self.disks.read()?);
        let length = now.since(self.at);
        let mut look = StatInterval {
            seconds: length.seconds(),
            devices: Vec::new(),
            notes: Vec::new(),
        };
        for (name, (before, on)) in &self.before {
            match after.get(name) {
                Some(after) => look.devices.push(Device {
                    name: name.clone(),
                    interval: Interval::between(before, after, length),
                    on: on.clone(),
                }),
                None => look.notes.push(format!("{name} is gone")),
            }
        }
        let new = after.keys().filter(|name| !self.before.contains_key(*name));
        look.notes
            .extend(new.map(|name| format!("{name} is new: from the next line on")));
        self.keep(after, now);
        Ok(look)
    }

    /// The NVMe controller `controller` is how `name` is reached.
    pub fn is_of(&self, name: &str, controller: &str) -> bool {
        self.disks.is_of(name, controller)
    }

    fn chosen(&self, mut there: BTreeMap<String, DiskStats>) -> BTreeMap<String, DiskStats> {
        if let Some(named) = &self.named {
            there.retain(|name, _| named.contains(name));
        }
        there
    }

    /// What each stands on changes when one comes or goes, and is not looked up otherwise.
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

    /// What of `there` the device `name` stands on, through whatever lies between.
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

/// The disk `name`, or the one that it is a partition of: settings and counters are the disk's.
pub fn whole_disk(disks: &Disks, name: String) -> String {
    let Some(disk) = disks.disk_of(&name) else {
        return name;
    };
    say(&format!(
        "{name} is a partition: what is told is of its disk, {disk}"
    ));
    disk
}

/// A name as /proc/diskstats has it: of `/dev/vda`, or of a link to it.
fn plain(name: &str) -> String {
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

    fn watched(tree: &TempDir, named: &[&str]) -> Result<Watched, Failure> {
        let named: Vec<_> = named.iter().map(ToString::to_string).collect();
        Watched::new(Disks::at(tree.path()), &named, Nanos::ZERO)
    }

    fn ok<T, E>(result: Result<T, E>) -> T {
        result.unwrap_or_else(|_| panic!("an error"))
    }

    #[test]
    fn one_that_goes_is_told_once_and_one_that_comes_counts_from_there() {
        let tree = tree(&["sda", "sdb"]);
        let mut watched = ok(watched(&tree, &[]));
        count(&tree, &["sda"], 5);
        let look = ok(watched.look(Nanos::from_millis(1_000)));
        assert_eq!(look.notes, ["sdb is gone"]);
        assert_eq!((look.devices.len(), look.devices[0].interval.reads), (1, 5));
        count(&tree, &["sda", "sdb"], 7);
        let look = ok(watched.look(Nanos::from_millis(2_000)));
        assert_eq!(look.devices.len(), 1);
        assert!(look.notes[0].starts_with("sdb is new"), "{:?}", look.notes);
        count(&tree, &["sda", "sdb"], 10);
        let look = ok(watched.look(Nanos::from_millis(3_000)));
        let reads: Vec<_> = look.devices.iter().map(|d| d.interval.reads).collect();
        assert_eq!((reads, look.notes.len()), (vec![3, 3], 0));
    }

    #[test]
    fn a_partition_is_watched_as_its_disk() {
        let tree = tree(&["sda", "sdb"]);
        write(&tree, "sys/block/sda/sda1/partition", "1");
        let mut watched = ok(watched(&tree, &["sda1"]));
        count(&tree, &["sda", "sdb"], 7);
        let look = ok(watched.look(Nanos::from_millis(1_000)));
        assert_eq!(look.devices.len(), 1);
        assert_eq!(look.devices[0].name, "sda");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let tree = tree(&["sda", "sdb"]);
        match watched(&tree, &["sda", "/dev/sdc"]) {
            Err(Failure::Input(why)) => {
                assert!(why.contains("sdc: sda, sdb"), "{why}");
            }
            _ => panic!("not refused"),
        }
        let mut named = ok(watched(&tree, &["/dev/sdb"]));
        let look = ok(named.look(Nanos::from_millis(1_000)));
        assert_eq!(
            (look.devices.len(), look.devices[0].name.as_str()),
            (1, "sdb")
        );
    }

    #[test]
    fn what_stands_on_another_is_told_through_all_floors() {
        let tree = tree(&["dm-1", "loop0", "sda"]);
        write(&tree, "sys/block/dm-1/slaves/dm-0/size", "8");
        write(&tree, "sys/block/dm-0/slaves/sda/size", "8");
        write(&tree, "sys/block/loop0/loop/backing_file", "/x");
        let on = |named: &[&str], index: usize| {
            let mut watched = ok(watched(&tree, named));
            ok(watched.look(Nanos::from_millis(1_000))).devices[index]
                .on
                .clone()
        };
        assert_eq!(on(&[], 0), ["sda"]);
        assert_eq!(on(&[], 1), ["a file"]);
        assert!(on(&[], 2).is_empty());
        // Alone it is where the I/Os are counted.
        assert!(on(&["dm-1"], 0).is_empty());
        assert!(on(&["loop0"], 0).is_empty());
    }
}
