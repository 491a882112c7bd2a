//! Search for advice: the workload, the runs of its candidates, the choice.

use super::command;
use super::error::AdviseError;
use super::iolog::read_iolog;
use super::observed::{Observation, Workload};
use super::real;
use super::report::AdviceReport;
use super::request::{AdviceRequest, Observe};
use super::simulated;
use crate::FormatVersion;
use crate::experiment::Observer;
use crate::target_name::TargetName;
use joulio_kernel_io::Disks;
use joulio_units::Nanos;
use joulio_workload::{Job, Stop};

/// A checked request for advice; nothing is opened yet.
#[derive(Debug)]
pub struct Advising {
    request: AdviceRequest,
    described: Job,
}

impl Advising {
    /// Checks the request as far as possible before anything is opened.
    ///
    /// # Errors
    /// The request is not valid.
    pub fn new(request: AdviceRequest) -> Result<Advising, AdviseError> {
        let described = request.described()?;
        Ok(Advising { request, described })
    }

    /// Returns the request.
    pub fn request(&self) -> &AdviceRequest {
        &self.request
    }

    /// Observes the workload if requested, runs or simulates all candidates, and chooses the best.
    ///
    /// # Errors
    /// No advice can be given, or a run failed or was stopped.
    pub fn find(self, stop: &Stop, observer: &dyn Observer) -> Result<AdviceReport, AdviseError> {
        let Advising { request, described } = self;
        let observed = observed(&request, stop, observer)?;
        let targets = &request.experiment.targets;
        let may_not_write = !request.in_virtual_time() && !targets.may_write();
        let writes_as_reads = match &observed {
            Some(workload) => may_not_write && workload.read_percent < 100,
            None => false,
        };
        let devices = targets.devices.len();
        let job = match &observed {
            Some(workload) if writes_as_reads => {
                workload.read_alone().applied_to(&described, devices)
            }
            Some(workload) => workload.applied_to(&described, devices),
            None => described,
        };
        job.check()?;
        let found = match request.in_virtual_time() {
            true => simulated::find(&request, &job, stop, observer)?,
            false => real::find(&request, &job, stop, observer)?,
        };
        Ok(AdviceReport {
            version: FormatVersion,
            command: command::of(&request, &job, &found.advice.chosen().candidate),
            manifest: found.manifest,
            observed,
            writes_as_reads,
            diagnoses: found.diagnoses,
            advice: found.advice,
            job,
            modelled_on: found.modelled_on,
            disks: found.disks,
        })
    }
}

/// Observes the workload, if the request asks for it.
fn observed(
    request: &AdviceRequest,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Option<Workload>, AdviseError> {
    let (disk, time) = match &request.observe {
        None => return Ok(None),
        Some(Observe::Iolog(path)) => return Ok(Some(read_iolog(path)?)),
        Some(Observe::Disk { disk, time }) => (disk, *time),
    };
    let disk = match (disk, request.experiment.targets.devices.first()) {
        (Some(disk), _) => disk.clone(),
        (None, Some(TargetName::Kernel(path))) => path.display().to_string(),
        _ => return Err(AdviseError::NoDisk),
    };
    watch(&disk, time, stop, observer).map(Some)
}

fn watch(
    disk: &str,
    time: Nanos,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Workload, AdviseError> {
    let observation = Observation::begin(Disks::at("/"), disk)?;
    observer.note(&format!("watching {disk} for {} s", time.seconds()));
    match observation.watch(time, stop)? {
        Some(workload) => Ok(workload),
        None if stop.stopped() => Err(AdviseError::Interrupted("nothing was observed")),
        None => Err(AdviseError::NoIo {
            disk: disk.into(),
            time,
        }),
    }
}
