//! The outstanding requests of an engine, and their buffers.

use crate::{AlignedBuffer, KernelCompletion, KernelEngineError, KernelRequestError};
use joulio_engine::Request;
use joulio_job::EngineName;
use rustix::io::Errno;
use std::mem;

/// The highest error number of the kernel (include/linux/err.h).
const MAX_ERRNO: i64 = 4095;

/// A request that the kernel has, or will get.
struct Held {
    tag: u64,
    /// Number of bytes to read or write.
    moved: u32,
    buffer: AlignedBuffer,
}

struct Slot {
    /// Number that increases with each request, so that a completion of an earlier request is detected.
    sequence: u32,
    held: Option<Held>,
}

/// Slots for as many requests as the queue depth. A request's identifier is its slot and a sequence number, so that
/// stale, duplicate and unknown completions are counted and never delivered. When the slots are dropped, the kernel
/// may still write to the buffers that they hold, so that those are leaked.
pub(crate) struct Slots {
    engine: EngineName,
    slots: Vec<Slot>,
    free: Vec<u32>,
    strange: u64,
}

impl Slots {
    pub(crate) fn new(
        engine: EngineName,
        depth: usize,
        limit: usize,
    ) -> Result<Slots, KernelEngineError> {
        if depth == 0 || depth > limit {
            return Err(KernelEngineError::Depth {
                engine,
                requested: depth,
                limit,
            });
        }
        let empty = || Slot {
            sequence: 0,
            held: None,
        };
        Ok(Slots {
            engine,
            slots: (0..depth).map(|_| empty()).collect(),
            free: (0..depth as u32).rev().collect(),
            strange: 0,
        })
    }

    /// Stores a request's buffer; returns the request's identifier for the kernel.
    #[inline]
    pub(crate) fn hold(
        &mut self,
        request: &Request,
        buffer: AlignedBuffer,
    ) -> Result<u64, KernelEngineError> {
        fits(self.engine, request, &buffer)?;
        let Some(index) = self.free.pop() else {
            return Err(KernelEngineError::Full {
                engine: self.engine,
                depth: self.depth(),
            });
        };
        let slot = &mut self.slots[index as usize];
        slot.sequence = slot.sequence.wrapping_add(1);
        slot.held = Some(Held {
            tag: request.tag,
            moved: request.moved(),
            buffer,
        });
        Ok(u64::from(slot.sequence) << 32 | u64::from(index))
    }

    /// Ends the request `id` with the kernel's `result`: a number of bytes, or a negative error number.
    #[inline]
    pub(crate) fn end(&mut self, id: u64, result: i64) -> Option<KernelCompletion> {
        self.end_by(id, |moved| outcome(result, moved))
    }

    /// Ends the request `id`; `outcome` gets the number of bytes to read or write.
    #[inline]
    pub(crate) fn end_by(
        &mut self,
        id: u64,
        outcome: impl FnOnce(u32) -> Result<(), KernelRequestError>,
    ) -> Option<KernelCompletion> {
        let index = id as u32;
        let sequence = (id >> 32) as u32;
        let slot = self.slots.get_mut(index as usize);
        let held = slot
            .filter(|slot| slot.sequence == sequence)
            .and_then(|slot| slot.held.take());
        let Some(Held { tag, moved, buffer }) = held else {
            self.strange += 1;
            return None;
        };
        self.free.push(index);
        Some(KernelCompletion {
            tag,
            outcome: outcome(moved),
            buffer,
        })
    }

    /// Frees all buffers: the kernel does not use them any more.
    pub(crate) fn clear(&mut self) {
        for slot in &mut self.slots {
            slot.held = None;
        }
    }

    /// Returns the largest number of requests.
    pub(crate) fn depth(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of outstanding requests.
    pub(crate) fn outstanding(&self) -> usize {
        self.depth() - self.free.len()
    }

    /// Returns the number of completions that belonged to no request.
    pub(crate) fn strange(&self) -> u64 {
        self.strange
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            mem::forget(slot.held.take());
        }
    }
}

