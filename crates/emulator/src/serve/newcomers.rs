//! Connections without a message yet. None of them has the controller.

use super::connection::Connection;
use std::collections::VecDeque;
use std::time::Instant;

/// Maximum number of such connections. When more come, the oldest is closed.
const MAX: usize = 8;

/// A connection, and the time at which it is closed.
#[derive(Debug)]
pub(super) struct Newcomer {
    pub(super) connection: Connection,
    pub(super) deadline: Instant,
}

/// Connections without a message yet.
#[derive(Debug, Default)]
pub(super) struct Newcomers(pub(super) VecDeque<Newcomer>);

impl Newcomers {
    /// Adds a connection, which is closed at `deadline`; returns whether the oldest was closed for it.
    pub(super) fn push(&mut self, connection: Connection, deadline: Instant) -> bool {
        let oldest = match self.0.len() {
            MAX => self.0.pop_front(),
            _ => None,
        };
        self.0.push_back(Newcomer {
            connection,
            deadline,
        });
        oldest.is_some()
    }

    /// Closes those whose time is up; returns how many.
    pub(super) fn expire(&mut self) -> u64 {
        let now = Instant::now();
        let mut cut = 0;
        // In the order of their arrival.
        while self.0.front().is_some_and(|first| first.deadline <= now) {
            self.0.pop_front();
            cut += 1;
        }
        cut
    }

    /// Time at which the next of them is closed.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.front().map(|first| first.deadline)
    }
}
