//! The smallest program: writes one block and reads it back. The drive is emulated; for a real one,
//! `VfioDevice::open` takes its PCI address, and nothing else changes.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example hello
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::{Controller, ControllerOptions, PollGroup, TrustedBuffer};
use std::error::Error;

/// Writes a greeting to block 0, reads it back, and prints it.
pub fn main() -> Result<(), Box<dyn Error>> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let mut group = PollGroup::new(vec![controller.create_queue_pair(1)?]);

    let greeting = b"hello from block 0";
    let mut buffer = controller.allocate_trusted(1, 4096)?.remove(0);
    buffer[..greeting.len()].copy_from_slice(greeting);
    let queue = &mut group.queues()[0];
    queue.write(&namespace, 0, 1, buffer, 0)?;
    queue.ring();
    let mut written = None;
    group.reap(1, None, |_, done| written = Some(done))?;
    let written = written.ok_or("it was not waited for")?;
    println!("write: {}", written.status);

    let buffer = written.buffer.ok_or("a write has a buffer")?;
    let queue = &mut group.queues()[0];
    queue.read(&namespace, 0, 1, buffer, 0)?;
    queue.ring();
    let mut read = None;
    group.reap(1, None, |_, done| read = done.buffer)?;
    let buffer = TrustedBuffer::try_from(read.ok_or("a read has a buffer")?);
    let buffer = buffer.map_err(|_| "an emulated drive is trusted")?;
    println!("read: {}", str::from_utf8(&buffer[..greeting.len()])?);
    match buffer.starts_with(greeting) {
        true => Ok(()),
        false => Err("it read something else".into()),
    }
}
