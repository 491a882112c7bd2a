//! A device between the driver and an emulated controller: it counts doorbells, swallows them, and lets a test
//! write into the driver's queues as a hostile controller could.

#[allow(dead_code, reason = "each test binary uses its part")]
pub mod policies;

use joulio_device::pci::PciId;
use joulio_device::{
    Device, DeviceError, DmaDomain, DmaMapping, DmaMemory, Doorbell, Iova, SharedMemory, Vector,
    VectorControl,
};
use joulio_emulator::{
    EmulatedDevice, EmulatedDoorbell, NamespaceOptions, Options, Stepper, StoreOptions,
};
use joulio_model::DeviceProfile;
use joulio_nvme::spec::Status;
use joulio_nvme::spec::register::{CAP, CC, CSTS, Cap, Cc, Csts};
use joulio_nvme::{Controller, ControllerOptions};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Offset of the doorbells (PCIe 3.1.2).
const DOORBELLS: u32 = 0x1000;

/// Opcode, if necessary also the lowest byte of dword 10, and the status with which such commands end.
type Refused = (u8, Option<u8>, Status);

/// The test's handle on the device: its settings, and its record of the driver's actions.
#[derive(Clone, Default)]
pub struct Seen {
    memory: Arc<Mutex<Vec<Arc<SharedMemory>>>>,
    /// Addresses of the memory that the device can reach.
    mapped: Arc<Mutex<BTreeSet<u64>>>,
    rings: Arc<AtomicU64>,
    swallow: Arc<AtomicU64>,
    refused: Arc<Mutex<Vec<Refused>>>,
    /// Namespaces in the list of active namespaces, if not the existing ones.
    listed: Arc<Mutex<Option<Vec<u32>>>>,
    /// True if the controller reports that it has no SGLs.
    plain: bool,
    /// NN, if it is to be false.
    claims: Option<u32>,
    /// RTD3E in microseconds, and the actual time of a shutdown.
    shutdown: Option<(u32, Duration)>,
    /// Time when the controller's shutdown was requested.
    shutting_down: Arc<Mutex<Option<Instant>>>,
    /// Number of resets during a shutdown.
    hasty: Arc<AtomicU64>,
    /// CAP.TO, if it is to be false.
    ready_timeout: Option<u8>,
    /// CAP.MQES, if it is to be false.
    mqes: Option<u16>,
    /// Largest number of vectors that the system has.
    vectors: Option<u16>,
    /// True if redirected vectors still interrupt as before.
    unredirectable: bool,
    /// The redirected vectors.
    redirected: Arc<Mutex<BTreeSet<u16>>>,
    /// Feature and dword 11 of each Set Features command.
    features: Arc<Mutex<Vec<(u8, u32)>>>,
    /// Opcode and dwords 10 and 11 of each admin command.
    admin: Arc<Mutex<Vec<(u8, u32, u32)>>>,
    /// Time when CC.EN last fell, and the shortest time from then to a read of CSTS.
    disabled: Arc<Mutex<(Option<Instant>, Option<Duration>)>>,
    /// Bytes of the longest piece of memory, on a machine without an IOMMU.
    longest_piece: Option<usize>,
    /// Domain that the controller shares with others of its IOMMU group.
    group: Option<DmaDomain>,
}

#[allow(dead_code, reason = "each test binary uses its part")]
impl Seen {
    /// Returns a controller that reports that it has no SGLs; to be stepped.
    pub fn without_sgls() -> Seen {
        Seen {
            plain: true,
            ..Seen::default()
        }
    }

    /// Returns a controller in an IOMMU group whose devices share the domain `group`.
    pub fn of_group(group: DmaDomain) -> Seen {
        Seen {
            group: Some(group),
            ..Seen::default()
        }
    }

    /// Returns a controller on a machine without an IOMMU whose memory is in pieces of up to `bytes`.
    pub fn without_iommu(bytes: usize) -> Seen {
        Seen {
            longest_piece: Some(bytes),
            ..Seen::default()
        }
    }

    /// Returns a controller that the driver gives up after half a second.
    pub fn impatient() -> Seen {
        Seen {
            ready_timeout: Some(1),
            ..Seen::default()
        }
    }

    /// Returns a controller that the driver gives up after two minutes.
    pub fn patient() -> Seen {
        Seen {
            ready_timeout: Some(255),
            ..Seen::default()
        }
    }

    /// Returns a controller that reports `mqes` as CAP.MQES, however long its queues may be.
    pub fn with_mqes(mqes: u16) -> Seen {
        Seen {
            mqes: Some(mqes),
            ..Seen::default()
        }
    }

