//! Arenas: one memory that a device reaches, the library's or the program's own, and buffers out of it.

use crate::buffer_handle::{Buffer, joulio_buffer};
use crate::controller::joulio_controller;
use crate::error::{Failure, guarded, guarded_pointer};
use crate::handle::{self, Handle, Spare};
use joulio_device::{Arena, PageKind, SharedMemory, memory_pages};
use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::mm::{Advice, madvise};
use std::ffi::{c_int, c_void};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Memory that a device reaches, mapped for it once, from which buffers of any size are allocated. A buffer that is
/// freed returns to it.
pub struct joulio_arena {
    _private: [u8; 0],
}

impl Handle for joulio_arena {
    type Value = Arena;
    const NAME: &'static str = "arena";
    const MARK: u64 = u64::from_le_bytes(*b"jlArena.");
    fn spare() -> &'static Spare {
        static SPARE: Spare = Spare::new();
        &SPARE
    }
}

/// Function that releases memory of the program after the device has stopped using it: munmap(2), for example.
pub type joulio_release = Option<unsafe extern "C" fn(base: *mut c_void, length: usize)>;

/// Calls the program's function when it is dropped, once that function is set.
struct Release {
    base: *mut c_void,
    length: usize,
    call: OnceLock<unsafe extern "C" fn(*mut c_void, usize)>,
}

// SAFETY: the pointer is only handed back to the program, which allows any thread.
unsafe impl Send for Release {}
// SAFETY: as above; a shared reference sets the function once.
unsafe impl Sync for Release {}

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(call) = self.call.get() {
            // SAFETY: by the caller of joulio_arena_register(); nobody reaches the memory any more.
            unsafe { call(self.base, self.length) }
        }
    }
}

/// Allocates an arena of at least `length` zeroed bytes, of huge pages where there are some. NULL:
/// joulio_error() says why.
///
/// # Safety
/// `controller` is NULL or a controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arena_alloc(
    controller: *mut joulio_controller,
    length: usize,
) -> *mut joulio_arena {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        let made = controller.opened().arena(check_length(length)?);
        made.map(handle::make)
            .map_err(|error| Failure::new(Errno::NOMEM, error))
    })
}

/// Makes an arena of the program's own memory: `length` bytes at `base`, both multiples of the page (of 2 MiB if huge),
/// mapped readable and writable. The memory must stay mapped, and must not be accessed otherwise, nor by a child
/// (madvise(2), MADV_DONTFORK), until `release` is called by any thread: after the arena and its buffers are freed and
/// the device has stopped using it. `release` may be NULL. It may be called within any call of this library, and may
/// itself call the library, but not with a handle of that call, nor, within a call of a group or of a queue in one, with
/// that group or any queue of it. Returns NULL on failure, see joulio_error(); `release` is then not called.
///
/// # Safety
/// `controller` is NULL or a controller; the memory is as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arena_register(
    controller: *mut joulio_controller,
    base: *mut c_void,
    length: usize,
    release: joulio_release,
) -> *mut joulio_arena {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        let start = NonNull::new(base.cast()).ok_or_else(|| Failure::null("base"))?;
        let invalid = |error| Failure::new(Errno::INVAL, error);
        let owner = Arc::new(Release {
            base,
            length: check_length(length)?,
            call: OnceLock::new(),
        });
        let pages = pages_of(base, length);
        // SAFETY: by the caller; `owner` is dropped after the last use.
        let memory = unsafe { SharedMemory::from_raw(start, length, pages, Arc::clone(&owner)) };
        let memory = memory.map_err(invalid)?;
        check_mapped(base, length)?;
        let arena = controller.opened().register(memory).map_err(not_reached)?;
        if let Some(release) = release {
            // This is the first time, so that it can be set.
            let _ = owner.call.set(release);
        }
        Ok(handle::make(arena))
    })
}

/// Makes an arena of `length` bytes from `offset` of `fd`, a memfd or a file of tmpfs or hugetlbfs that holds them,
/// `offset` a multiple of its pages; the length is rounded up to whole ones. It is mapped shared by this call, and `fd`
/// may be closed. Returns NULL on failure, see joulio_error().
///
/// # Safety
/// `controller` is NULL or a controller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arena_map(
    controller: *mut joulio_controller,
    fd: c_int,
    offset: u64,
    length: usize,
) -> *mut joulio_arena {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let controller = unsafe { handle::get(controller) }?;
        if fd < 0 {
            return Err(Failure::new(
                Errno::BADF,
                format_args!("fd {fd} is no file"),
            ));
        }
        // SAFETY: not -1; used during this call only, and the kernel answers EBADF if it is not open.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        fstat(file).map_err(|errno| Failure::new(errno, format_args!("fd {fd}: {errno}")))?;
        let memory = SharedMemory::from_file(file, offset, check_length(length)?, true);
        let memory = memory.map_err(|error| Failure::new(Errno::INVAL, error))?;
        let arena = controller.opened().register(memory).map_err(not_reached)?;
        Ok(handle::make(arena))
    })
}

