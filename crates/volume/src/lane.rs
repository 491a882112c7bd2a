//! A queue pair with its buffers, used by one thread at a time, and the started reads on it.

use crate::StoreError;
use crate::started::{Progress, StartedRead};
use joulio_device::{Device, DmaBuffer};
use joulio_nvme::{Completed, Namespace, PollGroup, QueuePair};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// Entries of a queue pair, of which one stays free.
pub(crate) const DEPTH: usize = 16;

/// Commands in flight on a queue pair; each has a buffer.
pub(crate) const COMMANDS: usize = DEPTH - 1;

/// Bit of the tags of started reads' commands; the rest is the command's place in [`Lane::started`].
const STARTED: u64 = 1 << 63;

/// A part of a read or write that one command transfers.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    pub part: usize,
    /// Offset of the first byte in the part's memory.
    pub from: usize,
    /// Number of bytes of the part.
    pub len: usize,
    pub lba: u64,
    pub blocks: u32,
    /// Bytes of the first block before the first byte needed.
    pub skip: usize,
}

/// A command of a started read.
pub(crate) struct StartedChunk {
    pub read: Arc<Progress>,
    pub chunk: Chunk,
}

impl StartedChunk {
    /// Ends the command as `completed` says, with its data in `completed.buffer`.
    fn end(self, completed: &Completed) {
        let Chunk {
            from,
            len,
            lba,
            skip,
            ..
        } = self.chunk;
        self.read.end(|into| {
            let room = into.get_mut(from..from + len);
            match (room, &completed.buffer) {
                (Some(room), Some(buffer)) if completed.status.is_success() => {
                    buffer.read(skip, room);
                    Ok(())
                }
                _ => Err(StoreError::Status {
                    operation: "read",
                    lba,
                    status: completed.status,
                }),
            }
        });
    }
}

/// A queue pair with its buffers. Between calls, commands of started reads may be in flight.
pub(crate) struct Lane<D: Device> {
    pub id: u64,
    /// Thread that used the queue pair last.
    pub user: ThreadId,
    pub group: PollGroup<D>,
    pub buffers: Vec<DmaBuffer>,
    /// Commands of started reads that are in flight.
    started: [Option<StartedChunk>; COMMANDS],
    /// Commands of started reads for which there was no buffer yet.
    waiting: VecDeque<StartedChunk>,
}

/// Reads on a queue pair that is lost end as failed.
impl<D: Device> Drop for Lane<D> {
    fn drop(&mut self) {
        let in_flight = self.started.iter_mut().filter_map(Option::take);
        for lost in in_flight.chain(self.waiting.drain(..)) {
            lost.read.end(|_| Err(StoreError::QueueLost));
        }
    }
}

impl<D: Device> Lane<D> {
    /// Makes the queue pair number `id` of `queue` and `buffers`.
    pub fn new(id: u64, queue: QueuePair<D>, buffers: Vec<DmaBuffer>) -> Lane<D> {
        Lane {
            id,
            user: thread::current().id(),
            group: PollGroup::new(vec![queue]),
            buffers,
            started: [const { None }; COMMANDS],
            waiting: VecDeque::new(),
        }
    }

    /// Whether no command is in flight.
    pub fn is_idle(&self) -> bool {
        self.buffers.len() == COMMANDS
    }

    /// Reaps at least `min` completions: ends those of started reads, and passes each other one to `own` with the
    /// buffers that are free.
    pub fn reap(
        &mut self,
        min: usize,
        mut own: impl FnMut(&mut Vec<DmaBuffer>, Completed),
    ) -> Result<(), StoreError> {
        let Lane {
            group,
            buffers,
            started,
            ..
        } = self;
        group.reap(min, None, |_, completed| {
            if completed.tag & STARTED == 0 {
                return own(buffers, completed);
            }
            let place = (completed.tag & !STARTED) as usize;
            if let Some(chunk) = started.get_mut(place).and_then(Option::take) {
                chunk.end(&completed);
            }
            buffers.extend(completed.buffer);
        })?;
        Ok(())
    }

