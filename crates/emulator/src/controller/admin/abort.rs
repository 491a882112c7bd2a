//! Abort (Base 5.1).

use super::super::EmulatedController;
use joulio_nvme_spec::{Command, Status};

/// Bit 0 of dword 0 of the completion: the command was not aborted.
const NOT_ABORTED: u32 = 1;

impl EmulatedController {
    /// Ends a command that has not completed: it completes now, as Command Abort Requested, before the Abort itself
    /// does. A command that waits for room in its completion queue counts as completed; one that is not fetched is not
    /// found. Returns dword 0 of the Abort's completion.
    pub(super) fn abort(&mut self, command: &Command) -> u32 {
        let dword10 = command.cdw10[0].get();
        let (sqid, cid) = (dword10 as u16, (dword10 >> 16) as u16);
        let found = if sqid == 0 {
            self.abort_event_request(cid)
        } else {
            // If it is in service and chosen for a fault, it loses its marks too.
            let owed = self
                .faults
                .as_mut()
                .is_some_and(|faults| faults.abort(sqid, cid));
            owed || self.in_service.abort(sqid, cid)
        };
        if !found {
            return NOT_ABORTED;
        }
        self.complete(sqid, cid, Err(Status::ABORT_REQUESTED));
        0
    }

    /// Aborts an Asynchronous Event Request; no other admin command can be aborted.
    fn abort_event_request(&mut self, cid: u16) -> bool {
        let found = self.events.withdraw(cid);
        if found && let Some(queue) = self.queues.submission(0) {
            queue.in_service += 1;
        }
        found
    }
}
