//! A namespace as a store: queue pairs that threads take in turn.

use crate::store::{check_reads, check_writes};
use crate::{BlockStore, ReadPart, StoreClaim, StoreError, WritePart};
use joulio_device::{Device, DmaBuffer};
use joulio_nvme::wait::{AnyPolicy, WaitCounters};
use joulio_nvme::{Completed, Controller, Namespace, NvmeError, PollGroup};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Most bytes of one command.
const MAX_CHUNK: u32 = 128 << 10;

/// Commands in flight on a queue pair.
const DEPTH: usize = 16;

/// A namespace that threads read and write, each with a queue pair of its own as long as there are enough.
pub struct NvmeStore<D: Device> {
    controller: Arc<Controller<D>>,
    namespace: Namespace,
    policy: Box<dyn Fn() -> AnyPolicy + Send + Sync>,
    chunk: u32,
    may_write: bool,
    /// Whether a flush has an effect: the device has a volatile write cache.
    caches: bool,
    lanes: Mutex<Lanes<D>>,
    returned: Condvar,
}

/// Queue pairs that nobody uses, their total number, and how many more can be made.
struct Lanes<D: Device> {
    idle: Vec<Lane<D>>,
    made: usize,
    left: usize,
}

/// A queue pair with its buffers.
struct Lane<D: Device> {
    group: PollGroup<D>,
    buffers: Vec<DmaBuffer>,
}

/// A part of a read or write that one command transfers.
#[derive(Clone, Copy)]
struct Chunk {
    part: usize,
    /// Offset of the first byte in the part's memory.
    from: usize,
    /// Number of bytes of the part.
    len: usize,
    lba: u64,
    blocks: u32,
    /// Bytes of the first block before the first byte needed.
    skip: usize,
}

