//! A host that drives a controller by hand through registers, rings and doorbells.

#![allow(dead_code)] // Each test program uses its own part.

use joulio_device::{Device, DmaMemory, Doorbell};
use joulio_emulator::{EmulatedDevice, EmulatedDoorbell, NamespaceOptions, Options};
use joulio_emulator::{Stepper, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme_spec::register::{
    ACQ, AQA, ASQ, Aqa, CC, CSTS, Cc, Csts, completion_doorbell, submission_doorbell,
};
use joulio_nvme_spec::{Command, CommandId, CompletionEntry, NamespaceId, NvmOpcode, QueueId};
use joulio_units::Nanos;
use std::path::Path;
use zerocopy::{FromBytes, IntoBytes};

pub const PAGE: usize = 4096;
/// Size in bytes of the namespaces of [`options`].
pub const CAPACITY: u64 = 64 << 20;

/// Options of a controller without latency, with one namespace of 512-byte blocks in memory.
pub fn options() -> Options {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    options.namespaces = vec![ram(512)];
    options
}

/// Options with reads, writes and flushes that take exactly 10 us, two at a time.
pub fn slow_options() -> Options {
    let mut options = options();
    let service = &mut options.profile.service;
    service.read[0].us.value = 10.0;
    service.write[0].us.value = 10.0;
    service.flush_us.value = 10.0;
    service.parallelism.value = 2.0;
    options
}

pub fn ram(block: u32) -> NamespaceOptions {
    NamespaceOptions {
        store: StoreOptions::Ram {
            bytes: Some(CAPACITY),
        },
        block: Some(block),
    }
}

/// [`options`] with a namespace of 1 MiB in a file.
pub fn on_file(path: &Path, read_only: bool) -> Options {
    let mut options = options();
    options.namespaces = vec![NamespaceOptions {
        store: StoreOptions::File {
            path: path.into(),
            bytes: Some(1 << 20),
            read_only,
        },
        block: Some(512),
    }];
    options
}

/// Returns CC as the controller expects it.
pub fn enabled() -> Cc {
    Cc::new()
        .with_en(true)
        .with_iosqes(Cc::SQES)
        .with_iocqes(Cc::CQES)
}

/// A queue pair as the host sees it.
pub struct Pair {
    pub qid: u16,
    pub entries: u32,
    pub submission: DmaMemory,
    pub completion: DmaMemory,
    pub tail: EmulatedDoorbell,
    pub head: EmulatedDoorbell,
    next: u32,
    seen: u32,
    phase: bool,
}

impl Pair {
    pub fn new(device: &EmulatedDevice, qid: u16, entries: u32) -> Pair {
        Pair {
            qid,
            entries,
            submission: device.allocate(entries as usize * 64).unwrap(),
            completion: device.allocate(entries as usize * 16).unwrap(),
            tail: device.doorbell(submission_doorbell(qid, 0)).unwrap(),
            head: device.doorbell(completion_doorbell(qid, 0)).unwrap(),
            next: 0,
            seen: 0,
            phase: true,
        }
    }

    /// Writes a command, and does not ring the doorbell.
    pub fn write(&mut self, cid: u16, mut command: Command) {
        command
            .cdw0
            .set(command.cdw0.get() & 0xffff | u32::from(cid) << 16);
        self.submission
            .write(self.next as usize * 64, command.as_bytes());
        self.next = (self.next + 1) % self.entries;
    }

    pub fn ring(&self) {
        self.tail.ring(self.next);
    }

    pub fn submit(&mut self, cid: u16, command: Command) {
        self.write(cid, command);
        self.ring();
    }

    /// Returns the next completion, if it is there; does not ring the head.
    pub fn peek(&mut self) -> Option<CompletionEntry> {
        let at = self.seen as usize * 16;
        let dword3 = self
            .completion
            .memory()
            .load_u32(at + CompletionEntry::DWORD3);
        if (dword3 >> 16 & 1 != 0) != self.phase {
            return None;
        }
        let mut bytes = [0; 16];
        self.completion.read(at, &mut bytes);
        self.seen = (self.seen + 1) % self.entries;
        self.phase ^= self.seen == 0;
        Some(CompletionEntry::read_from_bytes(&bytes).unwrap())
    }

    /// Rings the head for the completions read so far.
    pub fn free(&self) {
        self.head.ring(self.seen);
    }

    pub fn reap(&mut self) -> Option<CompletionEntry> {
        let completion = self.peek()?;
        self.free();
        Some(completion)
    }

    /// Reaps all completions, and returns their command identifiers.
    pub fn reap_all(&mut self) -> Vec<CommandId> {
        std::iter::from_fn(|| self.reap())
            .map(|completion| completion.command_id())
            .collect()
    }
}

pub struct Host {
    pub device: EmulatedDevice,
    pub stepper: Option<Stepper>,
    pub admin: Pair,
}

impl Host {
    /// Makes an enabled controller that is stepped by hand.
    pub fn stepped(options: &Options) -> Host {
        let (device, stepper) = EmulatedDevice::stepped(options).unwrap();
        let mut host = Host::disabled(device, Some(stepper));
        host.enable();
        host
    }

    /// Makes an enabled controller with a thread.
    pub fn spawned(options: &Options) -> Host {
        let mut host = Host::disabled(EmulatedDevice::spawn(options).unwrap(), None);
        host.enable();
        host
    }

    pub fn disabled(device: EmulatedDevice, stepper: Option<Stepper>) -> Host {
        let admin = Pair::new(&device, 0, 16);
        Host {
            device,
            stepper,
            admin,
        }
    }

    pub fn enable(&mut self) {
        self.enable_as(enabled());
        assert!(self.status().rdy(), "{:?}", self.status());
    }

    /// Enables the controller with `cc`, which it may refuse.
    pub fn enable_as(&mut self, cc: Cc) {
        let aqa = Aqa::new().with_asqs(15).with_acqs(15);
        self.admin = Pair::new(&self.device, 0, 16);
        self.device.write32(AQA, aqa.into());
        self.device.write64(ASQ, self.admin.submission.iova().0);
        self.device.write64(ACQ, self.admin.completion.iova().0);
        self.device.write32(CC, cc.into());
    }

    pub fn status(&self) -> Csts {
        Csts::from(self.device.read32(CSTS))
    }

    pub fn step(&self, now: u64) -> joulio_emulator::Progress {
        self.stepper.as_ref().unwrap().step(Nanos(now))
    }

    /// Executes an admin command and returns its completion.
    pub fn admin(&mut self, command: Command) -> CompletionEntry {
        self.admin.submit(0x77, command);
        loop {
            if let Some(completion) = self.admin.reap() {
                assert_eq!(completion.command_id(), CommandId(0x77));
                assert_eq!(completion.queue_id(), QueueId::ADMIN);
                return completion;
            }
            std::thread::yield_now();
        }
    }

    /// Executes an admin command that must succeed.
    pub fn must(&mut self, command: Command) -> CompletionEntry {
        let completion = self.admin(command);
        assert!(completion.status().is_success(), "{}", completion.status());
        completion
    }

    /// Creates an I/O queue pair.
    pub fn pair(&mut self, qid: u16, entries: u32, vector: Option<u16>) -> Pair {
        let pair = Pair::new(&self.device, qid, entries);
        let mut create = Command::create_completion_queue(QueueId(qid), entries, vector);
        create.prp1.set(pair.completion.iova().0);
        self.must(create);
        let mut create = Command::create_submission_queue(QueueId(qid), entries, QueueId(qid));
        create.prp1.set(pair.submission.iova().0);
        self.must(create);
        pair
    }

    pub fn buffer(&self, len: usize) -> DmaMemory {
        self.device.allocate(len).unwrap()
    }
}

/// Makes a read or write of NSID 1 with PRP1 at `buffer`.
pub fn transfer(opcode: NvmOpcode, slba: u64, blocks: u32, buffer: &DmaMemory) -> Command {
    let mut command = Command::transfer(opcode, NamespaceId(1), slba, blocks);
    command.prp1.set(buffer.iova().0);
    command
}

/// Returns `len` bytes of `memory`.
pub fn bytes(memory: &DmaMemory, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    memory.read(offset, &mut bytes);
    bytes
}
