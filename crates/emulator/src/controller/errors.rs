//! Errors as the host learns of them: the error log (Base 5.16.1.2) and asynchronous events
//! (Base 5.2).

use joulio_nvme_spec::log::{ErrorInformation, LogId};
use std::collections::VecDeque;
use zerocopy::little_endian::{U16, U64};

/// Entries of the error log (ELPE + 1).
pub(super) const LOG_ENTRIES: usize = 64;

/// Asynchronous Event Requests that may be outstanding (AERL + 1).
pub(super) const EVENT_REQUESTS: usize = 4;

/// The errors of which asynchronous events tell (Base figure 146, type 0h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorEvent {
    /// A doorbell of a queue that does not exist.
    InvalidDoorbellRegister = 0x00,
    /// A value that the doorbell cannot have.
    InvalidDoorbellValue = 0x01,
}

/// The last errors, newest first.
#[derive(Debug, Default)]
pub(super) struct ErrorLog {
    entries: VecDeque<ErrorInformation>,
    /// Errors ever logged.
    pub(super) count: u64,
}

impl ErrorLog {
    /// Adds an entry, and pushes the oldest out of a full log.
    pub(super) fn add(&mut self, mut entry: ErrorInformation) {
        self.count += 1;
        entry.error_count = U64::new(self.count);
        self.entries.truncate(LOG_ENTRIES - 1);
        self.entries.push_front(entry);
    }

    /// The log page: entries that are not there are zero.
    pub(super) fn page(&self) -> [ErrorInformation; LOG_ENTRIES] {
        let mut page = [ErrorInformation::default(); LOG_ENTRIES];
        for (to, from) in page.iter_mut().zip(&self.entries) {
            *to = *from;
        }
        page
    }
}

/// The entry of an error that belongs to no command.
pub(super) fn doorbell_entry(qid: u16) -> ErrorInformation {
    ErrorInformation {
        sqid: U16::new(qid),
        cid: U16::new(0xffff),
        parameter_error_location: U16::new(0xffff),
        ..Default::default()
    }
}

/// Requests that wait for an event, and the event that waits for a request.
#[derive(Debug, Default)]
pub(super) struct Events {
    requests: VecDeque<u16>,
    pending: Option<ErrorEvent>,
    /// An error event was told of, and the log not read since: more of them are not reported.
    masked: bool,
}

impl Events {
    pub(super) fn reset(&mut self) {
        *self = Events::default();
    }

    /// Something happened.
    pub(super) fn raise(&mut self, event: ErrorEvent) {
        if !self.masked && self.pending.is_none() {
            self.pending = Some(event);
        }
    }

    /// Takes a request; `false`: there are too many.
    pub(super) fn request(&mut self, cid: u16) -> bool {
        let room = self.requests.len() < EVENT_REQUESTS;
        if room {
            self.requests.push_back(cid);
        }
        room
    }

    /// A request and the dword 0 (Base figure 145) that completes it, when both are there.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u16, u32)> {
        let event = self.pending?;
        let cid = self.requests.pop_front()?;
        self.pending = None;
        self.masked = true;
        let log = u32::from(LogId::ERROR_INFORMATION.0);
        Some((cid, log << 16 | (event as u32) << 8))
    }

    /// The host has read the error log without retaining the event.
    pub(super) fn unmask(&mut self) {
        self.masked = false;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_the_newest_and_counts_all() {
        let mut log = ErrorLog::default();
        for qid in 0..100 {
            log.add(doorbell_entry(qid));
        }
        let page = log.page();
        assert_eq!(page[0].error_count.get(), 100);
        assert_eq!(page[63].error_count.get(), 37);
        assert_eq!(page[0].sqid.get(), 99);
    }

    #[test]
    fn an_event_is_told_once_until_the_log_is_read() {
        let mut events = Events::default();
        events.raise(ErrorEvent::InvalidDoorbellValue);
        assert_eq!(events.take(), None);
        assert!(events.request(7) && events.request(8));
        assert_eq!(events.take(), Some((7, 0x0001_0100)));
        events.raise(ErrorEvent::InvalidDoorbellRegister);
        assert_eq!(events.take(), None);
        events.unmask();
        events.raise(ErrorEvent::InvalidDoorbellRegister);
        assert_eq!(events.take(), Some((8, 0x0001_0000)));
    }
}
