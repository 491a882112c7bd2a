//! Commands that the driver refuses, each with a reason, so that the device does not see them.

use super::support::NOT_THERE;
use crate::Bench;
use anyhow::{Result, bail, ensure};
use joulio_device::{Device, DmaBuffer};
use joulio_nvme::{MAX_RANGES, Namespace, QueuePair, Rejected, SubmitError};
use std::ops::Range;

/// Returns the buffer of a command that was refused for `reason`.
fn refused(
    result: Result<(), Rejected>,
    reason: SubmitError,
    what: &dyn std::fmt::Debug,
) -> Result<DmaBuffer> {
    match result {
        Ok(()) => bail!("{what:?} was accepted"),
        Err(rejected) if rejected.reason == reason => Ok(rejected.buffer),
        Err(rejected) => bail!("{what:?}: {}, not: {reason}", rejected.reason),
    }
}

pub(super) fn a_block_outside_is_refused_before_the_device_sees_it<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    type Transfer<D> =
        fn(&mut QueuePair<D>, &Namespace, u64, u32, DmaBuffer, u64) -> Result<(), Rejected>;
    let mut transfers: Vec<Transfer<D>> =
        vec![QueuePair::read, QueuePair::write, QueuePair::write_through];
    if bench.namespace.attributes().compare {
        transfers.push(QueuePair::compare);
    }
    let mut queue = bench.controller.create_queue_pair(4)?;
    let size = bench.namespace.blocks();
    let block = bench.namespace.block_size();
    let max = bench.controller.max_transfer();
    let mut buffer = bench.controller.allocate_buffers(1, 2 * block as usize)?;
    let Some(mut buffer) = buffer.pop() else {
        bail!("no buffer")
    };
    let outside = |lba, blocks| SubmitError::Range { lba, blocks, size };
    let length = |bytes| SubmitError::Length { bytes, max };
    let over = max / block + 1;
    let cases = [
        (size, 1, outside(size, 1)),
        (size - 1, 2, outside(size - 1, 2)),
        (u64::MAX, 1, outside(u64::MAX, 1)),
        (0, 0, length(0)),
        (
            0,
            3,
            SubmitError::Buffer {
                bytes: 3 * u64::from(block),
            },
        ),
        (0, over, length(u64::from(over) * u64::from(block))),
    ];
    let at = buffer.iova();
    for transfer in &transfers {
        for (lba, blocks, reason) in cases {
            let result = transfer(&mut queue, &bench.namespace, lba, blocks, buffer, 0);
            buffer = refused(result, reason, &(lba, blocks))?;
            ensure!(buffer.iova() == at, "another's buffer came back");
        }
    }
    ensure!(queue.outstanding() == 0);
    Ok(format!(
        "{} cases, {} commands",
        cases.len(),
        transfers.len()
    ))
}

pub(super) fn a_command_without_data_is_refused_outside_too<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let has = bench.namespace.attributes();
    let mut queue = bench.controller.create_queue_pair(4)?;
    let size = bench.namespace.blocks();
    let outside = |lba, blocks| SubmitError::Range { lba, blocks, size };
    let cases = [
        (size, 1, outside(size, 1)),
        (size - 1, 2, outside(size - 1, 2)),
        (u64::MAX, 1, outside(u64::MAX, 1)),
        (0, 0, SubmitError::Blocks { blocks: 0 }),
        (0, 65_537, SubmitError::Blocks { blocks: 65_537 }),
    ];
    for (lba, blocks, mut reason) in cases {
        for deallocate in [false, true] {
            if !has.write_zeroes {
                reason = SubmitError::Unsupported {
                    command: "Write Zeroes",
                };
            }
            let result = queue.write_zeroes(&bench.namespace, lba, blocks, deallocate, 0);
            ensure!(
                result == Err(reason),
                "{blocks} zeroes at {lba}: {result:?}"
            );
        }
    }
    for (lba, blocks, mut reason) in cases {
        if !has.verify {
            reason = SubmitError::Unsupported { command: "Verify" };
        }
        let result = queue.verify(&bench.namespace, lba, blocks, 0);
        ensure!(
            result == Err(reason),
            "verify {blocks} at {lba}: {result:?}"
        );
    }
    ensure!(queue.outstanding() == 0);
    Ok(format!("{} cases, 3 commands", cases.len()))
}

pub(super) fn ranges_are_refused_all_or_none<D: Device>(bench: &Bench<D>) -> Result<String> {
    if !bench.namespace.attributes().deallocate {
        return Ok(NOT_THERE.into());
    }
    let mut queue = bench.controller.create_queue_pair(4)?;
    let size = bench.namespace.blocks();
    let outside = |lba, blocks| SubmitError::Range { lba, blocks, size };
    let none = SubmitError::Ranges { ranges: 0 };
    let many = SubmitError::Ranges {
        ranges: MAX_RANGES + 1,
    };
    // Two ranges take 32 bytes.
    let short = SubmitError::Buffer { bytes: 32 };
    let whole = MAX_RANGES * 16;
    let cases: [(Vec<Range<u64>>, usize, SubmitError); 6] = [
        (vec![], whole, none),
        (vec![0..1; MAX_RANGES + 1], whole, many),
        (vec![0..1, 2..3], 31, short),
        (vec![0..1, size..size + 1], whole, outside(size, 1)),
        (vec![0..1, size - 1..size + 1], whole, outside(size - 1, 2)),
        (vec![0..u64::MAX; 2], whole, outside(0, u32::MAX)),
    ];
    let tried = cases.len();
    for (ranges, bytes, reason) in cases {
        let Some(buffer) = bench.controller.allocate_buffers(1, bytes)?.pop() else {
            bail!("no buffer")
        };
        let at = buffer.iova();
        let result = queue.deallocate(&bench.namespace, &ranges, buffer, 0);
        let what = ranges.first().zip(ranges.last());
        let buffer = refused(result, reason, &what)?;
        ensure!(buffer.iova() == at, "another's buffer came back");
    }
    ensure!(queue.outstanding() == 0);
    Ok(format!("{tried} cases"))
}