/// Checks that the buffer is long enough for the request.
#[inline]
pub(crate) fn fits(
    engine: EngineName,
    request: &Request,
    buffer: &AlignedBuffer,
) -> Result<(), KernelEngineError> {
    if request.moved() as usize <= buffer.len() {
        return Ok(());
    }
    Err(KernelEngineError::Buffer {
        engine,
        len: request.len,
        buffer: buffer.len(),
    })
}

/// Returns the outcome of a request of `requested` bytes.
pub(crate) fn outcome(result: i64, requested: u32) -> Result<(), KernelRequestError> {
    match u32::try_from(result) {
        Ok(moved) if moved == requested => Ok(()),
        Ok(moved) => Err(KernelRequestError::Short { moved, requested }),
        Err(_) => {
            let errno = match result.saturating_neg() {
                errno @ 1..=MAX_ERRNO => errno as i32,
                _ => libc::EIO,
            };
            Err(KernelRequestError::Errno(Errno::from_raw_os_error(errno)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_units::Operation;
    use proptest::prelude::*;

    fn request(tag: u64) -> Request {
        Request {
            device: 0,
            operation: Operation::Read,
            offset: 0,
            len: 4096,
            tag,
        }
    }

    fn buffer() -> AlignedBuffer {
        AlignedBuffer::allocate(1, 4096).unwrap().pop().unwrap()
    }

    #[test]
    fn a_stale_completion_is_counted_not_delivered() {
        let mut slots = Slots::new(EngineName::IoUring, 1, 1).unwrap();
        let first = slots.hold(&request(1), buffer()).unwrap();
        assert_eq!(slots.end(first, 4096).unwrap().tag, 1);
        let second = slots.hold(&request(2), buffer()).unwrap();
        assert_eq!(first as u32, second as u32, "the same slot");
        assert!(slots.end(first, 4096).is_none());
        assert!(slots.end(u64::MAX, 0).is_none());
        assert_eq!((slots.strange(), slots.outstanding()), (2, 1));
        assert_eq!(slots.end(second, 4096).unwrap().tag, 2);
    }

    #[test]
    fn no_more_than_the_depth_and_no_short_buffer() {
        let mut slots = Slots::new(EngineName::Psync, 1, 1).unwrap();
        let long = Request {
            len: 8192,
            ..request(0)
        };
        assert!(matches!(
            slots.hold(&long, buffer()),
            Err(KernelEngineError::Buffer { .. })
        ));
        slots.hold(&request(1), buffer()).unwrap();
        assert!(matches!(
            slots.hold(&request(2), buffer()),
            Err(KernelEngineError::Full { depth: 1, .. })
        ));
        assert!(Slots::new(EngineName::Psync, 2, 1).is_err());
        assert!(Slots::new(EngineName::Psync, 0, 1).is_err());
    }

    #[test]
    fn results_are_bytes_or_errors() {
        assert_eq!(outcome(4096, 4096), Ok(()));
        let short = KernelRequestError::Short {
            moved: 0,
            requested: 4096,
        };
        assert_eq!(outcome(0, 4096), Err(short));
        let bad = KernelRequestError::Errno(Errno::BADF);
        assert_eq!(outcome(-i64::from(libc::EBADF), 4096), Err(bad));
    }

    proptest! {
        #[test]
        fn no_completion_panics_or_is_delivered_twice(
            strange in proptest::collection::vec((0..8u64, any::<i64>()), 0..50),
        ) {
            let mut slots = Slots::new(EngineName::Libaio, 4, 8).unwrap();
            let ids: Vec<_> = (0..4)
                .map(|tag| slots.hold(&request(tag), buffer()).unwrap())
                .collect();
            let mut delivered = 0;
            for (n, result) in strange {
                let id = ids.get(n as usize).copied().unwrap_or(n << 33);
                delivered += usize::from(slots.end(id, result).is_some());
            }
            prop_assert_eq!(delivered + slots.outstanding(), 4);
        }
    }
}