/// Allocates a buffer of `length` bytes, rounded up to a multiple of 4, on a page boundary if it has a page or more. It
/// is freed with joulio_buffer_free(), before or after the arena. Returns NULL on failure, see joulio_error().
///
/// # Safety
/// `arena` is NULL or an arena.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arena_take(
    arena: *mut joulio_arena,
    length: usize,
) -> *mut joulio_buffer {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let arena = unsafe { handle::get(arena) }?;
        check_length(length)?;
        let taken = arena.take(length).ok_or_else(|| {
            let text = format!("the arena has no {length} bytes left in one piece");
            Failure::new(Errno::NOMEM, text)
        })?;
        Ok(handle::make(Buffer::new(taken)))
    })
}

/// Allocates the buffer of `length` bytes, rounded up to a multiple of 4, at `offset` of the arena, a multiple of 4:
/// the program decides the layout. Returns NULL on failure, see joulio_error(): a part of the range belongs to another
/// buffer, or is outside the arena.
///
/// # Safety
/// `arena` is NULL or an arena.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arena_take_at(
    arena: *mut joulio_arena,
    offset: usize,
    length: usize,
) -> *mut joulio_buffer {
    guarded_pointer(|| {
        // SAFETY: by the caller.
        let arena = unsafe { handle::get(arena) }?;
        let taken = arena.take_at(offset, length).ok_or_else(|| {
            let text = format!(
                "{length} bytes at {offset} of an arena of {} are not free: another buffer has some of them, or \
                 they are not inside, or the offset is no multiple of 4",
                arena.len()
            );
            Failure::new(Errno::INVAL, text)
        })?;
        Ok(handle::make(Buffer::new(taken)))
    })
}

/// Length of the arena in bytes; 0 for NULL.
///
/// # Safety
/// `arena` is NULL or an arena.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arena_length(arena: *const joulio_arena) -> usize {
    // SAFETY: by the caller.
    unsafe { handle::get(arena.cast_mut()) }.map_or(0, |arena| arena.len())
}

/// Frees the arena; NULL is allowed. Its buffers stay, and its memory with the last of them. 0, or a
/// negative errno: it is not an arena.
///
/// # Safety
/// `arena` is NULL or an arena.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn joulio_arena_free(arena: *mut joulio_arena) -> c_int {
    guarded(|| {
        // SAFETY: by the caller.
        drop(unsafe { handle::end(arena) }?);
        Ok(0)
    })
}

fn check_length(length: usize) -> Result<usize, Failure> {
    match length {
        0 => Err(Failure::new(Errno::INVAL, "0 bytes: at least 1")),
        length => Ok(length),
    }
}

fn not_reached(error: joulio_nvme::NvmeError) -> Failure {
    Failure::new(Errno::NOTSUP, error)
}

/// Returns the kind of the pages, if the range is aligned to such pages.
fn pages_of(base: *mut c_void, length: usize) -> PageKind {
    const HUGE: usize = 2 << 20;
    match (base as usize | length).is_multiple_of(HUGE) {
        true => memory_pages(base as u64),
        false => PageKind::Ordinary,
    }
}

/// Asks the kernel to populate the pages of the whole range, which it refuses where nothing is mapped or writable: a
/// device would only find that out by a fault.
fn check_mapped(base: *mut c_void, length: usize) -> Result<(), Failure> {
    // SAFETY: the content stays as it is.
    let populate = |length| unsafe { madvise(base, length, Advice::LinuxPopulateWrite) };
    match populate(length) {
        Ok(()) => Ok(()),
        // Linux below 5.14 does not know the advice, even for no bytes.
        Err(Errno::INVAL) if populate(0).is_err() => Ok(()),
        Err(_) => Err(Failure::new(
            Errno::FAULT,
            format_args!("{length} bytes at {base:p} are not all mapped and writable"),
        )),
    }
}
