//! File trees as kernels have them, in a folder.

use crate::knobs::Knobs;
use std::fs;
use tempfile::TempDir;

/// A system's files.
pub struct FakeMachine {
    folder: TempDir,
}

impl FakeMachine {
    pub fn new() -> FakeMachine {
        let machine = FakeMachine {
            folder: tempfile::tempdir().unwrap(),
        };
        machine.put("proc/sys/kernel/random/boot_id", "first");
        machine
    }

    /// A disk as `d`, with mq-deadline and what a change of it resets.
    pub fn with_disk() -> FakeMachine {
        let machine = FakeMachine::new();
        for (name, text) in [
            ("scheduler", "none [mq-deadline] kyber"),
            ("nr_requests", "256"),
            ("nomerges", "0"),
            ("rq_affinity", "1"),
            ("io_poll", "0"),
            ("io_poll_delay", "-1"),
            ("wbt_lat_usec", "2000"),
            ("iosched/read_expire", "500"),
        ] {
            machine.put(&format!("sys/block/d/queue/{name}"), text);
        }
        machine
    }

    /// Two CPUs with a policy each, and with idle states.
    pub fn with_cpus() -> FakeMachine {
        let machine = FakeMachine::new();
        for cpu in 0..2 {
            for (number, (name, latency)) in [("POLL", 0), ("C1", 2), ("C1E", 10), ("C6", 133)]
                .iter()
                .enumerate()
            {
                let state = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}");
                machine.put(&format!("{state}/name"), name);
                machine.put(&format!("{state}/latency"), &latency.to_string());
                machine.put(&format!("{state}/disable"), "0");
            }
            let policy = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
            machine.put(&format!("{policy}/scaling_governor"), "powersave");
            machine.put(
                &format!("{policy}/scaling_available_governors"),
                "performance powersave",
            );
            machine.put(
                &format!("{policy}/energy_performance_preference"),
                "balance_performance",
            );
            for (name, khz) in [
                ("cpuinfo_min_freq", "800000"),
                ("cpuinfo_max_freq", "3900000"),
                ("scaling_max_freq", "3900000"),
            ] {
                machine.put(&format!("{policy}/{name}"), khz);
            }
        }
        machine
    }

    pub fn knobs(&self) -> Knobs {
        Knobs::at(self.folder.path())
    }

    pub fn root(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn put(&self, file: &str, text: &str) {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    pub fn get(&self, file: &str) -> String {
        let text = fs::read_to_string(self.folder.path().join(file)).unwrap();
        text.trim().into()
    }

    pub fn queue(&self, name: &str) -> String {
        self.get(&format!("sys/block/d/queue/{name}"))
    }

    /// The disk goes; its folder stays somewhere, so that no other gets its number.
    pub fn unplug(&self) {
        let folder = self.folder.path();
        fs::rename(folder.join("sys/block/d"), folder.join("gone")).unwrap();
    }
}
