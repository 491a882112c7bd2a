//! The barest loop: it writes 64-byte entries, reads 16-byte ones, and rings the doorbell once for all completions
//! of a poll. It checks nothing, has no time limit, and trusts the controller completely.

use crate::{BYTES, Loop, Outcome, Random};
use joulio_device::vfio_user::{VfioUserDevice, VfioUserDoorbell};
use joulio_device::{Device, DmaArray, DmaMemory, Doorbell};
use joulio_nvme::spec::identify::{Cns, IdentifyNamespace};
use joulio_nvme::spec::register::{
    ACQ, AQA, ASQ, Aqa, CAP, CC, CSTS, Cap, Cc, Csts, completion_doorbell, submission_doorbell,
};
use joulio_nvme::spec::{Command, NamespaceId, QueueId};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

/// A submission queue with its completion queue.
struct Rings {
    submission: DmaArray<[u64; 8]>,
    completion: DmaArray<[u32; 4]>,
    doorbells: (VfioUserDoorbell, VfioUserDoorbell),
    tail: usize,
    head: usize,
    phase: u32,
}

impl Rings {
    fn new(
        device: &VfioUserDevice,
        id: u16,
        stride: u8,
        memory: &Arc<DmaMemory>,
        offset: usize,
        entries: usize,
    ) -> Outcome<Rings> {
        let completion = offset + (entries * 64).next_multiple_of(4096);
        Ok(Rings {
            submission: memory.array(offset, entries),
            completion: memory.array(completion, entries),
            doorbells: (
                device.doorbell(submission_doorbell(id, stride))?,
                device.doorbell(completion_doorbell(id, stride))?,
            ),
            tail: 0,
            head: 0,
            phase: 1,
        })
    }

    #[inline]
    fn push(&mut self, entry: [u64; 8]) {
        self.submission.write(self.tail, entry);
        self.tail += 1;
        if self.tail == self.submission.len() {
            self.tail = 0;
        }
    }

    /// Returns the slot of the next completion.
    #[inline]
    fn pop(&mut self) -> Option<u64> {
        let dword3 = self.completion.load_word(self.head, 12);
        if (dword3 >> 16) & 1 != self.phase {
            return None;
        }
        self.head += 1;
        if self.head == self.completion.len() {
            self.head = 0;
            self.phase ^= 1;
        }
        Some(u64::from(dword3 & 0xffff))
    }

    fn ring(&self) {
        self.doorbells.0.ring(self.tail as u32);
    }
}

pub struct Bare {
    rings: Rings,
    /// Slots whose read has completed.
    free: Vec<u64>,
    depth: usize,
    address: u64,
    blocks: u64,
    places: u64,
    random: Random,
    device: VfioUserDevice,
    _memory: Arc<DmaMemory>,
}

const ADMIN: usize = 16;
const LIMIT: Duration = Duration::from_secs(10);

impl Bare {
    pub fn open(path: &Path, depth: usize) -> Outcome<Bare> {
        let device = VfioUserDevice::connect(path)?;
        let memory = Arc::new(device.allocate((16 << 10) + depth * (BYTES + 256) + (64 << 10))?);
        let base = memory.iova().0;
        let cap = Cap::from(device.read64(CAP));
        device.write32(CC, 0);
        wait_ready(&device, false)?;
        let last = ADMIN as u16 - 1;
        device.write32(AQA, Aqa::new().with_asqs(last).with_acqs(last).into());
        device.write64(ASQ, base);
        device.write64(ACQ, base + 4096);
        let cc = Cc::new().with_iosqes(Cc::SQES).with_iocqes(Cc::CQES);
        device.write32(CC, cc.with_en(true).into());
        wait_ready(&device, true)?;
        let mut admin = Rings::new(&device, 0, cap.dstrd(), &memory, 0, ADMIN)?;

        let identify = Command::identify(Cns::NAMESPACE, NamespaceId(1));
        run(&mut admin, identify, base + 8192)?;
        let mut page = vec![0; size_of::<IdentifyNamespace>()];
        memory.read(8192, &mut page);
        let namespace = IdentifyNamespace::read_from_bytes(&page).map_err(|_| "no namespace")?;
        let block = 1u64 << namespace.format().lbads;
        let blocks = BYTES as u64 / block;

        let entries = depth + 1;
        let rings = Rings::new(&device, 1, cap.dstrd(), &memory, 12 << 10, entries)?;
        let submission = base + (12 << 10);
        let completion = submission + (entries as u64 * 64).next_multiple_of(4096);
        let create = Command::create_completion_queue(QueueId(1), entries as u32, None);
        run(&mut admin, create, completion)?;
        let create = Command::create_submission_queue(QueueId(1), entries as u32, QueueId(1));
        run(&mut admin, create, submission)?;
        Ok(Bare {
            rings,
            free: (0..depth as u64).collect(),
            depth,
            address: completion + (entries as u64 * 16).next_multiple_of(4096),
            blocks,
            places: namespace.nsze.get() / blocks,
            random: Random(1),
            device,
            _memory: memory,
        })
    }

    #[inline(never)]
    fn bare_submit(&mut self) {
        while let Some(slot) = self.free.pop() {
            let lba = self.random.below(self.places) * self.blocks;
            let data = self.address + slot * BYTES as u64;
            let read = 2 | slot << 16 | 1 << 32;
            self.rings
                .push([read, 0, 0, data, 0, lba, self.blocks - 1, 0]);
        }
        self.rings.ring();
    }

    #[inline(never)]
    fn bare_reap(&mut self) -> usize {
        loop {
            while let Some(slot) = self.rings.pop() {
                self.free.push(slot);
            }
            if !self.free.is_empty() {
                self.rings.doorbells.1.ring(self.rings.head as u32);
                return self.free.len();
            }
            std::hint::spin_loop();
        }
    }
}

impl Loop for Bare {
    fn start(&mut self) {
        self.bare_submit();
    }

    fn turn(&mut self) -> usize {
        let came = self.bare_reap();
        self.bare_submit();
        came
    }

    fn finish(&mut self) {
        while self.free.len() < self.depth {
            self.bare_reap();
        }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.device.write32(CC, 0);
        let _ = wait_ready(&self.device, false);
    }
}

/// Executes one admin command; its data or its queue is at `address`.
fn run(admin: &mut Rings, mut command: Command, address: u64) -> Outcome<()> {
    command.prp1 = U64::new(address);
    admin.push(zerocopy::transmute!(command));
    admin.ring();
    let end = Instant::now() + LIMIT;
    let before = admin.head;
    while admin.pop().is_none() {
        if Instant::now() > end {
            return Err("an admin command did not end".into());
        }
    }
    admin.doorbells.1.ring(admin.head as u32);
    match admin.completion.read(before)[3] >> 17 {
        0 => Ok(()),
        status => Err(format!("an admin command failed: {status:#x}").into()),
    }
}

fn wait_ready(device: &VfioUserDevice, ready: bool) -> Outcome<()> {
    let end = Instant::now() + LIMIT;
    while Csts::from(device.read32(CSTS)).rdy() != ready {
        if Instant::now() > end {
            return Err("the controller does not get ready".into());
        }
        sleep(Duration::from_micros(100));
    }
    Ok(())
}
