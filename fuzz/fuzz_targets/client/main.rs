//! A hostile vfio-user server, against the driver's end of the socket: whatever it answers, every call of the driver
//! ends, and a server that is gone reads as all ones.
#![no_main]

mod peer;
mod twists;

use joulio_device::vfio_user::VfioUserDevice;
use joulio_device::{Device, DmaMemory, Doorbell, Vector};
use libfuzzer_sys::fuzz_target;
use peer::Peer;
use twists::{Call, Input};

fuzz_target!(|input: Input| {
    let peer = Peer::start(input.twists);
    if let Ok(device) = VfioUserDevice::connect(&peer.path) {
        drive(&device, &input.calls);
        peer.end();
        assert_eq!(device.read32(0x1c), u32::MAX);
        assert_eq!(device.read64(0), u64::MAX);
    } else {
        peer.end();
    }
});

/// Makes the calls of a driver on a device, in any order.
fn drive(device: &VfioUserDevice, calls: &[Call]) {
    let mut vectors: Vec<Vector> = Vec::new();
    let mut memory: Vec<DmaMemory> = Vec::new();
    for call in calls.iter().take(32) {
        match *call {
            Call::Read(offset) => {
                device.read64(u32::from(offset) & 0xff8);
            }
            Call::Write(offset, value) => device.write32(u32::from(offset) & 0xffc, value),
            Call::Ring(offset, value) => {
                if let Ok(doorbell) = device.doorbell(u32::from(offset)) {
                    doorbell.ring(value);
                }
            }
            Call::Allocate(len) => memory.extend(device.allocate(usize::from(len))),
            Call::Free => drop(memory.pop()),
            Call::Enable(count) => {
                vectors = device.enable_vectors(count.into()).unwrap_or_default();
            }
            Call::Mask(index, masked) => {
                if let Some(vector) = vectors.get(usize::from(index)) {
                    let _ = if masked {
                        vector.mask()
                    } else {
                        vector.unmask()
                    };
                }
            }
            Call::Take => {
                for vector in &vectors {
                    vector.take();
                }
            }
            Call::Touch => {
                for piece in &memory {
                    piece.write(0, &[1; 8]);
                }
            }
        }
    }
}