    /// Returns a system that has only `vectors` vectors left.
    pub fn with_vectors(vectors: u16) -> Seen {
        Seen {
            vectors: Some(vectors),
            ..Seen::default()
        }
    }

    /// Returns a machine on which redirected interrupts still arrive as before.
    pub fn unredirectable() -> Seen {
        Seen {
            unredirectable: true,
            ..Seen::default()
        }
    }

    /// Returns the number of redirected vectors, on a machine where redirection has no effect.
    pub fn redirected(&self) -> usize {
        self.redirected.lock().unwrap().len()
    }

    /// Returns dwords 10 and 11 of the admin commands with that opcode so far; for a controller that is stepped.
    pub fn admin(&self, opcode: u8) -> Vec<(u32, u32)> {
        let sent = self.admin.lock().unwrap();
        let sent = sent.iter().filter(|command| command.0 == opcode);
        sent.map(|command| (command.1, command.2)).collect()
    }

    /// Returns the shortest time so far from the fall of CC.EN to a read of CSTS.
    pub fn csts_delay(&self) -> Option<Duration> {
        self.disabled.lock().unwrap().1
    }

    /// Returns the values to which feature `fid` was set so far; for a controller that is stepped.
    pub fn feature_values(&self, fid: u8) -> Vec<u32> {
        let features = self.features.lock().unwrap();
        let set = features.iter().filter(|(set, _)| *set == fid);
        set.map(|(_, value)| *value).collect()
    }

    /// Returns a controller that claims to have up to `nn` namespaces; to be stepped.
    pub fn claiming(nn: u32) -> Seen {
        Seen {
            claims: Some(nn),
            ..Seen::default()
        }
    }

    /// Returns a controller that reports that a shutdown takes up to `rtd3e` microseconds, and takes `time`; to be
    /// stepped.
    pub fn shutting_down(rtd3e: u32, time: Duration) -> Seen {
        Seen {
            shutdown: Some((rtd3e, time)),
            ..Seen::default()
        }
    }

    /// Returns the number of resets during a shutdown.
    pub fn hasty(&self) -> u64 {
        self.hasty.load(Ordering::Relaxed)
    }

    /// Returns true if a shutdown was requested and has not ended.
    fn is_shutting_down(&self) -> bool {
        let since = *self.shutting_down.lock().unwrap();
        let time = self.shutdown.map(|(_, time)| time);
        since
            .zip(time)
            .is_some_and(|(since, time)| since.elapsed() < time)
    }

    /// Returns the addresses of the memory that the device can reach.
    pub fn mapped(&self) -> BTreeSet<u64> {
        self.mapped.lock().unwrap().clone()
    }

    /// Returns the memory that was allocated last.
    pub fn last_memory(&self) -> Arc<SharedMemory> {
        Arc::clone(self.memory.lock().unwrap().last().unwrap())
    }

    /// Returns the number of doorbells rung so far.
    pub fn rings(&self) -> u64 {
        self.rings.load(Ordering::Relaxed)
    }

    /// Swallows the next `rings` of tail doorbells of I/O queues.
    pub fn swallow(&self, rings: u64) {
        self.swallow.store(rings, Ordering::Relaxed);
    }

    /// Makes admin commands with that opcode end with `status` from now on; for a controller that is stepped.
    pub fn refuse(&self, opcode: u8, status: Status) {
        self.refused.lock().unwrap().push((opcode, None, status));
    }

    /// Makes admin commands with that opcode, and with `what` in the lowest byte of dword 10 (CNS or FID), end with
    /// `status` from now on.
    pub fn refuse_one(&self, opcode: u8, what: u8, status: Status) {
        let refused = (opcode, Some(what), status);
        self.refused.lock().unwrap().push(refused);
    }

    /// Ends all refusals.
    pub fn refuse_nothing(&self) {
        self.refused.lock().unwrap().clear();
    }

    /// Makes `nsids` the list of active namespaces from now on; for a controller that is stepped.
    pub fn list_namespaces(&self, nsids: &[u32]) {
        *self.listed.lock().unwrap() = Some(nsids.to_vec());
    }

    fn swallows(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        let swallowed = self
            .swallow
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        swallowed.is_ok()
    }

