//! Faults of a command, when it is fetched.

use super::super::EmulatedController;
use super::super::checked_io::Work;
use super::Marks;
use crate::fault::Fault;
use joulio_nvme_spec::{Command, NvmOpcode, Status};
use rand_pcg::rand_core::Rng;

impl EmulatedController {
    /// Applies faults to a command of submission queue `sqid` that is fetched; returns whether they end it.
    #[cold]
    pub(in crate::controller) fn befalls(&mut self, sqid: u16, command: &Command) -> bool {
        if sqid == 0 {
            self.leaves_admin_command()
        } else {
            self.strike(sqid, command)
        }
    }

    /// Draws the faults of a command of I/O submission queue `sqid`; returns whether they end it.
    fn strike(&mut self, sqid: u16, command: &Command) -> bool {
        let Some(faults) = &mut self.faults else {
            return false;
        };
        let struck = faults.draw.strike();
        let cid = command.dword0().cid();
        let mut status = None;
        if !struck.is_empty() {
            status = self.mark(sqid, command, &struck);
        }
        if !self.registers.running() {
            return true;
        }
        let Some(status) = self.refusal(command).or_else(|| self.fails(status)) else {
            return false;
        };
        self.log_failure(sqid, cid, command.nsid.get(), command.slba(), status);
        self.complete(sqid, cid, Err(status));
        true
    }

    /// Marks a command with the faults that come later, and applies those that come at once. Returns the status that it
    /// is to fail with.
    fn mark(&mut self, sqid: u16, command: &Command, struck: &[Fault]) -> Option<Status> {
        let mut marks = Marks::default();
        let mut status = None;
        for &fault in struck {
            match fault {
                Fault::Status(with) => status = Some(with),
                Fault::Drop => marks.drop = true,
                Fault::Late(time) => marks.late = Some(time),
                Fault::Double => marks.double = true,
                Fault::Reorder => marks.reorder = true,
                Fault::Stale => marks.stale = true,
                Fault::Unknown => marks.unknown = true,
                Fault::LostIrq => marks.lost_irq = true,
                Fault::Flip => marks.flip = Some(*command),
                Fault::SpuriousIrq => self.raise_spurious(sqid),
                other => self.befall(other),
            }
        }
        let faults = self.faults.as_mut()?;
        let key = (sqid, command.dword0().cid());
        faults.marks.insert(key, marks);
        status
    }

    /// Counts a command that fails with `status` without a reason.
    fn fails(&mut self, status: Option<Status>) -> Option<Status> {
        let faults = self.faults.as_mut()?;
        faults.done.status += u64::from(status.is_some());
        status
    }

    /// Returns the status of a command that is not possible in the state that faults have left the controller in.
    fn refusal(&mut self, command: &Command) -> Option<Status> {
        let faults = self.faults.as_mut()?;
        if faults.namespaces_removed.contains(&command.nsid.get()) {
            return Some(Status::INVALID_NAMESPACE.do_not_retry());
        }
        let opcode = NvmOpcode(command.dword0().opc());
        let writes = matches!(opcode, NvmOpcode::WRITE | NvmOpcode::WRITE_ZEROES);
        if faults.full && writes {
            faults.done.full += 1;
            return Some(Status::CAPACITY_EXCEEDED.do_not_retry());
        }
        None
    }

    /// Raises an interrupt without a completion, on the vector of `sqid`'s completion queue.
    fn raise_spurious(&mut self, sqid: u16) {
        let cqid = self.queues.submission(sqid).map(|queue| queue.cqid);
        let queue = cqid.and_then(|cqid| self.queues.completion(cqid));
        if let Some(vector) = queue.and_then(|queue| queue.vector)
            && self.interrupts.raise_spurious(vector, &self.guest)
            && let Some(faults) = &mut self.faults
        {
            faults.done.spurious_irqs += 1;
        }
    }

    /// Flips a random bit of the data that a read has written to the host's memory.
    pub(super) fn flip(&mut self, sqid: u16, command: &Command) {
        let Ok(io) = self.check(sqid, command) else {
            return;
        };
        let Some(faults) = &mut self.faults else {
            return;
        };
        if io.work != Work::Read {
            return;
        }
        let at = faults.places.next_u64() % (u64::from(io.len) * 8);
        let (mut skip, bit) = ((at / 8) as usize, at % 8);
        let Ok(segments) = self.walker.find(&self.guest, io.data, io.len) else {
            return;
        };
        for &segment in segments {
            if skip < segment.len() {
                let (memory, offset) = self.guest.memory(segment);
                let mut byte = [0];
                memory.read(offset + skip, &mut byte);
                memory.write(offset + skip, &[byte[0] ^ 1 << bit]);
                faults.done.flipped += 1;
                return;
            }
            skip -= segment.len();
        }
    }
}
