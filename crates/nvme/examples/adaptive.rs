//! The completion mode `adaptive` with a promise: 99 of 100 reads within half a millisecond, with as little energy
//! as that allows. The counters show how it waited, and the latencies whether it kept the promise.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example adaptive
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::{Adaptive, AnyPolicy, Goal, Objective, Promised, WaitCosts, now};
use joulio_nvme::{Controller, ControllerOptions, PollGroup};
use joulio_units::{Nanos, Percentile, Slo, SloLimit};
use std::error::Error;

/// Number of reads, one at a time.
const READS: usize = 2_000;

/// Reads at depth 1 with the promise, and prints latencies and waits.
pub fn main() -> Result<(), Box<dyn Error>> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let blocks = 4096 / namespace.block_size();
    let mut queue = controller.create_queue_pair(1)?;

    let promise = Slo::new(&[SloLimit {
        percentile: Percentile::P99,
        latency: Nanos::from_micros(500),
    }])?;
    let goal = Goal {
        objective: Objective::Cores,
        promised: Promised::Slo(promise),
    };
    // On a machine that `joulio calibrate` has measured, its own costs would be better.
    let policy = Adaptive::new(WaitCosts::generic(), goal, 1, Adaptive::STEPS);
    queue.set_policy(AnyPolicy::Adaptive(policy))?;
    let mut group = PollGroup::new(vec![queue]);

    let mut buffer = controller.allocate_buffers(1, 4096)?.pop();
    let mut latencies = Vec::with_capacity(READS);
    for number in 0..READS as u64 {
        let queue = &mut group.queues()[0];
        let start = now();
        let lba = number % 1024 * u64::from(blocks);
        let own = buffer.take().ok_or("it came back")?;
        queue.read(&namespace, lba, blocks, own, number)?;
        queue.ring();
        group.reap(1, None, |_, done| buffer = done.buffer)?;
        latencies.push(now() - start);
    }
    latencies.sort();
    let counters = group.counters();
    println!(
        "p50 {} us, p99 {} us; {} polls, {} sleeps, {} blocks of {READS} reads",
        latencies[READS / 2].0 / 1_000,
        latencies[READS * 99 / 100].0 / 1_000,
        counters.polls,
        counters.sleeps,
        counters.blocks
    );
    Ok(())
}