    /// Changes the data that the command before `tail` has brought to the admin queue; a stepped controller has
    /// executed it.
    fn tamper(&self, tail: u32) {
        const IDENTIFY: u8 = 0x06;
        const SET_FEATURES: u8 = 0x09;
        const DATA: usize = 0x2000;
        let admin = Arc::clone(&self.memory.lock().unwrap()[0]);
        let command = (tail as usize + 31) % 32 * 64;
        let (dword0, dword10) = (admin.load_u32(command), admin.load_u32(command + 40));
        let (opcode, cns) = (dword0 as u8, dword10 as u8);
        let sent = (opcode, dword10, admin.load_u32(command + 44));
        self.admin.lock().unwrap().push(sent);
        if opcode == SET_FEATURES {
            let set = (cns, admin.load_u32(command + 44));
            self.features.lock().unwrap().push(set);
        }
        if (opcode, cns) == (IDENTIFY, 1) {
            if self.plain {
                // SGLS.
                admin.write(DATA + 536, &[0; 4]);
            }
            if let Some((rtd3e, _)) = self.shutdown {
                admin.write(DATA + 88, &rtd3e.to_le_bytes());
            }
            if let Some(nn) = self.claims {
                admin.write(DATA + 516, &nn.to_le_bytes());
            }
        }
        if let (IDENTIFY, 2, Some(listed)) = (opcode, cns, &*self.listed.lock().unwrap()) {
            admin.write(DATA, &[0; 4096]);
            for (index, nsid) in listed.iter().enumerate() {
                admin.write(DATA + 4 * index, &nsid.to_le_bytes());
            }
        }
        let refused = self.refused.lock().unwrap();
        let refused = refused
            .iter()
            .find(|(name, what, _)| *name == opcode && what.is_none_or(|what| what == cns));
        if let Some((_, _, status)) = refused {
            let status = u32::from(status.field()) << 17;
            for entry in (0..32).map(|index| 0x1000 + index * 16 + 12) {
                let dword3 = admin.load_u32(entry);
                if dword3 as u16 == (dword0 >> 16) as u16 {
                    admin.store_u32(entry, dword3 | status);
                }
            }
        }
    }
}

pub struct Spy {
    device: EmulatedDevice,
    seen: Seen,
}

#[allow(dead_code, reason = "each test binary uses its part")]
impl Spy {
    /// Returns a spy on `device`.
    pub fn of(device: EmulatedDevice, seen: Seen) -> Spy {
        Spy { device, seen }
    }

    /// Returns the emulated device behind the spy.
    pub fn emulated(&self) -> &EmulatedDevice {
        &self.device
    }
}

pub struct Bell {
    doorbell: EmulatedDoorbell,
    /// QID, and true for the doorbell of the submission queue.
    of: (u32, bool),
    seen: Seen,
}

impl Doorbell for Bell {
    fn ring(&self, value: u32) {
        self.seen.rings.fetch_add(1, Ordering::Relaxed);
        let (qid, tail) = self.of;
        if qid > 0 && tail && self.seen.swallows() {
            return;
        }
        self.doorbell.ring(value);
        if self.of == (0, true) {
            self.seen.tamper(value);
        }
    }
}

/// Vectors whose redirection has no effect.
struct Unredirectable(Vec<Vector>, Seen);

impl VectorControl for Unredirectable {
    fn set_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        let vector = &self.0[usize::from(vector)];
        if masked {
            vector.mask()
        } else {
            vector.unmask()
        }
    }
    fn masks_by_store(&self) -> bool {
        true
    }
    fn redirect(&self, vector: u16, target: Option<(Iova, u32)>) -> Result<(), DeviceError> {
        let mut redirected = self.1.redirected.lock().unwrap();
        match target {
            Some(_) => redirected.insert(vector),
            None => redirected.remove(&vector),
        };
        Ok(())
    }
}

/// The true mapping of the memory.
struct Keep(DmaMemory, Seen);

impl Drop for Keep {
    fn drop(&mut self) {
        self.1.mapped.lock().unwrap().remove(&self.0.iova().0);
    }
}

impl DmaMapping for Keep {
    fn domain(&self) -> DmaDomain {
        self.1.group.unwrap_or_else(|| self.0.domain())
    }
}

impl Device for Spy {
    type Doorbell = Bell;

