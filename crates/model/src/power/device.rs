//! Joules of a device by how busy it was.

use joulio_units::{Joules, Nanos};

use crate::{DeviceProfile, Pick};

/// The transfers of one direction in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferTotals {
    /// I/Os finished.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time that the device worked on them, summed over I/Os; waiting in a queue is none.
    pub service: Nanos,
}

/// The work of a device in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceActivity {
    /// The length of the window.
    pub window: Nanos,
    /// Reads.
    pub read: TransferTotals,
    /// Writes.
    pub write: TransferTotals,
    /// Energy without any I/O, if the device reports it: the watts of its power states by the
    /// time in each. Idle watts x window otherwise.
    pub idle: Option<Joules>,
}

/// The device over its window:
///
/// `idling + (u_r (read_active - idle) + u_w (write_active - idle)) x window`
///
/// Idling is idle watts x window, or less where power states were used.
///
/// A direction's utilisation u is that of its busiest resource, the servers or the link:
/// `max(service / (parallelism x window), bytes / (bandwidth x window))`. Should the two together
/// pass 1 they are scaled back to 1: a device that is all busy is not busier.
///
/// At an end of the bands the joules of power states, which were counted at the figures' values,
/// are taken to be wrong by as much as the idle watts are.
pub fn device(profile: &DeviceProfile, activity: &DeviceActivity, pick: Pick) -> Joules {
    let window = activity.window.seconds();
    if window == 0.0 {
        return Joules::default();
    }
    let service = &profile.service;
    let servers = profile.parallelism().get() as f64;
    let utilisation = |transfer: &TransferTotals, bandwidth: Option<f64>| {
        let served = transfer.service.seconds() / (servers * window);
        let moved = bandwidth.map_or(0.0, |limit| transfer.bytes as f64 / (limit * window));
        served.max(moved)
    };
    let read = utilisation(&activity.read, service.read_bytes_per_second());
    let write = utilisation(&activity.write, service.write_bytes_per_second());
    let scale = 1.0 / (read + write).max(1.0);
    let (reading, writing) = (read * scale * window, write * scale * window);

    let power = &profile.power;
    let idle = &power.idle_watts;
    // The same sum, ordered by figures: each counts once, so that its effect on the energy is plain.
    let working =
        power.read_active_watts.at(pick) * reading + power.write_active_watts.at(pick) * writing;
    let fixed = activity.idle.filter(|_| idle.value == 0.0);
    let idled = match activity.idle {
        Some(joules) if idle.value > 0.0 => joules.0 / idle.value,
        _ => window,
    };
    let seconds = idled - reading - writing;
    let idling = idle.at(pick.toward(seconds >= 0.0)) * seconds;
    Joules(working + idling) + fixed.unwrap_or_default()
}
