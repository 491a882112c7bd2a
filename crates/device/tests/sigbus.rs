//! A program that links the driver keeps its action for SIGBUS: only faults in the driver's own mappings are handled,
//! and every other signal is passed to the action that was there before.
//!
//! Each case runs in a child process, since an action belongs to a process, and some cases end it. They do not run
//! under QEMU's user emulation, which starts only programs of the host's architecture.

use joulio_device::SharedMemory;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

const PAGE: usize = 4096;
/// Environment variable that makes the child the program that links the driver.
const CHILD: &str = "JOULIO_SIGBUS_CHILD";

/// Runs the test `name` once more, in a child process.
fn in_a_child(name: &str, program: fn()) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        program();
        return None;
    }
    let exe = std::env::current_exe().unwrap();
    let child = Command::new(exe)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output();
    Some(child.unwrap())
}

fn passes(name: &str, program: fn()) {
    if let Some(output) = in_a_child(name, program) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", output.status);
    }
}

fn dies_of_sigbus(name: &str, program: fn()) {
    if let Some(output) = in_a_child(name, program) {
        let said = String::from_utf8_lossy(&output.stderr);
        let signal = output.status.signal();
        assert_eq!(signal, Some(libc::SIGBUS), "{}: {said}", output.status);
    }
}

/// Makes a file of `pages` pages that the program maps itself; returns its address too.
fn mapped(pages: usize) -> (File, *mut u8) {
    let file = tempfile::tempfile().unwrap();
    file.set_len((pages * PAGE) as u64).unwrap();
    // SAFETY: a new mapping, placed by the kernel.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            pages * PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(base, libc::MAP_FAILED);
    (file, base.cast())
}

/// Makes memory of another process, guarded by the driver, whose second page is gone already.
fn truncated_by_a_peer() -> SharedMemory {
    truncated(2)
}

/// Makes `pages` pages of memory of another process, guarded by the driver, of which only the first is left.
fn truncated(pages: usize) -> SharedMemory {
    let file = File::from(memfd_create("peer", MemfdFlags::CLOEXEC).unwrap());
    file.set_len((pages * PAGE) as u64).unwrap();
    let memory = SharedMemory::from_file(file.as_fd(), 0, pages * PAGE, true).unwrap();
    file.set_len(PAGE as u64).unwrap();
    memory
}

/// Splits a reservation until the process has all mappings but two of the `limit` that the kernel allows it.
fn use_up_mappings(limit: usize) {
    let pages = 2 * limit;
    // SAFETY: a new mapping, placed by the kernel.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            pages * PAGE,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert_ne!(base, libc::MAP_FAILED);
    let protect = |page: usize, access| {
        // SAFETY: a page of the reservation, which nobody accesses.
        unsafe { libc::mprotect(base.cast::<u8>().add(page * PAGE).cast(), PAGE, access) }
    };
    let refused = (1..pages)
        .step_by(2)
        .find(|&page| protect(page, libc::PROT_READ) != 0);
    let last = refused.expect("a limit") - 2;
    assert_eq!(protect(last, libc::PROT_NONE), 0);
}

/// Installs `handler` for SIGBUS, as the program's own.
fn install(handler: usize, flags: i32, masked: &[i32]) {
    // SAFETY: zeroes are a valid `sigaction`; the handlers below make system calls only.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        for &signal in masked {
            libc::sigaddset(&raw mut action.sa_mask, signal);
        }
        assert_eq!(
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()),
            0
        );
    }
}

/// Number of calls of the program's handler, and the address of the last access.
static CALLS: AtomicUsize = AtomicUsize::new(0);
static ADDRESS: AtomicUsize = AtomicUsize::new(0);
static BLOCKED: AtomicUsize = AtomicUsize::new(0);
/// Address of the page where the handler maps memory.
static UNDER: AtomicUsize = AtomicUsize::new(0);

