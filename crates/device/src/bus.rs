//! An answer to SIGBUS, for mappings of files that another process may truncate, and of registers
//! of a device that may be removed.
//!
//! Such an access cannot be checked beforehand without a race. The handler puts a page of zeroes
//! where the file ended, and the access goes on: the process that shortened its own memory reads
//! and writes nothing, and this one lives. Where registers were, the page is all ones, as PCIe
//! answers for a device that is not there.
//!
//! What makes it sound: it only acts on SIGBUS that the kernel raised for a missing page
//! (`BUS_ADRERR`), whose address lies in no mapping's live page by definition; it calls nothing
//! but mmap(2) and sigaction(2), which are plain system calls; any other SIGBUS goes to whoever
//! had the signal before. The one mapping that it could replace wrongly is another file mapping
//! of this process, truncated by somebody, whose access would have killed the process anyway.

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest page of a file that is guarded: that much is replaced at once.
static PAGE: AtomicUsize = AtomicUsize::new(crate::iova::PAGE);

/// From now on a file mapped by this process, in pages of `page` bytes, may be truncated.
pub(crate) fn guard(page: usize) -> io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    PAGE.fetch_max(page, Ordering::Relaxed);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed {
        return Ok(());
    }
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = answer;
    // SAFETY: zeroes are a valid `sigaction`: an empty mask, and no flags.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `answer` only makes system calls that a handler may make.
    if unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    *installed = true;
    Ok(())
}

/// Where registers are mapped: address and length, or zeroes. Read by the handler, which may take
/// no lock; an entry that is being changed is of a mapping that is not accessed.
static REGISTERS: [(AtomicUsize, AtomicUsize); 256] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 256];

/// Registers are mapped at `range`, which is not accessed yet. `false`: there is no room to note
/// it, and a page that vanishes there reads as zeroes.
pub(crate) fn note_registers(range: Range<usize>) -> bool {
    REGISTERS.iter().any(|(start, len)| {
        let taken = start.compare_exchange(0, range.start, Ordering::SeqCst, Ordering::SeqCst);
        if taken.is_ok() {
            len.store(range.len(), Ordering::SeqCst);
        }
        taken.is_ok()
    })
}

/// The registers at `range` are not accessed any more, and still mapped.
pub(crate) fn forget_registers(range: Range<usize>) {
    for (start, len) in &REGISTERS {
        if start.load(Ordering::SeqCst) == range.start {
            len.store(0, Ordering::SeqCst);
            start.store(0, Ordering::SeqCst);
            return;
        }
    }
}

fn are_registers(address: usize) -> bool {
    REGISTERS.iter().any(|(start, len)| {
        let start = start.load(Ordering::SeqCst);
        start != 0 && (start..start + len.load(Ordering::SeqCst)).contains(&address)
    })
}

extern "C" fn answer(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid `siginfo_t` to a handler with SA_SIGINFO.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code == libc::BUS_ADRERR && (replace(address, crate::iova::PAGE) || replace_huge(address)) {
        return;
    }
    // SAFETY: the default action; the access is repeated when the handler returns, and ends the
    // process as it would have without a handler.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

/// A page of a hugetlb file cannot be replaced in part.
fn replace_huge(address: usize) -> bool {
    let page = PAGE.load(Ordering::Relaxed);
    page > crate::iova::PAGE && replace(address, page)
}

fn replace(address: usize, page: usize) -> bool {
    let start = address & !(page - 1);
    // SAFETY: the page at `address` has nothing behind it, as the signal says: no live data is
    // replaced. References never point into such memory.
    let mapped = unsafe {
        libc::mmap(
            start as *mut libc::c_void,
            page,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    if are_registers(address) {
        // SAFETY: the page was just mapped, and nobody else knows of it but by the registers that
        // stood there. Volatile, so that it does not become a call.
        unsafe {
            let words = mapped.cast::<u64>();
            for index in 0..page / size_of::<u64>() {
                words.add(index).write_volatile(u64::MAX);
            }
        }
    }
    true
}
