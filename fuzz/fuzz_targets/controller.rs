//! A host that does anything with a controller in this process. Whatever it did, a reset brings
//! the controller back.
#![no_main]

use arbitrary::Arbitrary;
use joulio_device::{Device, DmaMemory, Doorbell};
use joulio_emulator::{EmulatedDevice, NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme_spec::register::{
    ACQ, AQA, ASQ, Aqa, CC, CSTS, Cc, Csts, completion_doorbell, submission_doorbell,
};
use joulio_nvme_spec::{Command, QueueId};
use joulio_units::Nanos;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use zerocopy::{FromBytes, IntoBytes};

/// Pages that the host shares.
const PAGES: usize = 32;
const PAGE: usize = 4096;
const QUEUES: u16 = 4;

#[derive(Arbitrary, Debug)]
enum Step {
    Write32(u16, u32),
    Write64(u16, u64),
    /// A register by its place among those that matter.
    Register(u8, Value),
    Read(u16),
    Ring {
        doorbell: u8,
        value: u16,
    },
    Memory {
        at: u32,
        bytes: Vec<u8>,
    },
    /// A command in a queue's next place, with addresses that may be good ones.
    Command {
        queue: u8,
        /// Of the opcode, NSID and dwords 10 to 12 only the low bits count.
        small: bool,
        opcode: u8,
        bytes: [u8; 20],
        prp1: Value,
        prp2: Value,
    },
    /// A queue of I/O, made as it should be.
    Queue {
        qid: u8,
        page: u8,
        entries: u8,
    },
    Enable,
    Pass(u32),
    Vectors(u8),
}

/// An address or a value.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Value {
    Page(u8),
    Inside(u32),
    Any(u64),
}

struct Host {
    device: EmulatedDevice,
    memory: DmaMemory,
    /// Tail and length of each submission queue, as far as this host knows.
    queues: [(u16, u16); QUEUES as usize + 2],
}

fn options() -> &'static Options {
    static OPTIONS: OnceLock<Options> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let profile = DeviceProfile::builtin("instant").expect("it is built in");
        let mut options = Options::new(profile);
        options.queue_pairs = QUEUES;
        options.vectors = QUEUES + 1;
        options.shadow_doorbells = true;
        options.namespaces = [512, 4096]
            .map(|block| NamespaceOptions {
                store: StoreOptions::Ram {
                    bytes: Some(1 << 20),
                },
                block: Some(block),
            })
            .into();
        options
    })
}

impl Host {
    fn address(&self, value: Value) -> u64 {
        let base = self.memory.iova().0;
        match value {
            Value::Page(page) => base + (usize::from(page) % PAGES * PAGE) as u64,
            Value::Inside(at) => base + u64::from(at) % (PAGES * PAGE) as u64,
            Value::Any(value) => value,
        }
    }

    fn page(&self, page: usize) -> u64 {
        self.memory.iova().0 + (page * PAGE) as u64
    }

    fn enable(&mut self) {
        self.device
            .write32(AQA, Aqa::new().with_asqs(63).with_acqs(63).into());
        self.device.write64(ASQ, self.page(0));
        self.device.write64(ACQ, self.page(1));
        let cc = Cc::new()
            .with_en(true)
            .with_iosqes(Cc::SQES)
            .with_iocqes(Cc::CQES);
        self.device.write32(CC, cc.into());
        self.queues[0] = (0, 64);
    }

    fn ring(&self, offset: u32, value: u32) {
        if let Ok(doorbell) = self.device.doorbell(offset) {
            doorbell.ring(value);
        }
    }

    /// A command in the next place of a queue, which is rung for.
    fn submit(&mut self, qid: u16, command: &Command) {
        let page = match qid {
            0 => 0,
            _ => 1 + usize::from(qid),
        };
        let (tail, entries) = &mut self.queues[usize::from(qid)];
        let at = page * PAGE + usize::from(*tail) * 64;
        *tail = (*tail + 1) % *entries;
        let tail = *tail;
        self.memory.write(at, command.as_bytes());
        self.ring(submission_doorbell(qid, 0), tail.into());
    }

