//! The process that holds a file's lock of flock(2), from /proc/locks (proc_locks(5)).

use rustix::fs::{fstat, major, minor};
use std::fmt;
use std::fs;
use std::os::fd::AsFd;

/// Holder of a file's lock, in the form for messages: `another joulio (process 708)`, without the process if it is
/// not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Process identifier, if it is in /proc/locks.
    pub process: Option<u32>,
}

impl LockHolder {
    /// Returns the holder of a lock on `file`; the first of several readers.
    pub fn of(file: impl AsFd) -> LockHolder {
        let process = fstat(file).ok().and_then(|stat| {
            let device = (major(stat.st_dev), minor(stat.st_dev));
            let locks = fs::read_to_string("/proc/locks").ok()?;
            holder(&locks, device, stat.st_ino)
        });
        LockHolder { process }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(f, "another joulio (process {process})"),
            None => f.write_str("another joulio"),
        }
    }
}

/// Finds a line such as `1: FLOCK  ADVISORY  WRITE 708 fe:00:1573 0 EOF`. For a process that only waits, `->`
/// precedes the kind; for one of another PID namespace the number is not positive.
fn holder(locks: &str, device: (u32, u32), inode: u64) -> Option<u32> {
    let file = format!("{:02x}:{:02x}:{inode}", device.0, device.1);
    locks.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, "FLOCK", _, _, process, found, ..] if *found == file => {
                process.parse().ok().filter(|&process| process > 0)
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FlockOperation, flock};

    const LOCKS: &str = "\
        1: POSIX  ADVISORY  WRITE 11 fe:00:1573 0 EOF\n\
        2: FLOCK  ADVISORY  WRITE -1 fe:00:20 0 EOF\n\
        3: FLOCK  ADVISORY  WRITE 708 fe:00:1573 0 EOF\n\
        3: -> FLOCK  ADVISORY  WRITE 709 fe:00:1574 0 EOF\n";

    #[test]
    fn a_line_of_proc_locks_names_the_holder() {
        assert_eq!(holder(LOCKS, (0xfe, 0), 1573), Some(708));
        // Not the locks of another PID namespace, of a process that waits, or on other devices.
        assert_eq!(holder(LOCKS, (0xfe, 0), 20), None);
        assert_eq!(holder(LOCKS, (0xfe, 0), 1574), None);
        assert_eq!(holder(LOCKS, (0xfe, 1), 1573), None);
    }

    #[test]
    fn a_holder_is_this_process_or_unknown() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(LockHolder::of(&file).to_string(), "another joulio");
        flock(&file, FlockOperation::LockExclusive).unwrap();
        // Some file systems have a different device number in /proc/locks than in stat(2).
        if let Some(process) = LockHolder::of(&file).process {
            assert_eq!(process, std::process::id());
        }
    }
}
