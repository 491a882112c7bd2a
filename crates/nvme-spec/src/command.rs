//! The submission queue entry (Base 3.3.3.1, figure 87), and the command dwords of the commands that joulio issues.

mod nvm;

pub use nvm::{BlockControl, DsmAttributes, DsmRange};

use crate::opcode::{AdminOpcode, NvmOpcode};
use bitfield_struct::bitfield;
use open_enum::open_enum;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// CID: identifies a command among those outstanding on its queue. FFFFh is reserved for the error log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandId(pub u16);

/// NSID: 1 to NN; 0 means none, FFFFFFFFh all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceId(pub u32);

impl NamespaceId {
    /// NSID of no namespace.
    pub const NONE: NamespaceId = NamespaceId(0);
    /// NSID that stands for every namespace (broadcast).
    pub const ALL: NamespaceId = NamespaceId(u32::MAX);
}

/// QID: 0 is the admin queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u16);

impl QueueId {
    /// QID of the admin queue pair.
    pub const ADMIN: QueueId = QueueId(0);
}

/// A submission queue entry: 64 bytes (Base figure 87).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Command {
    /// Command dword 0: opcode, fuse, PSDT, CID.
    pub cdw0: U32,
    /// NSID.
    pub nsid: U32,
    /// Command dwords 2 and 3.
    pub cdw2: [U32; 2],
    /// MPTR: metadata pointer.
    pub mptr: U64,
    /// PRP entry 1; with an SGL, the first half of its first descriptor.
    pub prp1: U64,
    /// PRP entry 2; with an SGL, the second half.
    pub prp2: U64,
    /// Command dwords 10 to 15.
    pub cdw10: [U32; 6],
}

const _: () = assert!(size_of::<Command>() == 64);

/// Command dword 0 (Base figure 86).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Cdw0 {
    /// OPC.
    pub opc: u8,
    /// FUSE: fused operation.
    #[bits(2)]
    pub fuse: u8,
    #[bits(4)]
    _reserved: u8,
    /// PSDT: the kind of the data pointer; see [`crate::sgl::Psdt`].
    #[bits(2)]
    pub psdt: u8,
    /// CID.
    pub cid: u16,
}

impl Command {
    /// Returns an admin command in which everything except the opcode is zero.
    pub fn admin(opcode: AdminOpcode) -> Command {
        Command {
            cdw0: U32::new(opcode.0.into()),
            ..Command::default()
        }
    }

    /// Returns a command of the NVM command set for `nsid`, in which everything else is zero.
    pub fn nvm(opcode: NvmOpcode, nsid: NamespaceId) -> Command {
        Command {
            cdw0: U32::new(opcode.0.into()),
            nsid: U32::new(nsid.0),
            ..Command::default()
        }
    }

    /// Returns Identify for `cns` (Base figure 271: CNS in dword 10).
    pub fn identify(cns: crate::identify::Cns, nsid: NamespaceId) -> Command {
        let mut command = Command::admin(AdminOpcode::IDENTIFY);
        command.nsid = U32::new(nsid.0);
        command.cdw10[0] = U32::new(cns.0.into());
        command
    }

    /// Returns Get Features (Base figure 191: FID in dword 10, SEL 0 = current).
    pub fn get_features(fid: crate::feature::FeatureId) -> Command {
        let mut command = Command::admin(AdminOpcode::GET_FEATURES);
        command.cdw10[0] = U32::new(fid.0.into());
        command
    }

    /// Returns Set Features, without saving the value across resets (Base figures 315 and 316).
    pub fn set_features(fid: crate::feature::FeatureId, value: u32) -> Command {
        let mut command = Command::admin(AdminOpcode::SET_FEATURES);
        command.cdw10[0] = U32::new(fid.0.into());
        command.cdw10[1] = U32::new(value);
        command
    }

    /// Returns Set Features for the Host Memory Buffer (Base 5.27.1.11): `pages` of memory, in the ranges of the
    /// `entries` descriptors at `list`.
    pub fn set_host_memory(
        control: crate::feature::HostMemoryBuffer,
        pages: u32,
        (list, entries): (u64, u32),
    ) -> Command {
        let fid = crate::feature::FeatureId::HOST_MEMORY_BUFFER;
        let mut command = Command::set_features(fid, control.into());
        let dwords = [pages, list as u32, (list >> 32) as u32, entries];
        for (dword, value) in command.cdw10[2..].iter_mut().zip(dwords) {
            *dword = U32::new(value);
        }
        command
    }

    /// Returns Get Log Page for `bytes` from offset 0 (Base figures 198 to 203: NUMD, 0's based dwords).
    pub fn get_log_page(lid: crate::log::LogId, nsid: NamespaceId, bytes: usize) -> Command {
        let numd = (bytes / 4).saturating_sub(1) as u32;
        let mut command = Command::admin(AdminOpcode::GET_LOG_PAGE);
        command.nsid = U32::new(nsid.0);
        command.cdw10[0] = U32::new(u32::from(lid.0) | (numd & 0xffff) << 16);
        command.cdw10[1] = U32::new(numd >> 16);
        command
    }

