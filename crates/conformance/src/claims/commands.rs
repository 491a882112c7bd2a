//! The I/O commands other than plain reads and writes. If the controller does not support a command, its claim
//! holds without a test.

use super::support::{NOT_THERE, end_of, group_of_one};
use crate::{Bench, Content};
use anyhow::{Result, bail, ensure};
use joulio_device::{Device, DmaBuffer};
use joulio_nvme::spec::Status;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Completed, PollGroup, QueuePair, Rejected};
use std::ops::Range;

/// First block of the patch that the claims use.
const FIRST: u64 = 40;
/// Blocks of the patch: 64 KiB with the larger block size, which every controller accepts in one command.
const BLOCKS: u64 = 16;

/// Content of a block of the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Zeroes,
    /// The content that was last written.
    Content,
    Other,
}

/// Blocks that only one claim uses, and a buffer for all of them.
struct Patch<'a, D: Device> {
    bench: &'a Bench<D>,
    group: PollGroup<D>,
    buffer: Option<DmaBuffer>,
    /// Number of times that the block was written.
    generation: u64,
}

impl<'a, D: Device> Patch<'a, D> {
    /// Creates the patch, and writes it.
    fn new(bench: &'a Bench<D>) -> Result<Patch<'a, D>> {
        let bytes = BLOCKS as usize * bench.namespace.block_size() as usize;
        let mut patch = Patch {
            bench,
            group: group_of_one(bench, 2, AnyPolicy::POLL)?,
            buffer: bench.controller.allocate_buffers(1, bytes)?.pop(),
            generation: 0,
        };
        patch.write(false)?;
        Ok(patch)
    }

    fn content(&self, lba: u64) -> Content {
        Content {
            seed: self.bench.seed ^ 2,
            lba,
            generation: self.generation,
        }
    }

    /// Fills the buffer with the contents of the blocks.
    fn fill(&mut self) -> Result<()> {
        let block = self.bench.namespace.block_size() as usize;
        let mut data = vec![0; block];
        for index in 0..BLOCKS {
            self.content(FIRST + index).fill(&mut data);
            let Some(buffer) = &mut self.buffer else {
                bail!("no buffer came back")
            };
            buffer.write(index as usize * block, &data);
        }
        Ok(())
    }

    /// Executes a command with the buffer, which it returns.
    fn with_data(
        &mut self,
        submit: impl FnOnce(&mut QueuePair<D>, DmaBuffer) -> Result<(), Rejected>,
    ) -> Result<Status> {
        let Some(buffer) = self.buffer.take() else {
            bail!("no buffer came back")
        };
        let at = buffer.iova();
        let ended = end_of(&mut self.group, |queue| submit(queue, buffer))?;
        self.buffer = ended.buffer.filter(|buffer| buffer.iova() == at);
        Ok(ended.status)
    }

    /// Writes all blocks with new content.
    fn write(&mut self, through: bool) -> Result<()> {
        self.generation += 1;
        self.fill()?;
        let namespace = &self.bench.namespace;
        let status = self.with_data(|queue, buffer| {
            if through {
                queue.write_through(namespace, FIRST, BLOCKS as u32, buffer, 0)
            } else {
                queue.write(namespace, FIRST, BLOCKS as u32, buffer, 0)
            }
        })?;
        ensure!(status.is_success(), "write: {status}");
        Ok(())
    }

    fn compare(&mut self) -> Result<Status> {
        let namespace = &self.bench.namespace;
        self.with_data(|queue, buffer| queue.compare(namespace, FIRST, BLOCKS as u32, buffer, 0))
    }

    /// Reads the patch and returns the content of each block.
    fn holds(&mut self) -> Result<Vec<Holds>> {
        let block = self.bench.namespace.block_size() as usize;
        if let Some(buffer) = &mut self.buffer {
            buffer.write(0, &vec![0xa5; BLOCKS as usize * block]);
        }
        let namespace = &self.bench.namespace;
        let status =
            self.with_data(|queue, buffer| queue.read(namespace, FIRST, BLOCKS as u32, buffer, 0))?;
        ensure!(status.is_success(), "read: {status}");
        let Some(buffer) = &self.buffer else {
            bail!("no buffer came back")
        };
        let mut data = vec![0; block];
        let holds = (0..BLOCKS).map(|index| {
            buffer.read(index as usize * block, &mut data);
            if data.iter().all(|&byte| byte == 0) {
                Holds::Zeroes
            } else if self.content(FIRST + index).is(&data) {
                Holds::Content
            } else {
                Holds::Other
            }
        });
        Ok(holds.collect())
    }
}

pub(super) fn what_is_written_through_comes_back<D: Device>(bench: &Bench<D>) -> Result<String> {
    let mut patch = Patch::new(bench)?;
    patch.write(true)?;
    let holds = patch.holds()?;
    ensure!(holds == [Holds::Content; BLOCKS as usize], "{holds:?}");
    Ok(format!("{BLOCKS} blocks"))
}

pub(super) fn zeroes_are_written_and_their_neighbours_stay<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    if !bench.namespace.attributes().write_zeroes {
        return Ok(NOT_THERE.into());
    }
    let zeroed: Range<u64> = 3..8;
    for deallocate in [false, true] {
        let mut patch = Patch::new(bench)?;
        let (lba, blocks) = (FIRST + zeroed.start, zeroed.clone().count() as u32);
        let ended = end_of(&mut patch.group, |queue| {
            queue.write_zeroes(&bench.namespace, lba, blocks, deallocate, 7)
        })?;
        ensure!(ended.status.is_success(), "{}", ended.status);
        ensure!(ended.tag == 7 && ended.buffer.is_none());
        for (index, holds) in (0..).zip(patch.holds()?) {
            let wanted = if zeroed.contains(&index) {
                Holds::Zeroes
            } else {
                Holds::Content
            };
            ensure!(
                holds == wanted,
                "block {index} holds {holds:?}, deallocate: {deallocate}"
            );
        }
    }
    Ok(format!("{zeroed:?} of {BLOCKS} blocks, twice"))
}

