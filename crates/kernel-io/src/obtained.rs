//! Which way of waiting was really got.
//!
//! Kernels take a request to poll and do not poll, so there are two judgements: before a run by
//! what the kernel's release and the disk's queue allow, after it by the device's interrupts.

use crate::{Missing, Path, Queue, Release, Way};

/// More interrupts of the device per I/O than this, and it was not polled. Not zero: the last
/// I/Os of a file system's journal, or of another process, may come in between.
const POLLED_AT_MOST: f64 = 0.01;

/// RWF_HIPRI does nothing for direct I/O from here on (9650b453a3d4).
const HIPRI_IGNORED: Release = Release::new(5, 19);
/// io_uring polls without the sleep of queue/io_poll_delay from here on (d729cf9acb93).
const RINGS_DO_NOT_SLEEP: Release = Release::new(5, 16);
/// The first release with IORING_SETUP_HYBRID_IOPOLL (01ee194d1aba).
const HYBRID_SINCE: Release = Release::new(6, 13);

/// What was got in place of what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Obtained {
    /// The way that was got.
    pub name: String,
    /// Why it is not the one that was asked for; none when it is.
    pub reason: Option<Unobtained>,
}

/// Why a way of waiting was not obtained.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unobtained {
    /// The interface or the device cannot do it.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A synchronous call does not poll on this kernel.
    #[error(
        "RWF_HIPRI is ignored since Linux {HIPRI_IGNORED}, this is {0}: use io_uring, or a kernel up to 5.18"
    )]
    HipriIgnored(Release),
    /// The setting of the block layer that chooses between polling and hybrid polling.
    #[error("queue/io_poll_delay is {is}, not {wanted}: write {wanted} into it")]
    Delay {
        /// Its value.
        is: i64,
        /// The one of the way that was asked for.
        wanted: i64,
    },
    /// queue/io_poll_delay is not there.
    #[error("the block layer of this kernel has no hybrid polling: it was removed in Linux 6.4")]
    NoHybrid,
    /// Interrupts came where none should.
    #[error(
        "the device was not polled: {per_io:.3} of its interrupts per I/O: nvme.poll_queues=N on the kernel's command line gives an NVMe device queues to poll, one per CPU that polls"
    )]
    Interrupts {
        /// Interrupts of the device per I/O.
        per_io: f64,
    },
}

impl Obtained {
    fn yes(way: Way) -> Obtained {
        Obtained {
            name: way.to_string(),
            reason: None,
        }
    }

    fn instead(got: Way, reason: impl Into<Unobtained>) -> Obtained {
        Obtained {
            name: got.to_string(),
            reason: Some(reason.into()),
        }
    }

    /// What was asked for was got.
    pub fn as_asked(&self) -> bool {
        self.reason.is_none()
    }
}

/// What `way` comes to on `path` with a kernel and a disk's queue, before the first I/O. What is
/// not known (none) is not held against it: the run will tell.
pub fn expect(path: Path, way: Way, release: Option<Release>, queue: &Queue) -> Obtained {
    match expected(path, way, release, queue) {
        Ok(()) => Obtained::yes(way),
        Err(reason @ Unobtained::Delay { is, .. }) => Obtained {
            name: if way.has_poller_thread() {
                format!("sqpoll+{}", delayed(is))
            } else {
                delayed(is).to_string()
            },
            reason: Some(reason),
        },
        Err(reason) => Obtained::instead(unpolled(way), reason),
    }
}

fn expected(
    path: Path,
    way: Way,
    release: Option<Release>,
    queue: &Queue,
) -> Result<(), Unobtained> {
    let possible = match path {
        Path::Psync => !way.has_poller_thread(),
        Path::Libaio => way == Way::Interrupt,
        Path::IoUring => !matches!(way, Way::HybridFixed(_)),
    };
    if !possible {
        return Err(Missing::NotThisPath(path).into());
    }
    if !way.polls_device() {
        return Ok(());
    }
    match release {
        Some(is) if path == Path::Psync && is >= HIPRI_IGNORED => {
            return Err(Unobtained::HipriIgnored(is));
        }
        Some(is) if path == Path::IoUring && way == Way::Hybrid && is < HYBRID_SINCE => {
            return Err(Missing::TooOld(HYBRID_SINCE).into());
        }
        _ => {}
    }
    if queue.io_poll == Some(false) {
        return Err(Missing::NoPollQueues.into());
    }
    match path {
        Path::Psync => delay(way, queue),
        _ if release.is_some_and(|is| is < RINGS_DO_NOT_SLEEP) => delay(Way::Poll, queue),
        _ => Ok(()),
    }
}

/// queue/io_poll_delay makes a poll classic or hybrid.
fn delay(way: Way, queue: &Queue) -> Result<(), Unobtained> {
    match queue.io_poll_delay {
        Some(is) if delayed(is) != way => Err(Unobtained::Delay {
            is,
            wanted: match way {
                Way::Hybrid => 0,
                Way::HybridFixed(us) => i64::from(us),
                _ => -1,
            },
        }),
        None if way != Way::Poll => Err(Unobtained::NoHybrid),
        _ => Ok(()),
    }
}

/// What a queue/io_poll_delay makes of polling.
fn delayed(delay: i64) -> Way {
    match u32::try_from(delay) {
        Ok(0) => Way::Hybrid,
        Ok(us) => Way::HybridFixed(us),
        Err(_) => Way::Poll,
    }
}

/// What a way is without polling.
fn unpolled(way: Way) -> Way {
    if way.has_poller_thread() {
        Way::SqPoll
    } else {
        Way::Interrupt
    }
}

