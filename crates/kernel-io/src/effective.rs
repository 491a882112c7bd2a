//! The effective completion mode.
//!
//! A kernel accepts a request to poll and still may not poll. So there are two judgements: before a run, by the
//! kernel's release and the disk's queue, and after it, by the device's interrupts.

use crate::{Missing, Queue, Release};
use joulio_job::{CompletionMode, EngineName};
use joulio_units::Nanos;

/// Largest number of the device's interrupts per I/O of a polled run. Not zero, since I/Os of a file system's
/// journal, or of another process, may come in between.
const MAX_INTERRUPTS_PER_IO: f64 = 0.01;

/// RWF_HIPRI has no effect on direct I/O from this release on (9650b453a3d4).
const HIPRI_IGNORED: Release = Release::new(5, 19);
/// io_uring polls without the sleep of queue/io_poll_delay from this release on (d729cf9acb93).
const RINGS_DO_NOT_SLEEP: Release = Release::new(5, 16);
/// The first release with IORING_SETUP_HYBRID_IOPOLL (01ee194d1aba).
const HYBRID_SINCE: Release = Release::new(6, 13);
/// The first release that polls for the commands of io_uring_cmd.
const COMMANDS_POLLED_SINCE: Release = Release::new(6, 1);

/// Effective completion mode of an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Name of the effective mode.
    pub name: String,
    /// Reason why the requested mode is unavailable; `None` if the effective mode is the requested one.
    pub reason: Option<Unavailable>,
}

/// Reason why a completion mode is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The engine or the device does not support it.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A synchronous call does not poll on this kernel.
    #[error(
        "RWF_HIPRI is ignored since Linux {HIPRI_IGNORED}, this is {0}: use io_uring, or a kernel up to 5.18"
    )]
    HipriIgnored(Release),
    /// The block layer's setting for classic or hybrid polling is another.
    #[error("queue/io_poll_delay is {is}, not {wanted}: write {wanted} into it")]
    Delay {
        /// Value of the setting.
        is: i64,
        /// Value that the requested mode needs.
        wanted: i64,
    },
    /// The disk has no setting queue/io_poll_delay.
    #[error("the block layer of this kernel has no hybrid polling: it was removed in Linux 6.4")]
    NoHybrid,
    /// The device raised interrupts although it should be polled.
    #[error(
        "the device was not polled: {per_io:.3} of its interrupts per I/O: nvme.poll_queues=N on the kernel's command line gives an NVMe device queues to poll, one per CPU that polls"
    )]
    Interrupts {
        /// Interrupts of the device per I/O.
        per_io: f64,
    },
}

impl Effective {
    fn requested(mode: CompletionMode) -> Effective {
        Effective {
            name: mode.to_string(),
            reason: None,
        }
    }

    fn instead(mode: CompletionMode, reason: impl Into<Unavailable>) -> Effective {
        Effective {
            name: mode.to_string(),
            reason: Some(reason.into()),
        }
    }

    /// Returns true if the effective mode is the requested one.
    pub fn is_requested(&self) -> bool {
        self.reason.is_none()
    }
}

/// Returns the effective mode if `mode` is requested of `engine`, by the kernel's release and the disk's queue,
/// before the first I/O. An unknown value (`None`) is taken to allow the mode: the run will show.
pub fn expect(
    engine: EngineName,
    mode: CompletionMode,
    release: Option<Release>,
    queue: &Queue,
) -> Effective {
    match expected(engine, mode, release, queue) {
        Ok(()) => Effective::requested(mode),
        Err(reason @ Unavailable::Delay { is, .. }) => Effective {
            name: if mode.has_poller_thread() {
                format!("sqpoll+{}", delayed(is))
            } else {
                delayed(is).to_string()
            },
            reason: Some(reason),
        },
        Err(reason) => Effective::instead(unpolled(mode), reason),
    }
}

fn expected(
    engine: EngineName,
    mode: CompletionMode,
    release: Option<Release>,
    queue: &Queue,
) -> Result<(), Unavailable> {
    if !engine.is_kernel() || !engine.takes(mode) {
        return Err(Missing::NotThisEngine(engine).into());
    }
    if !mode.polls_device() {
        return Ok(());
    }
    match release {
        Some(is) if engine == EngineName::Psync && is >= HIPRI_IGNORED => {
            return Err(Unavailable::HipriIgnored(is));
        }
        Some(is)
            if engine == EngineName::IoUring
                && mode == CompletionMode::Hybrid
                && is < HYBRID_SINCE =>
        {
            return Err(Missing::TooOld(HYBRID_SINCE).into());
        }
        Some(is) if engine == EngineName::IoUringCmd && is < COMMANDS_POLLED_SINCE => {
            return Err(Missing::TooOld(COMMANDS_POLLED_SINCE).into());
        }
        _ => {}
    }
    if queue.io_poll == Some(false) {
        return Err(Missing::NoPollQueues.into());
    }
    match engine {
        EngineName::Psync => delay(mode, queue),
        _ if release.is_some_and(|is| is < RINGS_DO_NOT_SLEEP) => {
            delay(CompletionMode::Poll, queue)
        }
        _ => Ok(()),
    }
}

