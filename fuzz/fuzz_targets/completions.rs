//! A controller that does anything with the driver's memory and registers. No command is
//! completed twice, none that was not submitted is, and buffers come back with their commands.
#![no_main]

use arbitrary::Arbitrary;
use joulio_device::{
    Device, DeviceError, DmaBuffer, DmaDomain, DmaMapping, DmaMemory, Doorbell, SharedMemory,
    Vector,
};
use joulio_emulator::{EmulatedDevice, EmulatedDoorbell, NamespaceOptions, Options, StoreOptions};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions, Namespace, QueuePair};
use joulio_nvme_spec::register::{CAP, CSTS, VS};
use joulio_units::Nanos;
use libfuzzer_sys::fuzz_target;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

const DEPTH: usize = 4;
/// CAP.TO: how long the driver waits for a controller that does not come up.
const TIMEOUT: u64 = 0xff << 24;

#[derive(Arbitrary, Debug)]
struct Input {
    /// Bits of CAP that are turned over.
    cap: u64,
    version: u32,
    /// What is written into the admin queue's memory behind each of the first commands.
    answers: Vec<Poke>,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
struct Poke {
    at: u16,
    bytes: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Submit {
        kind: u8,
        lba: u8,
        blocks: u8,
    },
    Ring,
    Reap(u8),
    Work,
    /// A completion in a slot, in the pass that the phase says.
    Forge {
        slot: u8,
        sqid: u8,
        slot_id: u8,
        sequence: u8,
        status: u16,
    },
    /// Bytes anywhere in one of the driver's memories.
    Poke(u8, Poke),
    /// The controller fails, or is gone, or is back.
    Status(u8),
    Ask(u8),
    Replace,
}

/// What the two sides of the spy share.
#[derive(Default)]
struct Script {
    memory: Mutex<Vec<Arc<SharedMemory>>>,
    answers: Mutex<VecDeque<Poke>>,
    cap: AtomicU64,
    version: AtomicU32,
    status: AtomicU32,
}

impl Script {
    fn poke(&self, which: usize, poke: &Poke) {
        let memory = self.memory.lock().expect("one thread");
        if memory.is_empty() {
            return;
        }
        let memory = &memory[which % memory.len()];
        let at = usize::from(poke.at) % memory.len();
        let len = poke.bytes.len().min(memory.len() - at);
        memory.write(at, &poke.bytes[..len]);
    }
}

struct Spy {
    device: EmulatedDevice,
    script: Arc<Script>,
}

struct Bell {
    doorbell: EmulatedDoorbell,
    is_admin: bool,
    script: Arc<Script>,
}

impl Doorbell for Bell {
    fn ring(&self, value: u32) {
        self.doorbell.ring(value);
        if self.is_admin {
            let answer = self.script.answers.lock().expect("one thread").pop_front();
            if let Some(answer) = answer {
                self.script.poke(0, &answer);
            }
        }
    }
}

/// Keeps the memory's true mapping.
struct Keep(DmaMemory);

impl DmaMapping for Keep {
    fn domain(&self) -> DmaDomain {
        self.0.domain()
    }
}

impl Device for Spy {
    type Doorbell = Bell;

    fn name(&self) -> &str {
        "hostile"
    }

    fn read32(&self, offset: u32) -> u32 {
        let value = self.device.read32(offset);
        match offset {
            CSTS => value | self.script.status.load(Ordering::Relaxed),
            VS => value ^ self.script.version.load(Ordering::Relaxed),
            _ => value,
        }
    }

    fn read64(&self, offset: u32) -> u64 {
        let value = self.device.read64(offset);
        match offset {
            CAP => value ^ self.script.cap.load(Ordering::Relaxed) & !TIMEOUT,
            _ => value,
        }
    }

    fn write32(&self, offset: u32, value: u32) {
        self.device.write32(offset, value);
    }

    fn write64(&self, offset: u32, value: u64) {
        self.device.write64(offset, value);
    }

    fn doorbell(&self, offset: u32) -> Result<Bell, DeviceError> {
        Ok(Bell {
            doorbell: self.device.doorbell(offset)?,
            is_admin: offset == 0x1000,
            script: Arc::clone(&self.script),
        })
    }

    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        let inner = self.device.allocate(len)?;
        let mut memory = self.script.memory.lock().expect("one thread");
        memory.push(inner.share());
        Ok(DmaMemory::new(inner.share(), inner.iova(), Keep(inner)))
    }

    fn max_vectors(&self) -> u16 {
        self.device.max_vectors()
    }

    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        self.device.enable_vectors(count)
    }
}

fn options() -> &'static Options {
    static OPTIONS: OnceLock<Options> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let profile = DeviceProfile::builtin("instant").expect("it is built in");
        let mut options = Options::new(profile);
        options.queue_pairs = 2;
        options.vectors = 3;
        options.namespaces = vec![NamespaceOptions {
            store: StoreOptions::Ram {
                bytes: Some(1 << 20),
            },
            block: Some(512),
        }];
        options
    })
}

