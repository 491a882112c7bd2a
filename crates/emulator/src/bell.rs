//! The bell with which a host wakes a device that has stopped polling its doorbells.
//!
//! Two parties, each of which writes its own word and then reads the other's:
//!
//! | host | device |
//! |---|---|
//! | writes the doorbell | sets `asleep` |
//! | *full fence* | *full fence* |
//! | reads `asleep`; set: wakes the device | reads the doorbells; none moved: parks |
//!
//! With both fences it cannot be that each misses the other's write (Dekker's argument), so no
//! ring is lost. The host's half is one sequentially consistent swap (on x86 `xchg`), which is the fence
//! too, and one load.

#[cfg(loom)]
use loom::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicU32, fence},
    thread,
};
#[cfg(not(loom))]
use std::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicU32},
    thread,
};

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The two doorbells of a queue pair (PCIe 3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The tail of the submission queue.
    Tail = 0,
    /// The head of the completion queue.
    Head = 1,
}

/// The two doorbells of a queue pair, on a cache line that only this pair's host writes.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Line {
    words: [AtomicU32; 2],
}

impl Line {
    pub(crate) fn new() -> Line {
        Line {
            words: [AtomicU32::new(0), AtomicU32::new(0)],
        }
    }

    /// Returns the value rung last. The host's earlier writes to memory are visible after it.
    #[inline]
    pub(crate) fn load(&self, side: Side) -> u32 {
        self.words[side as usize].load(Ordering::Acquire)
    }

    /// Writes 0 for the device: a queue that is created or deleted has doorbells of zero.
    pub(crate) fn clear(&self, side: Side) -> u32 {
        self.words[side as usize].swap(0, Ordering::AcqRel)
    }

    /// Writes the value for the host, with the fence after it.
    #[inline]
    fn publish(&self, side: Side, value: u32) {
        self.words[side as usize].swap(value, Ordering::SeqCst);
        // Loom treats a sequentially consistent access as an acquire-release one.
        #[cfg(loom)]
        full_fence();
    }
}

/// Executes the fence between a party's own word and the other's, which may be a word of memory that is shared as with
/// a device: a shadow doorbell.
fn full_fence() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    joulio_device::fence::dma_full();
}

/// Reason why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// A doorbell had moved before, so that the thread did not sleep.
    NotAtAll,
    /// A doorbell was rung.
    UntilRung,
    /// The deadline passed.
    UntilTimeout,
}

/// A bell that a host rings, and at which a device's thread sleeps.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Bell {
    /// For each [`Side`], true while the device does not poll these doorbells and wants to be woken.
    asleep: [AtomicBool; 2],
    sleeper: Mutex<Option<thread::Thread>>,
}

impl Bell {
    /// Makes a bell at which nobody sleeps.
    pub(crate) fn new() -> Bell {
        Bell {
            asleep: [AtomicBool::new(false), AtomicBool::new(false)],
            sleeper: Mutex::new(None),
        }
    }

    /// Makes a bell that wants to be rung at every doorbell.
    pub(crate) fn always_asking() -> Bell {
        Bell {
            asleep: [AtomicBool::new(true), AtomicBool::new(true)],
            sleeper: Mutex::new(None),
        }
    }

    /// Writes a doorbell; returns whether the device then wants to be woken.
    #[inline]
    pub(crate) fn ring(&self, line: &Line, side: Side, value: u32) -> bool {
        line.publish(side, value);
        self.asleep[side as usize].load(Ordering::SeqCst)
    }

    /// Wakes the device if it sleeps.
    #[cold]
    pub(crate) fn wake(&self, side: Side) {
        if !self.asleep[side as usize].swap(false, Ordering::SeqCst) {
            return;
        }
        let sleeper = self.sleeper.lock();
        if let Some(sleeper) = &*sleeper.unwrap_or_else(PoisonError::into_inner) {
            sleeper.unpark();
        }
    }

    /// Registers the calling thread as the one that sleeps.
    pub(crate) fn attend(&self) {
        let mut sleeper = self.sleeper.lock().unwrap_or_else(PoisonError::into_inner);
        *sleeper = Some(thread::current());
    }