    fn name(&self) -> &str {
        self.device.name()
    }
    fn pci_id(&self) -> Option<PciId> {
        self.device.pci_id()
    }
    fn has_iommu(&self) -> Option<bool> {
        self.seen.longest_piece.map(|_| false)
    }
    fn read32(&self, offset: u32) -> u32 {
        if offset == CSTS {
            let mut disabled = self.seen.disabled.lock().unwrap();
            if let Some(since) = disabled.0.take() {
                let passed = since.elapsed();
                disabled.1 = Some(disabled.1.map_or(passed, |least| least.min(passed)));
            }
        }
        match self.device.read32(offset) {
            csts if offset == CSTS && self.seen.is_shutting_down() => {
                Csts::from(csts).with_shst(1).into()
            }
            value => value,
        }
    }
    fn read64(&self, offset: u32) -> u64 {
        let value = self.device.read64(offset);
        if offset != CAP || value == u64::MAX {
            return value;
        }
        let cap = Cap::from(value);
        let to = self.seen.ready_timeout.unwrap_or(cap.to());
        let mqes = self.seen.mqes.unwrap_or(cap.mqes());
        cap.with_to(to).with_mqes(mqes).into()
    }
    fn write32(&self, offset: u32, value: u32) {
        if offset == CC {
            let hasty = !Cc::from(value).en() && self.seen.is_shutting_down();
            self.seen.hasty.fetch_add(hasty.into(), Ordering::Relaxed);
            if Cc::from(value).shn() != 0 {
                let mut since = self.seen.shutting_down.lock().unwrap();
                since.get_or_insert_with(Instant::now);
            }
        }
        self.device.write32(offset, value);
        if offset == CC && !Cc::from(value).en() {
            self.seen.disabled.lock().unwrap().0 = Some(Instant::now());
        }
    }
    fn write64(&self, offset: u32, value: u64) {
        self.device.write64(offset, value);
    }
    fn doorbell(&self, offset: u32) -> Result<Bell, DeviceError> {
        let doorbell = self.device.doorbell(offset)?;
        let index = (offset - DOORBELLS) / 4;
        Ok(Bell {
            doorbell,
            of: (index / 2, index.is_multiple_of(2)),
            seen: self.seen.clone(),
        })
    }
    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        if let Some(longest) = self.seen.longest_piece
            && len > longest
        {
            return Err(DeviceError::HugePages {
                wanted: len,
                pages: len.div_ceil(longest),
                found: 1,
            });
        }
        let inner = self.device.allocate(len)?;
        self.seen.memory.lock().unwrap().push(inner.share());
        self.seen.mapped.lock().unwrap().insert(inner.iova().0);
        let keep = Keep(inner, self.seen.clone());
        Ok(DmaMemory::new(keep.0.share(), keep.0.iova(), keep))
    }
    fn max_vectors(&self) -> u16 {
        self.device.max_vectors()
    }
    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        let max = self.seen.vectors.unwrap_or(u16::MAX);
        let vectors = self.device.enable_vectors(count.min(max))?;
        if !self.seen.unredirectable {
            return Ok(vectors);
        }
        let events: Vec<_> = vectors
            .iter()
            .map(|vector| vector.event().try_clone_to_owned().unwrap())
            .collect();
        let control: Arc<dyn VectorControl> = Arc::new(Unredirectable(vectors, self.seen.clone()));
        let events = (0..).zip(events);
        Ok(events
            .map(|(index, event)| Vector::new(index, event, Arc::clone(&control)))
            .collect())
    }
    fn reset_function(&self) -> Result<(), DeviceError> {
        self.device.reset_function()
    }
    fn spins_in_process(&self) -> bool {
        self.device.spins_in_process()
    }
}

/// Returns an instant device with 16 MiB in blocks of 512 bytes.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn instant() -> Options {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    options.namespaces = vec![NamespaceOptions {
        store: StoreOptions::Ram {
            bytes: Some(16 << 20),
        },
        block: Some(512),
    }];
    options
}

/// Opens an instant controller that is stepped by hand.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn open() -> (Controller<Spy>, Stepper, Seen) {
    open_stepped(Seen::default(), ControllerOptions::default())
}

/// Opens an instant controller that is stepped by hand, with `options`.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn open_stepped(seen: Seen, options: ControllerOptions) -> (Controller<Spy>, Stepper, Seen) {
    open_stepped_as(&instant(), seen, options)
}

/// Opens the controller `make`, which is stepped by hand.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn open_stepped_as(
    make: &Options,
    seen: Seen,
    options: ControllerOptions,
) -> (Controller<Spy>, Stepper, Seen) {
    let (device, stepper) = EmulatedDevice::stepped(make).unwrap();
    let spy = Spy {
        device,
        seen: seen.clone(),
    };
    (Controller::open(spy, options).unwrap(), stepper, seen)
}

/// Opens a controller with a thread of its own and a plan of faults.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn open_spawned(
    faults: &str,
    seen: Seen,
    options: ControllerOptions,
) -> (Controller<Spy>, Seen) {
    let mut device = instant();
    device.faults = faults.parse().unwrap();
    let spy = Spy {
        device: EmulatedDevice::spawn(&device).unwrap(),
        seen: seen.clone(),
    };
    (Controller::open(spy, options).unwrap(), seen)
}

/// Runs `test` in a thread, and fails if it takes longer than 30 s, so that a test that hangs does not hang the
/// whole run.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn watched(test: impl FnOnce() + Send + 'static) {
    let (done, end) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    let hangs = matches!(
        end.recv_timeout(Duration::from_secs(120)),
        Err(mpsc::RecvTimeoutError::Timeout)
    );
    assert!(!hangs, "the test hangs");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
