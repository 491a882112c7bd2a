//! Reporting of errors to the host: the error log (Base 5.16.1.2) and asynchronous events (Base 5.2).

use joulio_nvme_spec::log::{ErrorInformation, LogId};
use joulio_nvme_spec::{AsyncEvent, AsyncEventType};
use std::collections::VecDeque;
use zerocopy::little_endian::{U16, U64};

/// Entries of the error log (ELPE + 1).
pub(super) const LOG_ENTRIES: usize = 64;

/// Asynchronous Event Requests that may be outstanding (AERL + 1), by default.
pub(super) const EVENT_REQUESTS: usize = 4;

/// Temperature Threshold, an event of the type SMART / health status (Base figure 147).
const TEMPERATURE_THRESHOLD: u8 = 0x01;

/// The errors that asynchronous events report (Base figure 146, type 0h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorEvent {
    /// A doorbell of a queue that does not exist was written.
    InvalidDoorbellRegister = 0x00,
    /// A doorbell was written with an invalid value.
    InvalidDoorbellValue = 0x01,
}

/// The last errors since the latest reset, newest first.
#[derive(Debug, Default)]
pub(super) struct ErrorLog {
    entries: VecDeque<ErrorInformation>,
    /// Number of errors ever logged.
    pub(super) count: u64,
}

impl ErrorLog {
    /// Adds an entry, and drops the oldest of a full log.
    pub(super) fn add(&mut self, mut entry: ErrorInformation) {
        self.count += 1;
        entry.error_count = U64::new(self.count);
        self.entries.truncate(LOG_ENTRIES - 1);
        self.entries.push_front(entry);
    }

    /// Drops all entries at a controller reset; the count goes on.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the log page, with zeroes for entries that do not exist.
    pub(super) fn page(&self) -> [ErrorInformation; LOG_ENTRIES] {
        let mut page = [ErrorInformation::default(); LOG_ENTRIES];
        for (to, from) in page.iter_mut().zip(&self.entries) {
            *to = *from;
        }
        page
    }
}

/// Makes the entry of an error that belongs to no command.
pub(super) fn doorbell_entry() -> ErrorInformation {
    ErrorInformation {
        sqid: U16::new(0xffff),
        cid: U16::new(0xffff),
        parameter_error_location: U16::new(0xffff),
        ..Default::default()
    }
}

/// Requests that wait for an event, and events that wait for a request.
#[derive(Debug)]
pub(super) struct Events {
    requests: VecDeque<u16>,
    /// Maximum number of requests.
    limit: usize,
    /// Whether an event of some kind is pending.
    pending: bool,
    errors: Kind,
    health: Kind,
    notices: Kind,
}

/// Events of one type.
#[derive(Debug, Default)]
struct Kind {
    pending: Option<AsyncEvent>,
    /// Whether an event was reported and its log page not read since: until then no other is reported.
    masked: bool,
}

impl Kind {
    /// Raises `event`, unless it is masked or another is pending; returns whether one is pending.
    fn raise(&mut self, event: AsyncEvent) -> bool {
        if !self.masked && self.pending.is_none() {
            self.pending = Some(event);
        }
        self.pending.is_some()
    }

    fn take(&mut self) -> Option<AsyncEvent> {
        let event = self.pending.take()?;
        self.masked = true;
        Some(event)
    }
}

impl Events {
    /// Makes the state without events, for a controller that takes up to `limit` Asynchronous Event Requests.
    pub(super) fn new(limit: usize) -> Events {
        Events {
            requests: VecDeque::new(),
            limit,
            pending: false,
            errors: Kind::default(),
            health: Kind::default(),
            notices: Kind::default(),
        }
    }

    pub(super) fn reset(&mut self) {
        *self = Events::new(self.limit);
    }

    /// Raises the event of an error.
    pub(super) fn raise(&mut self, event: ErrorEvent) {
        let (kind, log) = (AsyncEventType::Error, LogId::ERROR_INFORMATION);
        self.pending |= self.errors.raise(AsyncEvent::of(kind, event as u8, log));
    }

