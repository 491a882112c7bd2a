//! The admin queue pair: one command at a time, with a time limit, beside Asynchronous Event Requests, which stay
//! with the controller.

use crate::NvmeError;
use crate::cancel::{Cancel, Over, Patience};
use crate::queue::completion::CompletionRing;
use crate::queue::prp;
use crate::queue::submission::SubmissionRing;
use crate::registers::Registers;
use joulio_device::{AdminData, Device, DmaMemory, Iova};
use joulio_nvme_spec::register::{Aqa, Cap, completion_doorbell, submission_doorbell};
use joulio_nvme_spec::{AdminOpcode, AsyncEvent, Command, CommandId, PAGE_SIZE, QueueId, Status};
use joulio_units::Nanos;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

/// Entries of the admin queues.
const ENTRIES: usize = 32;
/// Number of polls before the first sleep: most admin commands complete sooner.
const POLLS_BEFORE_SLEEP: u32 = 1_000;
/// Bit of the command identifier that marks Asynchronous Event Requests.
const EVENT: u16 = 0x8000;
/// Maximum number of Asynchronous Event Requests with the controller.
const MAX_EVENTS: usize = 4;
/// Number of events kept until they are taken; then the oldest is dropped.
const KEPT_EVENTS: usize = 64;

/// End of an admin command.
struct AdminCompletion {
    status: Status,
    /// Dword 0, and above it dword 1.
    result: u64,
}

pub(crate) struct Admin<D: Device> {
    device: Arc<D>,
    submission: SubmissionRing<D>,
    completion: CompletionRing<D>,
    /// Memory of the rings' pages, and after them a page for data and one for a PRP list.
    memory: Arc<DmaMemory>,
    next: u16,
    limit: Nanos,
    cancel: Cancel,
    /// Set when a command did not complete: it may still use the data page, so no command is sent until the
    /// controller is reset.
    stuck: Option<&'static str>,
    /// Asynchronous Event Requests that the controller has.
    requested: [bool; MAX_EVENTS],
    events: VecDeque<AsyncEvent>,
    /// The controller's generation, shared: see `Shared::generation`.
    current: Arc<AtomicU32>,
    /// Generation of the controller in which the queue was made: when it ends, waits for commands end.
    generation: u32,
}

/// Offset of the data page, in bytes.
const DATA: usize = 2 * PAGE_SIZE;
/// Offset of the page of a PRP list, in bytes.
const LIST: usize = 3 * PAGE_SIZE;

impl<D: Device> Admin<D> {
    pub(crate) fn new(
        device: Arc<D>,
        cap: Cap,
        limit: Nanos,
        cancel: Cancel,
    ) -> Result<Admin<D>, NvmeError> {
        let memory = Arc::new(device.allocate(4 * PAGE_SIZE)?);
        let submission = SubmissionRing::new(
            memory.array(0, ENTRIES),
            device.doorbell(submission_doorbell(0, cap.dstrd()))?,
        );
        let completion = CompletionRing::new(
            memory.array(PAGE_SIZE, ENTRIES),
            device.doorbell(completion_doorbell(0, cap.dstrd()))?,
        );
        Ok(Admin {
            device,
            submission,
            completion,
            memory,
            next: 0,
            limit,
            cancel,
            stuck: None,
            requested: [false; MAX_EVENTS],
            events: VecDeque::with_capacity(KEPT_EVENTS),
            current: Arc::new(AtomicU32::new(0)),
            generation: 0,
        })
    }

