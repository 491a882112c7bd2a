//! Admin commands (Base 5).

mod abort;
mod doorbells;
mod features;
mod identify;
mod logs;
mod queues;

use super::EmulatedController;
use joulio_nvme_spec::{AdminOpcode, Command, Status};

/// Time at which an admin command completes.
enum Reply {
    /// Completes at once, with this value in dword 0 of the completion.
    Now(u32),
    /// Completes when there is an event to report. Not counted as a command in service, as Asynchronous Event Requests
    /// may outnumber the queue's entries.
    AtAnEvent,
    /// Completes when a sync has ended.
    AtASync,
}

impl EmulatedController {
    /// Executes an admin command.
    pub(super) fn admin(&mut self, command: &Command) {
        let cid = command.dword0().cid();
        match self.administer(command) {
            Ok(Reply::Now(dw0)) => self.complete(0, cid, Ok(dw0)),
            Ok(Reply::AtASync) => {}
            Ok(Reply::AtAnEvent) => {
                if let Some(queue) = self.queues.submission(0) {
                    queue.in_service = queue.in_service.saturating_sub(1);
                }
            }
            Err(status) => {
                self.log_failure(0, cid, command.nsid.get(), 0, status);
                self.complete(0, cid, Err(status));
            }
        }
    }

    fn administer(&mut self, command: &Command) -> Result<Reply, Status> {
        let dword0 = command.dword0();
        if dword0.fuse() != 0 || dword0.psdt() != 0 {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        let dw0 = match AdminOpcode(dword0.opc()) {
            AdminOpcode::IDENTIFY => self.identify(command)?,
            AdminOpcode::CREATE_IO_COMPLETION_QUEUE => self.create_completion_queue(command)?,
            AdminOpcode::CREATE_IO_SUBMISSION_QUEUE => self.create_submission_queue(command)?,
            AdminOpcode::DELETE_IO_COMPLETION_QUEUE => self.delete_completion_queue(command)?,
            AdminOpcode::DELETE_IO_SUBMISSION_QUEUE => self.delete_submission_queue(command)?,
            AdminOpcode::GET_FEATURES => self.get_features(command)?,
            AdminOpcode::SET_FEATURES if self.turns_cache_off(command) => {
                self.turn_cache_off(dword0.cid());
                return Ok(Reply::AtASync);
            }
            AdminOpcode::SET_FEATURES => self.set_features(command)?,
            AdminOpcode::GET_LOG_PAGE => self.get_log_page(command)?,
            AdminOpcode::ABORT => self.abort(command),
            AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST => return self.request_event(dword0.cid()),
            AdminOpcode::DOORBELL_BUFFER_CONFIG if self.shadow_doorbells => {
                self.configure_doorbell_buffers(command)?
            }
            // Among them Format NVM and Sanitize: the controller destroys no data.
            _ => return Err(Status::INVALID_OPCODE.do_not_retry()),
        };
        Ok(Reply::Now(dw0))
    }

    fn request_event(&mut self, cid: u16) -> Result<Reply, Status> {
        if self.events.request(cid) {
            Ok(Reply::AtAnEvent)
        } else {
            Err(Status::ASYNC_EVENT_LIMIT.do_not_retry())
        }
    }

    /// Writes `bytes` to the command's data buffer.
    fn hand_out(&mut self, command: &Command, bytes: &[u8]) -> Result<(), Status> {
        let (prp1, prp2) = (command.prp1.get(), command.prp2.get());
        let len = bytes.len() as u32;
        let segments = self.walker.walk(&self.guest, prp1, prp2, len)?;
        if !self.guest.writable(segments) {
            return Err(Status::DATA_TRANSFER_ERROR);
        }
        self.guest.scatter(segments, bytes);
        Ok(())
    }

    /// Reads the command's data buffer into `bytes`.
    fn take_in(&mut self, command: &Command, bytes: &mut [u8]) -> Result<(), Status> {
        let (prp1, prp2) = (command.prp1.get(), command.prp2.get());
        let len = bytes.len() as u32;
        let segments = self.walker.walk(&self.guest, prp1, prp2, len)?;
        self.guest.gather(segments, bytes);
        Ok(())
    }
}
