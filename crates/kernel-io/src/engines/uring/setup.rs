//! Creation of a ring, and the reasons why one is unavailable.

use super::requests::RawRing;
use super::requests::Requests;
use crate::{KernelEngineError, Missing, Release};
use joulio_job::{CompletionMode, EngineName};
use rustix::io::Errno;
use std::fs;

/// The system call that creates a ring.
const SETUP: &str = "io_uring_setup";
/// The call that registers buffers.
pub(super) const REGISTER_BUFFERS: &str = "io_uring_register(buffers)";
/// The first release with commands to NVMe namespaces (456cba386e94).
const PASSTHROUGH_SINCE: Release = Release::new(5, 19);
/// Largest number of entries of a submission queue (IORING_MAX_ENTRIES, io_uring/io_uring.h).
pub(super) const MAX_DEPTH: usize = 32768;

/// Options of a ring in addition to its completion mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingOptions {
    /// Milliseconds without requests after which the kernel's thread sleeps; zero is the kernel's default, a
    /// second. For the sqpoll modes.
    pub poller_idle_ms: u32,
    /// The CPU to which the kernel's thread is bound. For the sqpoll modes.
    pub poller_cpu: Option<u32>,
    /// True if buffers are registered, so that the kernel does not look up their pages for each request.
    pub fixed_buffers: bool,
    /// True if the file is registered, so that the kernel does not take and drop a reference for each request.
    pub registered_file: bool,
}

// include/uapi/linux/io_uring.h
pub(super) const IOPOLL: u32 = 1 << 0;
pub(super) const SQPOLL: u32 = 1 << 1;
pub(super) const SQ_AFF: u32 = 1 << 2;
pub(super) const R_DISABLED: u32 = 1 << 6;
const COOP_TASKRUN: u32 = 1 << 8;
const TASKRUN_FLAG: u32 = 1 << 9;
const SINGLE_ISSUER: u32 = 1 << 12;
const DEFER_TASKRUN: u32 = 1 << 13;
const HYBRID_IOPOLL: u32 = 1 << 17;

/// The kernel delivers completions only when the thread asks for them, without an interprocessor interrupt: fio's
/// setup, if the kernel supports it (6.1). The ring belongs to the thread that enables it, so that it can be
/// created in one thread and used in another. A flag in memory announces completions that are ready for delivery,
/// so that a thread that spins makes no system call.
pub(super) const BY_ONE_THREAD: u32 =
    COOP_TASKRUN | TASKRUN_FLAG | SINGLE_ISSUER | DEFER_TASKRUN | R_DISABLED;

/// A new ring.
pub(super) struct Opened<R: Requests> {
    pub(super) ring: RawRing<R>,
    /// True if the thread that uses the ring must enable it first.
    pub(super) disabled: bool,
}

/// Creates a ring of `depth` with `mode`.
pub(super) fn open<R: Requests>(
    depth: usize,
    mode: CompletionMode,
    options: &RingOptions,
) -> Result<Opened<R>, KernelEngineError> {
    let requested = flags(R::ENGINE, mode, options)?;
    let setup = |flags| {
        let cpu = options.poller_cpu.unwrap_or(0);
        let ring = R::setup(depth as u32, flags, cpu, options.poller_idle_ms)?;
        Ok(Opened {
            ring,
            disabled: flags & R_DISABLED != 0,
        })
    };
    let made = if mode.has_poller_thread() {
        setup(requested)
    } else {
        match setup(requested | BY_ONE_THREAD) {
            Err(Errno::INVAL) => setup(requested),
            other => other,
        }
    };
    made.map_err(|errno| refusal(R::ENGINE, SETUP, errno, mode, options))
}

