//! Setup of a run: the machine, and its devices.

use joulio_model::machine::costs::IdleState;
use joulio_model::{DeviceProfile, FrequencyRatio, MachineProfile};
use joulio_units::Nanos;
use std::sync::atomic::AtomicBool;

/// The thread that hands a request from its scheduler to the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DispatchThread {
    /// The thread that submits the request.
    #[default]
    Inline,
    /// A thread of the kernel, which is woken for the request.
    Kworker,
}

/// Interrupt coalescing: feature 08h (NVM Express Base Specification, Interrupt Coalescing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Number of completions that raise an interrupt at once.
    pub threshold: u32,
    /// Longest time in nanoseconds that the first of fewer completions waits for its interrupt.
    pub time: Nanos,
}

/// A machine with devices. Job i is pinned to a CPU and does its I/O on device i modulo the number of devices.
#[derive(Clone, Debug)]
pub struct TwinSetup<'a> {
    /// The machine's profile.
    pub machine: &'a MachineProfile,
    /// The devices' profiles.
    pub devices: &'a [DeviceProfile],
    /// Scheduler of requests: one of the machine's `[costs.scheduler]`, or `none`, which is the same as `None`.
    pub scheduler: Option<&'a str>,
    /// The thread that hands requests from the scheduler to the driver.
    pub dispatch: DispatchThread,
    /// True if a file system is in the path, at a cost of `file_system_ns`.
    pub file_system: bool,
    /// Interrupt coalescing; `None`: each completion raises an interrupt.
    pub coalescing: Option<Coalescing>,
    /// Clock of the jobs' cores as a ratio to the reference of the machine's profile, fixed as by a governor that holds
    /// one frequency; `None`: the reference.
    pub frequency: Option<FrequencyRatio>,
    /// Deepest idle state that the jobs' CPUs may enter, which `pm_qos_resume_latency_us` sets per CPU
    /// (Documentation/ABI/testing/sysfs-devices-power); `None`: all states of the machine. CPUs without a job stay
    /// in the deepest.
    pub max_cstate: Option<IdleState>,
    /// Number of threads of another program on each CPU of the jobs; they compute without end.
    pub neighbours: usize,
    /// True if the interrupt remapper posts the interrupts of all devices of a thread into one descriptor of the
    /// kernel, with the thread's user interrupt as its notification (VT-d specification, Interrupt Posting). False:
    /// only the first of several devices has the user interrupt, and the kernel's handler raises it for the others.
    pub posted_interrupts: bool,
    /// Interrupts per second of other queues and devices on each CPU of the jobs, at random times.
    pub other_irqs: u32,
    /// True to count each job by itself ([`joulio_job::Counts::per_job`]), if there are several.
    pub per_job: bool,
    /// True to count each I/O by itself (`TwinRun::per_io`).
    pub per_io: bool,
    /// Flag that ends a run once it is set ([`crate::TwinError::Stopped`]); `None`: the run cannot be stopped.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> TwinSetup<'a> {
    /// Returns `machine` with `devices`, without scheduler, file system, coalescing and neighbours, at its
    /// reference frequency and with all its idle states.
    pub fn new(machine: &'a MachineProfile, devices: &'a [DeviceProfile]) -> TwinSetup<'a> {
        TwinSetup {
            machine,
            devices,
            scheduler: None,
            dispatch: DispatchThread::Inline,
            file_system: false,
            coalescing: None,
            frequency: None,
            max_cstate: None,
            neighbours: 0,
            posted_interrupts: false,
            other_irqs: 0,
            per_job: false,
            per_io: false,
            stop: None,
        }
    }
}
