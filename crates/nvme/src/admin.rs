//! The admin queue pair: one command at a time, with a time limit.

use crate::NvmeError;
use crate::queue::{CompletionRing, SubmissionRing};
use joulio_device::{Device, DmaMemory};
use joulio_nvme_spec::register::{Aqa, Cap, completion_doorbell, submission_doorbell};
use joulio_nvme_spec::{Command, CommandId, Completion, PAGE_SIZE, QueueId};
use joulio_units::Nanos;
use joulio_wait::now;
use std::sync::Arc;
use std::time::Duration;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

/// Entries of the admin queues.
const ENTRIES: usize = 32;
/// Looks before the first sleep: most admin commands end sooner.
const LOOKS: u32 = 1_000;

pub(crate) struct Admin<D: Device> {
    device: Arc<D>,
    submission: SubmissionRing<D>,
    completion: CompletionRing<D>,
    /// The rings' pages and a page for data behind them.
    memory: Arc<DmaMemory>,
    next: u16,
    limit: Nanos,
    /// A command did not end: it may still use the data page, so nothing is sent any more.
    stuck: Option<&'static str>,
}

/// Where the data page stands.
const DATA: usize = 2 * PAGE_SIZE;

impl<D: Device> Admin<D> {
    pub(crate) fn new(device: Arc<D>, cap: Cap, limit: Nanos) -> Result<Admin<D>, NvmeError> {
        let memory = Arc::new(device.allocate(3 * PAGE_SIZE)?);
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
            stuck: None,
        })
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

    /// The memory that the controller knows.
    pub(crate) fn memory(&self) -> &Arc<DmaMemory> {
        &self.memory
    }

    /// Runs a command and reads the structure that it returned.
    pub(crate) fn fetch<T: FromBytes + IntoBytes>(
        &mut self,
        name: &'static str,
        command: Command,
    ) -> Result<Box<T>, NvmeError> {
        Ok(self.fetch_with_result(name, command)?.1)
    }

    /// Runs a command; dword 0 of the completion, and the structure that it returned.
    pub(crate) fn fetch_with_result<T: FromBytes + IntoBytes>(
        &mut self,
        name: &'static str,
        command: Command,
    ) -> Result<(u32, Box<T>), NvmeError> {
        const { assert!(size_of::<T>() <= PAGE_SIZE) };
        if self.stuck.is_none() {
            self.memory.write(DATA, &[0; PAGE_SIZE]);
        }
        let dw0 = self.run(name, self.with_data(command))?;
        let mut value = Box::new(T::new_zeroed());
        self.memory.read(DATA, value.as_mut_bytes());
        Ok((dw0, value))
    }

    fn with_data(&self, mut command: Command) -> Command {
        command.prp1 = U64::new(self.memory.iova().offset(DATA).0);
        command
    }

    /// Runs a command without data; returns dword 0 of the completion.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        mut command: Command,
    ) -> Result<u32, NvmeError> {
        if let Some(command) = self.stuck {
            return Err(self.timed_out(command));
        }
        self.next = (self.next + 1) & 0x7fff;
        let cid = CommandId(self.next);
        command.cdw0 = U32::new(command.cdw0.get() | u32::from(cid.0) << 16);
        self.submission.write(command);
        self.submission.ring();
        let completion = match self.wait(name, cid) {
            Ok(completion) => completion,
            Err(error) => {
                self.stuck = Some(name);
                return Err(error);
            }
        };
        let status = completion.status();
        if !status.is_success() {
            return Err(NvmeError::Admin {
                device: self.device.name().into(),
                command: name,
                status,
            });
        }
        Ok(completion.dw0.get())
    }

    /// The completion of `cid`. Others are passed over: whatever they are, they are not its.
    fn look(&mut self, cid: CommandId) -> Option<Completion> {
        let completion = self.completion.next()?;
        self.completion.release();
        let own = completion.command_id() == cid && completion.queue_id() == QueueId::ADMIN;
        own.then_some(completion)
    }

    fn wait(&mut self, name: &'static str, cid: CommandId) -> Result<Completion, NvmeError> {
        for _ in 0..LOOKS {
            if let Some(completion) = self.look(cid) {
                return Ok(completion);
            }
            std::hint::spin_loop();
        }
        let end = now() + self.limit;
        loop {
            if let Some(completion) = self.look(cid) {
                return Ok(completion);
            }
            let registers = crate::registers::Registers(&*self.device);
            registers.check()?;
            if now() >= end {
                return Err(self.timed_out(name));
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn timed_out(&self, command: &'static str) -> NvmeError {
        NvmeError::AdminStuck {
            device: self.device.name().into(),
            command,
            seconds: self.limit.0 / 1_000_000_000,
        }
    }
}