    fn queue(&mut self, qid: u16, page: u8, entries: u8) {
        let entries = u32::from(entries % 63) + 2;
        let id = QueueId(qid);
        let mut create = Command::create_completion_queue(id, entries, Some(qid));
        create.prp1.set(self.address(Value::Page(page)));
        self.submit(0, &create);
        let mut create = Command::create_submission_queue(id, entries, id);
        create.prp1.set(self.page(1 + usize::from(qid)));
        self.submit(0, &create);
        if qid > 0 {
            self.queues[usize::from(qid)] = (0, entries as u16);
        }
    }

    fn act(&mut self, step: &Step) {
        match *step {
            Step::Write32(offset, value) => {
                self.device.write32(u32::from(offset) & 0xffc, value);
            }
            Step::Write64(offset, value) => {
                self.device.write64(u32::from(offset) & 0xff8, value);
            }
            Step::Register(which, value) => match which % 4 {
                0 => self.device.write64(ASQ, self.address(value)),
                1 => self.device.write64(ACQ, self.address(value)),
                2 => self.device.write32(AQA, self.address(value) as u32),
                _ => self.device.write32(CC, self.address(value) as u32),
            },
            Step::Read(offset) => {
                self.device.read32(u32::from(offset) & 0xffc);
                self.device.read64(u32::from(offset) & 0xff8);
            }
            Step::Ring { doorbell, value } => {
                let qid = u16::from(doorbell >> 1) % (QUEUES + 2);
                let offset = match doorbell & 1 {
                    0 => submission_doorbell(qid, 0),
                    _ => completion_doorbell(qid, 0),
                };
                self.ring(offset, value.into());
            }
            Step::Memory { at, ref bytes } => {
                let at = at as usize % (PAGES * PAGE);
                let len = bytes.len().min(PAGES * PAGE - at);
                self.memory.write(at, &bytes[..len]);
            }
            Step::Command {
                queue,
                small,
                opcode,
                ref bytes,
                prp1,
                prp2,
            } => {
                let mut whole = [0; 64];
                whole[0] = opcode;
                whole[2..8].copy_from_slice(&bytes[..6]);
                whole[40..54].copy_from_slice(&bytes[6..]);
                if small {
                    whole[0] %= 16;
                    whole[4] %= 4;
                    whole[5..8].fill(0);
                    whole[41..48].fill(0);
                    whole[49..52].fill(0);
                }
                let mut command = Command::read_from_bytes(&whole).expect("64 bytes");
                command.prp1.set(self.address(prp1));
                command.prp2.set(self.address(prp2));
                self.submit(u16::from(queue) % (QUEUES + 2), &command);
            }
            Step::Queue { qid, page, entries } => {
                self.queue(u16::from(qid) % (QUEUES + 2), page, entries);
            }
            Step::Enable => self.enable(),
            Step::Pass(_) | Step::Vectors(_) => {}
        }
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let (device, stepper) = EmulatedDevice::stepped(options()).expect("a controller");
    let memory = device.allocate(PAGES * PAGE).expect("memory");
    let mut host = Host {
        device,
        memory,
        queues: [(0, 64); QUEUES as usize + 2],
    };
    let mut vectors = Vec::new();
    let mut now = Nanos::ZERO;
    host.enable();
    host.queue(1, 8, 14);
    for step in &steps {
        match *step {
            Step::Pass(time) => now += Nanos(time.into()),
            Step::Vectors(count) => {
                if let Ok(new) = host.device.enable_vectors(u16::from(count) % 8) {
                    new.iter()
                        .for_each(|vector| vector.unmask().expect("enabled"));
                    vectors = new;
                }
            }
            _ => host.act(step),
        }
        let progress = stepper.step(now);
        assert!(progress.next.is_none_or(|next| next >= now));
    }
    drop(vectors);
    host.device.write32(CC, 0);
    assert!(!Csts::from(host.device.read32(CSTS)).rdy());
    host.enable();
    let status = Csts::from(host.device.read32(CSTS));
    assert!(status.rdy() && !status.cfs(), "{status:?}");
});
