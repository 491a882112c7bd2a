//! A job's work on all its devices.

use super::device_work::DeviceWork;
use super::in_flight::InFlightIo;
use crate::engine::RequestError;
use crate::share::Share;
use joulio_engine::{Buffer, Completion};
use joulio_units::{Nanos, Operation};

/// Number of low bits of a tag that identify an I/O in flight on its device; the device's number is above them.
const SLOT_BITS: u32 = 32;

/// Returns the tag of the I/O `slot` of device `number`.
#[inline]
pub(super) fn tag(number: usize, slot: u64) -> u64 {
    (number as u64) << SLOT_BITS | slot
}

/// An I/O that has completed and is not counted yet.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub(super) device: usize,
    pub(super) io: InFlightIo,
    pub(super) outcome: Result<(), RequestError>,
}

/// The work on each device, and the I/Os of all.
pub(super) struct Works<B> {
    /// The devices, in the job's order.
    pub(super) devices: Vec<DeviceWork<B>>,
    /// I/Os in flight on all devices.
    pub(super) in_flight: usize,
    /// I/Os that have completed and are not counted yet.
    pub(super) ended: Vec<Ended>,
}

impl<B: Buffer> Works<B> {
    /// Returns the work on `devices`, with room for `slots` I/Os in flight.
    pub(super) fn new(devices: Vec<DeviceWork<B>>, slots: usize) -> Works<B> {
        Works {
            devices,
            in_flight: 0,
            ended: Vec::with_capacity(slots),
        }
    }

    /// Returns true if a device has more I/Os to be issued, out of `limit` on each.
    pub(super) fn has_more(&self, limit: u64) -> bool {
        self.devices.iter().any(|device| device.has_more(limit))
    }

    /// Takes back an I/O that has completed, so that its buffer is free again.
    #[inline]
    pub(super) fn end<F: Into<RequestError>>(
        &mut self,
        completion: Completion<B, F>,
        shares: &[Share],
    ) {
        let number = (completion.tag >> SLOT_BITS) as usize;
        let Some(device) = self.devices.get_mut(number) else {
            return;
        };
        let slot = completion.tag & ((1 << SLOT_BITS) - 1);
        let Some(io) = device.in_flight.end(slot) else {
            return;
        };
        self.in_flight -= 1;
        let outcome = completion.outcome.map_err(Into::into);
        if device.ledger.is_some() {
            device.verify(&io, outcome, &completion.buffer, &shares[number]);
        }
        if io.operation == Operation::Trim {
            device.trimmed(io.block, io.len);
        }
        device.in_flight.release(slot, completion.buffer);
        self.ended.push(Ended {
            device: number,
            io,
            outcome,
        });
    }

    /// Draws the block of each device's next I/O ahead.
    #[inline]
    pub(super) fn draw_ahead(&mut self) {
        for device in &mut self.devices {
            device.draw_ahead();
        }
    }

    /// Sets the time from which the latency of a job's only I/O in flight is counted.
    #[inline]
    pub(super) fn only_arrived(&mut self, at: Nanos) {
        if let [device] = self.devices.as_mut_slice() {
            device.in_flight.only_arrived(at);
        }
    }
}
