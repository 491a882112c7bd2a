//! Asynchronous events: dword 0 of a completed Asynchronous Event Request (Base 5.2, figure 145).

use crate::log::LogId;
use bitfield_struct::bitfield;

/// Dword 0 of the completion: the event, and the log page with its details. Events of its type stay masked until that
/// page is read.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct AsyncEvent {
    /// Asynchronous Event Type; see [`AsyncEvent::event_type`].
    #[bits(3)]
    pub type_bits: u8,
    #[bits(5)]
    _reserved: u8,
    /// Asynchronous Event Information; its meaning depends on the type.
    pub information: u8,
    /// Log Page Identifier; see [`AsyncEvent::log_page`].
    pub log_page_bits: u8,
    _reserved2: u8,
}

/// Type of an asynchronous event (Base figure 145).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncEventType {
    /// 0h: an error that belongs to no command (Base figure 146).
    Error,
    /// 1h: SMART / health status (Base figure 147).
    SmartHealth,
    /// 2h: a notice (Base figure 148).
    Notice,
    /// 6h: an event specific to the I/O command set (Base figure 149).
    NvmCommandSet,
    /// 7h: vendor specific.
    Vendor,
    /// 3h to 5h: reserved.
    Reserved(u8),
}

impl AsyncEventType {
    /// Returns the three bits of the type.
    pub const fn bits(self) -> u8 {
        match self {
            AsyncEventType::Error => 0,
            AsyncEventType::SmartHealth => 1,
            AsyncEventType::Notice => 2,
            AsyncEventType::NvmCommandSet => 6,
            AsyncEventType::Vendor => 7,
            AsyncEventType::Reserved(bits) => bits & 7,
        }
    }
}

impl AsyncEvent {
    /// Information of a notice: the list of namespaces changed, or one of the namespaces (Base figure 148).
    pub const NAMESPACE_ATTRIBUTE_CHANGED: u8 = 0x00;

    /// Returns an event of `kind`, described in log page `log`.
    pub const fn of(kind: AsyncEventType, information: u8, log: LogId) -> AsyncEvent {
        AsyncEvent::new()
            .with_type_bits(kind.bits())
            .with_information(information)
            .with_log_page_bits(log.0)
    }

    /// Returns the type.
    pub const fn event_type(self) -> AsyncEventType {
        match self.type_bits() {
            0 => AsyncEventType::Error,
            1 => AsyncEventType::SmartHealth,
            2 => AsyncEventType::Notice,
            6 => AsyncEventType::NvmCommandSet,
            7 => AsyncEventType::Vendor,
            other => AsyncEventType::Reserved(other),
        }
    }

    /// Returns the log page to read.
    pub const fn log_page(self) -> LogId {
        LogId(self.log_page_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_says_its_type_its_cause_and_its_page() {
        let event = AsyncEvent::from(0x0004_0002);
        assert_eq!(event.event_type(), AsyncEventType::Notice);
        assert_eq!(event.information(), AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED);
        assert_eq!(event.log_page(), LogId::CHANGED_NAMESPACES);
        let same = AsyncEvent::of(AsyncEventType::Notice, 0, LogId::CHANGED_NAMESPACES);
        assert_eq!(same, event);
        let error = AsyncEvent::from(0x0001_0100);
        assert_eq!(error.event_type(), AsyncEventType::Error);
        assert_eq!(
            (error.information(), error.log_page()),
            (1, LogId::ERROR_INFORMATION)
        );
    }

    #[test]
    fn every_type_survives_the_round_trip() {
        for bits in 0..8 {
            let event = AsyncEvent::from(bits);
            assert_eq!(u32::from(event.event_type().bits()), bits);
        }
    }
}
