//! Reads and writes: the largest ones, and those that are checked from outside.

use super::support::group_of_one;
use crate::{Bench, Content, stamp_lba};
use anyhow::{Result, bail, ensure};
use joulio_device::Device;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Completed, DmaBuffer, PollGroup};

pub(super) fn the_largest_transfer_comes_back_whole<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 2, AnyPolicy::POLL)?;
    let bytes = bench.controller.max_transfer() as usize;
    let block = bench.namespace.block_size() as usize;
    let blocks = (bytes / block) as u32;
    let mut buffer = bench.controller.allocate_buffers(1, bytes)?.remove(0);
    let content = |lba| Content {
        seed: bench.seed ^ 1,
        lba,
        generation: 1,
    };
    let mut data = vec![0; block];
    for lba in 0..blocks as u64 {
        content(lba).fill(&mut data);
        buffer.write(lba as usize * block, &data);
    }
    let once = |group: &mut PollGroup<D>, write: bool, buffer: DmaBuffer| -> Result<DmaBuffer> {
        let queue = &mut group.queues()[0];
        if write {
            queue.write(&bench.namespace, 0, blocks, buffer, 0)?;
        } else {
            queue.read(&bench.namespace, 0, blocks, buffer, 0)?;
        }
        queue.ring();
        let mut back = None;
        group.reap(1, None, |_, completed| back = Some(completed))?;
        match back {
            Some(Completed {
                status,
                buffer: Some(buffer),
                ..
            }) if status.is_success() => Ok(buffer),
            _ => bail!("the transfer failed"),
        }
    };
    let mut buffer = once(&mut group, true, buffer)?;
    buffer.write(0, &vec![0; bytes]);
    let buffer = once(&mut group, false, buffer)?;
    for lba in 0..blocks as u64 {
        buffer.read(lba as usize * block, &mut data);
        ensure!(
            content(lba).is(&data),
            "block {lba} of the transfer is wrong"
        );
    }
    Ok(format!("{bytes} bytes"))
}

/// Number of blocks that are stamped for a check of the backing store from outside.
pub const STAMPS: u64 = 100;

pub(super) fn stamped_blocks_stay<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut group = group_of_one(bench, 8, AnyPolicy::INTERRUPT)?;
    let block = bench.namespace.block_size() as usize;
    let mut buffer = bench.controller.allocate_buffers(1, block)?.pop();
    let mut data = vec![0; block];
    for index in 0..STAMPS {
        let lba = stamp_lba(index);
        Content {
            seed: bench.seed,
            lba,
            generation: u64::MAX,
        }
        .fill(&mut data);
        let Some(mut taken) = buffer.take() else {
            bail!("no buffer came back")
        };
        taken.write(0, &data);
        group.queues()[0].write(&bench.namespace, lba, 1, taken, lba)?;
        group.queues()[0].ring();
        group.reap(1, None, |_, completed| {
            buffer = completed.buffer.filter(|_| completed.status.is_success())
        })?;
    }
    group.queues()[0].flush(&bench.namespace, 0)?;
    group.queues()[0].ring();
    let mut flushed = false;
    group.reap(1, None, |_, completed| {
        flushed = completed.status.is_success()
    })?;
    ensure!(flushed && buffer.is_some(), "a write or the flush failed");
    Ok(format!("{STAMPS} blocks, seed {}", bench.seed))
}
