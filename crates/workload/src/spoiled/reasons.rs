//! Texts of the reasons why a run was spoiled: the cause, its extent, and what to do.

use joulio_units::Nanos;

pub(super) const THROTTLED: &str = "CPUs were slowed down for their temperature: cool them, or lower the clock (cpupower frequency-set --max)";

pub(super) const STOPPED: &str =
    "the process was stopped and continued (SIGSTOP, Ctrl-Z): let it run";

/// Returns the text of a share of a run, with its length.
pub(super) fn extent(share: f64, part: Nanos) -> String {
    format!(
        "{:.0} % of the time ({:.3} s)",
        100.0 * share,
        part.seconds()
    )
}

pub(super) fn settings_lost(device: &str, setting: &str) -> String {
    format!("{device} was reset and lost a setting: {setting}; set it, and run again")
}

pub(super) fn busy(cpu: &str, extent: &str) -> String {
    format!("{cpu} ran other programs for {extent}: stop them")
}

pub(super) fn suspended(time: Nanos) -> String {
    format!("the machine was suspended for {:.1} s", time.seconds())
}

pub(super) fn clock_stepped(nanoseconds: i64) -> String {
    let step = nanoseconds as f64 / 1e9;
    format!(
        "the wall clock was set by {step:+.3} s: a logger's file cannot be lined up with the run"
    )
}

pub(super) fn stolen(cpu: usize, extent: &str) -> String {
    format!(
        "the host ran something else on CPU {cpu} for {extent}: steal time, by /proc/stat; \
         give the virtual machine CPUs of its own"
    )
}

pub(super) fn stalled(time: Nanos) -> String {
    format!(
        "nothing of the process ran for {:.1} s: the machine, or its host, stood still",
        time.seconds()
    )
}

/// Returns the reason that a job was preempted; `job` is its number if there are several.
pub(super) fn preempted(job: Option<usize>, extent: &str, preemptions: u64) -> String {
    let whose = match job {
        None => "its thread".to_string(),
        Some(index) => format!("the thread of job {index}"),
    };
    format!(
        "{whose} was ready to run and had no CPU for {extent}, preempted {preemptions} times: give it \
         a CPU of its own (--cpus_allowed), or stop what else runs"
    )
}

pub(super) fn device_preempted(extent: &str) -> String {
    format!(
        "the emulated device's thread was ready to run and had no CPU for {extent}: it needs one \
         beside the jobs'"
    )
}

pub(super) fn kernel_preempted(extent: &str) -> String {
    format!(
        "the kernel's thread of io_uring was ready to run and had no CPU for {extent}: give it one of \
         its own (--sqthread_poll_cpu)"
    )
}

/// Returns the reason that the policy was still learning for this share of the run.
pub(super) fn not_learnt(share: f64) -> String {
    if share < 1.0 {
        format!(
            "it learnt how long to wait for up to {:.0} % of the run, and polled meanwhile: \
             give it a --ramp_time",
            100.0 * share
        )
    } else {
        "it had not learnt how long to wait, and polled: give it a --ramp_time, or more I/Os".into()
    }
}