    /// Raises the event that the temperature has reached a threshold.
    pub(super) fn temperature_reached(&mut self) {
        let (kind, log) = (AsyncEventType::SmartHealth, LogId::SMART_HEALTH);
        let reached = AsyncEvent::of(kind, TEMPERATURE_THRESHOLD, log);
        self.pending |= self.health.raise(reached);
    }

    /// Raises the event that a namespace has changed (Base figure 148, 00h).
    pub(super) fn namespace_changed(&mut self) {
        let (kind, log) = (AsyncEventType::Notice, LogId::CHANGED_NAMESPACES);
        let changed = AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED;
        self.pending |= self.notices.raise(AsyncEvent::of(kind, changed, log));
    }

    /// Accepts an Asynchronous Event Request; `false` when too many are outstanding.
    pub(super) fn request(&mut self, cid: u16) -> bool {
        let room = self.requests.len() < self.limit;
        if room {
            self.requests.push_back(cid);
        }
        room
    }

    /// Removes the request `cid`, to abort it; `false` when there is none.
    pub(super) fn withdraw(&mut self, cid: u16) -> bool {
        let at = self.requests.iter().position(|&request| request == cid);
        at.and_then(|at| self.requests.remove(at)).is_some()
    }

    /// Returns a request and the dword 0 (Base figure 145) that completes it, if there are a request and an event.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u16, u32)> {
        if !self.pending {
            return None;
        }
        let cid = self.requests.pop_front()?;
        let kinds = [&mut self.errors, &mut self.health, &mut self.notices];
        let event = kinds.into_iter().find_map(Kind::take)?;
        let kinds = [&self.errors, &self.health, &self.notices];
        self.pending = kinds.iter().any(|kind| kind.pending.is_some());
        Some((cid, event.into()))
    }

    /// Unmasks error events: the host has read the error log without retaining the event.
    pub(super) fn unmask(&mut self) {
        self.errors.masked = false;
    }

    /// Unmasks events of health: the host has read the SMART log without retaining the event.
    pub(super) fn unmask_health(&mut self) {
        self.health.masked = false;
    }

    /// Allows the event "namespace attribute changed" to be reported again.
    pub(super) fn unmask_notices(&mut self) {
        self.notices.masked = false;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_the_newest_and_counts_all() {
        let mut log = ErrorLog::default();
        for _ in 0..100 {
            log.add(doorbell_entry());
        }
        let page = log.page();
        assert_eq!(page[0].error_count.get(), 100);
        assert_eq!(page[63].error_count.get(), 37);
        assert_eq!((page[0].sqid.get(), page[0].cid.get()), (0xffff, 0xffff));
        log.clear();
        assert!(log.page().iter().all(|entry| entry.error_count.get() == 0));
        log.add(doorbell_entry());
        assert_eq!(log.page()[0].error_count.get(), 101);
        assert_eq!(log.page()[1].error_count.get(), 0);
    }

    #[test]
    fn an_event_is_reported_once_until_the_log_is_read() {
        let mut events = Events::new(EVENT_REQUESTS);
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

    #[test]
    fn events_of_one_type_do_not_mask_those_of_another() {
        let mut events = Events::new(EVENT_REQUESTS);
        events.namespace_changed();
        events.temperature_reached();
        events.raise(ErrorEvent::InvalidDoorbellValue);
        assert!((1..=4).all(|cid| events.request(cid)));
        assert!(events.withdraw(2) && !events.withdraw(2));
        assert_eq!(events.take(), Some((1, 0x0001_0100)));
        assert_eq!(events.take(), Some((3, 0x0002_0101)));
        assert_eq!(events.take(), Some((4, 0x0004_0002)));
        events.unmask();
        events.namespace_changed();
        events.temperature_reached();
        assert!(events.request(5));
        assert_eq!(events.take(), None);
        events.unmask_health();
        events.temperature_reached();
        assert_eq!(events.take(), Some((5, 0x0002_0101)));
    }
}
