//! Joules of a device, from its utilisation.

use joulio_units::{Joules, Nanos};

use crate::{DeviceProfile, Pick};

/// Transfers of one direction in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferTotals {
    /// I/Os finished.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Time for which the device worked on them, summed over I/Os; time in a queue is not included.
    pub service: Nanos,
}

/// Work of a device in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceActivity {
    /// The length of the window.
    pub window: Nanos,
    /// Reads.
    pub read: TransferTotals,
    /// Writes.
    pub write: TransferTotals,
    /// Energy without any I/O, if the device reports it: the watts of its power states over the time in each.
    /// `None`: idle watts x window.
    pub idle: Option<Joules>,
}

/// Returns the energy of the device in its window:
///
/// `idling + (u_r (read_active - idle) + u_w (write_active - idle)) x window`
///
/// `idling` is idle watts x window, or less if power states were used.
///
/// The utilisation u of a direction is that of its busiest resource, the servers or the link: `max(service x
/// channel_share / (parallelism x window), bytes / (bandwidth x window))`. If the two add up to more than 1, they are
/// scaled down to 1: a device cannot be busier than busy.
///
/// The joules of power states were computed with the figures' values. At an end of the bands they are assumed to
/// differ by the same factor as the idle watts.
pub fn device(profile: &DeviceProfile, activity: &DeviceActivity, pick: Pick) -> Joules {
    let window = activity.window.seconds();
    if window == 0.0 {
        return Joules::default();
    }
    let service = &profile.service;
    let most = profile.saturating_ios();
    let utilisation = |transfer: &TransferTotals, bandwidth: Option<f64>| {
        let served = transfer.service.seconds() / (most * window);
        let moved = bandwidth.map_or(0.0, |limit| transfer.bytes as f64 / (limit * window));
        served.max(moved)
    };
    let read = utilisation(&activity.read, service.read_bytes_per_second());
    let write = utilisation(&activity.write, service.write_bytes_per_second());
    let scale = 1.0 / (read + write).max(1.0);
    let (reading, writing) = (read * scale * window, write * scale * window);

    let power = &profile.power;
    let idle = &power.idle_watts;
    // The same sum, ordered by figures: each figure occurs once, so that its effect on the energy is clear.
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