    /// Sleeps until a tail is rung, or, with `heads`, a head, or until the `deadline`; does not sleep if `quiet` finds
    /// that a doorbell has moved already.
    pub(crate) fn sleep(
        &self,
        heads: bool,
        deadline: Option<Instant>,
        idle: impl FnOnce() -> bool,
    ) -> Slept {
        self.asleep[Side::Tail as usize].store(true, Ordering::SeqCst);
        self.asleep[Side::Head as usize].store(heads, Ordering::SeqCst);
        full_fence();
        let slept = if idle() {
            self.park(heads, deadline)
        } else {
            Slept::NotAtAll
        };
        self.asleep[Side::Tail as usize].store(false, Ordering::SeqCst);
        self.asleep[Side::Head as usize].store(false, Ordering::SeqCst);
        slept
    }

    fn park(&self, heads: bool, deadline: Option<Instant>) -> Slept {
        loop {
            let waiting = |side: Side| self.asleep[side as usize].load(Ordering::SeqCst);
            if !waiting(Side::Tail) || (heads && !waiting(Side::Head)) {
                return Slept::UntilRung;
            }
            let Some(deadline) = deadline else {
                thread::park();
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return Slept::UntilTimeout;
            }
            #[cfg(not(loom))]
            thread::park_timeout(left);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use std::sync::Arc;

    fn device(bell: &Bell, lines: &[Arc<Line>], sleep: impl Fn(&dyn Fn() -> bool)) {
        bell.attend();
        for line in lines {
            while line.load(Side::Tail) == 0 {
                sleep(&|| line.load(Side::Tail) == 0);
            }
        }
    }

    fn host(bell: &Bell, line: &Line, side: Side) {
        if bell.ring(line, side, 1) {
            bell.wake(side);
        }
    }

    #[test]
    fn no_ring_is_lost() {
        loom::model(|| {
            let (bell, line) = (Arc::new(Bell::new()), Arc::new(Line::new()));
            let sleeper = loom::thread::spawn({
                let (bell, line) = (Arc::clone(&bell), Arc::clone(&line));
                move || {
                    device(&bell, &[line], |idle| {
                        bell.sleep(false, None, idle);
                    });
                }
            });
            host(&bell, &line, Side::Tail);
            sleeper.join().unwrap();
        });
    }

    #[test]
    fn no_ring_of_two_hosts_is_lost() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let bell = Arc::new(Bell::new());
            let lines = [Arc::new(Line::new()), Arc::new(Line::new())];
            let sleeper = loom::thread::spawn({
                let (bell, lines) = (Arc::clone(&bell), lines.clone());
                move || {
                    device(&bell, &lines, |idle| {
                        bell.sleep(false, None, idle);
                    });
                }
            });
            let other = loom::thread::spawn({
                let (bell, line) = (Arc::clone(&bell), Arc::clone(&lines[1]));
                move || host(&bell, &line, Side::Tail)
            });
            host(&bell, &lines[0], Side::Tail);
            other.join().unwrap();
            sleeper.join().unwrap();
        });
    }

    #[test]
    fn a_head_wakes_a_device_that_waits_for_room() {
        loom::model(|| {
            let (bell, line) = (Arc::new(Bell::new()), Arc::new(Line::new()));
            let sleeper = loom::thread::spawn({
                let (bell, line) = (Arc::clone(&bell), Arc::clone(&line));
                move || {
                    bell.attend();
                    while line.load(Side::Head) == 0 {
                        bell.sleep(true, None, || line.load(Side::Head) == 0);
                    }
                }
            });
            host(&bell, &line, Side::Head);
            sleeper.join().unwrap();
        });
    }

    /// Control: the device polls first and announces its sleep after. Loom finds the ring in between.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn looking_before_saying_so_loses_a_ring() {
        loom::model(|| {
            let (bell, line) = (Arc::new(Bell::new()), Arc::new(Line::new()));
            let sleeper = loom::thread::spawn({
                let (bell, line) = (Arc::clone(&bell), Arc::clone(&line));
                move || {
                    device(&bell, &[line], |idle| {
                        if idle() {
                            bell.sleep(false, None, || true);
                        }
                    });
                }
            });
            host(&bell, &line, Side::Tail);
            sleeper.join().unwrap();
        });
    }
}
