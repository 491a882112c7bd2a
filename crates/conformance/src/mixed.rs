//! Mixed reads, writes and flushes of many sizes; every byte is checked.

use crate::turns::{Turns, arm};
use crate::{Bench, Content, Modes};
use anyhow::{Context, Result, bail, ensure};
use joulio_device::Device;
use joulio_nvme::wait::WaitCounters;
use joulio_nvme::{Completed, DmaBuffer, PollGroup, QueuePair};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;
use std::ops::Range;

/// Blocks that the run uses.
const SPAN: u64 = 4096;

enum InFlight {
    Write(Range<u64>),
    Read(Range<u64>),
    Flush,
}

struct Mixed<'a, D: Device> {
    bench: &'a Bench<D>,
    rng: Pcg64Mcg,
    generations: HashMap<u64, u64>,
    in_flight: HashMap<u64, InFlight>,
    buffers: Vec<DmaBuffer>,
    issued: u64,
    span: u64,
    max_blocks: u64,
}

/// Runs `ios` I/Os at `depth` on a new queue pair, in `modes`; returns its counters.
pub fn mixed<D: Device>(
    bench: &Bench<D>,
    modes: Modes,
    depth: usize,
    ios: u64,
) -> Result<WaitCounters> {
    let mut queue = bench.controller.create_queue_pair(depth)?;
    queue.set_policy(modes.first()?)?;
    let mut group = PollGroup::new(vec![queue]);
    let bytes = bench.controller.max_transfer().min(128 << 10);
    let block = bench.namespace.block_size();
    let mut run = Mixed {
        bench,
        rng: Pcg64Mcg::seed_from_u64(bench.seed ^ depth as u64),
        generations: HashMap::new(),
        in_flight: HashMap::new(),
        buffers: bench.controller.allocate_buffers(depth, bytes as usize)?,
        issued: 0,
        span: SPAN.min(bench.namespace.blocks()),
        max_blocks: u64::from(bytes / block),
    };
    let mut done = 0;
    let mut turns = Turns::begin(modes, &mut group)?;
    while done < ios {
        let queue = &mut group.queues()[0];
        while run.issued < ios && run.in_flight.len() < depth {
            run.issue(queue)?;
        }
        queue.ring();
        let mut completed = Vec::new();
        group.reap(1, None, |_, completion| completed.push(completion))?;
        ensure!(
            !completed.is_empty(),
            "the group stopped waiting with I/Os in flight"
        );
        done += completed.len() as u64;
        for completion in completed {
            run.check(completion)
                .with_context(|| format!("seed {}", bench.seed))?;
        }
        if turns.go_on(done, &mut group)? && run.in_flight.is_empty() {
            arm(&mut group)?;
        }
    }
    let queue = &mut group.queues()[0];
    ensure!(
        run.in_flight.is_empty() && queue.outstanding() == 0,
        "I/Os left over"
    );
    ensure!(
        queue.faults() == Default::default(),
        "faults: {:?}",
        queue.faults()
    );
    Ok(group.counters())
}

impl<D: Device> Mixed<'_, D> {
    fn issue(&mut self, queue: &mut QueuePair<D>) -> Result<()> {
        let tag = self.issued;
        self.issued += 1;
        let choice = self.rng.random_range(0..100);
        if choice < 2 {
            queue.flush(&self.bench.namespace, tag)?;
            self.in_flight.insert(tag, InFlight::Flush);
            return Ok(());
        }
        let range = self.free_range();
        let blocks = (range.end - range.start) as u32;
        let Some(mut buffer) = self.buffers.pop() else {
            bail!("no buffer came back");
        };
        let namespace = &self.bench.namespace;
        let (io, result) = if choice < 50 {
            self.fill(&mut buffer, range.clone());
            let result = queue.write(namespace, range.start, blocks, buffer, tag);
            (InFlight::Write(range), result)
        } else {
            // Bytes that the device does not write must not pass as correct.
            buffer.write(0, &vec![0xa5; buffer.len()]);
            let result = queue.read(namespace, range.start, blocks, buffer, tag);
            (InFlight::Read(range), result)
        };
        result?;
        self.in_flight.insert(tag, io);
        Ok(())
    }

    /// Picks a range of blocks without an outstanding I/O. Half of them are small.
    fn free_range(&mut self) -> Range<u64> {
        loop {
            let max = if self.rng.random_bool(0.5) {
                4
            } else {
                self.max_blocks
            };
            let blocks = self.rng.random_range(1..=max.clamp(1, self.span));
            let start = self.rng.random_range(0..=self.span - blocks);
            let range = start..start + blocks;
            let meets = |other: &Range<u64>| range.start < other.end && other.start < range.end;
            let busy = self.in_flight.values().any(|io| match io {
                InFlight::Write(other) | InFlight::Read(other) => meets(other),
                InFlight::Flush => false,
            });
            if !busy {
                return range;
            }
        }
    }

    fn fill(&mut self, buffer: &mut DmaBuffer, range: Range<u64>) {
        let block = self.bench.namespace.block_size() as usize;
        let mut data = vec![0; block];
        for (index, lba) in range.enumerate() {
            let generation = self.generations.entry(lba).or_default();
            *generation += 1;
            let content = Content {
                seed: self.bench.seed,
                lba,
                generation: *generation,
            };
            content.fill(&mut data);
            buffer.write(index * block, &data);
        }
    }

    fn check(&mut self, completion: Completed) -> Result<()> {
        let Some(io) = self.in_flight.remove(&completion.tag) else {
            bail!("I/O {} completed twice, or never existed", completion.tag);
        };
        ensure!(
            completion.status.is_success(),
            "I/O {}: {}",
            completion.tag,
            completion.status
        );
        match (io, completion.buffer) {
            (InFlight::Flush, None) => {}
            (InFlight::Write(_), Some(buffer)) => self.buffers.push(buffer),
            (InFlight::Read(range), Some(buffer)) => {
                self.check_data(&buffer, range)?;
                self.buffers.push(buffer);
            }
            _ => bail!("I/O {} came back with the wrong buffer", completion.tag),
        }
        Ok(())
    }

    /// Checks that blocks which this run has written have their last content; the content of others is not known.
    fn check_data(&self, buffer: &DmaBuffer, range: Range<u64>) -> Result<()> {
        let block = self.bench.namespace.block_size() as usize;
        let mut data = vec![0; block];
        for (index, lba) in range.enumerate() {
            if let Some(&generation) = self.generations.get(&lba) {
                buffer.read(index * block, &mut data);
                let content = Content {
                    seed: self.bench.seed,
                    lba,
                    generation,
                };
                ensure!(
                    content.is(&data),
                    "block {lba} does not hold write {generation}"
                );
            }
        }
        Ok(())
    }
}
