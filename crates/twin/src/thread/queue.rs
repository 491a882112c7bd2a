//! A job's work on one of its devices.

use super::{JobThread, SEVERAL};
use crate::in_flight::InFlight;
use joulio_job::{Assignment, Job, Schedule};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Outstanding};

/// A queue of a job: its I/Os on one device, and the policy that waits for them.
pub(crate) struct DeviceQueue {
    pub(crate) device: usize,
    pub(crate) policy: AnyPolicy,
    pub(crate) in_flight: InFlight,
    pub(super) schedule: Schedule,
    /// Number of I/Os still to be issued.
    pub(super) left: u64,
    /// Number of completions that the latest poll took.
    pub(super) ended: usize,
}

impl DeviceQueue {
    /// Returns the queue of job `index` for its `assignment`.
    pub(crate) fn new(
        job: &Job,
        index: usize,
        assignment: Assignment,
        policy: AnyPolicy,
    ) -> DeviceQueue {
        DeviceQueue {
            device: assignment.device,
            policy,
            in_flight: InFlight::new(job.iodepth),
            schedule: Schedule::of_assignment(job, index, assignment, Nanos::ZERO),
            left: u64::MAX,
            ended: 0,
        }
    }
}

impl JobThread<'_> {
    /// Returns the number of queues: one, unless the shape is `SEVERAL`.
    #[inline(always)]
    pub(crate) fn queues<const SHAPE: u8>(&self) -> usize {
        match SHAPE != SEVERAL {
            true => 1,
            false => 1 + self.others.len(),
        }
    }

    /// Returns queue number `index`.
    #[inline(always)]
    pub(crate) fn queue<const SHAPE: u8>(&self, index: usize) -> &DeviceQueue {
        match SHAPE != SEVERAL || index == 0 {
            true => &self.queue,
            false => &self.others[index - 1],
        }
    }

    /// Returns queue number `index`.
    #[inline(always)]
    pub(crate) fn queue_mut<const SHAPE: u8>(&mut self, index: usize) -> &mut DeviceQueue {
        match SHAPE != SEVERAL || index == 0 {
            true => &mut self.queue,
            false => &mut self.others[index - 1],
        }
    }

    /// Returns the time at which the first of the I/Os in flight finishes; `Nanos::MAX` if none is in flight.
    #[inline(always)]
    pub(crate) fn first<const SHAPE: u8>(&self) -> Nanos {
        let first = self.queue.in_flight.first();
        let others = self.others.iter().filter(|_| SHAPE == SEVERAL);
        others.fold(first, |first, other| first.min(other.in_flight.first()))
    }

    /// Returns true if I/Os are on a device.
    #[inline(always)]
    pub(crate) fn has_out<const SHAPE: u8>(&self) -> bool {
        let out = |queue: &DeviceQueue| queue.in_flight.count() > 0;
        out(&self.queue) || SHAPE == SEVERAL && self.others.iter().any(out)
    }

    /// Returns true if I/Os are created and not yet submitted.
    #[inline(always)]
    pub(super) fn has_made<const SHAPE: u8>(&self) -> bool {
        let made = |queue: &DeviceQueue| queue.in_flight.has_made();
        made(&self.queue) || SHAPE == SEVERAL && self.others.iter().any(made)
    }

    /// Returns true if I/Os are still to be issued on some device.
    #[inline(always)]
    pub(super) fn has_more<const SHAPE: u8>(&self) -> bool {
        self.queue.left > 0 || SHAPE == SEVERAL && self.others.iter().any(|queue| queue.left > 0)
    }
}
