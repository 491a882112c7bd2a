//! Doorbell Buffer Config (Base 5.8).

use super::super::EmulatedController;
use crate::bell::Side;
use crate::guest::PAGE;
use crate::shadow::{Page, Shadow};
use joulio_nvme_spec::{Command, Status};
use std::sync::Arc;

const INVALID: Status = Status::INVALID_FIELD.do_not_retry();

impl EmulatedController {
    /// Reads the doorbells of I/O queues from the page at PRP1 from now on; the page at PRP2 holds the values at which
    /// the host writes the registers too. Both belong to the controller until a reset.
    pub(super) fn configure_doorbell_buffers(&mut self, command: &Command) -> Result<u32, Status> {
        let doorbells = self.page(command.prp1.get())?;
        let events = self.page(command.prp2.get())?;
        let shadow = Shadow::new(doorbells, events);
        // Queues that exist already continue from the values that were rung last, in pages of before if there are some.
        for qid in 1..self.doorbells.pairs() {
            let at = usize::from(qid);
            for (side, exists) in [
                (Side::Tail, self.queues.submission[at].is_some()),
                (Side::Head, self.queues.completion[at].is_some()),
            ] {
                if exists {
                    shadow.begin(qid, side, self.doorbells.load(qid, side));
                }
            }
        }
        self.doorbells.reset();
        self.doorbells = Arc::new(self.doorbells.shadowed(Some(shadow)));
        Ok(0)
    }

    fn page(&self, address: u64) -> Result<Page, Status> {
        if !address.is_multiple_of(PAGE) {
            return Err(INVALID);
        }
        let (memory, offset) = self.guest.page(address).map_err(|_| INVALID)?;
        Ok(Page {
            address,
            memory,
            offset,
        })
    }

    /// Drops the pages: only the registers count again.
    pub(in crate::controller) fn drop_shadow(&mut self) {
        if self.doorbells.shadow().is_some() {
            self.doorbells.reset();
            self.doorbells = Arc::new(self.doorbells.shadowed(None));
        }
    }

    /// Fails the controller if the host has unmapped the pages.
    pub(in crate::controller) fn check_shadow(&mut self) {
        let Some(shadow) = self.doorbells.shadow() else {
            return;
        };
        let addresses = shadow.addresses();
        if addresses.iter().any(|&page| self.guest.page(page).is_err()) {
            self.drop_shadow();
            self.registers.fail();
        }
    }
}
