//! Makes the result of a run from the results of its jobs and devices.

mod residency;

use crate::conductor::{DeviceThreads, Finished, FinishedMember, RunOutcome};
use crate::energy::figures;
use crate::io_totals::IoTotals;
use crate::job_result::JobResult;
use crate::machine::{ThreadCounters, of_threads};
use crate::member::Member;
use crate::recorded_ios::RecordedIos;
use crate::setup::Setup;
use crate::spoiled::{Evidence, JobEvidence, judge, settings_lost};
use crate::target::{ModeVerdict, TargetActivity};
use joulio_energy::{Energy, Model};
use joulio_job::{
    CompletionResult, Counts, DeviceCounts, DirectionResult, FaultCounts, FixedWindow,
    IoStatistics, Job, JobCounts, JobLog, LatencyDetail, Moment, Placement, RunResult,
    SectionResult, Spoiled, Threads, Verify, VerifyResult, WorkDone, section_name,
};
use joulio_model::DeviceActivity;
use joulio_nvme::Faults;
use joulio_nvme::wait::{WaitCounters, now};
use joulio_trace::Thread;
use joulio_units::{Joules, Nanos};
use residency::residencies;
use std::collections::BTreeMap;
use std::slice;
use std::time::{SystemTime, UNIX_EPOCH};

/// Maker of a run's result: the members and the setup of the run.
pub(crate) struct RunReport<'a> {
    pub(crate) members: &'a [Member],
    pub(crate) setup: &'a Setup<'a>,
}

/// A member that has finished.
#[derive(Clone, Copy)]
struct Part<'a> {
    member: &'a Member,
    done: &'a FinishedMember,
}

/// Outcome of a member or of all: the effective completion mode, the reason if it is not the requested one, and the
/// figures.
type Ran = (Option<String>, Option<String>, Option<Counts>);

