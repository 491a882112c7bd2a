//! A cache line to be monitored.

use std::marker::PhantomData;
use std::ptr::NonNull;

/// A cache line that UMONITOR or MONITORX is to monitor. It is not read.
#[derive(Clone, Copy, Debug)]
pub struct CacheLine<'a> {
    #[allow(dead_code, reason = "some CPUs watch no line")]
    at: NonNull<u8>,
    memory: PhantomData<&'a ()>,
}

impl CacheLine<'_> {
    /// Returns the cache line that contains `at`.
    ///
    /// # Safety
    /// `at` may be read during `'a`: the instruction checks it as a load of a byte.
    pub unsafe fn new(at: NonNull<u8>) -> Self {
        CacheLine {
            at,
            memory: PhantomData,
        }
    }

    #[allow(dead_code, reason = "some CPUs watch no line")]
    pub(crate) fn address(self) -> *const u8 {
        self.at.as_ptr()
    }
}

impl<'a> From<&'a std::sync::atomic::AtomicU32> for CacheLine<'a> {
    fn from(word: &'a std::sync::atomic::AtomicU32) -> CacheLine<'a> {
        CacheLine {
            at: NonNull::from(word).cast(),
            memory: PhantomData,
        }
    }
}
