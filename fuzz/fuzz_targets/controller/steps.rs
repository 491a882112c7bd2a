//! Steps of a host.

use arbitrary::Arbitrary;
use joulio_fuzz::faults::{AnyFault, AnyPlan};
use joulio_nvme_spec::Command;

#[derive(Arbitrary, Debug)]
pub enum Step {
    Write32(u16, u32),
    Write64(u16, u64),
    /// A register, by its index among those that matter.
    Register(u8, Value),
    Read(u16),
    Ring {
        doorbell: u8,
        value: u16,
    },
    Memory {
        at: u32,
        bytes: Vec<u8>,
    },
    /// Writes bytes of a command into a queue's next place, with addresses that may be valid.
    Command {
        queue: u8,
        /// Whether only the low bits of the opcode, CID, NSID and dwords 10 to 12 count.
        small: bool,
        opcode: u8,
        bytes: [u8; 20],
        flags: Flags,
        prp1: Value,
        prp2: Value,
    },
    /// Submits a command for a few blocks, or ranges, whose data is an SGL.
    Listed {
        queue: u8,
        opcode: u8,
        flags: Flags,
        blocks: u8,
        first: Descriptor,
    },
    /// Writes a descriptor into memory, for lists to contain.
    Descriptor {
        at: u16,
        descriptor: Descriptor,
    },
    /// Writes a range of Dataset Management into memory.
    Range {
        at: u16,
        slba: u16,
        blocks: u16,
    },
    Abort {
        queue: u8,
        cid: u8,
    },
    /// Submits Get or Set Features.
    Feature {
        set: bool,
        fid: u8,
        value: u32,
        table: Value,
    },
    /// Writes a table of idle times for power states into memory.
    Transitions {
        page: u8,
        to: [u8; 4],
        milliseconds: [u8; 4],
    },
    Log {
        lid: u8,
        bytes: u16,
        offset: u16,
        prp1: Value,
    },
    /// Creates a valid I/O queue.
    Queue {
        qid: u8,
        page: u8,
        entries: u8,
    },
    DeleteQueue {
        qid: u8,
        completion: bool,
    },
    Enable,
    Disable,
    /// Lets nanoseconds pass.
    Pass(u32),
    Vectors(u8),
    Mask(u8, bool),
    /// Makes a vector's interrupt a write to memory, or an event again.
    Redirect(u8, Option<Value>),
    /// Maps or unmaps the host's second memory.
    Share(bool),
    Inject(AnyFault),
    Plan(AnyPlan),
}

/// Bits that chance would set too rarely.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Flags {
    psdt: u8,
    /// AD of Dataset Management.
    deallocate: bool,
    /// FUA and LR, DEAC of Write Zeroes.
    control: u8,
}

impl Flags {
    pub fn apply(self, command: &mut Command) {
        command.cdw0 |= u32::from(self.psdt & 3) << 14;
        command.cdw10[1] |= u32::from(self.deallocate) << 2;
        command.cdw10[2] |= u32::from(self.control & 0xc2) << 24;
    }
}

/// An SGL descriptor that may be valid.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Descriptor {
    pub at: Value,
    len: u16,
    /// Bytes beyond whole blocks or descriptors.
    odd: bool,
    identifier: u8,
}

impl Descriptor {
    pub fn len(self) -> u32 {
        u32::from(self.len) * if self.odd { 1 } else { 16 }
    }

    pub fn identifier(self) -> u8 {
        match self.identifier {
            0..=99 => 0x00,
            100..=149 => 0x20,
            150..=199 => 0x30,
            other => other,
        }
    }
}

/// An address or a value.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Value {
    Page(u8),
    Inside(u32),
    /// An address in the second piece of memory, if it is there.
    Second(u16),
    Any(u64),
}