/// Checks that queue/io_poll_delay selects the requested mode, classic or hybrid polling.
fn delay(mode: CompletionMode, queue: &Queue) -> Result<(), Unavailable> {
    match queue.io_poll_delay {
        Some(is) if delayed(is) != mode => Err(Unavailable::Delay {
            is,
            wanted: match mode {
                CompletionMode::Hybrid => 0,
                CompletionMode::HybridFixed(sleep) => (sleep.0 / 1_000) as i64,
                _ => -1,
            },
        }),
        None if mode != CompletionMode::Poll => Err(Unavailable::NoHybrid),
        _ => Ok(()),
    }
}

/// Returns the mode of polling that a queue/io_poll_delay selects.
fn delayed(delay: i64) -> CompletionMode {
    match u32::try_from(delay) {
        Ok(0) => CompletionMode::Hybrid,
        Ok(us) => CompletionMode::HybridFixed(Nanos::from_micros(us.into())),
        Err(_) => CompletionMode::Poll,
    }
}

/// Returns the mode that is effective if the device is not polled.
fn unpolled(mode: CompletionMode) -> CompletionMode {
    if mode.has_poller_thread() {
        CompletionMode::SqPoll
    } else {
        CompletionMode::Interrupt
    }
}

/// Returns the effective mode of a run in which `mode` was requested, by the `interrupts` of the device during its
/// `ios` I/Os. Without a count, or without I/Os, it is the requested one.
pub fn judge(mode: CompletionMode, ios: u64, interrupts: Option<u64>) -> Effective {
    let (true, Some(interrupts), 1..) = (mode.polls_device(), interrupts, ios) else {
        return Effective::requested(mode);
    };
    let per_io = interrupts as f64 / ios as f64;
    if per_io > MAX_INTERRUPTS_PER_IO {
        Effective::instead(unpolled(mode), Unavailable::Interrupts { per_io })
    } else {
        Effective::requested(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLLED: Queue = Queue {
        logical_block: Some(512),
        max_io: None,
        max_transfer: None,
        max_discard: None,
        io_poll: Some(true),
        io_poll_delay: Some(-1),
    };

    fn reason(
        engine: EngineName,
        mode: CompletionMode,
        release: (u32, u32),
        queue: Queue,
    ) -> Option<Unavailable> {
        let release = Release::new(release.0, release.1);
        let effective = expect(engine, mode, Some(release), &queue);
        assert_eq!(effective.is_requested(), effective.name == mode.to_string());
        effective.reason
    }

    #[test]
    fn hipri_polls_up_to_5_18_only() {
        assert_eq!(
            reason(EngineName::Psync, CompletionMode::Poll, (5, 18), POLLED),
            None
        );
        let ignored = Some(Unavailable::HipriIgnored(Release::new(6, 1)));
        assert_eq!(
            reason(EngineName::Psync, CompletionMode::Poll, (6, 1), POLLED),
            ignored
        );
        assert_eq!(
            reason(EngineName::Psync, CompletionMode::Hybrid, (6, 1), POLLED),
            ignored
        );
        assert_eq!(
            reason(EngineName::Psync, CompletionMode::Interrupt, (6, 1), POLLED),
            None
        );
    }

    #[test]
    fn the_delay_makes_the_block_layers_polling_hybrid() {
        let queue = |delay| Queue {
            io_poll_delay: delay,
            ..POLLED
        };
        let of = |mode, delay| reason(EngineName::Psync, mode, (5, 10), queue(delay));
        assert_eq!(of(CompletionMode::Hybrid, Some(0)), None);
        assert_eq!(
            of(CompletionMode::HybridFixed(Nanos::from_micros(4)), Some(4)),
            None
        );
        let wrong = |is, wanted| Some(Unavailable::Delay { is, wanted });
        assert_eq!(of(CompletionMode::Poll, Some(0)), wrong(0, -1));
        assert_eq!(
            of(CompletionMode::HybridFixed(Nanos::from_micros(4)), Some(-1)),
            wrong(-1, 4)
        );
        assert_eq!(
            of(CompletionMode::Hybrid, None),
            Some(Unavailable::NoHybrid)
        );
        assert_eq!(of(CompletionMode::Poll, None), None);
        let got = |delay| {
            let release = Some(Release::new(5, 10));
            expect(
                EngineName::Psync,
                CompletionMode::HybridFixed(Nanos::from_micros(9)),
                release,
                &queue(Some(delay)),
            )
            .name
        };
        assert_eq!(
            (got(-1), got(0), got(4)),
            ("poll".into(), "hybrid".into(), "hybrid=4us".into())
        );
    }

    #[test]
    fn io_uring_needs_poll_queues_and_hybrid_6_13() {
        let of = |mode, release, queue| reason(EngineName::IoUring, mode, release, queue);
        let unpolled = Queue {
            io_poll: Some(false),
            ..POLLED
        };
        let none = Some(Unavailable::Missing(Missing::NoPollQueues));
        assert_eq!(of(CompletionMode::Poll, (6, 18), unpolled), none);
        assert_eq!(of(CompletionMode::SqPollPoll, (6, 18), unpolled), none);
        assert_eq!(of(CompletionMode::SqPoll, (6, 18), unpolled), None);
        assert_eq!(of(CompletionMode::Hybrid, (6, 13), POLLED), None);
        let old = Some(Unavailable::Missing(Missing::TooOld(Release::new(6, 13))));
        assert_eq!(of(CompletionMode::Hybrid, (6, 12), POLLED), old);
        // Before 5.16 a ring's poll included the block layer's sleep.
        let hybrid = Queue {
            io_poll_delay: Some(0),
            ..POLLED
        };
        let slept = Some(Unavailable::Delay { is: 0, wanted: -1 });
        assert_eq!(of(CompletionMode::Poll, (5, 10), hybrid), slept);
        assert_eq!(of(CompletionMode::SqPollPoll, (5, 10), hybrid), slept);
        assert_eq!(of(CompletionMode::Poll, (5, 10), POLLED), None);
        assert_eq!(of(CompletionMode::Poll, (6, 1), hybrid), None);
        // An unknown value is not evidence against the mode.
        assert_eq!(of(CompletionMode::Poll, (6, 18), Queue::default()), None);
    }

    #[test]
    fn commands_are_polled_since_6_1() {
        let of = |mode, release| reason(EngineName::IoUringCmd, mode, release, POLLED);
        let old = Some(Unavailable::Missing(Missing::TooOld(Release::new(6, 1))));
        assert_eq!(of(CompletionMode::Poll, (5, 19)), old);
        assert_eq!(of(CompletionMode::Poll, (6, 0)), old);
        assert_eq!(of(CompletionMode::Poll, (6, 1)), None);
        assert_eq!(of(CompletionMode::Interrupt, (6, 0)), None);
    }

    #[test]
    fn libaio_only_waits_for_interrupts() {
        assert_eq!(
            reason(
                EngineName::Libaio,
                CompletionMode::Interrupt,
                (6, 1),
                POLLED
            ),
            None
        );
        let other = Some(Unavailable::Missing(Missing::NotThisEngine(
            EngineName::Libaio,
        )));
        assert_eq!(
            reason(EngineName::Libaio, CompletionMode::Poll, (6, 1), POLLED),
            other
        );
    }

    #[test]
    fn a_polled_run_with_an_interrupt_in_a_hundred_is_unavailable() {
        assert!(judge(CompletionMode::Poll, 1000, Some(10)).is_requested());
        let effective = judge(CompletionMode::Poll, 1000, Some(11));
        assert_eq!(effective.name, "interrupt");
        let text = effective.reason.unwrap().to_string();
        assert!(text.contains("0.011") && text.contains("nvme.poll_queues=N"));
        assert_eq!(
            judge(CompletionMode::SqPollPoll, 10, Some(10)).name,
            "sqpoll"
        );
        assert!(judge(CompletionMode::SqPoll, 1000, Some(1000)).is_requested());
        assert!(judge(CompletionMode::Interrupt, 1000, Some(1000)).is_requested());
        assert!(judge(CompletionMode::Poll, 1000, None).is_requested());
        assert!(judge(CompletionMode::Poll, 0, Some(50)).is_requested());
    }

    proptest! {
        #[test]
        fn more_interrupts_never_make_it_polled(ios in 1..u64::MAX, few: u64, more: u64) {
            let (few, more) = (few.min(more), few.max(more));
            let of = |n| judge(CompletionMode::Hybrid, ios, Some(n)).is_requested();
            prop_assert!(of(few) || !of(more));
        }
    }
}