    /// Returns this Create I/O Submission Queue with the priority class `priority`.
    #[must_use]
    pub fn with_priority(mut self, priority: QueuePriority) -> Command {
        let dword11 = CreateSubmissionQueue::from(self.cdw10[1].get());
        self.cdw10[1] = U32::new(dword11.with_qprio(priority.0).into());
        self
    }

    /// Returns Create I/O Completion Queue (Base figures 155 to 157): `entries` slots at PRP1, contiguous; with
    /// interrupts on `vector`, if there is one.
    pub fn create_completion_queue(qid: QueueId, entries: u32, vector: Option<u16>) -> Command {
        let mut command = Command::admin(AdminOpcode::CREATE_IO_COMPLETION_QUEUE);
        command.cdw10[0] = U32::new(u32::from(qid.0) | entries.wrapping_sub(1) << 16);
        let flags = CreateCompletionQueue::new()
            .with_pc(true)
            .with_ien(vector.is_some())
            .with_iv(vector.unwrap_or(0));
        command.cdw10[1] = U32::new(flags.into());
        command
    }

    /// Returns Create I/O Submission Queue (Base figures 159 to 161): `entries` slots at PRP1, contiguous; its
    /// completions go to `cqid`.
    pub fn create_submission_queue(qid: QueueId, entries: u32, cqid: QueueId) -> Command {
        let mut command = Command::admin(AdminOpcode::CREATE_IO_SUBMISSION_QUEUE);
        command.cdw10[0] = U32::new(u32::from(qid.0) | entries.wrapping_sub(1) << 16);
        let flags = CreateSubmissionQueue::new().with_pc(true).with_cqid(cqid.0);
        command.cdw10[1] = U32::new(flags.into());
        command
    }

    /// Returns Delete I/O Submission Queue or Delete I/O Completion Queue (Base figures 163 and 164).
    pub fn delete_queue(opcode: AdminOpcode, qid: QueueId) -> Command {
        let mut command = Command::admin(opcode);
        command.cdw10[0] = U32::new(qid.0.into());
        command
    }

    /// Returns Abort for the command `cid` of submission queue `sqid` (Base 5.1: both in dword 10). Bit 0 of dword
    /// 0 of the completion is clear if the command was aborted.
    pub fn abort(sqid: QueueId, cid: CommandId) -> Command {
        let mut command = Command::admin(AdminOpcode::ABORT);
        command.cdw10[0] = U32::new(u32::from(sqid.0) | u32::from(cid.0) << 16);
        command
    }

    /// Returns Asynchronous Event Request, which completes when there is an event (Base 5.2). Dword 0 of the
    /// completion identifies the event: see [`crate::event::AsyncEvent`].
    pub fn asynchronous_event_request() -> Command {
        Command::admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST)
    }

    /// Returns command dword 0, decoded.
    pub fn dword0(&self) -> Cdw0 {
        Cdw0::from(self.cdw0.get())
    }
}

/// Dword 11 of Create I/O Completion Queue (Base figure 157).
#[bitfield(u32)]
pub struct CreateCompletionQueue {
    /// PC: physically contiguous.
    pub pc: bool,
    /// IEN: interrupts enabled.
    pub ien: bool,
    #[bits(14)]
    _reserved: u16,
    /// IV: interrupt vector.
    pub iv: u16,
}

/// QPRIO: priority class of a submission queue (Base figure 161), the most urgent first.
#[open_enum]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum QueuePriority {
    /// Highest priority, served before all others.
    URGENT = 0,
    /// High priority, served by the weight HPW.
    HIGH = 1,
    /// Medium priority, served by the weight MPW.
    MEDIUM = 2,
    /// Low priority, served by the weight LPW.
    LOW = 3,
}

/// Dword 11 of Create I/O Submission Queue (Base figure 161).
#[bitfield(u32)]
pub struct CreateSubmissionQueue {
    /// PC: physically contiguous.
    pub pc: bool,
    /// QPRIO: priority class, used only with weighted round robin.
    #[bits(2)]
    pub qprio: u8,
    #[bits(13)]
    _reserved: u16,
    /// CQID: the completion queue.
    pub cqid: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_queue_says_its_vector() {
        let c = Command::create_completion_queue(QueueId(2), 256, Some(5));
        assert_eq!(c.cdw10[0].get(), 0x00ff_0002);
        assert_eq!(c.cdw10[1].get(), 0x0005_0003);
        let c = Command::create_completion_queue(QueueId(2), 4096, None);
        assert_eq!(c.cdw10[0].get(), 0x0fff_0002);
        assert_eq!(c.cdw10[1].get(), 1);
    }

    #[test]
    fn a_submission_queue_says_its_priority() {
        let c = Command::create_submission_queue(QueueId(3), 256, QueueId(3));
        let c = c.with_priority(QueuePriority::LOW);
        assert_eq!(c.cdw10[1].get(), 0x0003_0007);
    }

    #[test]
    fn an_abort_names_the_queue_and_the_command() {
        let c = Command::abort(QueueId(2), CommandId(0x77));
        assert_eq!((c.cdw0.get(), c.cdw10[0].get()), (0x08, 0x0077_0002));
    }

    #[test]
    fn a_log_page_length_is_dwords_less_one() {
        let c = Command::get_log_page(crate::log::LogId::SMART_HEALTH, NamespaceId::ALL, 512);
        assert_eq!(c.cdw10[0].get(), 0x007f_0002);
    }
}
