//! Twists of the server's answers, and calls of the driver in between.

use arbitrary::Arbitrary;

#[derive(Arbitrary, Debug)]
pub struct Input {
    /// A twist for each message; the server closes when there is none left.
    pub twists: Vec<Twist>,
    pub calls: Vec<Call>,
}

#[derive(Arbitrary, Debug)]
pub enum Twist {
    Honest,
    /// Answers honestly for so many messages.
    Run(u8),
    Refuse(u8),
    Flags(u8),
    Id,
    Command(u8),
    Size(i8),
    /// Changes a byte of the body.
    Byte(u8, u8),
    Longer(Vec<u8>),
    Shorter(u8),
    Twice,
    /// Sends files with the answer.
    Files(Files, u8),
    /// The server uses the eventfds that it was given.
    Events(Events),
    /// Punches holes into the driver's memory.
    Punch,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Files {
    /// So much memory: as much as a page of doorbells needs, or not.
    Memory(u8),
    Pipe,
    Directory,
    /// A regular file that is no memory.
    File,
    Event,
    BlockingEvent,
    Socket,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Events {
    /// Clears O_NONBLOCK, and empties the counter.
    BlockAndDrain,
    /// Clears O_NONBLOCK, and fills the counter.
    BlockAndFill,
    Signal,
    Close,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Call {
    Read(u16),
    Write(u16, u32),
    Ring(u16, u32),
    Allocate(u16),
    Free,
    Enable(u8),
    Mask(u8, bool),
    Take,
    Touch,
}
