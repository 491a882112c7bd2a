//! Buffers cut, split, joined, allocated from arenas and freed: no byte belongs to two buffers.

use joulio_device::{
    Arena, BufferList, Device, DeviceError, DmaBuffer, DmaDomain, DmaMapping, DmaMemory, Doorbell,
    Iova, PageKind, SharedMemory, TrustedArena, TrustedBuffer, TrustedDevice, TrustedMemory,
    Vector,
};
use proptest::prelude::*;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const BASE: u64 = 0x10_0000;

/// A device that has memory only.
struct MemoryOnly;

struct NoDoorbell;

impl Doorbell for NoDoorbell {
    fn ring(&self, _: u32) {}
}

struct Mapping(DmaDomain);

impl DmaMapping for Mapping {
    fn domain(&self) -> DmaDomain {
        self.0
    }
}

impl Device for MemoryOnly {
    type Doorbell = NoDoorbell;

    fn name(&self) -> &str {
        "memory"
    }

    fn read32(&self, _: u32) -> u32 {
        u32::MAX
    }

    fn read64(&self, _: u32) -> u64 {
        u64::MAX
    }

    fn write32(&self, _: u32, _: u32) {}

    fn write64(&self, _: u32, _: u64) {}

    fn doorbell(&self, _: u32) -> Result<NoDoorbell, DeviceError> {
        Ok(NoDoorbell)
    }

    fn allocate(&self, len: usize) -> Result<DmaMemory, DeviceError> {
        self.reach(Arc::new(SharedMemory::allocate(len)?))
    }

    fn reach(&self, memory: Arc<SharedMemory>) -> Result<DmaMemory, DeviceError> {
        Ok(DmaMemory::new(
            memory,
            Iova(BASE),
            Mapping(DmaDomain::unique()),
        ))
    }

    fn max_vectors(&self) -> u16 {
        0
    }

    fn enable_vectors(&self, _: u16) -> Result<Vec<Vector>, DeviceError> {
        Ok(Vec::new())
    }
}

// SAFETY: it never writes.
unsafe impl TrustedDevice for MemoryOnly {}

fn arena(len: usize) -> TrustedArena {
    TrustedArena::new(TrustedMemory::allocate(&MemoryOnly, len).unwrap())
}

#[test]
fn a_slice_and_a_copy_see_the_same_bytes() {
    let memory = TrustedMemory::allocate(&MemoryOnly, 8192).unwrap();
    let mut buffer = memory.carve(2, 4096).pop().unwrap();
    assert!(buffer.iter().all(|&byte| byte == 0));
    buffer[100..106].copy_from_slice(b"joules");
    let mut buffer = DmaBuffer::from(buffer);
    let mut copied = [0; 6];
    buffer.read(100, &mut copied);
    assert_eq!(&copied, b"joules");
    buffer.write(0, b"watts");
    assert_eq!(&buffer.as_slice().unwrap()[..5], b"watts");
    assert!(TrustedBuffer::try_from(buffer).is_ok());
}

#[test]
fn memory_that_others_may_hold_is_never_a_slice() {
    let memory = MemoryOnly.allocate(4096).unwrap();
    let held = memory.share();
    let mut buffer = DmaBuffer::carve(memory, 1, 4096).remove(0);
    held.write(0, &[1]);
    assert!(buffer.as_slice().is_none() && buffer.as_mut_slice().is_none());
    assert!(TrustedBuffer::try_from(buffer).is_err());
    let (file, _fd) = SharedMemory::shareable(4096).unwrap();
    let refused = TrustedMemory::register(&MemoryOnly, file).err();
    assert!(matches!(refused, Some(DeviceError::NotPrivate)));
}

#[test]
fn a_buffer_is_split_and_joined_and_others_are_not() {
    let mut buffers = TrustedMemory::allocate(&MemoryOnly, 8192)
        .unwrap()
        .carve(2, 4096);
    let mut other = buffers.pop().unwrap();
    let mut whole = buffers.pop().unwrap();
    whole.fill(1);
    let mut middle = whole.split_off(512);
    let end = middle.split_off(1024);
    middle.fill(2);
    assert_eq!((whole.len(), middle.len(), end.len()), (512, 1024, 2560));
    // Not adjacent: it is returned.
    let end = whole.join(end).unwrap_err();
    whole.join(middle).unwrap();
    whole.join(end).unwrap();
    assert_eq!(whole.len(), 4096);
    assert!(whole[512..1536].iter().all(|&byte| byte == 2));
    assert!(whole[1536..].iter().all(|&byte| byte == 1));
    // Adjacent buffers of one memory join too, those of another do not.
    let foreign = arena(4096).take(4096).unwrap();
    assert!(other.join(foreign).is_err());
    whole.join(other).unwrap();
    assert_eq!(whole.len(), 8192);
}

