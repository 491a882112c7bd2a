//! Settings by name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A setting of the kernel: of a disk's queue, of all CPUs, or of an interrupt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Knob {
    /// Setting of a block device's queue (Documentation/ABI/stable/sysfs-block).
    Queue {
        /// Name of the disk in /sys/block.
        disk: String,
        /// File of the queue.
        setting: Setting,
    },
    /// Governor of every CPU's frequency (Documentation/admin-guide/pm/cpufreq.rst).
    Governor,
    /// Highest frequency of every CPU in kHz (Documentation/admin-guide/pm/cpufreq.rst).
    MaxFrequency,
    /// Deepest idle state that CPUs may enter, by its name; `C0` is `POLL`
    /// (Documentation/admin-guide/pm/cpuidle.rst).
    MaxCstate,
    /// Limit of TPAUSE and UMWAIT (Documentation/ABI/testing/sysfs-devices-system-cpu).
    Umwait {
        /// File of umwait_control.
        setting: UmwaitSetting,
    },
    /// CPUs that an interrupt may be delivered to (Documentation/core-api/irq/irq-affinity.rst). Not part of
    /// [`Knob::all`].
    IrqAffinity {
        /// Number of the interrupt.
        irq: u32,
    },
}

/// A file in queue/ of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// I/O scheduler. A change of it resets the scheduler's own settings, nr_requests and wbt_lat_usec, which are
    /// restored with it.
    Scheduler,
    /// Maximum number of queued requests.
    NrRequests,
    /// Merges: 0 all, 1 only with the last request, 2 never.
    Nomerges,
    /// CPU on which a request completes: 0 anywhere, 1 in the submitter's group, 2 on its CPU.
    RqAffinity,
    /// Switch of polling for polled I/O; up to Linux 5.18 it can be set.
    IoPoll,
    /// Microseconds of sleep before polling; -1 never, 0 by statistics. Up to Linux 6.3.
    IoPollDelay,
    /// Target latency of writeback throttling in microseconds; 0 is off.
    WbtLatUsec,
}

/// A file in umwait_control/.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UmwaitSetting {
    /// Permission to enter C0.2.
    EnableC02,
    /// Longest wait in TSC ticks; 0 means no limit.
    MaxTime,
}

impl Knob {
    /// Makes the setting of the queue of `disk`, which is named as in /dev or in /sys/block.
    pub fn queue(disk: &str, setting: Setting) -> Knob {
        Knob::Queue {
            disk: disk.replace('/', "!"),
            setting,
        }
    }

    /// Returns all settings but interrupts': of `disk`, if there is one, and of the CPUs.
    pub fn all(disk: Option<&str>) -> Vec<Knob> {
        let queue = disk.into_iter().flat_map(|disk| {
            let settings = Setting::ALL.iter();
            settings.map(move |&setting| Knob::queue(disk, setting))
        });
        let umwait = UmwaitSetting::ALL.map(|setting| Knob::Umwait { setting });
        queue
            .chain([Knob::Governor, Knob::MaxFrequency, Knob::MaxCstate])
            .chain(umwait)
            .collect()
    }

    /// Returns the setting called `name`, as [`Knob::name`] returns it; a queue's is that of `disk`.
    pub fn by_name(name: &str, disk: Option<&str>) -> Option<Knob> {
        let all = Knob::all(Some(disk.unwrap_or_default()));
        all.into_iter().find(|knob| knob.name() == name)
    }

    /// Returns the name of the setting, most often that of its file.
    pub fn name(&self) -> &'static str {
        match self {
            Knob::Queue { setting, .. } => setting.file(),
            Knob::Governor => "scaling_governor",
            Knob::MaxFrequency => "scaling_max_freq",
            Knob::MaxCstate => "max-cstate",
            Knob::Umwait { setting } => setting.file(),
            Knob::IrqAffinity { .. } => "smp_affinity_list",
        }
    }

    /// Returns the disk or interrupt that distinguishes it from others of its name; empty for a setting of the CPUs.
    pub fn instance(&self) -> String {
        match self {
            Knob::Queue { disk, .. } => disk.clone(),
            Knob::IrqAffinity { irq } => irq.to_string(),
            _ => String::new(),
        }
    }

    /// Returns the disk of the setting; `None` for one of the CPUs.
    pub fn disk(&self) -> Option<&str> {
        match self {
            Knob::Queue { disk, .. } => Some(disk),
            _ => None,
        }
    }
}

impl Setting {
    /// All settings.
    pub const ALL: [Setting; 7] = [
        Setting::Scheduler,
        Setting::NrRequests,
        Setting::Nomerges,
        Setting::RqAffinity,
        Setting::IoPoll,
        Setting::IoPollDelay,
        Setting::WbtLatUsec,
    ];

    /// Returns the name of the setting's file.
    pub const fn file(self) -> &'static str {
        match self {
            Setting::Scheduler => "scheduler",
            Setting::NrRequests => "nr_requests",
            Setting::Nomerges => "nomerges",
            Setting::RqAffinity => "rq_affinity",
            Setting::IoPoll => "io_poll",
            Setting::IoPollDelay => "io_poll_delay",
            Setting::WbtLatUsec => "wbt_lat_usec",
        }
    }
}

impl UmwaitSetting {
    /// All settings of umwait.
    pub const ALL: [UmwaitSetting; 2] = [UmwaitSetting::EnableC02, UmwaitSetting::MaxTime];

    /// Returns the name of the setting's file.
    pub const fn file(self) -> &'static str {
        match self {
            UmwaitSetting::EnableC02 => "enable_c02",
            UmwaitSetting::MaxTime => "max_time",
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Knob::Queue { disk, .. } => write!(f, "{} of {disk}", self.name()),
            Knob::Umwait { .. } => write!(f, "umwait_control/{}", self.name()),
            Knob::IrqAffinity { irq } => write!(f, "{} of interrupt {irq}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}
