//! A namespace as a store: queue pairs that threads take in turn.

use crate::lane::{COMMANDS, Chunk, DEPTH, Lane, StartedChunk};
use crate::started::{Progress, StartedRead};
use crate::store::{check_memory, check_reads, check_writes};
use crate::{BlockStore, ReadMemory, ReadPart, StoreClaim, StoreError, WritePart};
use joulio_device::Device;
use joulio_nvme::wait::{AnyPolicy, WaitCounters};
use joulio_nvme::{Controller, Namespace, NvmeError};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Most bytes of one command.
const MAX_CHUNK: u32 = 128 << 10;

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
    /// Signalled to one thread that waits for any queue pair.
    returned: Condvar,
    /// Signalled to all threads that wait for a certain queue pair.
    returned_to_readers: Condvar,
}

/// Queue pairs that no thread uses, their total number, and how many more can be made.
struct Lanes<D: Device> {
    idle: Vec<Lane<D>>,
    made: usize,
    left: usize,
    /// Number of the next queue pair.
    next_id: u64,
    /// Threads that wait for the queue pair of a started read.
    readers: usize,
}

impl<D: Device> Lanes<D> {
    /// Returns the calling thread's last queue pair, so that its reads share one queue, or else one without commands
    /// of others; any, if no more can be made.
    fn pop(&mut self) -> Option<Lane<D>> {
        let user = thread::current().id();
        let mut idle = self.idle.iter();
        let index = idle.rposition(|lane| lane.user == user);
        let index = index.or_else(|| self.idle.iter().rposition(Lane::is_idle));
        let last = || self.idle.len().checked_sub(1).filter(|_| self.left == 0);
        let mut lane = self.idle.remove(index.or_else(last)?);
        lane.user = user;
        Some(lane)
    }

    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
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
                next_id: 0,
                readers: 0,
            }),
            chunk: chunk.max(block),
            controller,
            namespace,
            policy: Box::new(policy),
            may_write: true,
            returned: Condvar::new(),
            returned_to_readers: Condvar::new(),
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
            if let Some(lane) = lanes.pop() {
                return Ok(lane);
            }
            if lanes.left > 0 {
                lanes.left -= 1;
                lanes.made += 1;
                let id = lanes.next_id();
                drop(lanes);
                let refused = match self.lane(id) {
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

    /// Returns the queue pair of `read` when no thread uses it; `None`: the read has ended.
    fn take_for(&self, read: &StartedRead) -> Option<Lane<D>> {
        let mut lanes = self.lanes();
        while !read.has_ended() {
            if let Some(index) = lanes.idle.iter().position(|lane| lane.id == read.lane()) {
                return Some(lanes.idle.remove(index));
            }
            lanes.readers += 1;
            lanes = self
                .returned_to_readers
                .wait(lanes)
                .unwrap_or_else(PoisonError::into_inner);
            lanes.readers -= 1;
        }
        None
    }

    fn give_back(&self, lane: Lane<D>) {
        let mut lanes = self.lanes();
        lanes.idle.push(lane);
        self.notify(lanes);
    }

    /// Wakes those who wait for a queue pair that was returned or lost.
    fn notify(&self, lanes: MutexGuard<'_, Lanes<D>>) {
        let readers = lanes.readers;
        drop(lanes);
        self.returned.notify_one();
        if readers > 0 {
            self.returned_to_readers.notify_all();
        }
    }

    /// Records that a queue pair is lost.
    fn lost(&self) {
        let mut lanes = self.lanes();
        lanes.made -= 1;
        lanes.left += 1;
        self.notify(lanes);
    }

    fn lane(&self, id: u64) -> Result<Lane<D>, StoreError> {
        let mut queue = self.controller.create_queue_pair(DEPTH)?;
        queue.set_policy((self.policy)()).map_err(NvmeError::from)?;
        let buffers = self
            .controller
            .allocate_buffers(COMMANDS, self.chunk as usize)?;
        Ok(Lane::new(id, queue, buffers))
    }

    /// Calls `work` with a queue pair.
    fn with_lane(
        &self,
        work: impl FnOnce(&mut Lane<D>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.on_lane(self.take()?, work)
    }

    /// Calls `work` with `lane`, and returns it for others. A queue pair on which an error occurred is not used again.
    fn on_lane(
        &self,
        mut lane: Lane<D>,
        work: impl FnOnce(&mut Lane<D>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let done = work(&mut lane);
        let goes_on = match done {
            Ok(()) | Err(StoreError::Status { .. }) => lane.submit_waiting(&self.namespace).is_ok(),
            Err(_) => false,
        };
        if goes_on {
            self.give_back(lane);
        } else {
            drop(lane);
            self.lost();
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
        check_reads(self, parts.iter().map(ReadPart::range))?;
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
        self.with_lane(|lane| lane.flush(&self.namespace))
    }

    fn start_read(
        &self,
        parts: &[(u64, usize)],
        mut into: ReadMemory,
    ) -> Result<StartedRead, StoreError> {
        check_reads(self, parts.iter().copied())?;
        check_memory(parts, &mut into)?;
        let mut start = 0;
        let mut chunks = Vec::new();
        for &(offset, len) in parts {
            chunks.extend(self.chunks(0, offset, len).map(|chunk| Chunk {
                from: start + chunk.from,
                ..chunk
            }));
            start += len;
        }
        if chunks.is_empty() {
            return Ok(StartedRead::ended(into));
        }
        let progress = Progress::new(into, chunks.len());
        let lane = self.take()?;
        let read = StartedRead::new(&progress, lane.id);
        let chunks = chunks.into_iter().map(|chunk| StartedChunk {
            read: Arc::clone(&progress),
            chunk,
        });
        self.on_lane(lane, |lane| lane.start(&self.namespace, chunks))?;
        Ok(read)
    }

    fn finish_read(&self, read: StartedRead) -> Result<ReadMemory, StoreError> {
        if let Some(lane) = self.take_for(&read) {
            self.on_lane(lane, |lane| lane.wait_for(&self.namespace, &read))?;
        }
        read.result()
    }

    fn claim(&self) -> Result<StoreClaim, StoreError> {
        // A read-only volume overwrites nobody's files.
        match self.may_write {
            true => StoreClaim::new(Arc::as_ptr(&self.controller).addr(), self.namespace.id().0),
            false => Ok(StoreClaim::default()),
        }
    }
}