fn mend() {
    CALLS.fetch_add(1, Ordering::SeqCst);
    let page = UNDER.load(Ordering::SeqCst) & !(PAGE - 1);
    // SAFETY: the page belongs to a mapping of this test that has nothing behind it.
    unsafe {
        libc::mmap(
            page as *mut libc::c_void,
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        );
        let mut set: libc::sigset_t = MaybeUninit::zeroed().assume_init();
        libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut set);
        let blocked = [libc::SIGBUS, libc::SIGUSR1, libc::SIGUSR2]
            .iter()
            .enumerate()
            .filter(|&(_, &signal)| libc::sigismember(&raw const set, signal) == 1)
            .fold(0, |bits, (index, _)| bits | 1 << index);
        BLOCKED.store(blocked, Ordering::SeqCst);
    }
}

extern "C" fn with_info(_: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    assert!(!context.is_null());
    // SAFETY: the handler was installed with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    ADDRESS.store(address, Ordering::SeqCst);
    UNDER.store(address, Ordering::SeqCst);
    mend();
}

extern "C" fn plain(signal: i32) {
    assert_eq!(signal, libc::SIGBUS);
    mend();
}

fn calls() -> usize {
    CALLS.load(Ordering::SeqCst)
}

#[test]
fn every_access_of_the_program_to_a_truncated_file_reaches_its_own_handler() {
    passes(
        "every_access_of_the_program_to_a_truncated_file_reaches_its_own_handler",
        || {
            install(with_info as *const () as usize, libc::SA_SIGINFO, &[]);
            let guarded = truncated_by_a_peer();
            let (file, base) = mapped(256);
            file.set_len(0).unwrap();
            for page in 0..256 {
                // SAFETY: inside of the mapping; the handler puts memory there.
                let at = unsafe { base.add(page * PAGE + 24) };
                // SAFETY: as above.
                unsafe { at.write_volatile(1) };
                assert_eq!(calls(), page + 1);
                assert_eq!(ADDRESS.load(Ordering::SeqCst), at as usize);
                // A fault in the driver's mapping is handled in between, without the program's handler.
                guarded.store_u32(PAGE, page as u32);
                assert_eq!(guarded.load_u32(PAGE), page as u32);
            }
            assert_eq!(calls(), 256);
        },
    );
}

#[test]
fn a_process_without_mappings_left_survives_a_page_that_vanished() {
    passes(
        "a_process_without_mappings_left_survives_a_page_that_vanished",
        || {
            let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
            let limit: usize = limit.trim().parse().unwrap();
            if limit > 1 << 20 {
                eprintln!("skipped: vm.max_map_count is {limit}, too many mappings to make");
                return;
            }
            let guarded = truncated_by_a_peer();
            use_up_mappings(limit);
            assert_eq!(guarded.load_u32(PAGE), 0);
            guarded.store_u32(PAGE, 5);
            assert_eq!(guarded.load_u32(PAGE), 5);
        },
    );
}

