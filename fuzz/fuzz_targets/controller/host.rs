//! A host, which writes commands where the controller expects them.

use crate::steps::{Descriptor, Step, Value};
use joulio_device::{Device, DmaMemory, Doorbell, Vector};
use joulio_emulator::{EmulatedDevice, Fault, FaultPlan};
use joulio_nvme_spec::feature::ApstEntry;
use joulio_nvme_spec::register::{
    ACQ, AQA, ASQ, Aqa, CC, Cc, completion_doorbell, submission_doorbell,
};
use joulio_nvme_spec::{Command, DsmRange, QueueId, SglDescriptor};
use zerocopy::IntoBytes;

/// Pages of the host's memory that is always mapped.
pub const PAGES: usize = 32;
/// Pages of the host's memory that is mapped now and then.
const SECOND: usize = 4;
pub const PAGE: usize = 4096;
pub const QUEUES: u16 = 4;
pub struct Host {
    pub device: EmulatedDevice,
    pub memory: DmaMemory,
    second: Option<DmaMemory>,
    vectors: Vec<Vector>,
    /// The faults that were planned, and so may have happened.
    faults: Vec<Fault>,
    /// Tail and length of each submission queue, as this host assumes them.
    queues: [(u16, u16); QUEUES as usize + 2],
}

impl Host {
    /// Makes a host of `device`, which has a plan of faults.
    pub fn new(device: EmulatedDevice, faults: &FaultPlan) -> Host {
        Host {
            faults: faults.faults.iter().map(|planned| planned.fault).collect(),
            memory: device.allocate(PAGES * PAGE).expect("memory"),
            second: None,
            device,
            vectors: Vec::new(),
            queues: [(0, 64); QUEUES as usize + 2],
        }
    }

    /// Whether one of the faults that `is` picks may have happened.
    pub fn may_suffer(&self, is: fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(is)
    }

    /// Drops all vectors.
    pub fn drop_vectors(&mut self) {
        self.vectors = self.device.enable_vectors(0).expect("it has as many");
    }

    pub fn address(&self, value: Value) -> u64 {
        let base = self.memory.iova().0;
        match value {
            Value::Page(page) => base + (usize::from(page) % PAGES * PAGE) as u64,
            Value::Inside(at) => base + u64::from(at) % (PAGES * PAGE) as u64,
            Value::Second(at) => self.second.as_ref().map_or(0, |second| {
                second.iova().0 + u64::from(at) % (SECOND * PAGE) as u64
            }),
            Value::Any(value) => value,
        }
    }

    pub fn page(&self, page: usize) -> u64 {
        self.memory.iova().0 + (page * PAGE) as u64
    }

    pub fn enable(&mut self) {
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

    pub fn ring(&self, offset: u32, value: u32) {
        if let Ok(doorbell) = self.device.doorbell(offset) {
            doorbell.ring(value);
        }
    }

    /// Writes a command into the next place of a queue, and rings the doorbell.
    pub fn submit(&mut self, qid: u16, command: &Command) {
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

    /// Creates the queues `qid`, the completion queue on `page`.
    pub fn queue(&mut self, qid: u16, page: u8, entries: u8) {
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

    pub fn descriptor(&self, of: Descriptor) -> SglDescriptor {
        let mut descriptor = SglDescriptor::data_block(self.address(of.at), of.len());
        descriptor.identifier = of.identifier();
        descriptor
    }

    /// Writes 16 bytes at a multiple of 8.
    fn put(&self, at: u16, bytes: &[u8]) {
        let at = usize::from(at) * 8 % (PAGES * PAGE - bytes.len() + 1);
        self.memory.write(at, bytes);
    }

    /// Executes a step that is not a command.
    pub fn act(&mut self, step: &Step) {
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
            Step::Descriptor { at, descriptor } => {
                self.put(at, self.descriptor(descriptor).as_bytes());
            }
            Step::Range { at, slba, blocks } => {
                self.put(at, DsmRange::new(slba.into(), blocks.into()).as_bytes());
            }
            Step::Transitions {
                page,
                to,
                milliseconds,
            } => {
                let entries = std::array::from_fn::<u64, 32, _>(|state| {
                    let idle = milliseconds[state % 4].into();
                    let entry = ApstEntry::new().with_itps(to[state % 4] % 8);
                    entry.with_itpt(idle).into()
                });
                let at = usize::from(page) % PAGES * PAGE;
                self.memory.write(at, entries.as_bytes());
            }
            Step::Enable => self.enable(),
            Step::Disable => self.device.write32(CC, 0),
            Step::Vectors(count) => {
                if let Ok(new) = self.device.enable_vectors(u16::from(count) % 8) {
                    new.iter()
                        .for_each(|vector| vector.unmask().expect("enabled"));
                    self.vectors = new;
                }
            }
            Step::Mask(vector, masked) => {
                if let Some(vector) = self.vectors.get(usize::from(vector % 8)) {
                    let done = if masked {
                        vector.mask()
                    } else {
                        vector.unmask()
                    };
                    done.expect("enabled");
                }
            }
            Step::Redirect(vector, target) => {
                let target = target.map(|value| self.address(value));
                if let Some(vector) = self.vectors.get(usize::from(vector % 8)) {
                    let _ = match target {
                        Some(address) => vector.redirect(joulio_device::Iova(address), 7),
                        None => vector.restore(),
                    };
                }
            }
            Step::Share(true) if self.second.is_none() => {
                self.second = self.device.allocate(SECOND * PAGE).ok();
            }
            Step::Share(false) => self.second = None,
            Step::Inject(fault) => {
                self.faults.push(fault.into());
                self.device.inject(fault.into());
            }
            Step::Plan(ref plan) => {
                let plan = FaultPlan::from(plan.clone());
                self.faults.extend(plan.faults.iter().map(|it| it.fault));
                self.device.plan_faults(&plan);
            }
            _ => {}
        }
    }
}
