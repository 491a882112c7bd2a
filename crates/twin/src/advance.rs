//! The run loop, which chooses the core that runs next.

use crate::TwinError;
use crate::core_threads::CoreThreads;
use crate::event_queue::RingQueue;
use crate::stop::Stop;
use crate::world::World;
use joulio_units::Nanos;
use std::sync::atomic::AtomicBool;

/// Rings of the doorbell that the only core of a run simulates in one call.
const MANY: u32 = 1 << 14;

/// Runs all threads until they have ended. Each core runs by itself up to its next ring of a doorbell; the rings
/// are made in the order of their times, and at the same time the thread with the lowest number rings first.
/// `cores_of` gives, for each thread, the index of its core in `cores`.
pub(crate) fn advance(
    cores: &mut [CoreThreads<'_, '_>],
    cores_of: &[usize],
    world: &mut World<'_>,
    stop: Option<&AtomicBool>,
) -> Result<(), TwinError> {
    let mut stop = Stop::new(stop);
    let first =
        |threads: &mut CoreThreads<'_, '_>| threads.until_ring(Nanos::ZERO, 0, world, &mut stop);
    let first: Vec<_> = cores.iter_mut().map(first).collect::<Result<_, _>>()?;
    let mut rings = RingQueue::new(&first);
    let at_once = if cores.len() == 1 { MANY } else { 1 };
    while let Some((at, thread)) = rings.first() {
        let core = cores_of[thread];
        let next = cores[core].until_ring(at, at_once, world, &mut stop)?;
        rings.replace_first(core, next);
    }
    Ok(())
}
