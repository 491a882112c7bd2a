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
    /// The device or its interrupt was removed: call [`super::Receiver::unbind`], then bind again.
    Lost,
}

/// State and counters of a receiver in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverStatus {
    /// State of the receiver.
    pub state: ReceiverState,
    /// Linux' number of the device interrupt; 0 when none is bound.
    pub irq: u32,
    /// Vector on `cpu`; 0 when none is bound.
    pub vector: u32,
    /// CPU that the interrupt is bound to.
    pub cpu: u32,
    /// Number of times that the thread left its CPU.
    pub switches_out: u64,
    /// Number of times that the thread returned to its CPU.
    pub switches_in: u64,
    /// User interrupts without a device's, at most one for each return to the CPU: the eventfd, or a watched one, was
    /// signalled before.
    pub injected: u64,
    /// Number of times that a device's interrupt was pending when the thread left its CPU, and the eventfd was
    /// signalled for it.
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
