//! A member of a run, as the conductor tracks it.

use super::rates::Rates;
use super::steady::SteadyWatch;
use crate::conductor::outcome::FinishedMember;
use crate::job_result::JobResult;
use crate::member::Member;
use crate::progress::MemberProgress;
use crate::protocol::Verified;
use joulio_job::VerifyResult;
use joulio_nvme::Faults;
use joulio_units::Nanos;

/// A member, and the messages of its jobs so far.
pub(super) struct MemberWatch<'a> {
    member: &'a Member,
    progress: &'a MemberProgress,
    /// Effective completion mode.
    pub(super) effective: String,
    /// Number of jobs that are prepared.
    pub(super) ready: usize,
    /// Number of jobs that have begun their measured parts.
    pub(super) began: usize,
    /// Results of the jobs that have finished.
    pub(super) jobs: Vec<JobResult>,
    /// Number of jobs that have verified their data.
    verified: usize,
    checked: VerifyResult,
    faults: Faults,
    rates: Rates,
    steady: Option<SteadyWatch>,
}

impl<'a> MemberWatch<'a> {
    /// Returns the watch of `member`, none of whose jobs is prepared.
    pub(super) fn new(member: &'a Member, progress: &'a MemberProgress) -> MemberWatch<'a> {
        MemberWatch {
            member,
            progress,
            effective: String::new(),
            ready: 0,
            began: 0,
            jobs: Vec::new(),
            verified: 0,
            checked: VerifyResult::default(),
            faults: Faults::default(),
            rates: Rates::of([&member.job].into_iter()),
            steady: None,
        }
    }

    /// Notes that the jobs start at `start`.
    pub(super) fn start(&mut self, start: Nanos) {
        let job = &self.member.job;
        let measured = start + job.start_delay + job.ramp_time;
        self.steady = job
            .steady_state
            .map(|requested| SteadyWatch::new(requested, measured));
    }

    /// True when all jobs are prepared.
    pub(super) fn is_ready(&self) -> bool {
        self.ready == self.member.job.numjobs
    }

    /// True while all jobs are in their measured parts. Before the last has begun, and after the first has ended,
    /// the sum over the jobs is not the rate of all of them.
    pub(super) fn is_measured(&self) -> bool {
        self.began >= self.member.job.numjobs && self.jobs.is_empty()
    }

    /// True when all jobs have finished.
    pub(super) fn is_finished(&self) -> bool {
        self.jobs.len() == self.member.job.numjobs
    }

    /// True when all jobs have verified what they wrote.
    pub(super) fn is_verified(&self) -> bool {
        self.verified == self.member.job.numjobs
    }

    /// Samples the rate at the time `at`, and ends the jobs if it is steady.
    pub(super) fn sample(&mut self, at: Nanos) {
        if !self.is_measured() {
            return;
        }
        let done = self.progress.done();
        self.rates.add(at, done.0);
        if self
            .steady
            .as_mut()
            .is_some_and(|steady| steady.add(at, done))
        {
            self.progress.end();
        }
    }

    /// Keeps the result of a job that has finished.
    pub(super) fn finished(&mut self, job: JobResult) {
        self.jobs.push(job);
    }

    /// Adds the verification of a job.
    pub(super) fn verified(&mut self, one: Verified) {
        self.verified += 1;
        self.checked.add(one.checked);
        self.faults += one.faults;
    }

    /// Returns the outcome of the member.
    pub(super) fn outcome(self) -> FinishedMember {
        FinishedMember {
            effective: self.effective,
            jobs: self.jobs,
            verify: self.checked,
            faults: self.faults,
            steadiness: self.rates.steadiness(),
            steady_state: self.steady.map(|steady| steady.result()),
        }
    }
}
