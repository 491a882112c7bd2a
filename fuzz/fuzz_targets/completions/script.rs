//! The device's actions: the next ones happen whenever the driver accesses the device, also in the middle of a wait.

use crate::acts::{Act, Cid, Lie, Register};
use joulio_device::{SharedMemory, Vector};
use joulio_emulator::{Fault, Stepper};
use joulio_nvme_spec::register::{CAP, CC, CSTS, VS};
use joulio_units::Nanos;
use joulio_wait::now;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// Depth of the I/O queues.
pub const DEPTH: usize = 4;
/// CAP.TO without its lowest bits: the driver's time limit for a controller to become ready.
const TIMEOUT: u64 = 0xfc << 24;
/// Offset of the admin queue's data page in its memory.
const DATA: usize = 8192;
const PAGE: usize = 4096;

/// Values that the driver reads from the device, as scripted.
pub struct Script {
    cap: u64,
    works: bool,
    state: Mutex<State>,
}

struct State {
    stepper: Stepper,
    acts: VecDeque<Act>,
    /// Time until which no other action happens, and whether the device works meanwhile.
    busy: (Nanos, bool),
    /// False values of CAP, VS, CC and CSTS, and their ends.
    lies: [(Option<Lie>, Nanos); 4],
    memory: Vec<Arc<SharedMemory>>,
    /// Memories that the driver has not freed.
    held: usize,
    rings: [Ring; 3],
    vectors: Vec<OwnedFd>,
    removal_requested: bool,
    honest: bool,
}

/// A completion queue, as its doorbells show it.
#[derive(Clone, Copy, Default)]
struct Ring {
    /// Index of its memory in the list.
    memory: usize,
    head: u32,
    /// The phase tag of entries before the head.
    passed: bool,
}

