//! Trees of files like those of captured machines.

use joulio_energy::{PerfCounter, PerfEvent, PerfEvents, Root};
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A machine's files in a temporary directory.
#[derive(Debug)]
pub struct Tree(TempDir);

impl Tree {
    pub fn new() -> Tree {
        Tree(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    /// Writes `text` to the machine's file `path`.
    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Tree {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("made");
        fs::write(path, text).expect("written");
        self
    }

    pub fn remove(&self, path: &str) {
        fs::remove_dir_all(self.path(path)).expect("removed");
    }

    pub fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    pub fn cpu(&self, vendor: &str, flags: &str) -> &Tree {
        let text = format!(
            "processor\t: 0\nvendor_id\t: {vendor}\nmodel\t\t: 143\nflags\t\t: fpu {flags} sse\n\n"
        );
        self.file("/proc/cpuinfo", text)
    }

    /// Adds a powercap zone with 32 bits of `unit_nj` nanojoules, with the range that the kernel computes from
    /// them.
    pub fn zone(&self, folder: &str, name: &str, unit_nj: u64, energy_uj: u64) -> &Tree {
        let at = |file: &str| format!("/sys/class/powercap/{folder}/{file}");
        let range = u64::from(u32::MAX) * unit_nj / 1000;
        self.file(&at("name"), format!("{name}\n"))
            .file(&at("max_energy_range_uj"), format!("{range}\n"))
            .file(&at("energy_uj"), format!("{energy_uj}\n"))
    }

    /// Adds a `power` PMU with `events`, numbered as in the kernel, on `cpus`, which are pairs of CPU and package.
    pub fn pmu(&self, events: &[(&str, u64)], cpus: &[(usize, u32)]) -> &Tree {
        let at = |file: &str| format!("/sys/bus/event_source/devices/power/{file}");
        let mask: Vec<_> = cpus.iter().map(|(cpu, _)| cpu.to_string()).collect();
        self.file(&at("type"), "24\n")
            .file(&at("cpumask"), format!("{}\n", mask.join(",")));
        for (event, number) in events {
            let event = at(&format!("events/{event}"));
            self.file(&event, format!("event=0x{number:02x}\n"))
                .file(&format!("{event}.scale"), "2.3283064365386962890625e-10\n")
                .file(&format!("{event}.unit"), "Joules\n");
        }
        for (cpu, package) in cpus {
            let at = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
            self.file(&at, format!("{package}\n"));
        }
        self
    }
}

const UNIT: u64 = 61_035;
const FINE: u64 = 15_258;

/// Returns a server: two Xeon packages, with memory counters in units of 2^-16 J.
pub fn server() -> Tree {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "rapl")
        .zone("intel-rapl:0", "package-0", UNIT, 1_000_000)
        .zone("intel-rapl:0:0", "dram", FINE, 5_000)
        .zone("intel-rapl:1", "package-1", UNIT, 2_000_000)
        .zone("intel-rapl:1:0", "dram", FINE, 6_000);
    tree
}

pub fn server_with_perf() -> Tree {
    let tree = server();
    tree.pmu(&[("energy-pkg", 2), ("energy-ram", 3)], &[(0, 0), (28, 1)]);
    tree
}

/// Returns a laptop: package, core, uncore, psys, and the package again through memory-mapped registers.
pub fn client() -> Tree {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "")
        .zone("intel-rapl:0", "package-0", UNIT, 1_000_000)
        .zone("intel-rapl:0:0", "core", UNIT, 700_000)
        .zone("intel-rapl:0:1", "uncore", UNIT, 100_000)
        .zone("intel-rapl:1", "psys", UNIT, 3_000_000)
        .zone("intel-rapl-mmio:0", "package-0", UNIT, 1_000_000)
        .file("/sys/class/powercap/intel-rapl/enabled", "1\n");
    tree
}

/// Returns a Sapphire Rapids, whose platform counter is in whole joules.
pub fn spr() -> Tree {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "")
        .zone("intel-rapl:0", "package-0", UNIT, 1_000_000)
        .zone("intel-rapl:1", "psys", 1_000_000_000, 7_000_000);
    tree
}

/// Returns a Zen: the MSR driver, with a zone `core` that is one core.
pub fn amd() -> Tree {
    let tree = Tree::new();
    tree.cpu("AuthenticAMD", "")
        .zone("intel-rapl:0", "package-0", FINE, 1_000_000)
        .zone("intel-rapl:0:0", "core", FINE, 9_000);
    tree
}

/// Returns a virtual machine, which has no meters.
pub fn guest() -> Tree {
    let tree = Tree::new();
    tree.cpu("GenuineIntel", "hypervisor");
    tree
}

/// Next readings of every counter; the last one stays.
pub type Wire = Arc<Mutex<VecDeque<io::Result<u64>>>>;

/// Perf events whose counts the test sets.
#[derive(Debug, Default)]
pub struct FakePerf {
    pub opened: Mutex<Vec<PerfEvent>>,
    pub wire: Wire,
    pub refuse: Option<io::ErrorKind>,
}

impl FakePerf {
    pub fn counting(counts: impl IntoIterator<Item = u64>) -> FakePerf {
        FakePerf {
            wire: Arc::new(Mutex::new(counts.into_iter().map(Ok).collect())),
            ..FakePerf::default()
        }
    }
}

pub fn denied_perf() -> Arc<FakePerf> {
    Arc::new(FakePerf {
        refuse: Some(io::ErrorKind::PermissionDenied),
        ..FakePerf::default()
    })
}

impl PerfEvents for FakePerf {
    fn open(&self, event: &PerfEvent) -> io::Result<Box<dyn PerfCounter>> {
        self.opened.lock().unwrap().push(*event);
        match self.refuse {
            Some(kind) => Err(kind.into()),
            None => Ok(Box::new(FakeCounter(self.wire.clone()))),
        }
    }
}

#[derive(Debug)]
struct FakeCounter(Wire);

impl PerfCounter for FakeCounter {
    fn read(&mut self) -> io::Result<u64> {
        let mut wire = self.0.lock().unwrap();
        match wire.len() {
            0 => Ok(0),
            1 => match &wire[0] {
                Ok(count) => Ok(*count),
                Err(error) => Err(error.kind().into()),
            },
            _ => wire.pop_front().expect("there are two"),
        }
    }
}
