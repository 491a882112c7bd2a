//! Errors of settings.

use super::knob::Knob;
use super::reading::KnobValues;
use std::io;
use std::path::PathBuf;

/// Reason why a setting cannot be read, set or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnobError {
    /// The machine does not have the setting.
    #[error("{knob}: {why}")]
    Absent {
        /// Setting that was named.
        knob: Knob,
        /// Reason why it is not there.
        why: Absence,
    },
    /// The machine does not have /dev/cpu_dma_latency.
    #[error(transparent)]
    NoLatency(Absence),
    /// The machine does not have the interrupt.
    #[error("no interrupt {irq} in /proc/irq")]
    NoIrq {
        /// Number that was given.
        irq: u32,
    },
    /// The setting's file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Reason that the kernel gives.
        source: io::Error,
    },
    /// The kernel refused a value.
    #[error("{}: the kernel refuses {value}: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Value that was written.
        value: String,
        /// Reason that the kernel gives.
        source: io::Error,
    },
    /// Only root may set it: run this as root, outside of a container.
    #[error("{}: not permitted: run this as root, outside of a container", path.display())]
    Permission {
        /// Path of the file.
        path: PathBuf,
    },
    /// The setting cannot have that value: choose one that it can have.
    #[error("{knob} cannot be {value}: it can be {allowed}")]
    NotAllowed {
        /// Setting that was named.
        knob: Knob,
        /// Value that was requested.
        value: String,
        /// Values that it can have.
        allowed: KnobValues,
    },
    /// The kernel accepted the write but has another value.
    #[error("{}: {requested} was written and {now} is read back: this kernel or device does not accept it", path.display())]
    NotTaken {
        /// Path of the file.
        path: PathBuf,
        /// Value that was written.
        requested: String,
        /// Value that the file has.
        now: String,
    },
    /// Another of these errors, with a hint at its cause.
    #[error("{source}; {hint}")]
    Hinted {
        /// Error itself.
        source: Box<KnobError>,
        /// Probable cause.
        hint: &'static str,
    },
    /// A stored plan names a file that is not of its setting: it is not from joulio.
    #[error("{knob}: {file} does not belong to this setting")]
    ForeignFile {
        /// Setting that was named.
        knob: Knob,
        /// Path of the file, below the root.
        file: String,
    },
}

/// Reason why a machine does not have a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Absence {
    /// No disk of that name.
    #[error("no such disk in /sys/block")]
    NoDisk,
    /// The disk's queue has no such file.
    #[error(
        "its queue has no such file: this kernel, or a device without request queue (md, device mapper, zram), does not have it"
    )]
    NoFile,
    /// The file exists and cannot be read: EINVAL.
    #[error("the kernel has not set it up for this disk")]
    NotSetUp,
    /// No cpufreq policies.
    #[error(
        "no cpufreq driver: /sys/devices/system/cpu/cpufreq has no policies, as in most virtual machines"
    )]
    NoCpufreq,
    /// No idle states.
    #[error(transparent)]
    NoCpuIdle(#[from] joulio_kernel_io::NoCpuIdle),
    /// The idle states cannot be switched off.
    #[error("idle states have no switch on this kernel")]
    NoSwitch,
    /// No umwait_control.
    #[error("the CPU has no TPAUSE and UMWAIT (WAITPKG), or Linux is older than 5.3")]
    NoWaitPkg,
    /// No /dev/cpu_dma_latency.
    #[error("no /dev/cpu_dma_latency: a container without it, or a kernel without CPU_IDLE")]
    NoLatencyDevice,
}
