//! Random reads at depth 32: 32 commands with one doorbell, and each completion submits the next read. The content
//! of every block is checked.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example depth_32
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::now;
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, PollGroup};
use std::error::Error;

/// Number of commands in flight.
const DEPTH: usize = 32;
/// Number of blocks with content.
const BLOCKS: u64 = 1024;
/// Number of reads.
const READS: u64 = 20_000;

/// Returns the block of read `number`; Fibonacci hashing scatters the blocks.
fn block(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54
}

/// Writes the blocks, reads them at random, and prints the reads per second.
pub fn main() -> Result<(), Box<dyn Error>> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let size = namespace.block_size() as usize;
    let mut group = PollGroup::new(vec![controller.create_queue_pair(DEPTH)?]);

    let mut free: Vec<DmaBuffer> = controller.allocate_buffers(DEPTH, size)?;
    let mut failed = 0;
    for lba in 0..BLOCKS {
        if free.is_empty() {
            group.reap(1, None, |_, done| {
                failed += u64::from(!done.status.is_success());
                free.extend(done.buffer);
            })?;
        }
        let mut buffer = free.pop().ok_or("one came back")?;
        buffer.write(0, &lba.to_le_bytes());
        let queue = &mut group.queues()[0];
        queue.write(&namespace, lba, 1, buffer, lba)?;
        queue.ring();
    }
    while group.reap(1, None, |_, done| free.extend(done.buffer))? > 0 {}

    let start = now();
    let (mut sent, mut done, mut wrong) = (0, 0, 0);
    while done < READS {
        let queue = &mut group.queues()[0];
        while sent < READS
            && let Some(buffer) = free.pop()
        {
            let lba = block(sent);
            queue.read(&namespace, lba, 1, buffer, lba)?;
            sent += 1;
        }
        // One doorbell for all of them.
        queue.ring();
        group.reap(1, None, |_, completed| {
            done += 1;
            failed += u64::from(!completed.status.is_success());
            let mut lba = [0; 8];
            if let Some(buffer) = completed.buffer {
                buffer.read(0, &mut lba);
                free.push(buffer);
            }
            wrong += u64::from(u64::from_le_bytes(lba) != completed.tag);
        })?;
    }
    let seconds = (now() - start).0 as f64 / 1e9;
    println!(
        "{done} reads at depth {DEPTH}, {wrong} wrong, {failed} failed, {:.0} a second",
        done as f64 / seconds
    );
    match wrong + failed {
        0 => Ok(()),
        _ => Err("a read failed".into()),
    }
}
