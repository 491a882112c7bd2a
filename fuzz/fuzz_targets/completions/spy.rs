//! The device that the driver sees: an emulated controller, and a [`Script`] that acts whenever the driver accesses it.

use crate::script::Script;
use joulio_device::{Device, DeviceError, DmaDomain, DmaMapping, DmaMemory, Doorbell, Vector};
use joulio_emulator::{EmulatedDevice, EmulatedDoorbell};
use joulio_nvme_spec::register::{CSTS, Csts};
use std::sync::Arc;

pub struct Spy {
    device: EmulatedDevice,
    script: Arc<Script>,
}

impl Spy {
    pub fn new(device: EmulatedDevice, script: &Arc<Script>) -> Spy {
        Spy {
            device,
            script: Arc::clone(script),
        }
    }
}

pub struct Bell {
    doorbell: EmulatedDoorbell,
    /// The queue whose head this is.
    head_of: Option<usize>,
    script: Arc<Script>,
}

impl Doorbell for Bell {
    fn ring(&self, value: u32) {
        self.doorbell.ring(value);
        if let Some(qid) = self.head_of {
            self.script.head(qid, value);
        }
        self.script.turn();
    }
}

/// Keeps the memory's real mapping, and counts it.
struct Keep {
    mapping: DmaMemory,
    /// The device whose admin queue is in it.
    admin_of: Option<EmulatedDevice>,
    script: Arc<Script>,
}

impl DmaMapping for Keep {
    fn domain(&self) -> DmaDomain {
        self.mapping.domain()
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        if let Some(device) = &self.admin_of
            && self.script.is_honest()
        {
            let status = Csts::from(device.read32(CSTS));
            assert!(
                status.is_removed() || !status.rdy(),
                "the device has it still"
            );
        }
        self.script.released();
    }
}

impl Device for Spy {
    type Doorbell = Bell;

    fn name(&self) -> &str {
        "hostile"
    }

    fn read32(&self, offset: u32) -> u32 {
        self.script.turn();
        let value = self.device.read32(offset);
        self.script.read(offset, value.into()) as u32
    }

    fn read64(&self, offset: u32) -> u64 {
        self.script.turn();
        self.script.read(offset, self.device.read64(offset))
    }

    fn write32(&self, offset: u32, value: u32) {
        self.device.write32(offset, value);
        self.script.turn();
    }

    fn write64(&self, offset: u32, value: u64) {
        self.device.write64(offset, value);
        self.script.turn();
    }

    fn doorbell(&self, offset: u32) -> Result<Bell, DeviceError> {
        let index = (offset.saturating_sub(0x1000) / 4) as usize;
        self.script.doorbell_taken(index / 2);
        Ok(Bell {
            doorbell: self.device.doorbell(offset)?,
            head_of: (index % 2 == 1).then_some(index / 2),
            script: Arc::clone(&self.script),
        })
    }

    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        let mapping = self.device.allocate(len)?;
        let (memory, iova) = (mapping.share(), mapping.iova());
        let is_admin = self.script.allocated(&memory);
        let keep = Keep {
            mapping,
            admin_of: is_admin.then(|| self.device.clone()),
            script: Arc::clone(&self.script),
        };
        Ok(DmaMemory::new(memory, iova, keep))
    }

    fn max_vectors(&self) -> u16 {
        self.device.max_vectors()
    }

    fn enable_vectors(&self, count: u16) -> Result<Vec<Vector>, DeviceError> {
        let vectors = self.device.enable_vectors(count)?;
        self.script.vectors(&vectors);
        Ok(vectors)
    }

    fn is_removal_requested(&self) -> bool {
        self.script.turn();
        self.script.is_removal_requested()
    }
}
