//! A process that is busy on the same CPU, and must never take another's interrupt.
//!
//! Sound because between fork and its end the child touches the table of states, a page that it
//! shares with its parent, and system calls that need no lock; it never returns.

use super::slot::STATES;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

/// A busy copy of this process on the calling thread's CPU. If the CPU ran the handler in it, that would be noticed:
/// its copy of the table would have a mark that nobody made.
#[derive(Debug)]
pub struct Bystander {
    child: Pid,
    page: Page,
    /// The child was reaped, or is no child of this process: its number may be another process's by now.
    gone: Cell<bool>,
}

/// Observations of a bystander.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of turns of its loop.
    pub turns: u64,
    /// Number of user interrupts that it took, which were another's.
    pub interrupts: u64,
    /// Whether the bystander still runs; it might have died of a user interrupt.
    pub alive: bool,
}

/// A page that parent and child share.
#[derive(Debug)]
struct Page(NonNull<Counts>);

/// Contents of the page that parent and child share.
#[repr(C)]
struct Counts {
    turns: AtomicU64,
    interrupts: AtomicU64,
}

const PAGE: usize = 4096;

impl Bystander {
    /// Starts a bystander on the CPUs of the calling thread: on one, if that is pinned. To be called before the caller
    /// registers for user interrupts, so that the child has none of their state.
    ///
    /// # Errors
    /// No memory, or no more processes.
    pub fn start() -> Result<Bystander, Errno> {
        let page = Page::new()?;
        // SAFETY: the child does what the head of this file says.
        match unsafe { libc::fork() } {
            0 => work(page.counts()),
            child => match Pid::from_raw(child) {
                Some(child) if child.as_raw_nonzero().get() > 0 => Ok(Bystander {
                    child,
                    page,
                    gone: Cell::new(false),
                }),
                _ => Err(Errno::AGAIN),
            },
        }
    }

    /// Returns its observations so far.
    pub fn seen(&self) -> Seen {
        let counts = self.page.counts();
        Seen {
            turns: counts.turns.load(Ordering::Relaxed),
            interrupts: counts.interrupts.load(Ordering::Relaxed),
            alive: self.is_alive(),
        }
    }

    fn is_alive(&self) -> bool {
        if !self.gone.get() {
            let waited = waitpid(Some(self.child), WaitOptions::NOHANG);
            self.gone.set(!matches!(waited, Ok(None)));
        }
        !self.gone.get()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        if self.gone.get() {
            return;
        }
        // One that has died meanwhile keeps its number until it is reaped.
        let _ = kill_process(self.child, Signal::KILL);
        let _ = waitpid(Some(self.child), WaitOptions::empty());
    }
}

/// Runs until its parent ends.
fn work(counts: &Counts) -> ! {
    let parent = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if parent.is_err() {
        // SAFETY: ends the child without running what is its parent's.
        unsafe { libc::_exit(1) };
    }
    let before = handled();
    loop {
        let interrupts = handled().wrapping_sub(before);
        counts.interrupts.store(interrupts, Ordering::Relaxed);
        counts.turns.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the number of times that the handler ran in this process.
fn handled() -> u64 {
    let counts = STATES.iter().map(super::slot::HandlerState::count);
    counts.fold(0, u64::wrapping_add)
}

impl Page {
    fn new() -> Result<Page, Errno> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, wherever there is room.
        let page = unsafe { mmap_anonymous(null_mut(), PAGE, access, MapFlags::SHARED) }?;
        NonNull::new(page.cast()).map(Page).ok_or(Errno::NOMEM)
    }

    fn counts(&self) -> &Counts {
        // SAFETY: mapped until this is dropped, zero at first, and only ever used by atomics.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no reference to it is left.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}

// SAFETY: the page is anyone's, by atomics.
unsafe impl Send for Page {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_works_and_has_no_interrupts_that_nobody_sent() {
        let bystander = Bystander::start().unwrap();
        while bystander.seen().turns < 1_000 {
            std::thread::yield_now();
        }
        let seen = bystander.seen();
        assert!(seen.alive);
        assert_eq!(seen.interrupts, 0);
        let child = bystander.child;
        drop(bystander);
        assert!(waitpid(Some(child), WaitOptions::NOHANG).is_err());
    }

    #[test]
    fn its_death_is_seen() {
        let bystander = Bystander::start().unwrap();
        kill_process(bystander.child, Signal::KILL).unwrap();
        while bystander.seen().alive {
            std::thread::yield_now();
        }
        // The number may be another process's from now on, which is neither waited for nor killed.
        assert!(bystander.gone.get() && !bystander.seen().alive);
    }
}
