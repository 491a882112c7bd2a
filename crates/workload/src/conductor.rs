//! The thread that starts a run's jobs together, watches them, and looks at the devices before
//! and after.

use crate::cpu;
use crate::job::Job;
use crate::looped::{Go, Measured, Message};
use crate::result::{ThreadUsage, VerifyResult};
use crate::run::Setup;
use crate::target::{Activity, Obtained};
use joulio_model::Transfer;
use joulio_nvme::wait::now;
use joulio_units::{Joules, Nanos};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// What came of a run.
pub(crate) enum Outcome {
    Refused(String),
    Done(Box<Finished>),
}

pub(crate) struct Finished {
    pub(crate) obtained: String,
    pub(crate) jobs: Vec<Measured>,
    pub(crate) verify: VerifyResult,
    pub(crate) devices: Vec<Activity>,
    pub(crate) device_threads: ThreadUsage,
}

pub(crate) struct Conductor<'a> {
    pub(crate) job: &'a Job,
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) progress: &'a [AtomicU64],
    pub(crate) inbox: Receiver<Message>,
}

impl Conductor<'_> {
    /// Starts the jobs together and waits for them. `None` when a job died.
    pub(crate) fn conduct(&mut self, starts: Vec<Sender<Go>>) -> Option<Outcome> {
        let mut obtained = String::new();
        for _ in 0..self.job.numjobs {
            match self.inbox.recv().ok()? {
                Message::Ready(Obtained::Yes(name)) => obtained = name,
                // Dropping the start signals ends the other jobs.
                Message::Ready(Obtained::No(reason)) => return Some(Outcome::Refused(reason)),
                _ => return None,
            }
        }
        let go = Go {
            start: now() + Nanos::from_millis(1),
        };
        for start in &starts {
            start.send(go).ok()?;
        }
        let mut jobs = Vec::new();
        let mut verify = VerifyResult::default();
        let (mut before, mut after) = (None, None);
        let (mut verified, mut gone) = (0, 0);
        while verified < self.job.numjobs {
            match self.inbox.recv_timeout(Duration::from_millis(100)) {
                // The window is the first job's beginning to the last one's end.
                Ok(Message::Began) => {
                    before.get_or_insert_with(|| self.look());
                }
                Ok(Message::Measured(measured)) => {
                    jobs.push(*measured);
                    if jobs.len() == self.job.numjobs {
                        after = Some(self.look());
                        for start in &starts {
                            start.send(go).ok()?;
                        }
                    }
                }
                Ok(Message::Verified(result)) => {
                    verified += 1;
                    verify.blocks += result.blocks;
                    verify.errors += result.errors;
                    verify.first_error = verify.first_error.or(result.first_error);
                }
                Ok(Message::Gone) => {
                    gone += 1;
                    if gone > verified {
                        return None;
                    }
                }
                Ok(Message::Ready(_)) => return None,
                Err(RecvTimeoutError::Timeout) => (self.setup.progress)(self.fraction(go.start)),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        let before = before?;
        let (activity, usage) = after?;
        let devices = activity
            .iter()
            .zip(&before.0)
            .map(|(a, b)| since(*a, *b))
            .collect();
        Some(Outcome::Done(Box::new(Finished {
            obtained,
            jobs,
            verify,
            devices,
            device_threads: usage.since(before.1),
        })))
    }

    /// The devices' own figures now.
    fn look(&self) -> (Vec<Activity>, ThreadUsage) {
        let mut usage = ThreadUsage::default();
        for tid in self
            .setup
            .targets
            .iter()
            .flat_map(|target| target.threads())
        {
            usage.add(cpu::thread(tid));
        }
        (
            self.setup
                .targets
                .iter()
                .map(|target| target.activity())
                .collect(),
            usage,
        )
    }

    fn fraction(&self, start: Nanos) -> f64 {
        let by_time = self
            .job
            .runtime
            .map(|runtime| (now() - start).seconds() / (self.job.ramp_time + runtime).seconds());
        let by_ios = self.job.number_ios.map(|n| {
            let done: u64 = self
                .progress
                .iter()
                .map(|p| p.load(Ordering::Relaxed))
                .sum();
            done as f64 / (n as f64 * self.job.numjobs as f64)
        });
        by_time.unwrap_or(0.0).max(by_ios.unwrap_or(0.0)).min(1.0)
    }
}

fn since(after: Activity, before: Activity) -> Activity {
    let side = |a: Transfer, b: Transfer| Transfer {
        ios: a.ios.saturating_sub(b.ios),
        bytes: a.bytes.saturating_sub(b.bytes),
        service: a.service - b.service,
    };
    Activity {
        read: side(after.read, before.read),
        write: side(after.write, before.write),
        idle: after.idle.zip(before.idle).map(|(a, b)| Joules(a.0 - b.0)),
    }
}
