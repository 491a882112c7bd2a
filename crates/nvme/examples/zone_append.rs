//! Zone Append, a command that the program builds itself: appends two blocks to a zone of a zoned namespace, and reads
//! them from where the drive says that it has put them. The drive is bound to vfio-pci, and is written to.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example zone_append 0000:01:00.0 FIRST-BLOCK-OF-A-ZONE
//! ```

use joulio_device::vfio::VfioDevice;
use joulio_nvme::spec::{Command, NvmOpcode};
use joulio_nvme::{Completed, Controller, ControllerOptions, PollGroup};
use std::error::Error;

/// Appends two blocks, prints their addresses, and reads them back.
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [address, zone] = &arguments[..] else {
        return Err("usage: zone_append PCI-ADDRESS FIRST-BLOCK-OF-A-ZONE".into());
    };
    let zone: u64 = zone.parse()?;
    let device = VfioDevice::open(address.parse()?)?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let size = namespace.block_size() as usize;
    let mut group = PollGroup::new(vec![controller.create_queue_pair(1)?]);
    let mut buffers = controller.allocate_buffers(1, size)?;

    let mut appended = Vec::new();
    for fill in [0x11, 0x22] {
        let mut buffer = buffers.pop().ok_or("it came back")?;
        buffer.write(0, &vec![fill; size]);
        let append = Command::transfer(NvmOpcode::ZONE_APPEND, namespace.id(), zone, 1);
        let queue = &mut group.queues()[0];
        queue.submit_with_data(&namespace, append, buffer, 0)?;
        let done = end(&mut group)?;
        println!("appended at block {}", done.result());
        appended.push((done.result(), fill));
        buffers.extend(done.buffer);
    }
    for (lba, fill) in appended {
        let buffer = buffers.pop().ok_or("it came back")?;
        let queue = &mut group.queues()[0];
        queue.read(&namespace, lba, 1, buffer, 0)?;
        let buffer = end(&mut group)?.buffer.ok_or("a read has a buffer")?;
        let mut bytes = vec![0; size];
        buffer.read(0, &mut bytes);
        if bytes.iter().any(|&byte| byte != fill) {
            return Err(format!("block {lba} is not what was appended").into());
        }
        buffers.push(buffer);
    }
    Ok(())
}

/// Rings the doorbell, and waits for the only command.
fn end(group: &mut PollGroup<VfioDevice>) -> Result<Completed, Box<dyn Error>> {
    group.queues()[0].ring();
    let mut ended = None;
    group.reap(1, None, |_, done| ended = Some(done))?;
    let done = ended.ok_or("it was waited for")?;
    match done.status.is_success() {
        true => Ok(done),
        false => Err(done.status.to_string().into()),
    }
}
