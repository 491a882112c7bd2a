//! A handler of SIGBUS, for mappings of files that another process may truncate, and of registers of a device that may
//! be removed.
//!
//! Such an access cannot be checked beforehand without a race. The handler maps a page where there is none any more,
//! and the access continues: it reads zeroes where a file ended, so that only the process that truncated its memory
//! loses data; all ones where registers were, as PCIe returns for a device that is not there. Where many pages of a
//! file vanish, the whole mapping is replaced: page by page it would use up the mappings that a process may have.
//!
//! Only mappings that joulio made are served ([`guarded`]). Every other SIGBUS is passed on to the program's own action
//! ([`before`]).
//!
//! Sound because a page is replaced only on a SIGBUS that the kernel raised because nothing backs the address
//! (`BUS_ADRERR`), and only inside a mapping whose owner keeps its [`Guard`] for as long as it is mapped; no reference
//! ever points into such memory. The handler takes no lock and allocates nothing: it reads atomics and makes system
//! calls.

mod before;
mod guarded;

pub(crate) use guarded::{Fill, Guard};

use guarded::Place;
use std::io;
use std::ops::Range;

/// Maximum number of pages of a mapping that are replaced one by one. Each adds up to two mappings to the process,
/// which may have 65,530 by default (`vm.max_map_count`).
const MAX_REPLACED: usize = 256;

/// Guards `range`, so that accesses to pages of it that vanish find `fill` instead of ending the process, until the
/// guard is dropped. Pages are of `page` bytes; the range is mapped, and was not accessed yet.
pub(crate) fn guard(range: Range<usize>, page: usize, fill: Fill) -> io::Result<Guard> {
    before::install(answer)?;
    Ok(Guard::new(range, page, fill))
}

extern "C" fn answer(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid `siginfo_t` to a handler with SA_SIGINFO.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code == libc::BUS_ADRERR
        && let Some(place) = guarded::find(address)
    {
        // SAFETY: the thread's own errno, which the interrupted code may be about to read.
        let errno = unsafe { *libc::__errno_location() };
        let replaced = place.vanished >= MAX_REPLACED && replace_all(&place)
            || replace(&place, address)
            || replace_all(&place);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
        if replaced {
            return;
        }
    }
    before::forward(signal, info, context);
}

/// Maps a new page at `address`; `false` if that fails. The page is filled elsewhere and moved there whole, so that no
/// other thread finds it half filled. A page of a hugetlb file cannot be replaced in part.
fn replace(place: &Place, address: usize) -> bool {
    let start = address & !(place.page - 1);
    let none = std::ptr::null_mut();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, placed by the kernel.
    let page = unsafe { libc::mmap(none, place.page, access, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return false;
    }
    if place.fill == Fill::Ones {
        // SAFETY: the page was just mapped, and nobody else knows of it. The write is volatile, so that the compiler
        // does not turn it into a call of memset.
        unsafe {
            let words = page.cast::<u64>();
            for index in 0..place.page / size_of::<u64>() {
                words.add(index).write_volatile(u64::MAX);
            }
        }
    }
    // SAFETY: nothing backs the page at `address`, as the signal says, and it is in a mapping of joulio: no live data
    // is replaced.
    unsafe {
        let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let to = start as *mut libc::c_void;
        if libc::mremap(page, place.page, place.page, how, to) == libc::MAP_FAILED {
            libc::munmap(page, place.page);
            return false;
        }
    }
    true
}

/// Maps new memory in the place of a whole file of which pages vanish, in one mapping; `false` if that fails.
fn replace_all(place: &Place) -> bool {
    if place.fill != Fill::Zeroes {
        return false;
    }
    let start = place.range.start as *mut libc::c_void;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the range is a mapping of joulio, and no reference points into it. Pages that the file still has are
    // replaced too: whoever truncated it, or left holes in it, loses them for this mapping, also for a device that has
    // them pinned.
    let base = unsafe { libc::mmap(start, place.range.len(), access, flags, -1, 0) };
    base != libc::MAP_FAILED
}