#[test]
fn a_buffer_knows_its_bytes_in_its_first_page_after_a_split_and_a_join() {
    let mut whole = arena(16384).take(12288).unwrap();
    let mut other = DmaBuffer::from(arena(4096).take(100).unwrap());
    assert_eq!(DmaBuffer::from(whole.split_off(12284)).len_in_page(), 4);
    let mut whole = DmaBuffer::from(whole);
    assert_eq!((whole.len_in_page(), other.len_in_page()), (4096, 100));
    // It begins in the middle of a page, and ends in the next but one.
    let mut rest = whole.split_off(512);
    assert_eq!((whole.len_in_page(), rest.len_in_page()), (512, 3584));
    let mut end = rest.split_off(3584);
    assert_eq!((rest.len_in_page(), end.len_in_page()), (3584, 4096));
    let none = end.split_off(end.len());
    assert_eq!((none.len(), none.len_in_page()), (0, 0));
    let last = end.split_off(4100);
    assert_eq!((end.len_in_page(), last.len_in_page()), (4096, 4088));
    let short = rest.split_off(4);
    assert_eq!((rest.len_in_page(), short.len_in_page()), (4, 3580));
    let short = other.join(short).unwrap_err();
    assert_eq!(short.len_in_page(), 3580);
    rest.join(short).unwrap();
    assert_eq!(rest.len_in_page(), 3584);
    end.join(last).unwrap();
    rest.join(end).unwrap();
    assert_eq!(rest.len_in_page(), 3584);
    whole.join(rest).unwrap();
    assert_eq!((whole.len(), whole.len_in_page()), (12284, 4096));
}

#[test]
fn an_arena_gives_a_place_once_and_takes_it_back() {
    let arena = arena(16384);
    let at = |offset, len| arena.take_at(offset, len);
    let start = arena.take(4096).unwrap().as_ptr();
    let second = at(4096, 4096).unwrap();
    assert_eq!(second.as_ptr(), start.wrapping_add(4096));
    for (offset, len) in [(4096, 4), (8190, 4), (8192, 8196), (16384, 4), (0, 0)] {
        assert!(at(offset, len).is_none(), "{offset} {len}");
    }
    assert!(at(usize::MAX - 3, 4).is_none() && at(8192, usize::MAX).is_none());
    drop(second);
    assert_eq!(at(4096, 12288).unwrap().len(), 12288);
}

#[test]
#[should_panic(expected = "is not split at 6")]
fn within_a_dword_nothing_is_split() {
    let _ = arena(4096).take(64).unwrap().split_off(6);
}

#[test]
fn a_full_arena_says_so_and_takes_buffers_back() {
    let arena = arena(8192);
    let (small, large) = (arena.take(100).unwrap(), arena.take(4096).unwrap());
    // Rounded to a dword, at a multiple of 128; the large one on a page.
    assert_eq!((small.len(), large.len()), (100, 4096));
    assert!(arena.take(4096).is_none() && arena.take(0).is_none());
    drop(small);
    let again = arena.take(4096).unwrap();
    assert!(arena.take(4).is_none());
    drop((again, large));
    assert!(
        Arena::new(MemoryOnly.allocate(4096).unwrap())
            .take(4096)
            .is_some()
    );
    assert_eq!(arena.take(8192).unwrap().len(), 8192);
    assert!(arena.take(usize::MAX).is_none());
}

#[test]
fn memory_of_the_callers_own_lives_as_long_as_its_last_buffer() {
    static UNMAPPED: AtomicUsize = AtomicUsize::new(0);
    struct Pages(Vec<Page>);
    #[repr(align(4096))]
    #[derive(Clone)]
    struct Page(#[allow(dead_code, reason = "it is memory")] [u8; 4096]);
    impl Drop for Pages {
        fn drop(&mut self) {
            UNMAPPED.fetch_add(self.0.len(), Ordering::Relaxed);
        }
    }
    let mut pages = Pages(vec![Page([0; 4096]); 4]);
    let base = NonNull::new(pages.0.as_mut_ptr()).unwrap().cast();
    // SAFETY: four pages, which `pages` owns and nobody else has.
    let memory = unsafe { SharedMemory::from_raw(base, 4 * 4096, PageKind::Ordinary, pages) };
    let memory = TrustedMemory::register(&MemoryOnly, memory.unwrap()).unwrap();
    let mut buffers = memory.carve(4, 4096);
    let last = buffers.pop();
    buffers.iter_mut().for_each(|buffer| buffer.fill(7));
    drop(buffers);
    assert_eq!(UNMAPPED.load(Ordering::Relaxed), 0);
    drop(last);
    assert_eq!(UNMAPPED.load(Ordering::Relaxed), 4);
    // SAFETY: it is refused, and so used by nobody.
    let refused = unsafe { SharedMemory::from_raw(base, 100, PageKind::Ordinary, ()) };
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("100 bytes"), "{text}");
}