    /// Returns the controller's generation, shared with everything that uses the controller.
    pub(crate) fn current_generation(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.current)
    }

    /// Returns the generation in which the queue was made.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns whether a reset has begun: the queue will be reset too, or never used again.
    fn is_over(&self) -> bool {
        self.current.load(Ordering::Relaxed) != self.generation
    }

    /// Empties the rings for `generation`: the controller is disabled and has forgotten everything.
    pub(crate) fn reset(&mut self, generation: u32) {
        self.generation = generation;
        self.submission.reset();
        self.completion.reset();
        self.stuck = None;
        self.requested = [false; MAX_EVENTS];
    }

    /// AQA, ASQ and ACQ for these queues.
    pub(crate) fn attributes(&self) -> (Aqa, u64, u64) {
        let last = ENTRIES as u16 - 1;
        let base = self.memory.iova();
        (
            Aqa::new().with_asqs(last).with_acqs(last),
            base.0,
            base.offset(PAGE_SIZE).0,
        )
    }

    /// Returns the memory that the controller uses for the admin queue.
    pub(crate) fn memory(&self) -> &Arc<DmaMemory> {
        &self.memory
    }

    /// Executes a command and returns dword 0 of the completion and the structure that the command read.
    pub(crate) fn fetch<T: FromBytes + IntoBytes>(
        &mut self,
        name: &'static str,
        command: Command,
    ) -> Result<(u32, Box<T>), NvmeError> {
        const { assert!(size_of::<T>() <= PAGE_SIZE) };
        if self.stuck.is_none() {
            self.memory.write(DATA, &[0; PAGE_SIZE]);
        }
        let result = self.run(name, self.with_data(command))?;
        let mut value = Box::new(T::new_zeroed());
        self.memory.read(DATA, value.as_mut_bytes());
        Ok((result as u32, value))
    }

    /// Executes a command with up to a page of data and returns dwords 0 and 1 of the completion.
    pub(crate) fn exchange(
        &mut self,
        name: &'static str,
        command: Command,
        data: AdminData<'_>,
    ) -> Result<u64, NvmeError> {
        let opcode = AdminOpcode(command.dword0().opc());
        let bytes = match &data {
            // A feature may have data although none is wanted: it must not go to address 0.
            AdminData::None if opcode == AdminOpcode::GET_FEATURES => {
                return self.run(name, self.with_data(command));
            }
            AdminData::None => return self.run(name, command),
            AdminData::In(bytes) => bytes.len(),
            AdminData::Out(bytes) => bytes.len(),
        };
        if bytes > PAGE_SIZE {
            return Err(NvmeError::Unsupported {
                device: self.device.name().into(),
                what: format!("{name} with {bytes} bytes: the maximum is a page of {PAGE_SIZE}"),
            });
        }
        if self.stuck.is_none() {
            self.memory.write(DATA, &[0; PAGE_SIZE]);
            if let AdminData::Out(bytes) = &data {
                self.memory.write(DATA, bytes);
            }
        }
        let result = self.run(name, self.with_data(command))?;
        if let AdminData::In(bytes) = data {
            self.memory.read(DATA, bytes);
        }
        Ok(result)
    }

    /// Executes a command with `bytes` of data at `start`, in a buffer of the caller's, and returns dwords 0 and 1 of
    /// the completion. After an error that is not a status the device may still use the buffer.
    pub(crate) fn run_with(
        &mut self,
        name: &'static str,
        mut command: Command,
        (start, bytes): (Iova, u32),
    ) -> Result<u64, NvmeError> {
        if self.stuck.is_none() {
            let list = || self.memory.iova().offset(LIST);
            let prps = prp::build(start, bytes, list, |index, entry| {
                self.memory.write(LIST + index * 8, &entry.to_le_bytes());
            });
            command.prp1 = U64::new(prps.prp1);
            command.prp2 = U64::new(prps.prp2);
        }
        self.run(name, command)
    }

    fn with_data(&self, mut command: Command) -> Command {
        command.prp1 = U64::new(self.memory.iova().offset(DATA).0);
        command
    }

    /// Executes a command without data and returns dwords 0 and 1 of the completion.
    pub(crate) fn run(&mut self, name: &'static str, command: Command) -> Result<u64, NvmeError> {
        if self.is_over() {
            return Err(self.ended_by_reset(name));
        }
        if let Some(command) = self.stuck {
            return Err(self.timed_out(command));
        }
        self.next = (self.next + 1) & (EVENT - 1);
        let cid = CommandId(self.next);
        self.send(cid, command);
        let completion = match self.wait(name, cid) {
            Ok(completion) => completion,
            Err(error) => {
                self.stuck = Some(name);
                return Err(error);
            }
        };
        let status = completion.status;
        if !status.is_success() {
            return Err(NvmeError::Admin {
                device: self.device.name().into(),
                command: name,
                status,
            });
        }
        Ok(completion.result)
    }

    /// Executes a command without data that is meant for `generation` only, and returns dwords 0 and 1 of the
    /// completion.
    pub(crate) fn run_in(
        &mut self,
        generation: u32,
        name: &'static str,
        command: Command,
    ) -> Result<u64, NvmeError> {
        if self.generation != generation {
            return Err(self.ended_by_reset(name));
        }
        self.run(name, command)
    }

    fn send(&mut self, cid: CommandId, mut command: Command) {
        command.cdw0 = U32::new(command.cdw0.get() | u32::from(cid.0) << 16);
        self.submission.write(command);
        self.submission.ring();
    }

    /// Returns the completion of `cid`, if it has come. Completions of Asynchronous Event Requests are kept; any
    /// other is ignored.
    fn poll(&mut self, cid: Option<CommandId>) -> Option<AdminCompletion> {
        let posted = self.completion.peek()?;
        let (queue, result) = self.completion.take();
        self.completion.release();
        if queue != QueueId::ADMIN {
            return None;
        }
        let found = posted.command_id();
        let completion = AdminCompletion {
            status: posted.status(),
            result,
        };
        if found.0 & EVENT != 0 {
            self.keep_event(found, completion);
            return None;
        }
        (Some(found) == cid).then_some(completion)
    }

    fn keep_event(&mut self, cid: CommandId, completion: AdminCompletion) {
        let request = self.requested.get_mut(usize::from(cid.0 & !EVENT));
        // The event was not requested, or the controller takes fewer requests than it reported.
        let requested = request.is_some_and(std::mem::take);
        if requested && completion.status.is_success() {
            self.keep(AsyncEvent::from(completion.result as u32));
        }
    }

    /// Keeps an event until it is taken; if there are too many, the oldest is dropped.
    pub(crate) fn keep(&mut self, event: AsyncEvent) {
        if self.events.len() == KEPT_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Leaves up to `max` requests for events with the controller.
    pub(crate) fn request_events(&mut self, max: usize) {
        for index in 0..max.min(MAX_EVENTS) {
            if self.stuck.is_none() && !self.requested[index] {
                self.requested[index] = true;
                let cid = CommandId(EVENT | index as u16);
                self.send(cid, Command::asynchronous_event_request());
            }
        }
    }

    /// Takes in the events that have come.
    pub(crate) fn collect_events(&mut self) {
        for _ in 0..ENTRIES {
            self.poll(None);
        }
    }

    /// Returns the events that have come, the oldest first.
    pub(crate) fn take_events(&mut self) -> Vec<AsyncEvent> {
        self.collect_events();
        self.events.drain(..).collect()
    }

    fn wait(&mut self, name: &'static str, cid: CommandId) -> Result<AdminCompletion, NvmeError> {
        for _ in 0..POLLS_BEFORE_SLEEP {
            if let Some(completion) = self.poll(Some(cid)) {
                return Ok(completion);
            }
            std::hint::spin_loop();
        }
        let cancel = self.cancel.clone();
        let mut patience = Patience::new(self.limit, &cancel);
        loop {
            let over = patience.over();
            if let Some(completion) = self.poll(Some(cid)) {
                return Ok(completion);
            }
            let registers = Registers {
                device: &*self.device,
                cancel: &cancel,
                // Only CSTS is read here.
                csts_delay: Nanos::ZERO,
            };
            registers.check_enabled()?;
            if self.is_over() {
                return Err(self.ended_by_reset(name));
            }
            match over {
                None => {}
                Some(Over::TimedOut) => return Err(self.timed_out(name)),
                Some(Over::Cancelled) => {
                    return Err(NvmeError::Cancelled {
                        device: self.device.name().into(),
                        what: name.into(),
                    });
                }
            }
            joulio_wait::sleep(Duration::from_micros(50));
        }
    }

    fn ended_by_reset(&self, command: &'static str) -> NvmeError {
        NvmeError::EndedByReset {
            device: self.device.name().into(),
            command,
        }
    }

    fn timed_out(&self, command: &'static str) -> NvmeError {
        NvmeError::AdminStuck {
            device: self.device.name().into(),
            command,
            milliseconds: self.limit.0 / 1_000_000,
        }
    }
}
