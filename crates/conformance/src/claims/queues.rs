//! Full queues, deep queues, and deleted queues.

use super::support::{group_of_one, reads};
use crate::Bench;
use anyhow::{Result, bail, ensure};
use joulio_device::Device;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Completed, PollGroup, SubmitError};

pub(super) fn a_full_queue_gives_the_buffer_back<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 4, AnyPolicy::POLL)?;
    let block = bench.namespace.block_size() as usize;
    let mut buffers = bench.controller.allocate_buffers(5, block)?;
    let queue = &mut group.queues()[0];
    let extra = buffers.remove(0);
    for (tag, buffer) in buffers.into_iter().enumerate() {
        queue.read(&bench.namespace, tag as u64, 1, buffer, tag as u64)?;
    }
    let Err(rejected) = queue.read(&bench.namespace, 0, 1, extra, 9) else {
        bail!("a fifth command went into a queue of four");
    };
    ensure!(rejected.reason == SubmitError::QueueFull && rejected.buffer.len() == block);
    queue.ring();
    let mut tags = Vec::new();
    group.reap(4, None, |_, completed| tags.push(completed.tag))?;
    tags.sort_unstable();
    ensure!(tags == [0, 1, 2, 3], "{tags:?}");
    Ok("4 of 4".into())
}

/// Keeps `depth` reads in flight until `ios` have completed.
fn fly<D: Device>(
    bench: &Bench<D>,
    group: &mut PollGroup<D>,
    depth: usize,
    ios: u64,
) -> Result<()> {
    let block = bench.namespace.block_size() as usize;
    let mut buffers = bench.controller.allocate_buffers(depth, block)?;
    let mut seen = vec![false; ios as usize];
    let (mut issued, mut done) = (0, 0);
    while done < ios {
        let queue = &mut group.queues()[0];
        while issued < ios
            && let Some(buffer) = buffers.pop()
        {
            queue.read(
                &bench.namespace,
                issued % bench.namespace.blocks(),
                1,
                buffer,
                issued,
            )?;
            issued += 1;
        }
        queue.ring();
        let mut completed: Vec<Completed> = Vec::new();
        group.reap(1, None, |_, completion| completed.push(completion))?;
        for Completed {
            tag,
            status,
            buffer,
            ..
        } in completed
        {
            ensure!(status.is_success(), "I/O {tag}: {status}");
            ensure!(
                !std::mem::replace(&mut seen[tag as usize], true),
                "I/O {tag} completed twice"
            );
            buffers.extend(buffer);
            done += 1;
        }
    }
    Ok(())
}

pub(super) fn the_deepest_queue_goes_around<D: Device>(bench: &Bench<D>) -> Result<String> {
    let depth = bench.controller.max_depth();
    let mut group = group_of_one(bench, depth, AnyPolicy::POLL)?;
    let ios = 3 * depth as u64 + 7;
    fly(bench, &mut group, depth, ios)?;
    ensure!(
        bench.controller.create_queue_pair(depth + 1).is_err(),
        "a deeper queue was accepted"
    );
    Ok(format!("depth {depth}, {ios} I/Os"))
}

pub(super) fn a_queue_dropped_with_io_in_flight_leaves_the_controller_well<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let block = bench.namespace.block_size() as usize;
    for _ in 0..20 {
        let mut queue = bench.controller.create_queue_pair(16)?;
        for (tag, buffer) in bench
            .controller
            .allocate_buffers(16, block)?
            .into_iter()
            .enumerate()
        {
            queue.read(&bench.namespace, tag as u64, 1, buffer, tag as u64)?;
        }
        queue.ring();
        drop(queue);
    }
    let mut group = group_of_one(bench, 4, AnyPolicy::POLL)?;
    reads(bench, &mut group, 100)?;
    Ok("20 queues of 16".into())
}
