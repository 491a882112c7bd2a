//! A device between the driver and an emulated controller: counts doorbells, and lets a test write
//! into the driver's queues as a hostile controller could.

use joulio_device::{
    Device, DeviceError, DmaDomain, DmaMapping, DmaMemory, Doorbell, SharedMemory, Vector,
};
use joulio_emulator::{
    EmulatedDevice, EmulatedDoorbell, NamespaceOptions, Options, Stepper, StoreOptions,
};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What the test holds.
#[derive(Clone, Default)]
pub struct Seen {
    memory: Arc<Mutex<Vec<Arc<SharedMemory>>>>,
    rings: Arc<AtomicU64>,
}

#[allow(dead_code, reason = "each test binary uses its part")]
impl Seen {
    /// The memory that was allocated last.
    pub fn last_memory(&self) -> Arc<SharedMemory> {
        Arc::clone(self.memory.lock().unwrap().last().unwrap())
    }

    /// Doorbells rung so far.
    pub fn rings(&self) -> u64 {
        self.rings.load(Ordering::Relaxed)
    }
}

pub struct Spy {
    device: EmulatedDevice,
    seen: Seen,
}

pub struct Bell {
    doorbell: EmulatedDoorbell,
    seen: Seen,
}

impl Doorbell for Bell {
    fn ring(&self, value: u32) {
        self.seen.rings.fetch_add(1, Ordering::Relaxed);
        self.doorbell.ring(value);
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
        self.device.name()
    }
    fn read32(&self, offset: u32) -> u32 {
        self.device.read32(offset)
    }
    fn read64(&self, offset: u32) -> u64 {
        self.device.read64(offset)
    }
    fn write32(&self, offset: u32, value: u32) {
        self.device.write32(offset, value);
    }
    fn write64(&self, offset: u32, value: u64) {
        self.device.write64(offset, value);
    }
    fn doorbell(&self, offset: u32) -> Result<Bell, DeviceError> {
        let doorbell = self.device.doorbell(offset)?;
        Ok(Bell {
            doorbell,
            seen: self.seen.clone(),
        })
    }
    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        let inner = self.device.allocate(len)?;
        self.seen.memory.lock().unwrap().push(inner.share());
        Ok(DmaMemory::new(inner.share(), inner.iova(), Keep(inner)))
    }
    fn max_vectors(&self) -> u16 {
        self.device.max_vectors()
    }
    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        self.device.enable_vectors(count)
    }
}

/// An instant controller stepped by hand, with 16 MiB in blocks of 512 bytes.
pub fn open() -> (Controller<Spy>, Stepper, Seen) {
    let mut options = Options::new(DeviceProfile::builtin("instant").unwrap());
    options.namespaces = vec![NamespaceOptions {
        store: StoreOptions::Ram {
            bytes: Some(16 << 20),
        },
        block: Some(512),
    }];
    let (device, stepper) = EmulatedDevice::stepped(&options).unwrap();
    let seen = Seen::default();
    let spy = Spy {
        device,
        seen: seen.clone(),
    };
    let controller = Controller::open(spy, ControllerOptions::default()).unwrap();
    (controller, stepper, seen)
}
