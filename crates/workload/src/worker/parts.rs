//! Parts of the run that a job's thread gets.

use crate::Stop;
use crate::progress::JobProgress;
use crate::protocol::{JobMessage, JobOrder};
use crate::share::Share;
use crate::worker_error::WorkerError;
use joulio_job::{Availability, CompletionMode, Job};
use joulio_kernel_io::RingOptions;
use joulio_nvme::spec::command::QueuePriority;
use joulio_nvme::wait::{Adaptive, AnyPolicy, StepSet, WaitCosts};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

/// A job that is ready to run on an engine.
pub struct Worker<'a> {
    /// Number of the job's member, from 0.
    pub(crate) member: usize,
    pub(crate) job: &'a Job,
    /// Number of the job among those of its member, from 0.
    pub(crate) index: usize,
    /// Number that selects the job's CPU among those it may use, from 0.
    pub(crate) turn: usize,
    /// Bytes of the job's longest I/O.
    pub(crate) bs: u64,
    /// Shares of the job's devices, at least one.
    pub(crate) shares: Vec<Share>,
    pub(crate) stop: &'a Stop,
    /// Costs of each step of a wait on this machine, if they are known.
    pub(crate) wait_costs: Option<&'a WaitCosts>,
    /// Options of the job's ring.
    pub(crate) ring: RingOptions,
    /// Number of events of the measured part that each queue keeps.
    pub(crate) trace: Option<usize>,
    /// I/Os done so far.
    pub(crate) progress: &'a JobProgress,
    /// Set when the member has done what was requested: no more I/O is issued.
    pub(crate) enough: &'a AtomicBool,
    pub(crate) messages: Sender<(usize, JobMessage)>,
    pub(crate) orders: Receiver<JobOrder>,
}

impl Worker<'_> {
    /// Returns the number of I/Os in flight on each device.
    pub(crate) fn depth(&self) -> usize {
        self.job.iodepth
    }

    /// Returns the priority class of the job's queues, for controllers whose queues share them by weight.
    pub(crate) fn queue_priority(&self) -> QueuePriority {
        let classes = self.job.queue_priority.as_ref();
        classes.map_or(QueuePriority::MEDIUM, |classes| classes.of_job(self.index))
    }

    /// Returns the bytes of the longest I/O.
    pub(crate) fn longest(&self) -> u64 {
        self.bs
    }

    /// Returns the policy for `mode`, if it has one, for a thread that can wait with `steps`.
    pub(crate) fn policy(&self, mode: CompletionMode, steps: StepSet) -> Option<AnyPolicy> {
        if mode != CompletionMode::Adaptive {
            return mode.policy();
        }
        let costs = self.wait_costs.cloned().unwrap_or_else(WaitCosts::generic);
        let own = Adaptive::new(costs, self.job.goal, self.job.numjobs, steps);
        Some(AnyPolicy::Adaptive(own))
    }

    /// Reports that the job has no engine.
    pub(crate) fn refuse(self, why: Availability) -> Result<(), WorkerError> {
        self.report(JobMessage::Ready(why))
    }

    pub(super) fn report(&self, message: JobMessage) -> Result<(), WorkerError> {
        let sent = self.messages.send((self.member, message));
        sent.map_err(|_| WorkerError::NotStarted)
    }
}