/// A queue, and what the caller knows of it.
struct Caller {
    queue: QueuePair<Spy>,
    /// Where its memory is in the script's list.
    memory: usize,
    /// The address of the buffer of each command that is outstanding, if it has one.
    open: HashMap<u64, Option<u64>>,
}

impl Caller {
    fn submit(&mut self, namespace: &Namespace, step: (u8, u8, u8), tag: u64, buffer: DmaBuffer) {
        let (kind, lba, blocks) = step;
        let address = buffer.iova().0;
        let taken = match kind % 3 {
            0 => self
                .queue
                .flush(namespace, tag)
                .map(|()| None)
                .map_err(drop),
            1 => self
                .queue
                .read(namespace, lba.into(), blocks.into(), buffer, tag)
                .map(|()| Some(address))
                .map_err(drop),
            _ => self
                .queue
                .write(namespace, lba.into(), blocks.into(), buffer, tag)
                .map(|()| Some(address))
                .map_err(drop),
        };
        if let Ok(address) = taken {
            self.open.insert(tag, address);
        }
        assert_eq!(self.queue.outstanding(), self.open.len());
    }

    fn reap(&mut self, most: usize) {
        let mut delivered = 0;
        let open = &mut self.open;
        let result = self.queue.reap(most, |done| {
            let address = open.remove(&done.tag).expect("it was outstanding");
            assert_eq!(done.buffer.map(|buffer| buffer.iova().0), address);
            delivered += 1;
        });
        assert!(delivered <= most);
        assert!(result.is_err() || result == Ok(delivered));
        assert_eq!(self.queue.outstanding(), self.open.len());
    }
}

fn queue(controller: &Controller<Spy>, script: &Script) -> Option<Caller> {
    let queue = controller.create_queue_pair(DEPTH).ok()?;
    let memory = script.memory.lock().expect("one thread").len() - 1;
    Some(Caller {
        queue,
        memory,
        open: HashMap::new(),
    })
}

fn ask(controller: &Controller<Spy>, what: u8) {
    use joulio_nvme_spec::feature::FeatureId;
    match what % 6 {
        0 => drop(controller.smart_log()),
        1 => drop(controller.active_namespaces()),
        2 => drop(controller.namespace(1)),
        3 => drop(controller.apst()),
        4 => drop(controller.feature(FeatureId(what))),
        _ => drop(controller.check()),
    }
}

fuzz_target!(|input: Input| {
    let (device, stepper) = EmulatedDevice::stepped(options()).expect("a controller");
    let script = Arc::new(Script::default());
    script.cap.store(input.cap, Ordering::Relaxed);
    script.version.store(input.version, Ordering::Relaxed);
    *script.answers.lock().expect("one thread") = input.answers.into();
    let spy = Spy {
        device,
        script: Arc::clone(&script),
    };
    let how = ControllerOptions {
        queues: 2,
        admin_timeout: Nanos::from_micros(100),
    };
    let Ok(controller) = Controller::open(spy, how) else {
        return;
    };
    let Ok(namespace) = controller.namespace(1) else {
        return;
    };
    let Some(mut caller) = queue(&controller, &script) else {
        return;
    };
    for (tag, step) in (0..).zip(&input.steps) {
        match *step {
            Step::Submit { kind, lba, blocks } => {
                if let Ok(mut buffers) = controller.allocate_buffers(1, 8192) {
                    let buffer = buffers.remove(0);
                    caller.submit(&namespace, (kind, lba, blocks), tag, buffer);
                }
            }
            Step::Ring => caller.queue.ring(),
            Step::Reap(most) => caller.reap(most.into()),
            Step::Work => drop(stepper.step(Nanos(tag))),
            Step::Forge {
                slot,
                sqid,
                slot_id,
                sequence,
                status,
            } => {
                let cid = u16::from(slot_id % 8) | u16::from(sequence) << 12;
                let sqid = u16::from(sqid % 3);
                let mut bytes = vec![0; 16];
                bytes[10..12].copy_from_slice(&sqid.to_le_bytes());
                bytes[12..14].copy_from_slice(&cid.to_le_bytes());
                bytes[14..].copy_from_slice(&status.to_le_bytes());
                // The completion queue stands on the page behind the submission queue.
                let at = 4096 + u16::from(slot) % (DEPTH as u16 + 1) * 16;
                script.poke(caller.memory, &Poke { at, bytes });
            }
            Step::Poke(which, ref poke) => script.poke(which.into(), poke),
            Step::Status(status) => {
                let bits = match status % 3 {
                    0 => 0,
                    1 => 1 << 1,
                    _ => u32::MAX,
                };
                script.status.store(bits, Ordering::Relaxed);
            }
            Step::Ask(what) => ask(&controller, what),
            Step::Replace => {
                drop(caller);
                match queue(&controller, &script) {
                    Some(new) => caller = new,
                    None => return,
                }
            }
        }
    }
});