/// Deallocation is a hint (NVM 3.2.3): a block that was not deallocated is unchanged, and a deallocated one reads
/// as DLFEAT says.
pub(super) fn blocks_given_up_read_as_zero_or_as_before_and_their_neighbours_stay<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    let has = bench.namespace.attributes();
    if !has.deallocate {
        return Ok(NOT_THERE.into());
    }
    let mut patch = Patch::new(bench)?;
    let given_up = [1..3, 5..6, 9..14];
    let ranges = given_up.clone();
    let ranges = ranges.map(|range| FIRST + range.start..FIRST + range.end);
    let status =
        patch.with_data(|queue, buffer| queue.deallocate(&bench.namespace, &ranges, buffer, 0))?;
    ensure!(status.is_success(), "{status}");
    let mut zeroes = 0;
    for (index, holds) in (0..).zip(patch.holds()?) {
        let inside = given_up.iter().any(|range| range.contains(&index));
        let right = match holds {
            Holds::Content => true,
            Holds::Zeroes => inside,
            Holds::Other => inside && !has.deallocated_reads_zero,
        };
        ensure!(right, "block {index} holds {holds:?}");
        zeroes += u32::from(holds == Holds::Zeroes);
    }
    Ok(format!("{zeroes} of 8 blocks read as zero"))
}

pub(super) fn compare_distinguishes_equal_from_changed<D: Device>(
    bench: &Bench<D>,
) -> Result<String> {
    if !bench.namespace.attributes().compare {
        return Ok(NOT_THERE.into());
    }
    let mut patch = Patch::new(bench)?;
    let status = patch.compare()?;
    ensure!(status.is_success(), "equal: {status}");
    let bytes = BLOCKS as usize * bench.namespace.block_size() as usize;
    for at in [0, bytes / 2, bytes - 1] {
        patch.fill()?;
        if let Some(buffer) = &mut patch.buffer {
            let mut byte = [0];
            buffer.read(at, &mut byte);
            buffer.write(at, &[byte[0] ^ 1]);
        }
        let status = patch.compare()?;
        let kind = status.kind();
        ensure!(kind == Status::COMPARE_FAILURE, "byte {at}: {status}");
    }
    let holds = patch.holds()?;
    ensure!(holds == [Holds::Content; BLOCKS as usize], "{holds:?}");
    Ok("3 changes found".into())
}

pub(super) fn verify_succeeds_where_there_is_data<D: Device>(bench: &Bench<D>) -> Result<String> {
    if !bench.namespace.attributes().verify {
        return Ok(NOT_THERE.into());
    }
    let mut patch = Patch::new(bench)?;
    let Completed { status, buffer, .. } = end_of(&mut patch.group, |queue| {
        queue.verify(&bench.namespace, FIRST, BLOCKS as u32, 0)
    })?;
    ensure!(status.is_success() && buffer.is_none(), "{status}");
    let holds = patch.holds()?;
    ensure!(holds == [Holds::Content; BLOCKS as usize], "{holds:?}");
    Ok(format!("{BLOCKS} blocks"))
}
