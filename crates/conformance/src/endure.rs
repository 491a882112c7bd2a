//! I/Os on a faulty device: every command ends once, with its own buffer, and a reported success is true.

use crate::turns::Turns;
use crate::{Bench, Content, Modes};
use anyhow::{Context, Result, bail, ensure};
use joulio_device::{Device, Iova};
use joulio_nvme::spec::Status;
use joulio_nvme::wait::WaitCounters;
use joulio_nvme::{Completed, DmaBuffer, Faults, NvmeError, PollGroup, QueuePair};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Result of a run with faults: `commands` is the sum of `completed` and all of `failed`.
#[derive(Debug, Default)]
pub struct Endured {
    /// Commands that were issued.
    pub commands: u64,
    /// Commands that succeeded, including reads with wrong data.
    pub completed: u64,
    /// Reads that succeeded with data that was never written to the block.
    pub wrong_reads: u64,
    /// Commands that ended with an error, by its status.
    pub failed: HashMap<Status, u64>,
    /// Buffers that the device kept because it did not release its memory.
    pub kept: u64,
    /// Faulty completions that the driver reported.
    pub reported: u64,
    /// Faults that the queue counted.
    pub faults: Faults,
    /// Counters of the waits of the queue's core.
    pub counters: WaitCounters,
    /// Reason why the run ended before all commands were issued: the controller can no longer be used.
    pub ended: Option<NvmeError>,
}

impl Endured {
    /// Returns the number of commands that ended with an error.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// Blocks that the run uses.
const SPAN: u64 = 1024;

struct InFlight {
    lba: u64,
    write: bool,
    /// Device address of the command's buffer, which must come back.
    buffer: Iova,
}

struct Run<'a, D: Device> {
    bench: &'a Bench<D>,
    rng: Pcg64Mcg,
    /// Last content of each block, if it is known.
    generations: HashMap<u64, Option<u64>>,
    written: u64,
    busy: HashSet<u64>,
    in_flight: HashMap<u64, InFlight>,
    buffers: Vec<DmaBuffer>,
    data: Vec<u8>,
    endured: Endured,
}

/// Issues `ios` reads and writes of one block each at `depth`, and checks that each ends exactly once.
pub fn endure<D: Device>(
    bench: &Bench<D>,
    modes: Modes,
    depth: usize,
    ios: u64,
) -> Result<Endured> {
    let mut queue = bench.controller.create_queue_pair(depth)?;
    queue.set_policy(modes.first()?)?;
    let mut group = PollGroup::new(vec![queue]);
    let block = bench.namespace.block_size() as usize;
    let mut run = Run {
        bench,
        rng: Pcg64Mcg::seed_from_u64(bench.seed),
        generations: HashMap::new(),
        written: 0,
        busy: HashSet::new(),
        in_flight: HashMap::new(),
        buffers: bench.controller.allocate_buffers(depth, block)?,
        data: vec![0; block],
        endured: Endured::default(),
    };
    run.go(&mut group, modes, ios)
        .with_context(|| format!("{modes:?}, depth {depth}, seed {}", bench.seed))?;
    let queue = &mut group.queues()[0];
    ensure!(queue.outstanding() == 0, "commands left over");
    ensure!(
        run.buffers.len() as u64 + run.endured.kept == depth as u64,
        "{} of {depth} buffers came back",
        run.buffers.len()
    );
    if run.endured.ended.is_none() {
        settle(queue, &mut run.endured)?;
    }
    run.endured.faults = queue.faults();
    run.endured.counters = group.counters();
    Ok(run.endured)
}

