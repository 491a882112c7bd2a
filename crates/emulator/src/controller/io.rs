//! I/O commands: checked when they are fetched, executed when they finish (NVM 3.2).

use super::EmulatedController;
use super::checked_io::{Io, Work};
use super::data::DataPointer;
use joulio_nvme_spec::{Command, DsmRange, NamespaceId, NvmOpcode, Status};
use joulio_units::Nanos;

const INVALID_NAMESPACE: Status = Status::INVALID_NAMESPACE.do_not_retry();

impl EmulatedController {
    /// Takes a command of I/O submission queue `sqid` into service, or completes it at once when it is invalid.
    #[inline]
    pub(super) fn submit(&mut self, sqid: u16, command: &Command) {
        let cid = command.dword0().cid();
        match self.check(sqid, command) {
            Ok(mut io) => {
                let (direction, bytes) = io.load();
                let (start, pace) = self.power.work(self.now, direction);
                io.finish = self.service.start_at_pace(start, direction, bytes, pace);
                self.power.idle_since(io.finish);
                if io.finish <= self.now && !io.through {
                    let outcome = self.work(&io);
                    self.finish(&io, Nanos::ZERO, outcome);
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

    /// Reads the request of a valid command.
    // Always inlined: the other caller is a fault, and must not cost every I/O a call.
    #[inline(always)]
    pub(super) fn check(&self, sqid: u16, command: &Command) -> Result<Io, Status> {
        let dword0 = command.dword0();
        let opcode = NvmOpcode(dword0.opc());
        let work = Work::of(opcode).ok_or(Status::INVALID_OPCODE.do_not_retry())?;
        let data = DataPointer::of(command).filter(|_| dword0.fuse() == 0);
        let mut io = Io {
            finish: self.now,
            sqid,
            cid: dword0.cid(),
            work,
            through: false,
            nsid: command.nsid.get(),
            len: 0,
            position: 0,
            data: data.ok_or(Status::INVALID_FIELD.do_not_retry())?,
        };
        match work {
            Work::Flush => io.through = self.check_flush(io.nsid)?,
            Work::Dataset { .. } => self.check_dataset(command, &mut io)?,
            _ => self.check_blocks(command, &mut io)?,
        }
        Ok(io)
    }

    /// Checks the NSID of a flush, which is one namespace or all of them (Base 7.1); returns whether one of those has a
    /// cache.
    fn check_flush(&self, nsid: u32) -> Result<bool, Status> {
        match self.namespace_index(nsid) {
            Some(index) => Ok(self.namespaces[index].is_volatile()),
            None if nsid == NamespaceId::ALL.0 => Ok(self.is_volatile()),
            None => Err(INVALID_NAMESPACE),
        }
    }

    /// Checks Dataset Management, except for its ranges, which are checked when they are read.
    fn check_dataset(&self, command: &Command, io: &mut Io) -> Result<(), Status> {
        let index = self.namespace_index(io.nsid).ok_or(INVALID_NAMESPACE)?;
        io.len = (command.ranges() * size_of::<DsmRange>()) as u32;
        let deallocate = command.dsm_attributes().ad();
        io.work = Work::Dataset { deallocate };
        io.through = !self.features.write_cache && self.namespaces[index].is_volatile();
        Ok(())
    }

    /// Checks the blocks that a command names.
    #[inline]
    fn check_blocks(&self, command: &Command, io: &mut Io) -> Result<(), Status> {
        let index = self.namespace_index(io.nsid).ok_or(INVALID_NAMESPACE)?;
        let namespace = &self.namespaces[index];
        let blocks = command.blocks();
        let control = command.block_control();
        // At most 65536 blocks of 4096 bytes.
        io.len = blocks << namespace.block_shift();
        if let Work::WriteZeroes { deallocate } = &mut io.work {
            // No data, and no limit (WZSL is 0).
            *deallocate = control.deac();
        } else if io.len > self.profile.max_transfer() {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        io.position = namespace
            .position(command.slba(), blocks)
            .ok_or(Status::LBA_OUT_OF_RANGE.do_not_retry())?;
        // Limited retry asks for less than is done anyway: nothing is retried.
        io.through = (control.fua() || io.work.writes() && !self.features.write_cache)
            && namespace.is_volatile();
        Ok(())
    }

    /// Returns the index of the namespace `nsid`.
    #[inline]
    pub(super) fn namespace_index(&self, nsid: u32) -> Option<usize> {
        let index = nsid.checked_sub(1)? as usize;
        (index < self.namespaces.len()).then_some(index)
    }

    /// Completes an I/O with `outcome` after `service` of work: until here its buffer was in use.
    #[inline]
    pub(super) fn finish(&mut self, io: &Io, service: Nanos, outcome: Result<(), Status>) {
        match outcome {
            Ok(()) => {
                self.count(io, service);
                self.complete(io.sqid, io.cid, Ok(0));
            }
            Err(status) => {
                let lba = self.lba_of(io);
                self.log_failure(io.sqid, io.cid, io.nsid, lba, status);
                self.complete(io.sqid, io.cid, Err(status));
            }
        }
    }

    fn lba_of(&self, io: &Io) -> u64 {
        self.namespace_index(io.nsid).map_or(0, |index| {
            io.position >> self.namespaces[index].block_shift()
        })
    }
}
