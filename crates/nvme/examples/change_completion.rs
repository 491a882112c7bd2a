//! Changes the completion mode while commands are in flight: polling, interrupts, hybrid polling. The counters show
//! what each mode did.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example change_completion
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{Adaptive, AnyPolicy, Policy, WaitCounters};
use joulio_nvme::{Controller, ControllerOptions, DmaBuffer, PollGroup};
use std::error::Error;

/// Number of commands that are always in flight, even while the mode changes.
const DEPTH: usize = 4;
/// Number of reads in each mode.
const READS: u64 = 500;

/// Reads in one mode after another, and prints the counters of each mode's waits.
pub fn main() -> Result<(), Box<dyn Error>> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let mut group = PollGroup::new(vec![controller.create_queue_pair(DEPTH)?]);
    let mut free: Vec<DmaBuffer> = controller.allocate_buffers(DEPTH, 4096)?;
    let blocks = 4096 / namespace.block_size();

    let mut before = WaitCounters::default();
    let modes = [
        AnyPolicy::POLL,
        AnyPolicy::INTERRUPT,
        AnyPolicy::Adaptive(Adaptive::generic()),
        AnyPolicy::POLL,
    ];
    for policy in modes {
        let name = policy.name().into_owned();
        // Commands submitted in the mode before are still in flight.
        group.queues()[0].set_policy(policy)?;
        let mut done = 0;
        while done < READS {
            let queue = &mut group.queues()[0];
            while let Some(buffer) = free.pop() {
                queue.read(&namespace, 0, blocks, buffer, 0)?;
            }
            queue.ring();
            group.reap(1, None, |_, completed| {
                done += 1;
                free.extend(completed.buffer);
            })?;
        }
        let now = group.counters();
        println!(
            "{name}: {done} reads, {} polls, {} interrupts, {} blocks, {} sleeps",
            now.polls - before.polls,
            now.interrupts - before.interrupts,
            now.blocks - before.blocks,
            now.sleeps - before.sleeps
        );
        before = now;
    }
    Ok(())
}
