//! Counters of a receiver in the module.

use super::abi::RawStatus;

/// State of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverState {
    /// No thread is registered.
    None,
    /// A thread is registered, and nothing is bound.
    Registered,
    /// The handler takes the device interrupt.
    Bound,
    /// The device or its interrupt was taken away: [`super::Receiver::unbind`], then bind again.
    Lost,
}

/// A receiver, as the module sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverStatus {
    /// State.
    pub state: ReceiverState,
    /// Linux' number of the device interrupt; 0 when none is bound.
    pub irq: u32,
    /// Vector on `cpu`; 0 when none is bound.
    pub vector: u32,
    /// CPU that the interrupt is bound to.
    pub cpu: u32,
    /// Number of times that the thread left its CPU.
    pub switches_out: u64,
    /// Number of times that it came back.
    pub switches_in: u64,
    /// User interrupts without a device's, one a return to the CPU before which the eventfd, or a
    /// watched one, was signalled.
    pub injected: u64,
    /// Times that a device's was pending when the thread left: the eventfd was signalled for it.
    pub rescued: u64,
    /// User interrupts for signals of watched eventfds while the thread ran.
    pub notified: u64,
}

impl From<RawStatus> for ReceiverStatus {
    fn from(raw: RawStatus) -> ReceiverStatus {
        ReceiverStatus {
            state: match raw.state {
                1 => ReceiverState::Registered,
                2 => ReceiverState::Bound,
                3 => ReceiverState::Lost,
                _ => ReceiverState::None,
            },
            irq: raw.irq,
            vector: raw.vector,
            cpu: raw.cpu,
            switches_out: raw.switches_out,
            switches_in: raw.switches_in,
            injected: raw.injected,
            rescued: raw.rescued,
            notified: raw.notified,
        }
    }
}