/// Returns the error that an errno of a call on a ring stands for.
pub(super) fn refusal(
    engine: EngineName,
    call: &'static str,
    errno: Errno,
    mode: CompletionMode,
    options: &RingOptions,
) -> KernelEngineError {
    let missing = match (errno, mode, options.poller_cpu) {
        (Errno::NOSYS, ..) => Missing::NoSuchCall,
        (Errno::PERM | Errno::ACCESS, ..) => forbidden(),
        (Errno::NOMEM, ..) => Missing::Memory,
        (Errno::OPNOTSUPP, ..) if mode.polls_device() => Missing::NoPollQueues,
        (Errno::INVAL, CompletionMode::Interrupt | CompletionMode::Poll, _)
            if engine == EngineName::IoUringCmd && call == SETUP =>
        {
            Missing::TooOld(PASSTHROUGH_SINCE)
        }
        (Errno::INVAL, CompletionMode::Hybrid, _) if call == SETUP => {
            Missing::TooOld(Release::new(6, 13))
        }
        (Errno::INVAL, CompletionMode::SqPoll | CompletionMode::SqPollPoll, Some(cpu))
            if call == SETUP =>
        {
            Missing::Cpu(cpu)
        }
        (Errno::INVAL, ..) if call == REGISTER_BUFFERS => Missing::TooManyBuffers,
        _ => {
            return KernelEngineError::Call {
                call,
                source: errno,
            };
        }
    };
    KernelEngineError::Missing {
        engine,
        mode,
        missing,
    }
}

/// Returns the reason for EPERM: io_uring is switched off, or something else.
fn forbidden() -> Missing {
    let switch = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
    match switch.and_then(|text| text.trim().parse().ok()) {
        None | Some(0) => Missing::Forbidden,
        Some(value) => Missing::Disabled(value),
    }
}

fn flags(
    engine: EngineName,
    mode: CompletionMode,
    options: &RingOptions,
) -> Result<u32, KernelEngineError> {
    let flags = match mode {
        CompletionMode::Interrupt => 0,
        CompletionMode::Poll => IOPOLL,
        CompletionMode::Hybrid if engine == EngineName::IoUring => IOPOLL | HYBRID_IOPOLL,
        CompletionMode::SqPoll => SQPOLL,
        CompletionMode::SqPollPoll => SQPOLL | IOPOLL,
        _ => {
            return Err(KernelEngineError::Missing {
                engine,
                mode,
                missing: Missing::NotThisEngine(engine),
            });
        }
    };
    let pinned = mode.has_poller_thread() && options.poller_cpu.is_some();
    Ok(if pinned { flags | SQ_AFF } else { flags })
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Nanos;

    #[test]
    fn errors_of_the_kernel_become_reasons_with_remedies() {
        let of = |errno, mode, cpu| {
            let options = RingOptions {
                poller_cpu: cpu,
                ..RingOptions::default()
            };
            refusal(EngineName::IoUring, SETUP, errno, mode, &options).to_string()
        };
        assert!(of(Errno::INVAL, CompletionMode::Hybrid, None).contains("Linux 6.13"));
        assert!(of(Errno::INVAL, CompletionMode::SqPoll, Some(99)).contains("CPU 99"));
        assert!(of(Errno::OPNOTSUPP, CompletionMode::Poll, None).contains("nvme.poll_queues"));
        assert!(of(Errno::NOMEM, CompletionMode::Interrupt, None).contains("ulimit -l"));
        assert!(of(Errno::NOSYS, CompletionMode::Interrupt, None).contains("without it"));
        assert!(of(Errno::NFILE, CompletionMode::Interrupt, None).starts_with("io_uring_setup: "));
    }

    #[test]
    fn what_is_wrong_with_one_call_is_not_said_of_another() {
        let of = |call, mode| {
            let options = RingOptions {
                poller_cpu: Some(0),
                ..RingOptions::default()
            };
            refusal(EngineName::IoUring, call, Errno::INVAL, mode, &options).to_string()
        };
        for mode in [
            CompletionMode::Interrupt,
            CompletionMode::Hybrid,
            CompletionMode::SqPoll,
        ] {
            let said = of(REGISTER_BUFFERS, mode);
            assert!(said.contains("16384 buffers"), "{said}");
            let said = of("io_uring_enter(submit)", mode);
            assert!(said.starts_with("io_uring_enter(submit): "), "{said}");
        }
    }

    #[test]
    fn a_fixed_sleep_is_not_io_urings() {
        let made = flags(
            EngineName::IoUring,
            CompletionMode::HybridFixed(Nanos::from_micros(4)),
            &RingOptions::default(),
        );
        assert!(matches!(made, Err(KernelEngineError::Missing { .. })));
    }
}