impl<D: Device> fmt::Debug for NvmeStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NvmeStore")
            .field("device", &self.controller.name())
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl<D: Device> NvmeStore<D> {
    /// Makes a store of namespace `nsid` of `controller`; `policy` makes the policy of each queue pair.
    ///
    /// # Errors
    /// There is no such namespace, or no queue pair can be made.
    pub fn new(
        controller: impl Into<Arc<Controller<D>>>,
        nsid: u32,
        policy: impl Fn() -> AnyPolicy + Send + Sync + 'static,
    ) -> Result<NvmeStore<D>, StoreError> {
        let controller = controller.into();
        let namespace = controller.namespace(nsid)?;
        let block = namespace.block_size();
        let chunk = controller.max_transfer().min(MAX_CHUNK) / block * block;
        let store = NvmeStore {
            caches: controller.identity().vwc & 1 != 0,
            lanes: Mutex::new(Lanes {
                idle: Vec::new(),
                made: 0,
                left: controller.max_queues(),
            }),
            chunk: chunk.max(block),
            controller,
            namespace,
            policy: Box::new(policy),
            may_write: true,
            returned: Condvar::new(),
        };
        let lane = store.take()?;
        store.give_back(lane);
        Ok(store)
    }

    /// Makes the store read-only: writes are refused.
    #[must_use]
    pub fn read_only(mut self) -> NvmeStore<D> {
        self.may_write = false;
        self
    }

    /// Returns the controller of the namespace.
    pub fn controller(&self) -> &Controller<D> {
        &self.controller
    }

    /// Returns polls, sleeps, blocks and interrupts of the queue pairs that nobody uses at the moment.
    pub fn counters(&self) -> WaitCounters {
        let mut lanes = self.lanes();
        let mut all = WaitCounters::default();
        for lane in &mut lanes.idle {
            all += lane.group.counters();
        }
        all
    }

    /// Returns a queue pair for the calling thread: an unused one, a new one, or the next that is returned.
    fn take(&self) -> Result<Lane<D>, StoreError> {
        let mut lanes = self.lanes();
        loop {
            if let Some(lane) = lanes.idle.pop() {
                return Ok(lane);
            }
            if lanes.left > 0 {
                lanes.left -= 1;
                lanes.made += 1;
                drop(lanes);
                let refused = match self.lane() {
                    Ok(lane) => return Ok(lane),
                    Err(error) => error,
                };
                lanes = self.lanes();
                lanes.made -= 1;
                if lanes.made == 0 {
                    // A thread that waits for one tries again, and gets an error of its own.
                    lanes.left += 1;
                    drop(lanes);
                    self.returned.notify_all();
                    return Err(refused);
                }
                // Other users of the controller have its queues, or there is no memory for more: wait for a queue pair
                // that is returned.
                lanes.left = 0;
                continue;
            }
            lanes = self
                .returned
                .wait(lanes)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes<D>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, lane: Lane<D>) {
        self.lanes().idle.push(lane);
        self.returned.notify_one();
    }

    /// Records that a queue pair is lost.
    fn lost(&self) {
        let mut lanes = self.lanes();
        lanes.made -= 1;
        lanes.left += 1;
        drop(lanes);
        self.returned.notify_one();
    }

    fn lane(&self) -> Result<Lane<D>, StoreError> {
        let mut queue = self.controller.create_queue_pair(DEPTH)?;
        queue.set_policy((self.policy)()).map_err(NvmeError::from)?;
        Ok(Lane {
            group: PollGroup::new(vec![queue]),
            buffers: self
                .controller
                .allocate_buffers(DEPTH - 1, self.chunk as usize)?,
        })
    }

    /// Calls `work` with a queue pair. A queue pair on which an error occurred is not used again.
    fn with_lane(
        &self,
        work: impl FnOnce(&mut Lane<D>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut lane = self.take()?;
        let done = work(&mut lane);
        match done {
            Ok(()) | Err(StoreError::Status { .. }) => self.give_back(lane),
            Err(_) => {
                drop(lane);
                self.lost();
            }
        }
        done
    }

    /// Splits `len` bytes at `offset` of the store into commands.
    fn chunks(&self, part: usize, offset: u64, len: usize) -> impl Iterator<Item = Chunk> + use<D> {
        let (block, most) = (
            u64::from(self.namespace.block_size()),
            u64::from(self.chunk),
        );
        let mut from = 0;
        std::iter::from_fn(move || {
            if from == len {
                return None;
            }
            let at = offset + from as u64;
            let skip = at % block;
            let here = (len - from).min((most - skip) as usize);
            let chunk = Chunk {
                part,
                from,
                len: here,
                lba: at / block,
                blocks: (skip + here as u64).div_ceil(block) as u32,
                skip: skip as usize,
            };
            from += here;
            Some(chunk)
        })
    }
}

impl<D: Device> Lane<D> {
    /// Submits all `chunks` through `submit`, as many at once as there are buffers, and passes each completed one to
    /// `done`.
    fn run(
        &mut self,
        operation: &'static str,
        chunks: &[Chunk],
        mut submit: impl FnMut(&mut PollGroup<D>, Chunk, DmaBuffer, u64) -> Result<(), StoreError>,
        mut done: impl FnMut(Chunk, &DmaBuffer),
    ) -> Result<(), StoreError> {
        let Lane { group, buffers } = self;
        let (mut next, mut in_flight) = (0, 0);
        let mut failed = None;
        while in_flight > 0 || (next < chunks.len() && failed.is_none()) {
            let before = next;
            while failed.is_none()
                && next < chunks.len()
                && let Some(buffer) = buffers.pop()
            {
                submit(group, chunks[next], buffer, next as u64)?;
                next += 1;
            }
            if next > before {
                in_flight += next - before;
                group.queues()[0].ring();
            }
            let mut reap = |completed: Completed| {
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
            };
            in_flight -= group.reap(1, None, |_, completed| reap(completed))?;
        }
        failed.map_or(Ok(()), Err)
    }
}

impl<D: Device> BlockStore for NvmeStore<D> {
    fn block_size(&self) -> u32 {
        self.namespace.block_size()
    }

    fn blocks(&self) -> u64 {
        self.namespace.blocks()
    }

    fn may_write(&self) -> bool {
        self.may_write
    }

    fn read(&self, parts: &mut [ReadPart<'_>]) -> Result<(), StoreError> {
        check_reads(self, parts)?;
        let chunks: Vec<Chunk> = parts
            .iter()
            .enumerate()
            .flat_map(|(index, part)| self.chunks(index, part.offset, part.into.len()))
            .collect();
        let namespace = &self.namespace;
        self.with_lane(|lane| {
            lane.run(
                "read",
                &chunks,
                |group, chunk, buffer, tag| {
                    let queue = &mut group.queues()[0];
                    let read = queue.read(namespace, chunk.lba, chunk.blocks, buffer, tag);
                    read.map_err(|rejected| rejected.reason.into())
                },
                |chunk, buffer| {
                    let to = &mut parts[chunk.part].into[chunk.from..chunk.from + chunk.len];
                    buffer.read(chunk.skip, to);
                },
            )
        })
    }

    fn write(&self, parts: &[WritePart<'_>]) -> Result<(), StoreError> {
        if !self.may_write {
            return Err(StoreError::ReadOnly);
        }
        check_writes(self, parts)?;
        let block = u64::from(self.block_size());
        let chunks: Vec<Chunk> = parts
            .iter()
            .enumerate()
            .flat_map(|(index, part)| self.chunks(index, part.lba * block, part.from.len()))
            .collect();
        let namespace = &self.namespace;
        self.with_lane(|lane| {
            lane.run(
                "write",
                &chunks,
                |group, chunk, mut buffer, tag| {
                    let from = &parts[chunk.part].from[chunk.from..chunk.from + chunk.len];
                    buffer.write(0, from);
                    let queue = &mut group.queues()[0];
                    let write = queue.write(namespace, chunk.lba, chunk.blocks, buffer, tag);
                    write.map_err(|rejected| rejected.reason.into())
                },
                |_, _| {},
            )
        })
    }

    fn flush(&self) -> Result<(), StoreError> {
        if !self.caches || !self.may_write {
            return Ok(());
        }
        self.with_lane(|lane| {
            let queue = &mut lane.group.queues()[0];
            queue.flush(&self.namespace, 0)?;
            queue.ring();
            let mut failed = None;
            lane.group.reap(1, None, |_, completed| {
                let status = completed.status;
                failed = (!status.is_success()).then_some(StoreError::Status {
                    operation: "flush",
                    lba: 0,
                    status,
                });
            })?;
            failed.map_or(Ok(()), Err)
        })
    }

    fn claim(&self) -> Result<StoreClaim, StoreError> {
        // A read-only volume overwrites nobody's files.
        match self.may_write {
            true => StoreClaim::new(Arc::as_ptr(&self.controller).addr(), self.namespace.id().0),
            false => Ok(StoreClaim::default()),
        }
    }
}