impl Script {
    pub fn new(stepper: Stepper, cap: u64, works: bool) -> Script {
        Script {
            cap: cap & !TIMEOUT,
            works,
            state: Mutex::new(State {
                stepper,
                acts: VecDeque::new(),
                busy: (Nanos::ZERO, false),
                lies: [(None, Nanos::ZERO); 4],
                memory: Vec::new(),
                held: 0,
                rings: [Ring::default(); 3],
                vectors: Vec::new(),
                removal_requested: false,
                honest: true,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    /// Adds actions.
    pub fn go_on(&self, acts: Vec<Act>) {
        self.state().acts.extend(acts);
    }

    /// Lets the device act.
    pub fn turn(&self) {
        let mut state = self.state();
        let (until, works) = state.busy;
        if now() < until {
            if works {
                state.work();
            }
        } else if let Some(act) = state.acts.pop_front() {
            state.act(&act);
        } else if self.works {
            state.work();
        }
    }

    /// Returns the value that the driver reads when a register has `value`.
    pub fn read(&self, offset: u32, value: u64) -> u64 {
        let mut state = self.state();
        match offset {
            // A device that is gone reads as all ones.
            CAP if value != u64::MAX => state.answer(0, value ^ self.cap),
            CAP => state.answer(0, value),
            VS => state.answer(1, value),
            CC => state.answer(2, value),
            CSTS => state.answer(3, value),
            _ => value,
        }
    }

    /// Records that the driver got memory; returns whether it is the first, that of the admin queue.
    pub fn allocated(&self, memory: &Arc<SharedMemory>) -> bool {
        let mut state = self.state();
        state.held += 1;
        state.memory.push(Arc::clone(memory));
        state.memory.len() == 1
    }

    pub fn released(&self) {
        self.state().held -= 1;
    }

    /// Returns the number of memories that the driver still holds, or has leaked.
    pub fn held(&self) -> usize {
        self.state().held
    }

    /// Whether the device never gave a false value of itself, and could be reset all the time.
    pub fn is_honest(&self) -> bool {
        self.state().honest
    }

    /// Records that a doorbell of queue `qid` was requested: the queue's memory is the last one allocated.
    pub fn doorbell_taken(&self, qid: usize) {
        let mut state = self.state();
        let memory = state.memory.len().saturating_sub(1);
        if let Some(ring) = state.rings.get_mut(qid) {
            *ring = Ring {
                memory,
                ..Ring::default()
            };
        }
    }

    /// Records that the driver has read the completions before `head`.
    pub fn head(&self, qid: usize, head: u32) {
        if let Some(ring) = self.state().rings.get_mut(qid) {
            ring.passed ^= head < ring.head;
            ring.head = head;
        }
    }

    pub fn vectors(&self, vectors: &[Vector]) {
        let copies = vectors.iter().map(|v| v.event().try_clone_to_owned());
        self.state().vectors = copies.flatten().collect();
    }

    pub fn is_removal_requested(&self) -> bool {
        self.state().removal_requested
    }
}

impl State {
    fn work(&self) {
        self.stepper.step(now());
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Work => self.work(),
            Act::WorkFor(time) => self.busy = (now() + Nanos::from_millis(time.into()), true),
            Act::Rest(time) => self.busy = (now() + Nanos::from_millis(time.into()), false),
            Act::Forge {
                queue,
                ahead,
                wrong_phase,
                sqid,
                cid,
                status,
                dw0,
            } => {
                let queue = usize::from(queue % 3);
                let cid = self.cid(queue, cid);
                let sqid = sqid.map_or(queue as u16, |sqid| u16::from(sqid % 4));
                let mut bytes = [0; 16];
                bytes[..4].copy_from_slice(&dw0.to_le_bytes());
                bytes[10..12].copy_from_slice(&sqid.to_le_bytes());
                bytes[12..14].copy_from_slice(&cid.to_le_bytes());
                bytes[14..].copy_from_slice(&status.to_le_bytes());
                self.forge(queue, ahead, wrong_phase, bytes);
            }
            Act::Poke {
                memory,
                at,
                ref bytes,
            } => self.poke(memory.into(), at.into(), bytes),
            Act::Answer { at, ref bytes } => self.poke(0, DATA + usize::from(at) % PAGE, bytes),
            Act::Lie {
                register,
                lie,
                milliseconds,
            } => self.lie(register, lie, milliseconds),
            Act::Inject(fault) => {
                let fault = Fault::from(fault);
                self.honest &= fault != Fault::StuckReset;
                self.stepper.inject(fault);
            }
            Act::Raise(vector) => {
                if let Some(event) = self.vectors.get(usize::from(vector % 3)) {
                    let _ = rustix::io::write(event, &1u64.to_ne_bytes());
                }
            }
            Act::RequestRemoval(wanted) => self.removal_requested = wanted,
        }
    }

    fn cid(&self, queue: usize, cid: Cid) -> u16 {
        match cid {
            Cid::Of(place) => {
                let memory = self.memory.get(self.rings[queue].memory);
                let entry = usize::from(place) % entries(queue) * 64;
                memory.map_or(0, |memory| (memory.load_u32(entry) >> 16) as u16)
            }
            Cid::Event(request) => 0x8000 | u16::from(request % 8),
            Cid::Any(cid) => cid,
        }
    }

    fn forge(&mut self, queue: usize, ahead: u8, wrong_phase: bool, mut bytes: [u8; 16]) {
        let ring = self.rings[queue];
        let entries = entries(queue);
        let place = ring.head as usize % entries + usize::from(ahead) % entries;
        let phase = !ring.passed ^ (place >= entries) ^ wrong_phase;
        bytes[14] = bytes[14] & !1 | u8::from(phase);
        // The completion queue is on the page after the submission queue.
        self.poke(ring.memory, PAGE + place % entries * 16, &bytes);
    }

    fn poke(&self, memory: usize, at: usize, bytes: &[u8]) {
        if let Some(memory) = self.memory.get(memory % self.memory.len().max(1)) {
            let at = at % memory.len();
            let len = bytes.len().min(memory.len() - at);
            memory.write(at, &bytes[..len]);
        }
    }

    fn lie(&mut self, register: Register, lie: Lie, milliseconds: u16) {
        self.honest = false;
        let until = match milliseconds {
            u16::MAX => Nanos::MAX,
            time => now() + Nanos::from_millis(time.into()),
        };
        let of = match register {
            Register::Cap => 0..1,
            Register::Version => 1..2,
            Register::Configuration => 2..3,
            Register::Status => 3..4,
            Register::All => 0..4,
        };
        self.lies[of].fill((Some(lie), until));
    }

    fn answer(&mut self, register: usize, value: u64) -> u64 {
        let (lie, until) = self.lies[register];
        if now() >= until {
            return value;
        }
        match lie {
            None => value,
            Some(Lie::Ones) => u64::MAX,
            Some(Lie::Zeroes) => 0,
            Some(Lie::Ready(ready)) => value & !1 | u64::from(ready),
            Some(Lie::Fatal) => value | 1 << 1,
            Some(Lie::Shutdown(status)) => value & !0b1100 | u64::from(status % 4) << 2,
            Some(Lie::Flip(bits)) => value ^ bits & !(TIMEOUT),
        }
    }
}

/// Returns the number of entries of a queue.
fn entries(queue: usize) -> usize {
    if queue == 0 { 32 } else { DEPTH + 1 }
}
