//! The action for SIGBUS that the program had before this crate installed its own: kept, and called for every signal
//! that is not about a mapping of joulio.
//!
//! The handler is installed with the flags and the mask of the program's own, so that when it calls that one, the
//! kernel has prepared everything as for a direct delivery (sigaction(2)). A program that changes its action afterwards
//! replaces this one, and may call it in turn.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

pub(super) type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// The program's action; null where it is the default. Never freed, since a handler may be reading it.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

/// Installs `handler` in front of the program's own action, once per process.
pub(super) fn install(handler: Handler) -> io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed {
        return Ok(());
    }
    // Stored before the handler can be called.
    let mut found = action(None)?;
    loop {
        keep(found);
        let replaced = action(Some(&with(&found, handler)))?;
        let ours = handler as usize;
        if replaced.sa_sigaction == found.sa_sigaction || replaced.sa_sigaction == ours {
            break;
        }
        // Another thread has installed its own handler in between.
        found = replaced;
    }
    *installed = true;
    Ok(())
}

/// Sets the action for SIGBUS, if one is given, and returns the one before.
fn action(new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    let mut old = DEFAULT;
    // SAFETY: both are valid or null; a handler that is set only makes system calls.
    if unsafe { libc::sigaction(libc::SIGBUS, new, &raw mut old) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(old)
}

// SAFETY: zeroes are a valid `sigaction`: the default action, an empty mask and no flags.
const DEFAULT: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };

fn is_handler(action: &libc::sigaction) -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
}

fn keep(found: libc::sigaction) {
    let kept = if found.sa_sigaction == libc::SIG_DFL {
        std::ptr::null_mut()
    } else {
        Box::into_raw(Box::new(found))
    };
    BEFORE.store(kept, SeqCst);
}

/// Returns an action for `handler` with the flags and the mask of `found`.
fn with(found: &libc::sigaction, handler: Handler) -> libc::sigaction {
    let mut ours = DEFAULT;
    ours.sa_sigaction = handler as usize;
    ours.sa_flags = libc::SA_SIGINFO;
    if is_handler(found) {
        ours.sa_mask = found.sa_mask;
        // SA_RESETHAND is emulated in `forward`: an answer for joulio's memory does not use up the program's one shot.
        ours.sa_flags |= found.sa_flags & !libc::SA_RESETHAND;
    } else {
        ours.sa_flags |= libc::SA_ONSTACK | libc::SA_RESTART;
    }
    ours
}

/// Passes a signal on to the program's own action, as if this crate had installed no handler.
pub(super) fn forward(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: null, or an action that is never freed.
    let Some(before) = (unsafe { BEFORE.load(SeqCst).as_ref() }) else {
        return by_default(info);
    };
    if before.sa_sigaction == libc::SIG_IGN {
        // SAFETY: valid, as the kernel handed it to the handler.
        let code = unsafe { (*info).si_code };
        // The signal of an access cannot be ignored: the kernel then takes the default action.
        if (libc::BUS_ADRALN..=libc::BUS_MCEERR_AR).contains(&code) {
            by_default(info);
        }
        return;
    }
    if before.sa_flags & libc::SA_RESETHAND != 0 {
        BEFORE.store(std::ptr::null_mut(), SeqCst);
    }
    // SAFETY: neither the default nor SIG_IGN, hence the address of a handler, which takes three arguments with
    // SA_SIGINFO and one without (sigaction(2)).
    unsafe {
        if before.sa_flags & libc::SA_SIGINFO != 0 {
            let handler: Handler = std::mem::transmute(before.sa_sigaction);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(i32) = std::mem::transmute(before.sa_sigaction);
            handler(signal);
        }
    }
}

/// Sets the default action, which ends the process: the signal is raised once more, as it was, for this thread, and is
/// delivered when the handler returns.
fn by_default(info: *mut libc::siginfo_t) {
    // SAFETY: plain system calls, with a valid action and the kernel's own `siginfo_t`.
    unsafe {
        libc::sigaction(
            libc::SIGBUS,
            &raw const DEFAULT_ACTION,
            std::ptr::null_mut(),
        );
        let (process, thread) = (libc::getpid(), libc::gettid());
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            process,
            thread,
            libc::SIGBUS,
            info,
        );
    }
}

/// The address of [`DEFAULT`] as a static.
static DEFAULT_ACTION: libc::sigaction = DEFAULT;