#[test]
fn memory_of_a_file_is_one_mapping_of_many_buffers() {
    let (_ours, file) = SharedMemory::shareable(1 << 16).unwrap();
    let memory = SharedMemory::from_file(file.as_fd(), 0, 1 << 16, true).unwrap();
    let arena = Arena::new(MemoryOnly.reach(Arc::new(memory)).unwrap());
    let mut buffers: Vec<_> = (0..16).map(|_| arena.take(4096).unwrap()).collect();
    assert!(arena.take(4).is_none());
    for (index, buffer) in buffers.iter_mut().enumerate() {
        assert!(buffer.as_slice().is_none());
        buffer.write(0, &[index as u8; 4096]);
    }
    let mut all = vec![0; 1 << 16];
    _ours.read(0, &mut all);
    assert!(
        all.chunks(4096)
            .all(|page| page.iter().all(|&byte| byte == page[0]))
    );
}

#[test]
fn a_list_has_its_parts_in_order_and_gives_all_buffers_back() {
    let arena = arena(1 << 16);
    let mut list = BufferList::new();
    list.push_part(arena.take(4096).unwrap(), 512..1024);
    list.push(arena.take(100).unwrap());
    let parts: Vec<_> = list.parts().collect();
    assert_eq!(parts, [(Iova(BASE + 512), 512), (Iova(BASE + 4096), 100)]);
    assert_eq!((list.bytes(), list.iter().count()), (612, 2));
    // A queue keeps it as one buffer; a buffer popped from a list does not drag others along.
    let first = list.into_chain().unwrap();
    let mut list = BufferList::new();
    list.push(first);
    assert_eq!(list.bytes(), 4096);
    let lens: Vec<_> = list.into_iter().map(|buffer| buffer.len()).collect();
    assert_eq!(lens, [4096]);
    // All of them were returned.
    assert!(arena.take(1 << 16).is_some());
    // However long the list is, dropping it does not overflow the stack.
    let many = DmaBuffer::carve(MemoryOnly.allocate(4096).unwrap(), 1, 4096).remove(0);
    let mut rest = vec![many];
    for _ in 0..1000 {
        let next = rest.last_mut().unwrap().split_off(4);
        rest.push(next);
    }
    let list: BufferList = rest.into_iter().collect();
    assert_eq!(list.bytes(), 4096);
}

#[derive(Clone, Debug)]
enum Step {
    Take(usize),
    Drop(usize),
    Split(usize, usize),
    Join(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1usize..9000).prop_map(Step::Take),
        any::<usize>().prop_map(Step::Drop),
        (any::<usize>(), any::<usize>()).prop_map(|(which, at)| Step::Split(which, at)),
        (any::<usize>(), any::<usize>()).prop_map(|(which, other)| Step::Join(which, other)),
    ]
}

/// Checks that all bytes of a buffer are its number.
fn is_whole(buffer: &TrustedBuffer, number: u8) -> bool {
    buffer.iter().all(|&byte| byte == number)
}

proptest! {
    #[test]
    fn no_byte_is_two_buffers(steps in proptest::collection::vec(step(), 1..80)) {
        let arena = arena(1 << 16);
        let mut held: Vec<(TrustedBuffer, u8)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let number = number as u8;
            match step {
                Step::Take(len) => {
                    if let Some(mut buffer) = arena.take(len) {
                        buffer.fill(number);
                        held.push((buffer, number));
                    }
                }
                Step::Drop(which) if !held.is_empty() => {
                    held.swap_remove(which % held.len());
                }
                Step::Split(which, at) if !held.is_empty() => {
                    let which = which % held.len();
                    let (buffer, of) = &mut held[which];
                    let rest = buffer.split_off(at % (buffer.len() / 4 + 1) * 4);
                    let of = *of;
                    held.push((rest, of));
                }
                Step::Join(which, other) if held.len() > 1 => {
                    let (rest, of) = held.swap_remove(other % held.len());
                    let which = which % held.len();
                    let (buffer, number) = &mut held[which];
                    match buffer.join(rest) {
                        Ok(()) => buffer.fill(*number),
                        Err(rest) => held.push((rest, of)),
                    }
                }
                _ => {}
            }
            prop_assert!(held.iter().all(|(buffer, of)| is_whole(buffer, *of)));
        }
        drop(held);
        prop_assert!(arena.take(1 << 16).is_some());
    }
}

#[test]
fn a_list_has_no_bytes_that_were_split_off_its_buffer() {
    let arena = arena(8192);
    let mut list = BufferList::new();
    list.push_part(arena.take(4096).unwrap(), 256..4096);
    let mut first = list.into_chain().unwrap();
    let rest = first.split_off(512);
    let list = BufferList::from_chain(Some(first));
    assert_eq!(list.parts().collect::<Vec<_>>(), [(Iova(BASE + 256), 256)]);
    assert_eq!(rest.len(), 3584);
}
