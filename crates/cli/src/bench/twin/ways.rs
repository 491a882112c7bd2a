//! What virtual time has of engines and ways of waiting.

use joulio_nvme::wait::{AnyPolicy, UringHybrid};
use joulio_twin::Path;
use joulio_units::Direction;
use joulio_workload::{CompletionMode, EngineName, Job, Method};

/// Refuses what is not modelled.
pub fn check(method: Method, iodepth: usize) -> Result<(), String> {
    let Method { engine, mode: way } = method;
    let can = match engine {
        EngineName::Nvme => way.policy().is_some(),
        EngineName::Libaio => way == CompletionMode::Interrupt,
        // With the kernels of the papers that have them.
        EngineName::Psync => matches!(
            way,
            CompletionMode::Poll
                | CompletionMode::Interrupt
                | CompletionMode::Hybrid
                | CompletionMode::HybridFixed(_)
                | CompletionMode::Ehp
                | CompletionMode::Pas
                | CompletionMode::Dpas(_)
        ),
        EngineName::IoUring => matches!(
            way,
            CompletionMode::Poll
                | CompletionMode::Interrupt
                | CompletionMode::Hybrid
                | CompletionMode::SqPollPoll
        ),
    };
    if !can {
        return Err(format!(
            "--completion {way} with --twin: not modelled for {engine}"
        ));
    }
    if engine == EngineName::Psync && iodepth > 1 {
        return Err("--iodepth with --engine psync: it has one I/O at a time".into());
    }
    Ok(())
}

/// The rule that `method` waits by; None: it has none.
pub fn policy(method: Method) -> Option<AnyPolicy> {
    match (method.engine, method.mode) {
        // Its own rule, since Linux 6.13.
        (EngineName::IoUring, CompletionMode::Hybrid) => {
            Some(AnyPolicy::UringHybrid(UringHybrid::new()))
        }
        (EngineName::IoUring, CompletionMode::SqPollPoll) => Some(AnyPolicy::POLL),
        (_, way) => way.policy(),
    }
}

/// The software between a workload and the device.
pub fn path(method: Method) -> Path {
    match (method.engine, method.mode) {
        (EngineName::Nvme, _) => Path::User,
        (EngineName::IoUring, CompletionMode::SqPollPoll) => Path::Sqpoll,
        (EngineName::IoUring, _) => Path::Uring,
        (EngineName::Psync | EngineName::Libaio, _) => Path::Kernel,
    }
}

/// Percent of reads.
pub fn reads(job: &Job) -> u8 {
    match (job.rw.does(Direction::Read), job.rw.does(Direction::Write)) {
        (true, true) => job.rwmixread,
        (true, false) => 100,
        (false, _) => 0,
    }
}
