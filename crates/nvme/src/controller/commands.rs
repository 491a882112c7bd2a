//! Admin commands, and the reset of a controller that does not answer one.

use super::shared::{Shared, lock};
use crate::NvmeError;
use crate::admin::Admin;
use joulio_device::{AdminData, Device, DmaBuffer};
use joulio_nvme_spec::{AdminOpcode, Command, QueueId};
use std::sync::Arc;
use zerocopy::{FromBytes, IntoBytes};

impl<D: Device> Shared<D> {
    /// Executes an admin command without data and returns dwords 0 and 1 of its completion. If the controller does
    /// not answer, it is reset.
    pub(crate) fn run(&self, name: &'static str, command: Command) -> Result<u64, NvmeError> {
        self.exchange(name, command, AdminData::None)
    }

    /// Executes an admin command without data that is meant for `generation` only: a reset since then ends it.
    /// Returns dwords 0 and 1 of its completion.
    pub(crate) fn run_in(
        &self,
        generation: u32,
        name: &'static str,
        command: Command,
    ) -> Result<u64, NvmeError> {
        self.run_or_reset(|admin| admin.run_in(generation, name, command))
    }

    /// Executes an admin command that reads a structure. Returns dword 0 of its completion, and the structure.
    pub(crate) fn fetch<T: FromBytes + IntoBytes>(
        &self,
        name: &'static str,
        command: Command,
    ) -> Result<(u32, Box<T>), NvmeError> {
        self.run_or_reset(|admin| admin.fetch(name, command))
    }

    /// Executes an admin command with up to a page of data and returns dwords 0 and 1 of its completion.
    pub(crate) fn exchange(
        &self,
        name: &'static str,
        command: Command,
        data: AdminData<'_>,
    ) -> Result<u64, NvmeError> {
        let sent = match &data {
            AdminData::Out(bytes) => Some(Box::from(*bytes)),
            _ => None,
        };
        self.run_or_reset(|admin| {
            let result = admin.exchange(name, command, data)?;
            // No other thread resets the controller in between: a reset needs the admin queue.
            lock(&self.features).note(name, command, sent);
            Ok(result)
        })
    }

    /// Executes an admin command with `bytes` of `buffer`. Returns dwords 0 and 1 of its completion, or its status,
    /// and the buffer, unless the device may still use it.
    pub(crate) fn run_with(
        &self,
        name: &'static str,
        command: Command,
        buffer: DmaBuffer,
        bytes: u32,
    ) -> (Result<u64, NvmeError>, Option<DmaBuffer>) {
        let mut buffer = Some(buffer);
        let result = self.run_or_reset(|admin| {
            let Some(own) = buffer.take() else {
                unreachable!("this is called once");
            };
            let result = admin.run_with(name, command, (own.iova(), bytes));
            match &result {
                Ok(_) | Err(NvmeError::Admin { .. }) => buffer = Some(own),
                // Held before the reset, which releases it.
                Err(_) => self.retire(Arc::clone(admin.memory()), vec![own]),
            }
            result
        });
        (result, buffer)
    }

    fn run_or_reset<T>(
        &self,
        run: impl FnOnce(&mut Admin<D>) -> Result<T, NvmeError>,
    ) -> Result<T, NvmeError> {
        self.settled()?;
        let (generation, result) = {
            let mut admin = self.admin();
            (admin.generation(), run(&mut admin))
        };
        if let Err(error) = &result
            && error.asks_for_reset()
        {
            // The error belongs to the command. If the reset fails, the next caller gets that error.
            let _ = self.recover(generation, error);
        }
        result
    }

    /// Deletes the queues `id`, the submission queue first (Base 5.6).
    pub(crate) fn delete_queues(&self, id: QueueId) -> Result<(), NvmeError> {
        let opcode = AdminOpcode::DELETE_IO_SUBMISSION_QUEUE;
        let command = Command::delete_queue(opcode, id);
        self.run("Delete I/O Submission Queue", command)?;
        self.delete_completion_queue(id)
    }

    /// Deletes the completion queue `id`, which no submission queue uses.
    pub(crate) fn delete_completion_queue(&self, id: QueueId) -> Result<(), NvmeError> {
        let opcode = AdminOpcode::DELETE_IO_COMPLETION_QUEUE;
        let command = Command::delete_queue(opcode, id);
        self.run("Delete I/O Completion Queue", command)?;
        Ok(())
    }
}