/// What a run in `way` was, by the `interrupts` of the device during its `ios` I/Os. Without a
/// count, or without an I/O, nothing speaks against it.
pub fn judge(way: Way, ios: u64, interrupts: Option<u64>) -> Obtained {
    let (true, Some(interrupts), 1..) = (way.polls_device(), interrupts, ios) else {
        return Obtained::yes(way);
    };
    let per_io = interrupts as f64 / ios as f64;
    if per_io > POLLED_AT_MOST {
        Obtained::instead(unpolled(way), Unobtained::Interrupts { per_io })
    } else {
        Obtained::yes(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLLED: Queue = Queue {
        logical_block: Some(512),
        max_io: None,
        io_poll: Some(true),
        io_poll_delay: Some(-1),
    };

    fn reason(path: Path, way: Way, release: (u32, u32), queue: Queue) -> Option<Unobtained> {
        let release = Release::new(release.0, release.1);
        let obtained = expect(path, way, Some(release), &queue);
        assert_eq!(obtained.as_asked(), obtained.name == way.to_string());
        obtained.reason
    }

    #[test]
    fn hipri_polls_up_to_5_18_only() {
        assert_eq!(reason(Path::Psync, Way::Poll, (5, 18), POLLED), None);
        let ignored = Some(Unobtained::HipriIgnored(Release::new(6, 1)));
        assert_eq!(reason(Path::Psync, Way::Poll, (6, 1), POLLED), ignored);
        assert_eq!(reason(Path::Psync, Way::Hybrid, (6, 1), POLLED), ignored);
        assert_eq!(reason(Path::Psync, Way::Interrupt, (6, 1), POLLED), None);
    }

    #[test]
    fn the_delay_makes_the_block_layers_polling_hybrid() {
        let queue = |delay| Queue {
            io_poll_delay: delay,
            ..POLLED
        };
        let of = |way, delay| reason(Path::Psync, way, (5, 10), queue(delay));
        assert_eq!(of(Way::Hybrid, Some(0)), None);
        assert_eq!(of(Way::HybridFixed(4), Some(4)), None);
        let wrong = |is, wanted| Some(Unobtained::Delay { is, wanted });
        assert_eq!(of(Way::Poll, Some(0)), wrong(0, -1));
        assert_eq!(of(Way::HybridFixed(4), Some(-1)), wrong(-1, 4));
        assert_eq!(of(Way::Hybrid, None), Some(Unobtained::NoHybrid));
        assert_eq!(of(Way::Poll, None), None);
        let got = |delay| {
            let release = Some(Release::new(5, 10));
            expect(
                Path::Psync,
                Way::HybridFixed(9),
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
        let of = |way, release, queue| reason(Path::IoUring, way, release, queue);
        let unpolled = Queue {
            io_poll: Some(false),
            ..POLLED
        };
        let none = Some(Unobtained::Missing(Missing::NoPollQueues));
        assert_eq!(of(Way::Poll, (6, 18), unpolled), none);
        assert_eq!(of(Way::SqPollPoll, (6, 18), unpolled), none);
        assert_eq!(of(Way::SqPoll, (6, 18), unpolled), None);
        assert_eq!(of(Way::Hybrid, (6, 13), POLLED), None);
        let old = Some(Unobtained::Missing(Missing::TooOld(Release::new(6, 13))));
        assert_eq!(of(Way::Hybrid, (6, 12), POLLED), old);
        // Before 5.16 the block layer's sleep is in a ring's poll as well.
        let hybrid = Queue {
            io_poll_delay: Some(0),
            ..POLLED
        };
        let slept = Some(Unobtained::Delay { is: 0, wanted: -1 });
        assert_eq!(of(Way::Poll, (5, 10), hybrid), slept);
        assert_eq!(of(Way::SqPollPoll, (5, 10), hybrid), slept);
        assert_eq!(of(Way::Poll, (5, 10), POLLED), None);
        assert_eq!(of(Way::Poll, (6, 1), hybrid), None);
        // What is not known is not held against it.
        assert_eq!(of(Way::Poll, (6, 18), Queue::default()), None);
    }

    #[test]
    fn libaio_only_waits_for_interrupts() {
        assert_eq!(reason(Path::Libaio, Way::Interrupt, (6, 1), POLLED), None);
        let other = Some(Unobtained::Missing(Missing::NotThisPath(Path::Libaio)));
        assert_eq!(reason(Path::Libaio, Way::Poll, (6, 1), POLLED), other);
    }

    #[test]
    fn a_polled_run_with_an_interrupt_in_a_hundred_is_not_obtained() {
        assert!(judge(Way::Poll, 1000, Some(10)).as_asked());
        let obtained = judge(Way::Poll, 1000, Some(11));
        assert_eq!(obtained.name, "interrupt");
        let text = obtained.reason.unwrap().to_string();
        assert!(text.contains("0.011") && text.contains("nvme.poll_queues=N"));
        assert_eq!(judge(Way::SqPollPoll, 10, Some(10)).name, "sqpoll");
        assert!(judge(Way::SqPoll, 1000, Some(1000)).as_asked());
        assert!(judge(Way::Interrupt, 1000, Some(1000)).as_asked());
        assert!(judge(Way::Poll, 1000, None).as_asked());
        assert!(judge(Way::Poll, 0, Some(50)).as_asked());
    }

    proptest! {
        #[test]
        fn more_interrupts_never_make_it_polled(ios in 1..u64::MAX, few: u64, more: u64) {
            let (few, more) = (few.min(more), few.max(more));
            let of = |n| judge(Way::Hybrid, ios, Some(n)).as_asked();
            prop_assert!(of(few) || !of(more));
        }
    }
}