#[test]
fn pages_that_vanish_do_not_use_up_the_mappings() {
    passes("pages_that_vanish_do_not_use_up_the_mappings", || {
        let guarded = truncated(8192);
        for page in (1..8192).step_by(2) {
            assert_eq!(guarded.load_u32(page * PAGE), 0);
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let count = maps.lines().count();
        assert!(count < 2000, "{count}");
    });
}

#[test]
fn a_handler_without_siginfo_is_called_as_one() {
    passes("a_handler_without_siginfo_is_called_as_one", || {
        install(plain as *const () as usize, 0, &[]);
        let guarded = truncated_by_a_peer();
        let (file, base) = mapped(1);
        file.set_len(0).unwrap();
        UNDER.store(base as usize, Ordering::SeqCst);
        // SAFETY: inside of the mapping; the handler puts memory there.
        unsafe { base.write_volatile(1) };
        assert_eq!(calls(), 1);
        assert_eq!(guarded.load_u32(PAGE), 0);
        assert_eq!(calls(), 1);
    });
}

#[test]
fn a_handler_runs_with_the_mask_that_it_requested() {
    passes("a_handler_runs_with_the_mask_that_it_requested", || {
        let info = with_info as *const () as usize;
        install(info, libc::SA_SIGINFO, &[libc::SIGUSR2]);
        let _guarded = truncated_by_a_peer();
        let (file, base) = mapped(1);
        file.set_len(0).unwrap();
        // SAFETY: inside of the mapping; the handler puts memory there.
        unsafe { base.write_volatile(1) };
        // SIGBUS itself and SIGUSR2, not SIGUSR1.
        assert_eq!(BLOCKED.load(Ordering::SeqCst), 0b101);
    });
}

#[test]
fn a_handler_that_is_not_deferred_is_not_deferred() {
    passes("a_handler_that_is_not_deferred_is_not_deferred", || {
        let info = with_info as *const () as usize;
        install(info, libc::SA_SIGINFO | libc::SA_NODEFER, &[]);
        let _guarded = truncated_by_a_peer();
        let (file, base) = mapped(1);
        file.set_len(0).unwrap();
        // SAFETY: inside of the mapping; the handler puts memory there.
        unsafe { base.write_volatile(1) };
        assert_eq!((calls(), BLOCKED.load(Ordering::SeqCst)), (1, 0));
    });
}

#[test]
fn a_handler_for_once_is_called_once() {
    dies_of_sigbus("a_handler_for_once_is_called_once", || {
        let flags = libc::SA_SIGINFO | libc::SA_RESETHAND;
        install(with_info as *const () as usize, flags, &[]);
        let guarded = truncated_by_a_peer();
        guarded.store_u32(PAGE, 1);
        assert_eq!(calls(), 0);
        let (file, base) = mapped(2);
        file.set_len(0).unwrap();
        // SAFETY: inside of the mapping; the handler puts memory there, and the second access
        // ends the process.
        unsafe {
            base.write_volatile(1);
            assert_eq!(calls(), 1);
            base.add(PAGE).write_volatile(1);
        }
    });
}

#[test]
fn without_a_handler_the_program_ends() {
    dies_of_sigbus("without_a_handler_the_program_ends", || {
        install(libc::SIG_DFL, 0, &[]);
        let guarded = truncated_by_a_peer();
        assert_eq!(guarded.load_u32(PAGE), 0);
        let (file, base) = mapped(1);
        file.set_len(0).unwrap();
        // SAFETY: inside of the mapping; the access ends the process.
        unsafe { base.write_volatile(1) };
    });
}

#[test]
fn a_signal_that_somebody_sends_ends_a_program_without_a_handler() {
    dies_of_sigbus(
        "a_signal_that_somebody_sends_ends_a_program_without_a_handler",
        || {
            install(libc::SIG_DFL, 0, &[]);
            let _guarded = truncated_by_a_peer();
            // SAFETY: a signal to this very thread.
            unsafe { libc::raise(libc::SIGBUS) };
        },
    );
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    passes("a_signal_that_is_ignored_stays_ignored", || {
        install(libc::SIG_IGN, 0, &[]);
        let guarded = truncated_by_a_peer();
        // SAFETY: a signal to this very thread.
        unsafe { libc::raise(libc::SIGBUS) };
        guarded.store_u32(PAGE, 5);
        assert_eq!(guarded.load_u32(PAGE), 5);
    });
}

#[test]
fn an_access_cannot_be_ignored() {
    // The kernel ends a process that ignores the signal of its own access.
    dies_of_sigbus("an_access_cannot_be_ignored", || {
        install(libc::SIG_IGN, 0, &[]);
        let _guarded = truncated_by_a_peer();
        let (file, base) = mapped(1);
        file.set_len(0).unwrap();
        // SAFETY: inside of the mapping; the access ends the process.
        unsafe { base.write_volatile(1) };
    });
}

#[test]
fn memory_of_the_program_where_ours_was_is_its_own_again() {
    dies_of_sigbus(
        "memory_of_the_program_where_ours_was_is_its_own_again",
        || {
            install(libc::SIG_DFL, 0, &[]);
            let guarded = truncated_by_a_peer();
            let place = guarded.address();
            drop(guarded);
            let file = tempfile::tempfile().unwrap();
            file.set_len(2 * PAGE as u64).unwrap();
            // SAFETY: the place was just given back; NOREPLACE would say if somebody else has it.
            unsafe {
                let base = libc::mmap(
                    place as *mut libc::c_void,
                    2 * PAGE,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE,
                    file.as_raw_fd(),
                    0,
                );
                assert_eq!(base as u64, place);
                file.set_len(0).unwrap();
                base.cast::<u8>().write_volatile(1);
            }
        },
    );
}
