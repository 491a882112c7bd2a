//! The statistics of a server.

use std::fmt;

/// Counts since the server began, which only increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Hosts that were served.
    pub clients: u64,
    /// Hosts that were refused because the controller was taken.
    pub turned_away: u64,
    /// Messages of hosts that were served.
    pub messages: u64,
    /// Number of messages that were answered with an error.
    pub refused_messages: u64,
    /// Hosts that were disconnected, or left in the middle of a message.
    pub broken_connections: u64,
    /// Polls of the doorbells by the device's thread.
    pub polls: u64,
    /// Reads that succeeded.
    pub reads: u64,
    /// Writes that succeeded.
    pub writes: u64,
    /// Flushes that succeeded.
    pub flushes: u64,
    /// Commands that failed.
    pub failed_commands: u64,
    /// Interrupts sent.
    pub interrupts: u64,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "clients={} turned_away={} messages={} refused={} broken={} polls={} reads={} writes={} flushes={} failed={} interrupts={}",
            self.clients,
            self.turned_away,
            self.messages,
            self.refused_messages,
            self.broken_connections,
            self.polls,
            self.reads,
            self.writes,
            self.flushes,
            self.failed_commands,
            self.interrupts
        )
    }
}
