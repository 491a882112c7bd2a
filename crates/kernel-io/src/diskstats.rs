//! `/proc/diskstats` (Documentation/admin-guide/iostats.rst).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Counters of a block device since it appeared. They wrap: on a 32-bit kernel at 2^32; the times, in milliseconds,
/// wrap at 2^32 on every kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Reads completed.
    pub reads: u64,
    /// Reads merged with another before they were sent.
    pub read_merges: u64,
    /// Sectors read, of 512 bytes, whatever the device's block size.
    pub read_sectors: u64,
    /// Milliseconds that reads took, summed over reads.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub write_merges: u64,
    /// Sectors written.
    pub write_sectors: u64,
    /// Milliseconds that writes took.
    pub write_ms: u64,
    /// I/Os in flight now.
    pub in_flight: u64,
    /// Milliseconds in which at least one I/O was in flight.
    pub busy_ms: u64,
    /// Milliseconds, each multiplied by the number of I/Os in flight.
    pub weighted_ms: u64,
}

/// Error: the counters cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A line does not have the kernel's format.
    #[error("{}, line {line}: not in the format of the kernel's iostats.rst", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
    },
}

/// The block devices whose I/O the kernel counts.
#[derive(Clone, Debug)]
pub struct Disks {
    root: PathBuf,
}

impl Disks {
    /// Returns the block devices below `root`: `/`, or a captured file tree.
    pub fn at(root: impl Into<PathBuf>) -> Disks {
        Disks { root: root.into() }
    }

    /// Reads the counters of every block device, by name, without partitions and devices of size zero.
    ///
    /// # Errors
    /// /proc/diskstats cannot be read, or has another format.
    pub fn read(&self) -> Result<BTreeMap<String, DiskStats>, StatsError> {
        let path = self.root.join("proc/diskstats");
        let text = fs::read_to_string(&path).map_err(|source| StatsError::Read {
            path: path.clone(),
            source,
        })?;
        let mut disks = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let (name, stats) = parse(line).ok_or_else(|| StatsError::Form {
                path: path.clone(),
                line: index + 1,
            })?;
            if self.is_whole_device(name) && self.has_room(name) {
                disks.insert(name.into(), stats);
            }
        }
        Ok(disks)
    }

    /// Returns true if `name` is not a partition: only whole devices have a directory in /sys/block, with `!` for a
    /// slash.
    fn is_whole_device(&self, name: &str) -> bool {
        self.block(name).is_dir()
    }

    /// Returns true if the device has sectors: loop devices without a file, and drives without a medium, have none.
    fn has_room(&self, name: &str) -> bool {
        let size = fs::read_to_string(self.block(name).join("size"));
        size.is_ok_and(|size| size.trim() != "0")
    }

    /// Returns the folder of the device `name`.
    pub(crate) fn block(&self, name: &str) -> PathBuf {
        self.blocks().join(name.replace('/', "!"))
    }

    /// Returns the folder with the folders of all devices.
    pub(crate) fn blocks(&self) -> PathBuf {
        self.root.join("sys/block")
    }
}

/// Parses a line: major, minor, name, and eleven counters; newer kernels append more.
fn parse(line: &str) -> Option<(&str, DiskStats)> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    let mut counters = [0; 11];
    for counter in &mut counters {
        *counter = words.next()?.parse().ok()?;
    }
    let [
        reads,
        read_merges,
        read_sectors,
        read_ms,
        writes,
        write_merges,
        write_sectors,
        write_ms,
        in_flight,
        busy_ms,
        weighted_ms,
    ] = counters;
    let stats = DiskStats {
        reads,
        read_merges,
        read_sectors,
        read_ms,
        writes,
        write_merges,
        write_sectors,
        write_ms,
        in_flight,
        busy_ms,
        weighted_ms,
    };
    Some((name, stats))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINES: &str = "\
 259       0 nvme0n1 1000 5 80000 200 500 7 40000 300 2 400 500 1 2 3 4 5 6
 259       1 nvme0n1p1 900 5 70000 190 400 6 30000 290 0 390 480 1 2 3 4 5 6
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   8       0 sda 11 0 88 1 0 0 0 0 0 1 1
";

    fn tree(lines: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/diskstats"), lines).unwrap();
        for (name, size) in [("nvme0n1", "1000"), ("loop0", "0"), ("sda", "77")] {
            let block = root.path().join("sys/block").join(name);
            fs::create_dir_all(&block).unwrap();
            fs::write(block.join("size"), size).unwrap();
        }
        root
    }

    #[test]
    fn devices_are_reported_partitions_and_empty_ones_are_not() {
        let root = tree(LINES);
        let disks = Disks::at(root.path()).read().unwrap();
        assert_eq!(disks.keys().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
        let nvme = disks["nvme0n1"];
        assert_eq!((nvme.reads, nvme.write_sectors), (1000, 40000));
        assert_eq!(
            (nvme.in_flight, nvme.busy_ms, nvme.weighted_ms),
            (2, 400, 500)
        );
    }

    #[test]
    fn a_strange_line_is_an_error_that_names_it() {
        let root = tree("   8       0 sda 11 0 88\n");
        let error = Disks::at(root.path()).read().unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
        let error = Disks::at("/nowhere").read().unwrap_err().to_string();
        assert!(error.contains("/nowhere/proc/diskstats"), "{error}");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,80}") {
            let _ = parse(&line);
        }
    }
}
