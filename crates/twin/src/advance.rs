//! The run loop: which core is next.

use crate::TwinError;
use crate::core_threads::CoreThreads;
use crate::event_queue::EventQueue;
use crate::stop::Stop;
use crate::world::World;
use joulio_units::Nanos;
use std::sync::atomic::AtomicBool;

/// Rings that the only core of a run does in one go.
const MANY: u32 = 1 << 14;

/// Does what is next until nobody has anything to do: each core by itself up to its next ring of a
/// doorbell, and the rings in the order of their times, of equals that of the thread with the lowest
/// number. `cores_of` has the place among `cores` of each thread's.
pub(crate) fn advance(
    cores: &mut [CoreThreads<'_, '_>],
    cores_of: impl IntoIterator<Item = usize>,
    world: &mut World<'_>,
    stop: Option<&AtomicBool>,
) -> Result<(), TwinError> {
    let mut stop = Stop::new(stop);
    let mut rings = EventQueue::new(cores.len(), cores_of);
    for threads in cores.iter_mut() {
        if let Some((at, number)) = threads.until_ring(Nanos::ZERO, 0, world, &mut stop)? {
            rings.set(at, number);
        }
    }
    let at_once = if cores.len() == 1 { MANY } else { 1 };
    while let Some((at, core)) = rings.first() {
        match cores[core].until_ring(at, at_once, world, &mut stop)? {
            Some((at, number)) => rings.set(at, number),
            None => rings.clear(core),
        }
    }
    Ok(())
}
