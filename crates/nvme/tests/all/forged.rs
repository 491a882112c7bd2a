//! Completions that a test writes in place of the controller.

use joulio_device::SharedMemory;

/// Writes a completion into entry `index` of a queue with fewer than 64 entries in `memory`, as the controller
/// would: dwords 0 and 1 as one number, the identifiers of its submission queue and command, and above them the phase
/// and the status.
pub fn forge(
    memory: &SharedMemory,
    index: usize,
    result: u64,
    (sqid, cid): (u16, u16),
    phase_and_status: u16,
) {
    // The completion queue is on the page after the submission queue.
    let at = 4096 + index * 16;
    memory.write(at, &result.to_le_bytes());
    memory.write(at + 10, &sqid.to_le_bytes());
    memory.store_u32(at + 12, u32::from(cid) | u32::from(phase_and_status) << 16);
}
