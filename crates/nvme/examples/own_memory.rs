//! A cache in the program's own memory: one mapping that the program creates and registers with the drive once.
//! Pages of it are read in place, without a copy.
//!
//! ```text
//! cargo run --release -p joulio-nvme --example own_memory
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::{
    BufferList, Controller, ControllerOptions, PageKind, PollGroup, SharedMemory, TrustedArena,
    TrustedBuffer,
};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::error::Error;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

/// Bytes of the cache.
const CACHE: usize = 1 << 20;
const PAGE: usize = 4096;

/// The program's mapping. A program with huge pages adds `MapFlags::HUGETLB` and passes `PageKind::Huge`.
struct Mapping(NonNull<c_void>);

// SAFETY: the value is only an address, and the mapping belongs to no particular thread.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives no access to the memory.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new() -> Result<Mapping, Box<dyn Error>> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, placed by the kernel, aliases nothing.
        let base = unsafe { mmap_anonymous(null_mut(), CACHE, protection, MapFlags::PRIVATE)? };
        Ok(Mapping(NonNull::new(base).ok_or("not at address 0")?))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and its last buffer has been dropped.
        let _ = unsafe { munmap(self.0.as_ptr(), CACHE) };
    }
}

/// Fills pages of the cache, writes them with one command, and reads one of them into another page.
pub fn main() -> Result<(), Box<dyn Error>> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let blocks = PAGE as u32 / namespace.block_size();
    let mut group = PollGroup::new(vec![controller.create_queue_pair(4)?]);

    let mapping = Mapping::new()?;
    let base = mapping.0.cast();
    // SAFETY: the mapping is zeroed, `mapping` unmaps it when the last buffer is dropped, and nobody else has a
    // pointer to it.
    let memory = unsafe { SharedMemory::from_raw(base, CACHE, PageKind::Ordinary, mapping)? };
    let cache = TrustedArena::new(controller.register_trusted(memory)?);

    // Four pages, wherever they are in the cache, in one command.
    let mut pages = BufferList::new();
    for number in 1..=4 {
        let mut page = cache.take(PAGE).ok_or("the cache is full")?;
        page.fill(number);
        pages.push(page);
    }
    let queue = &mut group.queues()[0];
    queue.writev(&namespace, 0, 4 * blocks, pages, 0)?;
    queue.ring();
    // When the pages are dropped, they go back to the cache.
    group.reap(1, None, |_, done| drop(done.into_buffers()))?;

    let queue = &mut group.queues()[0];
    let page = cache.take(PAGE).ok_or("the cache is full")?;
    queue.read(&namespace, 2 * u64::from(blocks), blocks, page, 0)?;
    queue.ring();
    let mut read = None;
    group.reap(1, None, |_, done| read = done.buffer)?;
    let page = TrustedBuffer::try_from(read.ok_or("a read has a buffer")?);
    let page = page.map_err(|_| "an emulated drive is trusted")?;
    println!(
        "page 3 of the drive, in the cache: {} bytes of {}",
        page.len(),
        page[0]
    );
    match page.iter().all(|&byte| byte == 3) {
        true => Ok(()),
        false => Err("it has other bytes".into()),
    }
}
