//! I/O commands: checked when they are fetched, done when they finish (NVM 3.2).

use super::Controller;
use super::in_service::Io;
use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode, Status};
use joulio_units::{Direction, Nanos};

/// FUA: bit 30 of dword 12 (NVM figures 38 and 64).
const FORCED_UNIT_ACCESS: u32 = 1 << 30;

impl Controller {
    /// Takes a command of I/O submission queue `sqid` into service, or completes it at once when
    /// it is not sound.
    #[inline]
    pub(super) fn submit(&mut self, sqid: u16, command: &Command) {
        let cid = command.dword0().cid();
        match self.check(sqid, command) {
            Ok(mut io) => {
                let start = self.now + self.features.work(&self.profile);
                io.finish = self.service.start(start, io.direction, io.len);
                if io.finish <= self.now {
                    self.finish(&io, Nanos::ZERO);
                } else {
                    self.in_service.push(io);
                }
            }
            Err(status) => {
                let (nsid, lba) = (command.nsid.get(), command.slba());
                self.log_failure(sqid, cid, nsid, lba, status);
                self.complete(sqid, cid, Err(status));
            }
        }
    }

    /// What a sound command asks for.
    #[inline]
    fn check(&self, sqid: u16, command: &Command) -> Result<Io, Status> {
        let dword0 = command.dword0();
        let opcode = NvmOpcode(dword0.opc());
        let direction = match opcode {
            NvmOpcode::READ => Direction::Read,
            NvmOpcode::WRITE => Direction::Write,
            NvmOpcode::FLUSH => Direction::Other,
            _ => return Err(Status::INVALID_OPCODE.do_not_retry()),
        };
        if dword0.fuse() != 0 || dword0.psdt() != 0 {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        let mut io = Io {
            finish: self.now,
            sqid,
            cid: dword0.cid(),
            direction,
            through: false,
            nsid: command.nsid.get(),
            len: 0,
            position: 0,
            prp1: command.prp1.get(),
            prp2: command.prp2.get(),
        };
        if direction == Direction::Other {
            self.check_flush(io.nsid)?;
        } else {
            self.check_transfer(command, &mut io)?;
        }
        Ok(io)
    }

    /// Flush is for one namespace or all of them (Base 7.1).
    fn check_flush(&self, nsid: u32) -> Result<(), Status> {
        if nsid != NamespaceId::ALL.0 && self.namespace_index(nsid).is_none() {
            return Err(Status::INVALID_NAMESPACE.do_not_retry());
        }
        Ok(())
    }

    #[inline]
    fn check_transfer(&self, command: &Command, io: &mut Io) -> Result<(), Status> {
        let index = self
            .namespace_index(io.nsid)
            .ok_or(Status::INVALID_NAMESPACE.do_not_retry())?;
        let namespace = &self.namespaces[index];
        let blocks = command.blocks();
        // At most 65536 blocks of 4096 bytes.
        io.len = blocks << namespace.block_shift();
        if io.len > self.profile.max_transfer() {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        io.position = namespace
            .position(command.slba(), blocks)
            .ok_or(Status::LBA_OUT_OF_RANGE.do_not_retry())?;
        io.through = command.cdw10[2].get() & FORCED_UNIT_ACCESS != 0 || !self.features.write_cache;
        Ok(())
    }

    /// The index of the namespace `nsid`.
    #[inline]
    pub(super) fn namespace_index(&self, nsid: u32) -> Option<usize> {
        let index = nsid.checked_sub(1)? as usize;
        (index < self.namespaces.len()).then_some(index)
    }

    /// Does what an I/O asks for, now that it finishes after `service` of work: until here its
    /// buffer was in use.
    #[inline]
    pub(super) fn finish(&mut self, io: &Io, service: Nanos) {
        match self.work(io) {
            Ok(()) => {
                self.count(io.direction, io.len, service);
                self.complete(io.sqid, io.cid, Ok(0));
            }
            Err(status) => {
                let lba = self.lba_of(io);
                self.log_failure(io.sqid, io.cid, io.nsid, lba, status);
                self.complete(io.sqid, io.cid, Err(status));
            }
        }
    }

    fn work(&mut self, io: &Io) -> Result<(), Status> {
        if io.direction == Direction::Other {
            return self.flush(io.nsid);
        }
        let index = io.nsid as usize - 1;
        let namespace = &self.namespaces[index];
        let segments = self.walker.walk(&self.guest, io.prp1, io.prp2, io.len)?;
        if io.direction == Direction::Read {
            if !self.guest.writable(segments) {
                return Err(Status::DATA_TRANSFER_ERROR);
            }
            namespace.read(io.position, &self.guest, segments)
        } else {
            namespace.write(io.position, &self.guest, segments, io.through)
        }
    }

    fn flush(&self, nsid: u32) -> Result<(), Status> {
        match self.namespace_index(nsid) {
            Some(index) => self.namespaces[index].flush(),
            None => self.namespaces.iter().try_for_each(|each| each.flush()),
        }
    }

    fn lba_of(&self, io: &Io) -> u64 {
        self.namespace_index(io.nsid).map_or(0, |index| {
            io.position >> self.namespaces[index].block_shift()
        })
    }
}
