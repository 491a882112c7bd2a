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
    /// I/Os that are still to be issued.
    pub(super) left: u64,
    /// Of a job with several devices, the time at which the last I/O of a limited number was issued; else never.
    pub(super) all_issued: Nanos,
    /// I/Os that the latest poll took out.
    pub(super) ended: usize,
}

impl DeviceQueue {
    /// The queue of job `index` for its `assignment`.
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
            all_issued: Nanos::MAX,
            ended: 0,
        }
    }
}

impl JobThread<'_> {
    /// Number of queues; one, unless the job has `SEVERAL`.
    #[inline(always)]
    pub(crate) fn queues<const SHAPE: u8>(&self) -> usize {
        match SHAPE != SEVERAL {
            true => 1,
            false => 1 + self.others.len(),
        }
    }

    /// Queue number `index`.
    #[inline(always)]
    pub(crate) fn queue<const SHAPE: u8>(&self, index: usize) -> &DeviceQueue {
        match SHAPE != SEVERAL || index == 0 {
            true => &self.queue,
            false => &self.others[index - 1],
        }
    }

    /// Queue number `index`.
    #[inline(always)]
    pub(crate) fn queue_mut<const SHAPE: u8>(&mut self, index: usize) -> &mut DeviceQueue {
        match SHAPE != SEVERAL || index == 0 {
            true => &mut self.queue,
            false => &mut self.others[index - 1],
        }
    }

    /// Returns when the first of the I/Os that are out finishes; never, if none is out.
    #[inline(always)]
    pub(crate) fn first<const SHAPE: u8>(&self) -> Nanos {
        let first = self.queue.in_flight.first();
        let others = self.others.iter().filter(|_| SHAPE == SEVERAL);
        others.fold(first, |first, other| first.min(other.in_flight.first()))
    }

    /// Returns true if I/Os are with a device.
    #[inline(always)]
    pub(crate) fn has_out<const SHAPE: u8>(&self) -> bool {
        let out = |queue: &DeviceQueue| queue.in_flight.count() > 0;
        out(&self.queue) || SHAPE == SEVERAL && self.others.iter().any(out)
    }

    /// Returns true if I/Os are made that are not with a device.
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