/// Reaps what the device still posts without a command, and counts all of it as faulty.
fn settle<D: Device>(queue: &mut QueuePair<D>, endured: &mut Endured) -> Result<()> {
    let mut idle_polls = 0;
    while idle_polls < 3 {
        let reaped = queue.reap(usize::MAX, |_| {});
        match reaped {
            Ok(0) => {
                idle_polls += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(more) => bail!("{more} commands completed that were not outstanding"),
            Err(_) => endured.reported += 1,
        }
    }
    Ok(())
}

impl<D: Device> Run<'_, D> {
    fn go(&mut self, group: &mut PollGroup<D>, modes: Modes, ios: u64) -> Result<()> {
        let mut turns = Turns::begin(modes, group)?;
        while self.endured.commands < ios || !self.in_flight.is_empty() {
            while self.endured.commands < ios && !self.buffers.is_empty() {
                self.issue(&mut group.queues()[0])?;
            }
            group.queues()[0].ring();
            let mut ended = Vec::new();
            match group.reap(1, None, |_, completed| ended.push(completed)) {
                Ok(_) => {}
                Err(NvmeError::Completion(_)) => self.endured.reported += 1,
                Err(error) => {
                    let all = ended.len() == self.in_flight.len();
                    self.end(ended)?;
                    ensure!(all, "commands were not ended with the controller: {error}");
                    self.endured.ended = Some(error);
                    return Ok(());
                }
            }
            self.end(ended)?;
            let done = self.endured.completed + self.endured.failures();
            turns.go_on(done, group)?;
        }
        Ok(())
    }

    fn issue(&mut self, queue: &mut QueuePair<D>) -> Result<()> {
        let tag = self.endured.commands;
        self.endured.commands += 1;
        let span = SPAN.min(self.bench.namespace.blocks());
        let lba = loop {
            let lba = self.rng.random_range(0..span);
            if self.busy.insert(lba) {
                break lba;
            }
        };
        let write = self.rng.random_bool(0.4);
        let Some(mut buffer) = self.buffers.pop() else {
            bail!("no buffer");
        };
        let io = InFlight {
            lba,
            write,
            buffer: buffer.iova(),
        };
        let namespace = &self.bench.namespace;
        if write {
            self.written += 1;
            self.content(lba, self.written).fill(&mut self.data);
            buffer.write(0, &self.data);
            queue.write(namespace, lba, 1, buffer, tag)?;
            // The content of the block is not known until the write has succeeded.
            self.generations.insert(lba, None);
        } else {
            buffer.write(0, &vec![0xa5; self.data.len()]);
            queue.read(namespace, lba, 1, buffer, tag)?;
        }
        self.in_flight.insert(tag, io);
        Ok(())
    }

    fn end(&mut self, ended: Vec<Completed>) -> Result<()> {
        for completed in ended {
            self.end_one(completed)?;
        }
        Ok(())
    }

    fn end_one(&mut self, completed: Completed) -> Result<()> {
        let tag = completed.tag;
        let Some(io) = self.in_flight.remove(&tag) else {
            bail!("command {tag} ended twice, or never was");
        };
        self.busy.remove(&io.lba);
        match completed.buffer {
            Some(buffer) => {
                ensure!(
                    buffer.iova() == io.buffer,
                    "command {tag} came back with another's buffer"
                );
                if completed.status.is_success() {
                    self.succeed(&io, &buffer);
                }
                self.buffers.push(buffer);
            }
            None => self.endured.kept += 1,
        }
        if completed.status.is_success() {
            self.endured.completed += 1;
        } else {
            *self.endured.failed.entry(completed.status).or_default() += 1;
        }
        Ok(())
    }

    fn succeed(&mut self, io: &InFlight, buffer: &DmaBuffer) {
        if io.write {
            // The buffer still has the written data.
            buffer.read(0, &mut self.data);
            let mut generation = [0; 8];
            generation.copy_from_slice(&self.data[16..24]);
            let generation = u64::from_le_bytes(generation);
            self.generations.insert(io.lba, Some(generation));
            return;
        }
        if let Some(&Some(generation)) = self.generations.get(&io.lba) {
            buffer.read(0, &mut self.data);
            let right = self.content(io.lba, generation).is(&self.data);
            self.endured.wrong_reads += u64::from(!right);
        }
    }

    fn content(&self, lba: u64, generation: u64) -> Content {
        Content {
            seed: self.bench.seed,
            lba,
            generation,
        }
    }
}
