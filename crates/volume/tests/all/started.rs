//! Reads that are started, and waited for or cancelled later.

use joulio_emulator::{EmulatedDevice, Fault, Options, Stepper};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions};
use joulio_nvme_spec::Status;
use joulio_units::Nanos;
use joulio_volume::{
    BlockStore, FormatOptions, MemoryStore, NvmeStore, StartedFileRead, StoreError, Volume,
    VolumeError, VolumeFile,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread::{self, JoinHandle};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Bytes of the file that the tests read: more commands than a queue pair has in flight.
const BYTES: usize = 4 << 20;

/// Bytes at `offset` of that file, each block with other ones.
fn pattern(offset: usize, len: usize) -> Vec<u8> {
    let byte = |at: usize| (at / 512 * 7 + at % 251) as u8;
    (offset..offset + len).map(byte).collect()
}

/// A device that a thread steps, except while somebody else has the stepper.
struct Device {
    stepper: Arc<Mutex<Stepper>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Device {
    fn new() -> Result<(EmulatedDevice, Device)> {
        let options = Options::new(DeviceProfile::builtin("instant")?);
        let (device, stepper) = EmulatedDevice::stepped(&options)?;
        let stepper = Arc::new(Mutex::new(stepper));
        let ends = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (stepper, ends) = (Arc::clone(&stepper), Arc::clone(&ends));
            move || {
                while !ends.load(Ordering::Acquire) {
                    stepper.lock().expect("no panic").step(Nanos::ZERO);
                    thread::yield_now();
                }
            }
        });
        let thread = Some(thread);
        Ok((
            device,
            Device {
                stepper,
                ends,
                thread,
            },
        ))
    }

    /// Stops the device, which then executes only what the returned stepper steps.
    fn stop(&self) -> MutexGuard<'_, Stepper> {
        self.stepper.lock().expect("no panic")
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

/// Executes all commands on the queues; returns their number.
fn execute(stepper: &Stepper) -> u32 {
    let fetched = || stepper.step(Nanos::ZERO).fetched;
    std::iter::from_fn(|| Some(fetched()).filter(|&count| count > 0)).sum()
}

type File = VolumeFile<NvmeStore<EmulatedDevice>>;

/// A volume with a file of [`BYTES`] bytes, on `queues` queue pairs.
fn file(device: EmulatedDevice, queues: u16) -> Result<File> {
    let options = ControllerOptions {
        queues,
        ..ControllerOptions::default()
    };
    let controller = Controller::open(device, options)?;
    let store = NvmeStore::new(controller, 1, || AnyPolicy::POLL)?;
    Volume::format(&store, FormatOptions::default())?;
    let file = Volume::open(store)?.create("file")?;
    file.append(&pattern(0, BYTES))?;
    file.sync()?;
    Ok(file)
}

fn start<S: BlockStore>(
    file: &VolumeFile<S>,
    offset: usize,
    len: usize,
) -> Result<StartedFileRead<S>> {
    Ok(file.start_read(offset as u64, Box::new(vec![0; len]))?)
}

/// Waits for `read`; its bytes are those at `offset` up to the end of the file.
fn finish<S: BlockStore>(read: StartedFileRead<S>, offset: usize, len: usize) -> Result<()> {
    let (mut into, done) = read.finish()?;
    assert_eq!(done, len.min(BYTES.saturating_sub(offset)));
    assert!(
        (*into).as_mut()[..done] == pattern(offset, done),
        "{offset}"
    );
    Ok(())
}

/// Reads of all kinds, each an offset and a number of bytes: one block, parts of blocks, at the end, beyond it.
const READS: [(usize, usize); 6] = [
    (0, 512),
    (1000, 5000),
    (BYTES - 700, 4096),
    (77, 1),
    (BYTES + 1, 10),
    (1 << 20, 4096),
];

#[test]
fn commands_of_all_started_reads_are_in_flight_before_one_is_waited_for() -> Result<()> {
    let (emulated, device) = Device::new()?;
    let file = file(emulated, 4)?;
    let stopped = device.stop();
    let mut reads = Vec::new();
    for (offset, len) in READS {
        reads.push((start(&file, offset, len)?, offset, len));
    }
    // All but the one beyond the end of the file.
    assert_eq!(execute(&stopped), 5);
    drop(stopped);
    for (read, offset, len) in reads.into_iter().rev() {
        finish(read, offset, len)?;
    }
    Ok(())
}

#[test]
fn a_large_read_has_as_many_commands_in_flight_as_there_are_buffers() -> Result<()> {
    let (emulated, device) = Device::new()?;
    let file = file(emulated, 1)?;
    let stopped = device.stop();
    let large = start(&file, 0, BYTES)?;
    let small = start(&file, 5, 5)?;
    assert_eq!(execute(&stopped), 15);
    drop(stopped);
    // A read, a write and a flush on the same queue pair.
    let mut bytes = [0; 100];
    file.read_at(1000, &mut bytes)?;
    assert_eq!(bytes[..], pattern(1000, 100));
    file.append(b"more")?;
    file.sync()?;
    finish(small, 5, 5)?;
    finish(large, 0, BYTES)
}

/// Memory of a read that a test still sees when the read no longer has it.
struct Kept {
    bytes: Vec<u8>,
    dropped: mpsc::Sender<Vec<u8>>,
}

impl AsMut<[u8]> for Kept {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.dropped.send(bytes).expect("the test looks");
    }
}