impl RunReport<'_> {
    /// Returns the result of `outcome`, and the recordings of its I/Os.
    pub(crate) fn result(&self, outcome: RunOutcome) -> (RunResult, RecordedIos) {
        match outcome {
            RunOutcome::Unavailable { member, reason } => {
                (self.unavailable(member, &reason), RecordedIos::default())
            }
            RunOutcome::Finished(mut done) => {
                let recorded = recorded(&mut done.members);
                (self.finished(&done), recorded)
            }
        }
    }

    /// Returns the result of a run whose member `unavailable` has no completion mode, for the reason `why`.
    fn unavailable(&self, unavailable: usize, why: &str) -> RunResult {
        let results = self.members.iter().enumerate().map(|(number, member)| {
            let reason = match number == unavailable {
                true => why.to_owned(),
                false => format!("[{}] beside it: {why}", self.members[unavailable].name),
            };
            self.result_of(member, (None, Some(reason), None), Vec::new())
        });
        self.together(results.collect(), None, Vec::new())
    }

    fn finished(&self, done: &Finished) -> RunResult {
        let parts = self.members.iter().zip(&done.members);
        let parts = parts.map(|(member, done)| Part { member, done });
        let parts: Vec<Part<'_>> = parts.collect();
        let whole = self.counts(&parts, Some(done));
        let alike = parts
            .iter()
            .all(|part| part.member.method == self.members[0].method);
        let results = parts.iter().map(|part| {
            let own = slice::from_ref(part);
            let counts = match parts.len() {
                1 => whole.clone(),
                _ => self.counts(own, None),
            };
            // The machine's counts include those of all members.
            let judged = if alike { &whole } else { &counts };
            let ran = match self.judge(part.member, judged) {
                ModeVerdict::AsRequested => (part.done.effective.clone(), None),
                ModeVerdict::Other { effective, reason } => (effective, Some(reason)),
            };
            let ran = (Some(ran.0), ran.1, Some(counts));
            self.result_of(part.member, ran, self.spoiled(own, done))
        });
        let results = results.collect();
        let spoiled = self.spoiled(&parts, done);
        let run = self.together(results, Some(whole), spoiled);
        RunResult {
            reporting_groups: self.reporting_groups(&parts, &run.sections, done),
            ..run
        }
    }

    /// Returns the results of the reporting groups of `sections`, with figures from `parts`; none if each group has
    /// one section, or one group has all.
    fn reporting_groups(
        &self,
        parts: &[Part<'_>],
        sections: &[SectionResult],
        done: &Finished,
    ) -> Vec<SectionResult> {
        let mut groups = BTreeMap::<usize, Vec<_>>::new();
        for (part, section) in parts.iter().zip(sections) {
            let group = groups.entry(part.member.reporting_group).or_default();
            group.push((*part, section.clone()));
        }
        if groups.len() < 2 || groups.len() == sections.len() {
            return Vec::new();
        }
        let results = groups.into_values().map(|group| {
            let (parts, mut sections): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            if let Some(only) = sections.pop_if(|_| parts.len() == 1) {
                return only;
            }
            let names: Vec<_> = sections.iter().map(|one| one.section.clone()).collect();
            let devices = self.devices(&parts).into_iter();
            let devices = devices.map(|device| self.name(device)).collect();
            let counts = self.counts(&parts, None);
            SectionResult {
                section: section_name(&names),
                point: BTreeMap::new(),
                result: RunResult {
                    spoiled: self.spoiled(&parts, done),
                    sections: Vec::new(),
                    ..RunResult::of_sections(sections, devices, Some(counts))
                },
            }
        });
        results.collect()
    }

    /// Returns the result of `member`.
    fn result_of(&self, member: &Member, ran: Ran, spoiled: Vec<Spoiled>) -> RunResult {
        let (effective, reason, counts) = ran;
        let completion = CompletionResult {
            requested: member.method.mode.to_string(),
            effective,
            reason,
        };
        let names = member.devices.iter().map(|&device| self.name(device));
        RunResult {
            interrupted: self.setup.stop.is_requested(),
            spoiled,
            ..RunResult::new(
                &member.job,
                member.method,
                names.collect(),
                completion,
                counts,
            )
        }
    }

    /// Returns the result of the run: that of its only member, or a result for all members with the figures
    /// `whole`.
    fn together(
        &self,
        mut results: Vec<RunResult>,
        whole: Option<Counts>,
        spoiled: Vec<Spoiled>,
    ) -> RunResult {
        if let Some(only) = results.pop_if(|_| self.members.len() == 1) {
            return only;
        }
        let sections = self.members.iter().zip(results);
        let sections = sections.map(|(member, result)| SectionResult {
            section: member.name.clone(),
            point: BTreeMap::new(),
            result,
        });
        let names = (0..self.setup.targets.len()).map(|device| self.name(device));
        RunResult {
            spoiled,
            ..RunResult::of_sections(sections.collect(), names.collect(), whole)
        }
    }

    fn name(&self, device: usize) -> String {
        self.setup.targets[device].info().name.clone()
    }

    /// Judges the completion mode of `member`'s run by the machine's counts: the first of its targets whose verdict
    /// is not `AsRequested` decides.
    fn judge(&self, member: &Member, counts: &Counts) -> ModeVerdict {
        let targets = member
            .devices
            .iter()
            .map(|&device| &self.setup.targets[device]);
        let mut verdicts = targets.map(|target| target.judge(member.method, counts));
        let other = verdicts.find(|verdict| *verdict != ModeVerdict::AsRequested);
        other.unwrap_or(ModeVerdict::AsRequested)
    }

    /// Returns the numbers of the devices of `parts`.
    fn devices(&self, parts: &[Part<'_>]) -> Vec<usize> {
        let all = 0..self.setup.targets.len();
        let used = |device: &usize| {
            parts
                .iter()
                .any(|part| part.member.devices.contains(device))
        };
        all.filter(used).collect()
    }

    /// Returns what spoiled `parts` of the run `done`.
    fn spoiled(&self, parts: &[Part<'_>], done: &Finished) -> Vec<Spoiled> {
        let devices = self.devices(parts);
        let threads = devices
            .iter()
            .map(|&device| done.did.device_scheduled[device]);
        let threads = threads.fold(DeviceThreads::none(), DeviceThreads::and);
        let lost = devices.into_iter().flat_map(|device| {
            let target = &self.setup.targets[device];
            let lost = target.lost_features().into_iter();
            lost.map(|what| settings_lost(&target.info().name, &what))
        });
        // If any job ends all others at its end, it may have ended these.
        let early = self.members.iter().any(|member| member.job.exitall);
        let mut spoiled = judge(&Evidence {
            window: done.window,
            jobs: self.seen(parts, early),
            devices: (threads.scheduled, threads.threads),
            happened: done.did.happened.clone(),
            cpus: &cpus(parts),
            late: done.late,
            requested_to_end: self.setup.stop.stopped(),
        });
        spoiled.extend(lost);
        spoiled
    }

    /// Returns the evidence of what spoiled the jobs of `parts`, which may have ended `early`.
    fn seen(&self, parts: &[Part<'_>], early: bool) -> Vec<JobEvidence> {
        let mut seen = Vec::new();
        let mut first = 0;
        for Part { member, done } in parts {
            let steady = done.steady_state.as_ref();
            let early = early || steady.is_some_and(|steady| steady.attained);
            let due = match (member.job.runtime, member.job.number_ios) {
                (Some(time), None) if !early && !self.setup.stop.stopped() => time,
                _ => Nanos::ZERO,
            };
            seen.extend(done.jobs.iter().map(|job| JobEvidence {
                index: first + job.index,
                window: job.ended - job.started,
                due,
                scheduled: job.scheduled,
                never_waits: job.counts_waiting && job.counters.blocks + job.counters.sleeps == 0,
                kernel: job.kernel_scheduled,
                learning: job.learning,
                stopped: job.stopped,
            }));
            first += member.job.numjobs;
        }
        seen
    }

    /// Returns the figures of `parts` together. With `whole` they include those that exist only for all members
    /// together: counts of the machine and the devices, and the meters' figures.
    fn counts(&self, parts: &[Part<'_>], whole: Option<&Finished>) -> Counts {
        let jobs = || parts.iter().flat_map(|part| &part.done.jobs);
        let start = jobs().map(|job| job.counted_from).min().unwrap_or_default();
        let end = jobs().map(|job| job.ended).max().unwrap_or_default();
        let window = end - start;
        let mut totals = IoTotals::default();
        let mut counters = WaitCounters::default();
        let mut threads = Threads {
            device: whole
                .map(|done| done.did.device_threads)
                .unwrap_or_default(),
            ..Threads::default()
        };
        let nodes = parts.iter().flat_map(|part| &part.member.devices);
        let mut placement = Placement {
            device_nodes: nodes
                .filter_map(|&device| self.setup.targets[device].info().numa_node)
                .collect(),
            ..Placement::default()
        };
        let mut of_devices = vec![IoTotals::default(); self.setup.targets.len()];
        for job in jobs() {
            for share in &job.shares {
                of_devices[share.device].add(&share.totals);
            }
            counters += job.counters;
            threads.submitter.add(job.usage);
            threads.kernel.add(job.kernel_usage);
            placement.add(&job.placement);
        }
        of_devices.iter().for_each(|one| totals.add(one));
        let all = totals.all();
        let per_device = self.devices(parts).into_iter().map(|device| {
            let one = &of_devices[device];
            DeviceCounts::new(
                self.name(device),
                &one.read,
                &one.write,
                Some(&one.trim),
                window,
            )
        });
        let per_device = per_device.collect();
        let (energy, unmetered) = whole.map_or_else(Default::default, |whole| {
            let done = WorkDone {
                ios: all.ios,
                bytes: all.bytes,
                window: whole.window,
            };
            figures(&whole.energy, self.modelled(parts, whole), done)
        });
        let moments = Moments::now();
        let detail = detail(parts);
        let detailed = |one| DirectionResult::detailed(one, window, &detail);
        let any = |has: fn(&Job) -> bool| parts.iter().any(|part| has(&part.member.job));
        let mut faults = Faults::default();
        let mut verify = VerifyResult::default();
        for part in parts {
            faults += part.done.faults;
            verify.add(part.done.verify.clone());
        }
        Counts {
            begin: Some(moments.at(start)),
            end: Some(moments.at(end)),
            seconds: window.seconds(),
            read: detailed(&totals.read),
            write: detailed(&totals.write),
            trim: any(|job| job.rw.trims()).then(|| detailed(&totals.trim)),
            sync: any(Job::has_flushes).then(|| detailed(&totals.sync)),
            all: detailed(&all),
            per_device,
            per_job: per_job(parts),
            neighbour_percent: None,
            other_irqs: None,
            steadiness: match (parts, whole) {
                ([part], _) => part.done.steadiness,
                (_, whole) => whole.and_then(|done| done.steadiness),
            },
            steady_state: match parts {
                [part] => part.done.steady_state.clone(),
                _ => None,
            },
            placement,
            threads,
            wait: counters,
            faults: fault_counts(faults),
            system_calls: jobs().map(|job| job.system_calls).sum(),
            machine: match whole {
                Some(done) => done.did.machine.clone(),
                None => of_threads(&counted(jobs()), "counted of all sections together"),
            },
            energy,
            unmetered,
            window: whole.and_then(|done| self.fixed_window(done, window)),
            arrivals_not_issued: jobs().map(|job| job.unissued).sum(),
            falls_behind: parts.iter().any(Part::falls_behind),
            verify: any(|job| job.verify != Verify::None).then_some(verify),
            first_error: jobs().find_map(|job| job.first_error.clone()),
        }
    }

    /// Returns the model's figures for `parts`, which are the whole run, if there is a model.
    fn modelled(&self, parts: &[Part<'_>], whole: &Finished) -> Option<Modelled> {
        let machine = self.setup.machine?;
        let home = self.setup.at_home.then_some(machine);
        let jobs = parts.iter().flat_map(|part| &part.done.jobs);
        let cores: Vec<_> = jobs.flat_map(|job| residencies(job, home)).collect();
        // Of the window alone: in a short one the readings of the counters take longer.
        let part = whole.window.seconds() / whole.did.idle_time.seconds();
        let part = if part.is_finite() { part } else { 1.0 };
        let activity = |a: &TargetActivity| DeviceActivity {
            window: whole.window,
            read: a.read,
            write: a.write,
            idle: a.idle.map(|idle| Joules(idle.0 * part)),
        };
        let devices = self.setup.targets.iter().zip(&whole.did.devices);
        let devices = devices.map(|(target, a)| (target.info().profile.as_ref(), activity(a)));
        let model = Model {
            machine,
            devices: devices.collect(),
        };
        Some((model.energies(whole.window, &cores), model.note(&cores)))
    }

    /// Returns the fixed window in which energy was counted, if one was requested, for a run that worked for
    /// `worked`.
    fn fixed_window(&self, done: &Finished, worked: Nanos) -> Option<FixedWindow> {
        let requested = self.members.iter().filter_map(|member| member.job.window);
        let requested = requested.max()?;
        Some(FixedWindow {
            requested_seconds: requested.seconds(),
            seconds: done.window.seconds(),
            idle_seconds: done.window.since(worked).seconds(),
            fits: worked <= requested,
        })
    }
}

/// Energies of the model, and a note about them.
type Modelled = (Vec<Energy>, Option<String>);

impl Part<'_> {
    /// Returns true if the devices fell behind the arrivals of this member.
    fn falls_behind(&self) -> bool {
        let jobs = &self.done.jobs;
        let mut totals = IoTotals::default();
        for share in jobs.iter().flat_map(|job| &job.shares) {
            totals.add(&share.totals);
        }
        let all = totals.all();
        let behind = jobs.iter().map(|job| job.behind).sum();
        let devices = self.member.devices.len();
        self.member
            .job
            .falls_behind(devices, all.ios + all.errors, behind)
    }
}

/// Returns the CPUs that the jobs of `parts` may use; empty if they may use any.
fn cpus(parts: &[Part<'_>]) -> Vec<usize> {
    let mut lists = parts.iter().map(|part| &part.member.job.cpus_allowed);
    match lists.clone().any(Vec::is_empty) {
        true => Vec::new(),
        false => lists.by_ref().flatten().copied().collect(),
    }
}

/// Returns the additional latencies that any of `parts` requests.
fn detail(parts: &[Part<'_>]) -> LatencyDetail {
    let mut detail = LatencyDetail::default();
    for part in parts {
        let own = &part.member.job.latency;
        detail.bins |= own.bins;
        for percentile in &own.percentiles {
            if !detail.percentiles.contains(percentile) {
                detail.percentiles.push(*percentile);
            }
        }
    }
    detail
}

/// Returns the figures of each job over its own time, if there are several.
fn per_job(parts: &[Part<'_>]) -> Vec<JobCounts> {
    let of_part = |part: &Part<'_>| {
        let job = &part.member.job;
        let mut sorted: Vec<&JobResult> = part.done.jobs.iter().collect();
        sorted.sort_by_key(|job| job.index);
        let counts = sorted.into_iter().map(|done| {
            let mut all = IoStatistics::new();
            for share in &done.shares {
                all.add(&share.totals.all());
            }
            let window = done.ended - done.counted_from;
            JobCounts::new(job.max_bs(done.index), &all, window)
        });
        counts.collect::<Vec<_>>()
    };
    let jobs: Vec<_> = parts.iter().flat_map(of_part).collect();
    match jobs.len() {
        0 | 1 => Vec::new(),
        _ => jobs,
    }
}

/// Returns the sum of the counts of the threads of `jobs`.
fn counted<'a>(jobs: impl Iterator<Item = &'a JobResult>) -> ThreadCounters {
    jobs.fold(ThreadCounters::none(), |sum, job| sum.and(&job.counted))
}

/// Readings of the two clocks at one moment, from which other moments are computed.
pub(crate) struct Moments {
    unix_seconds: f64,
    monotonic: Nanos,
}

impl Moments {
    pub(crate) fn now() -> Moments {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Moments {
            unix_seconds: unix.unwrap_or_default().as_secs_f64(),
            monotonic: now(),
        }
    }

    /// Returns the moment that is `at` on the monotonic clock.
    pub(crate) fn at(&self, at: Nanos) -> Moment {
        let monotonic_seconds = at.seconds();
        Moment {
            unix_seconds: self.unix_seconds + (monotonic_seconds - self.monotonic.seconds()),
            monotonic_seconds,
        }
    }
}

fn fault_counts(f: Faults) -> FaultCounts {
    FaultCounts {
        stale_completions: f.stale,
        doubled_completions: f.doubled,
        unknown_completions: f.unknown,
        timeouts: f.timeouts,
        resets: f.resets,
        ended_by_reset: f.ended_by_reset,
        retries: f.retries,
        vectors_rewritten: f.vectors_rewritten,
    }
}

/// Takes the recordings of the jobs of `members`, with each job's number among all jobs.
fn recorded(members: &mut [FinishedMember]) -> RecordedIos {
    let mut recorded = RecordedIos::default();
    let mut first = 0;
    for FinishedMember { jobs, .. } in members {
        // The jobs were added in the order in which they ended.
        jobs.sort_by_key(|job| job.index);
        for job in jobs.iter_mut() {
            let number = first + job.index;
            recorded.traced.push(Thread {
                name: format!("joulio-job-{number}"),
                recorded: std::mem::take(&mut job.recorded),
            });
            let ios = std::mem::take(&mut job.log);
            if !ios.is_empty() {
                recorded.logs.push(JobLog { job: number, ios });
            }
        }
        first += jobs.len();
    }
    recorded
}
