//! Queue pairs: their number, and their creation on the controller.

use super::shared::Shared;
use super::{Controller, NvmeError, QueuePair};
use crate::admin::Admin;
use crate::queue::{Layout, Parts, Rings};
use joulio_device::{Device, DmaMemory, Vector};
use joulio_nvme_spec::command::QueuePriority;
use joulio_nvme_spec::feature::{FeatureId, NumberOfQueues};
use joulio_nvme_spec::register::{completion_doorbell, submission_doorbell};
use joulio_nvme_spec::{Command, QueueId};
use std::sync::Arc;

impl<D: Device> Controller<D> {
    /// Creates a queue pair for up to `depth` outstanding commands, which is polled at first (Base
    /// 5.4 and 5.5). It has an interrupt vector of its own if the device has one left.
    ///
    /// # Errors
    /// `depth` is out of range ([`NvmeError::Depth`]), no pair is left ([`NvmeError::NoQueue`]), or the controller
    /// refuses the queues.
    pub fn create_queue_pair(&self, depth: usize) -> Result<QueuePair<D>, NvmeError> {
        self.create_queue_pair_of(QueuePriority::MEDIUM, depth)
    }

    /// Creates a queue pair as [`Controller::create_queue_pair`] does, in the priority class `priority`. The
    /// controller uses the class only if [`Controller::is_weighted`].
    ///
    /// # Errors
    /// As [`Controller::create_queue_pair`].
    pub fn create_queue_pair_of(
        &self,
        priority: QueuePriority,
        depth: usize,
    ) -> Result<QueuePair<D>, NvmeError> {
        let max = self.max_depth();
        if depth == 0 || depth > max {
            return Err(NvmeError::Depth {
                device: self.name().into(),
                wanted: depth,
                max,
            });
        }
        let layout = Layout::new(depth + 1, depth, self.shared.list_layout());
        let memory = Arc::new(self.allocate(layout.bytes)?);
        let generation = self.shared.settled()?;
        let (id, vector) = self.shared.take_queue()?;
        let doorbells = match self.doorbells(id) {
            Ok(doorbells) => doorbells,
            Err(error) => {
                self.shared.take_back(id, vector, true);
                return Err(error);
            }
        };
        let rings = Rings {
            id,
            depth,
            priority,
        };
        if let Err((error, undone)) =
            self.shared
                .connect(generation, rings, vector.as_ref(), &memory)
        {
            self.shared.take_back(id, vector, undone);
            // The controller may still use the memory.
            self.shared.retire(memory, Vec::new());
            return Err(error);
        }
        Ok(QueuePair::new(Parts {
            rings,
            memory,
            vector,
            doorbells,
            generation,
            shared: Arc::clone(&self.shared),
        }))
    }

    fn doorbells(&self, id: QueueId) -> Result<(D::Doorbell, D::Doorbell), NvmeError> {
        let stride = self.shared.cap.dstrd();
        let device = &self.shared.device;
        Ok((
            device.doorbell(submission_doorbell(id.0, stride))?,
            device.doorbell(completion_doorbell(id.0, stride))?,
        ))
    }
}

impl<D: Device> Shared<D> {
    /// Creates the queues `rings`, of depth + 1 entries each, on the controller, both in `generation`. The error says
    /// whether the controller knows neither queue.
    pub(crate) fn connect(
        &self,
        generation: u32,
        rings: Rings,
        vector: Option<&Vector>,
        memory: &Arc<DmaMemory>,
    ) -> Result<(), (NvmeError, bool)> {
        let Rings {
            id,
            depth,
            priority,
        } = rings;
        let entries = depth as u32 + 1;
        let layout = Layout::new(depth + 1, depth, self.list_layout());
        // A reset undoes all of it.
        let refused = |error: &NvmeError| matches!(error, NvmeError::Admin { .. });
        let forgotten = || self.generation() != generation;
        let mut create = Command::create_completion_queue(id, entries, vector.map(Vector::index));
        create.prp1 = memory.iova().offset(layout.completion()).0.into();
        let created = self.run_in(generation, "Create I/O Completion Queue", create);
        created.map_err(|error| {
            let undone = refused(&error) || forgotten();
            (error, undone)
        })?;
        let mut create = Command::create_submission_queue(id, entries, id);
        if self.is_weighted() || self.quirks.medium_priority {
            create = create.with_priority(priority);
        }
        create.prp1 = memory.iova().0.into();
        let created = self.run_in(generation, "Create I/O Submission Queue", create);
        created.map_err(|error| {
            let deleted = || refused(&error) && self.delete_completion_queue(id).is_ok();
            let undone = forgotten() || deleted() || forgotten();
            (error, undone)
        })?;
        if let Some(vector) = vector {
            let set = self.set_vector_again(generation, vector.index());
            set.map_err(|error| (error, forgotten()))?;
        }
        Ok(())
    }

    /// Negotiates the number of queues, and takes a vector for each while there are any: a queue without one is
    /// polled.
    pub(super) fn negotiate_queues(&mut self, wanted: u16) -> Result<(), NvmeError> {
        let max = number_of_queues(&mut self.admin(), wanted)?;
        let queues = max.min(wanted.into()) as u16;
        let wanted = self.device.max_vectors().min(queues.saturating_add(1));
        let vectors = if wanted == 0 {
            Vec::new()
        } else {
            self.device.enable_vectors(wanted)?
        };
        self.offer_queues(queues, vectors, wanted);
        Ok(())
    }

    /// Requests as many queues as there were before a reset.
    pub(super) fn ask_for_queues(&self, admin: &mut Admin<D>) -> Result<(), NvmeError> {
        let had = self.granted();
        let max = number_of_queues(admin, had as u16)?;
        if (max as usize) < had {
            return Err(NvmeError::Unsupported {
                device: self.device.name().into(),
                what: format!("it gives {max} I/O queues after its reset, it gave {had} before"),
            });
        }
        Ok(())
    }
}

/// Sets feature 07h: requests `wanted` I/O queues, at least 1, and returns how many pairs the controller gives.
fn number_of_queues<D: Device>(admin: &mut Admin<D>, wanted: u16) -> Result<u32, NvmeError> {
    // 0's based: FFFFh, which must not be requested (Base figure 322), cannot result.
    let requested = wanted.max(1) - 1;
    let value = NumberOfQueues::new()
        .with_submission(requested)
        .with_completion(requested);
    let granted = admin.run(
        "Set Features (Number of Queues)",
        Command::set_features(FeatureId::NUMBER_OF_QUEUES, value.into()),
    )?;
    let granted = NumberOfQueues::from(granted as u32);
    Ok(u32::from(granted.submission().min(granted.completion())) + 1)
}
