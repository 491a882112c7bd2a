//! Messages of a host.

use arbitrary::Arbitrary;

#[derive(Arbitrary, Debug)]
pub enum Say {
    /// Bytes that need not be a message.
    Raw(Vec<u8>),
    Message {
        command: u8,
        flags: u8,
        body: Vec<u8>,
        fds: Fds,
    },
    Map {
        page: u8,
        pages: u16,
        offset: u16,
        flags: u8,
        fds: Fds,
    },
    Unmap {
        page: u8,
        pages: u16,
        flags: u8,
    },
    Access {
        write: bool,
        region: u8,
        offset: u16,
        data: Vec<u8>,
    },
    RegionInfo {
        region: u8,
        room: u32,
    },
    Interrupts {
        flags: u8,
        index: u8,
        start: u8,
        count: u8,
        data: Vec<u8>,
        fds: Fds,
    },
    Word {
        offset: u16,
        value: u32,
    },
    Enable,
    /// Creates a valid I/O queue.
    Queue {
        qid: u8,
        entries: u8,
    },
    Command {
        queue: u8,
        /// Whether only the low bits of the opcode and the dwords count.
        small: bool,
        opcode: u8,
        nsid: u8,
        prp1: u32,
        prp2: u32,
        words: [u32; 6],
    },
    /// Submits a valid read or write.
    Io {
        write: bool,
        lba: u16,
        blocks: u8,
        page: u8,
    },
    Memory {
        at: u32,
        bytes: Vec<u8>,
    },
    Shrink,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Fds {
    None,
    Memory,
    Events(u8),
    Socket,
    /// Eventfds that are non-blocking, as they should be.
    MeekEvents(u8),
    /// Eventfds that block, with a full counter.
    FullEvents(u8),
    Pipe,
    Directory,
    /// A regular file that is no memory.
    File,
}