    /// Submits all `chunks` through `submit`, as many at once as there are buffers, and passes each completed one to
    /// `done`.
    pub fn run(
        &mut self,
        operation: &'static str,
        chunks: &[Chunk],
        mut submit: impl FnMut(&mut PollGroup<D>, Chunk, DmaBuffer, u64) -> Result<(), StoreError>,
        mut done: impl FnMut(Chunk, &DmaBuffer),
    ) -> Result<(), StoreError> {
        let (mut next, mut in_flight) = (0, 0);
        let mut failed = None;
        while in_flight > 0 || (next < chunks.len() && failed.is_none()) {
            let before = next;
            while failed.is_none()
                && next < chunks.len()
                && let Some(buffer) = self.buffers.pop()
            {
                submit(&mut self.group, chunks[next], buffer, next as u64)?;
                next += 1;
            }
            if next > before {
                in_flight += next - before;
                self.group.queues()[0].ring();
            }
            self.reap(1, |buffers, completed| {
                in_flight -= 1;
                let Some(&chunk) = chunks.get(completed.tag as usize) else {
                    return;
                };
                let lba = chunk.lba;
                let status = completed.status;
                if !status.is_success() {
                    failed.get_or_insert(StoreError::Status {
                        operation,
                        lba,
                        status,
                    });
                }
                if let Some(buffer) = completed.buffer {
                    if status.is_success() {
                        done(chunk, &buffer);
                    }
                    buffers.push(buffer);
                }
            })?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// Flushes `namespace`, and waits for that.
    pub fn flush(&mut self, namespace: &Namespace) -> Result<(), StoreError> {
        // As many commands as the queue has room for are in flight.
        while self.buffers.is_empty() {
            self.reap(1, |_, _| {})?;
        }
        let queue = &mut self.group.queues()[0];
        queue.flush(namespace, 0)?;
        queue.ring();
        let mut flushed = None;
        while flushed.is_none() {
            self.reap(1, |_, completed| flushed = Some(completed.status))?;
        }
        match flushed {
            Some(status) if !status.is_success() => Err(StoreError::Status {
                operation: "flush",
                lba: 0,
                status,
            }),
            _ => Ok(()),
        }
    }

    /// Starts the commands `chunks`. Those for which there is no buffer follow as soon as others have ended and the
    /// queue pair is used again.
    pub fn start(
        &mut self,
        namespace: &Namespace,
        chunks: impl Iterator<Item = StartedChunk>,
    ) -> Result<(), StoreError> {
        self.waiting.extend(chunks);
        if self.buffers.is_empty() {
            self.reap(0, |_, _| {})?;
        }
        self.submit_waiting(namespace)
    }

    /// Submits commands of started reads that wait, as long as there are buffers.
    pub fn submit_waiting(&mut self, namespace: &Namespace) -> Result<(), StoreError> {
        let mut submitted = false;
        while let Some(next) = self.waiting.front() {
            // A cancelled read needs no more commands.
            if next.read.is_cancelled() {
                next.read.end(|_| Ok(()));
                self.waiting.pop_front();
                continue;
            }
            let (lba, blocks) = (next.chunk.lba, next.chunk.blocks);
            let Some(place) = self.started.iter().position(Option::is_none) else {
                break;
            };
            let Some(buffer) = self.buffers.pop() else {
                break;
            };
            self.started[place] = self.waiting.pop_front();
            let queue = &mut self.group.queues()[0];
            let read = queue.read(namespace, lba, blocks, buffer, STARTED | place as u64);
            read.map_err(|rejected| rejected.reason)?;
            submitted = true;
        }
        if submitted {
            self.group.queues()[0].ring();
        }
        Ok(())
    }

    /// Waits until `read`, which is on this queue pair, has ended.
    pub fn wait_for(
        &mut self,
        namespace: &Namespace,
        read: &StartedRead,
    ) -> Result<(), StoreError> {
        while !read.has_ended() {
            self.reap(1, |_, _| {})?;
            self.submit_waiting(namespace)?;
        }
        Ok(())
    }
}
