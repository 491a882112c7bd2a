//! Helpers that claims share.

use crate::Bench;
use anyhow::{Result, bail, ensure};
use joulio_device::Device;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Completed, PollGroup, QueuePair};
use std::time::Duration;

/// Executes reads of one block each, one after the other.
pub(super) fn reads<D: Device>(bench: &Bench<D>, group: &mut PollGroup<D>, ios: u64) -> Result<()> {
    let block = bench.namespace.block_size() as usize;
    let mut buffer = bench.controller.allocate_buffers(1, block)?.pop();
    for tag in 0..ios {
        let Some(taken) = buffer.take() else {
            bail!("no buffer came back")
        };
        let lba = tag % bench.namespace.blocks();
        group.queues()[0].read(&bench.namespace, lba, 1, taken, tag)?;
        group.queues()[0].ring();
        let mut done = None;
        group.reap(1, None, |_, completed| done = Some(completed))?;
        let Some(Completed {
            status,
            buffer: back,
            ..
        }) = done
        else {
            bail!("I/O {tag} did not complete")
        };
        ensure!(status.is_success(), "I/O {tag}: {status}");
        buffer = back;
    }
    Ok(())
}

pub(super) fn group_of_one<D: Device>(
    bench: &Bench<D>,
    depth: usize,
    policy: AnyPolicy,
) -> Result<PollGroup<D>> {
    let mut queue = bench.controller.create_queue_pair(depth)?;
    queue.set_policy(policy)?;
    Ok(PollGroup::new(vec![queue]))
}

/// Submits one command to a group of one queue with nothing in flight, and waits for its completion.
pub(super) fn end_of<D, E>(
    group: &mut PollGroup<D>,
    submit: impl FnOnce(&mut QueuePair<D>) -> Result<(), E>,
) -> Result<Completed>
where
    D: Device,
    anyhow::Error: From<E>,
{
    submit(&mut group.queues()[0])?;
    group.queues()[0].ring();
    let mut ended = Vec::new();
    group.reap(1, None, |_, completed| ended.push(completed))?;
    match (ended.pop(), ended.is_empty()) {
        (Some(completed), true) => Ok(completed),
        _ => bail!("one command did not end once"),
    }
}

/// Verdict on a command that the namespace does not support.
pub(super) const NOT_THERE: &str = "not there";

/// Waits for the last interrupt of completed commands, which may arrive after its completion was seen. A controller
/// that has executed another command since has sent the interrupt, and its path here is short.
pub(super) fn settle<D: Device>(bench: &Bench<D>) -> Result<()> {
    bench.controller.smart_log()?;
    std::thread::sleep(Duration::from_millis(50));
    Ok(())
}
