//! Processes that have a device node open.

use std::fs;
use std::path::Path;

use super::{PciAddress, Sysfs};

/// A process with a file of interest open.
pub(super) struct Opener {
    pub(super) pid: u32,
    /// Name of the process, from `/proc/PID/comm`.
    pub(super) command: String,
    /// File that the process has open, as the kernel names it.
    pub(super) file: String,
}

impl Sysfs {
    /// Finds the processes that have one of `nodes` (`/dev/...`) open, including this one.
    ///
    /// Processes that may not be inspected, or that end meanwhile, are skipped: only root sees them all, and only root
    /// can move a device. Source: proc_pid_fd(5).
    pub(super) fn openers(&self, nodes: &[String]) -> Vec<Opener> {
        self.scan(|file, _| nodes.iter().any(|node| node == file))
    }

    /// Finds the processes that have `nodes` or this VFIO device open. The device's descriptor is anonymous; since
    /// Linux 6.18 its fdinfo names the device (Documentation/filesystems/proc.rst, "VFIO Device files").
    pub(super) fn vfio_openers(&self, address: PciAddress, nodes: &[String]) -> Vec<Opener> {
        let last = format!("/{address}");
        self.scan(|file, info| {
            if file.contains("[vfio-device]") {
                let text = fs::read_to_string(info).unwrap_or_default();
                let mut paths = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("vfio-device-syspath:"));
                return paths.any(|path| path.trim().ends_with(&last));
            }
            nodes.iter().any(|node| node == file)
        })
    }

    /// Finds the open files for which `wanted(name, fdinfo)` is true, each file once per process.
    fn scan(&self, wanted: impl Fn(&str, &Path) -> bool) -> Vec<Opener> {
        let proc = self.path("proc");
        let mut openers: Vec<Opener> = Vec::new();
        let pids = self.names(&proc).unwrap_or_default();
        for pid in pids.iter().filter_map(|name| name.parse::<u32>().ok()) {
            let dir = proc.join(pid.to_string());
            for fd in self.names(&dir.join("fd")).unwrap_or_default() {
                let Ok(file) = fs::read_link(dir.join("fd").join(&fd)) else {
                    continue;
                };
                let file = file.to_string_lossy().into_owned();
                let seen = openers.iter().any(|o| o.pid == pid && o.file == file);
                if seen || !wanted(&file, &dir.join("fdinfo").join(&fd)) {
                    continue;
                }
                let command = self.text(&dir.join("comm")).ok().flatten();
                openers.push(Opener {
                    pid,
                    command: command.unwrap_or_else(|| "?".to_owned()),
                    file,
                });
            }
        }
        openers
    }
}
