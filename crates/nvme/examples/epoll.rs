//! One epoll(7) loop for a drive and a pipe: neither is polled, and neither has to wait for the other.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example epoll
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, EventGroup, PollGroup};
use rustix::event::epoll;
use std::error::Error;
use std::io::{Read, Write};

/// Number of reads, and of messages through the pipe.
const READS: u64 = 200;
const MESSAGES: u64 = 50;

/// Data of the epoll events, which identifies their source.
const DRIVE: u64 = 0;
const PIPE: u64 = 1;

/// Reads blocks and messages until all have come.
pub fn main() -> Result<(), Box<dyn Error>> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let mut queue = controller.create_queue_pair(8)?;
    queue.set_policy(AnyPolicy::INTERRUPT)?;
    let mut drive = EventGroup::new(PollGroup::new(vec![queue]))?;
    let mut buffers = controller.allocate_buffers(8, 4096)?;
    let blocks = 4096 / namespace.block_size();

    let (mut pipe, mut writer) = std::io::pipe()?;
    let sender = std::thread::spawn(move || {
        (0..MESSAGES).try_for_each(|number| writer.write_all(&number.to_le_bytes()))
    });

    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let readable = epoll::EventFlags::IN;
    epoll::add(&set, &drive, epoll::EventData::new_u64(DRIVE), readable)?;
    epoll::add(&set, &pipe, epoll::EventData::new_u64(PIPE), readable)?;
    let (mut sent, mut done, mut messages, mut waits) = (0, 0, 0, 0);
    let mut events = Vec::with_capacity(2);
    while done < READS || messages < MESSAGES {
        let queue = &mut drive.group().queues()[0];
        while sent < READS
            && let Some(buffer) = buffers.pop()
        {
            queue.read(&namespace, sent, blocks, buffer, sent)?;
            sent += 1;
        }
        queue.ring();
        events.clear();
        // If the result is false, something has completed already, and the loop must not wait.
        if drive.arm()? {
            epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), None)?;
            waits += 1;
        }
        for event in &events {
            if event.data.u64() == PIPE {
                let mut number = [0; 8];
                pipe.read_exact(&mut number)?;
                messages += 1;
                if messages == MESSAGES {
                    epoll::delete(&set, &pipe)?;
                }
            }
        }
        // At most 4 at a time, so that the pipe does not have to wait.
        done += drive.reap(4, |_, completed| buffers.extend(completed.buffer))? as u64;
    }
    sender.join().map_err(|_| "the sender panicked")??;
    println!("{done} reads and {messages} messages in {waits} waits");
    Ok(())
}