#[test]
fn a_cancelled_read_gives_its_memory_up_while_the_device_works() -> Result<()> {
    let (emulated, device) = Device::new()?;
    let file = file(emulated, 1)?;
    let (dropped, memory) = mpsc::channel();
    let stopped = device.stop();
    let kept = |len| Kept {
        bytes: vec![0; len],
        dropped: dropped.clone(),
    };
    let small = file.start_read(0, Box::new(kept(4096)))?;
    // Some of its commands are not even submitted.
    let large = file.start_read(0, Box::new(kept(BYTES)))?;
    drop(small);
    drop(large);
    assert!(memory.try_recv()? == [0; 4096]);
    assert!(memory.try_recv()? == vec![0; BYTES]);
    assert_eq!(execute(&stopped), 15);
    drop(stopped);
    for (offset, len) in READS {
        finish(start(&file, offset, len)?, offset, len)?;
    }
    // A read that is never waited for ends with the volume.
    let _stopped = device.stop();
    let last = file.start_read(0, Box::new(kept(4096)))?;
    drop(last);
    assert!(memory.try_recv()? == [0; 4096]);
    Ok(())
}

#[test]
fn a_started_read_outlives_its_file_and_volume() -> Result<()> {
    let (emulated, device) = Device::new()?;
    let file = file(emulated, 2)?;
    let stopped = device.stop();
    let read = start(&file, 4096, 8192)?;
    drop(file);
    drop(stopped);
    finish(read, 4096, 8192)
}

#[test]
fn threads_finish_reads_that_others_started() -> Result<()> {
    let (emulated, _device) = Device::new()?;
    let file = file(emulated, 2)?;
    let (started, reads) = mpsc::channel();
    let reads = Mutex::new(reads);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (started, file) = (started.clone(), &file);
            scope.spawn(move || {
                for round in 0..20 {
                    let (offset, len) = (4099 * (round + 20 * thread), 300_000);
                    let read = start(file, offset, len).expect("started");
                    // Some are cancelled, and some are followed by a read that waits.
                    match round % 4 {
                        0 => drop(read),
                        1 => {
                            let mut bytes = [0; 700];
                            file.read_at(offset as u64, &mut bytes).expect("read");
                            assert!(bytes[..] == pattern(offset, 700));
                            started.send((read, offset, len)).expect("sent");
                        }
                        _ => started.send((read, offset, len)).expect("sent"),
                    }
                }
            });
        }
        drop(started);
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = reads.lock().expect("no panic").recv();
                    let Ok((read, offset, len)) = next else {
                        break;
                    };
                    finish(read, offset, len).expect("read");
                }
            });
        }
    });
    Ok(())
}

#[test]
fn a_started_read_that_fails_says_so_and_others_do_not() -> Result<()> {
    let (emulated, device) = Device::new()?;
    let file = file(emulated, 1)?;
    let stopped = device.stop();
    stopped.inject(Fault::Status(Status::INTERNAL_ERROR));
    let (bad, good) = (start(&file, 0, 4096)?, start(&file, 4096, 4096)?);
    drop(stopped);
    finish(good, 4096, 4096)?;
    let failed = bad.finish().map(|(_, done)| done);
    assert!(
        matches!(
            failed,
            Err(VolumeError::Store(StoreError::Status { lba: _, .. }))
        ),
        "{failed:?}"
    );
    // A removed controller ends all.
    let stopped = device.stop();
    let reads = [start(&file, 0, 4096)?, start(&file, 0, BYTES)?];
    stopped.inject(Fault::Removed);
    drop(stopped);
    for read in reads {
        assert!(read.finish().is_err());
    }
    Ok(())
}

#[test]
fn a_store_without_started_reads_reads_before_it_returns() -> Result<()> {
    let store = MemoryStore::new(512, 16 << 11);
    Volume::format(&store, FormatOptions::default())?;
    let file = Volume::open(store)?.create("file")?;
    file.append(&pattern(0, BYTES))?;
    for (offset, len) in READS {
        finish(start(&file, offset, len)?, offset, len)?;
    }
    Ok(())
}

#[test]
fn memory_that_is_too_small_is_refused() -> Result<()> {
    let (emulated, _device) = Device::new()?;
    let controller = Controller::open(emulated, ControllerOptions::default())?;
    let nvme = NvmeStore::new(controller, 1, || AnyPolicy::POLL)?;
    let memory = MemoryStore::new(512, 1024);
    for store in [&nvme as &dyn BlockStore, &memory] {
        let refused = store.start_read(&[(0, 512), (0, 512)], Box::new(vec![0; 1000]));
        assert!(matches!(
            refused,
            Err(StoreError::Memory {
                len: 1024,
                room: 1000
            })
        ));
        let refused = store.start_read(&[(u64::MAX, 1)], Box::new(vec![0; 1000]));
        assert!(matches!(refused, Err(StoreError::Range { .. })));
    }
    Ok(())
}
