//! The kernel's paths as engines.

use super::{Buffer, Done, Engine, EngineError, Io, IoError};
use joulio_kernel_io as kernel;
use joulio_nvme::Faults;
use joulio_nvme::wait::Counters;
use joulio_trace::Recorded;
use joulio_units::Nanos;

/// One of the kernel's engines.
pub struct KernelEngine<E>(pub E);

impl Buffer for kernel::Buffer {
    fn read(&self, to: &mut [u8]) {
        let len = to.len().min(self.len());
        to[..len].copy_from_slice(&self[..len]);
    }

    fn write(&mut self, from: &[u8]) {
        let len = from.len().min(self.len());
        self[..len].copy_from_slice(&from[..len]);
    }
}

impl<E: kernel::Engine> Engine for KernelEngine<E> {
    type Buffer = kernel::Buffer;

    fn buffers(&mut self, count: usize, len: usize) -> Result<Vec<kernel::Buffer>, EngineError> {
        Ok(self.0.buffers(count, len)?)
    }

    #[inline]
    fn prepare(&mut self, io: Io, buffer: kernel::Buffer) -> Result<(), EngineError> {
        let request = kernel::Request {
            direction: io.direction,
            offset: io.offset,
            len: io.len,
            tag: io.tag,
        };
        Ok(self.0.prepare(request, buffer)?)
    }

    #[inline]
    fn submit(&mut self) -> Result<(), EngineError> {
        Ok(self.0.submit()?)
    }

    #[inline]
    fn reap(
        &mut self,
        min: usize,
        deadline: Nanos,
        mut sink: impl FnMut(Done<kernel::Buffer>),
    ) -> Result<usize, EngineError> {
        let reaped = self.0.reap(min, deadline, |done| {
            sink(Done {
                tag: done.tag,
                outcome: done.outcome.map_err(IoError::Kernel),
                buffer: done.buffer,
            });
        });
        Ok(reaped?)
    }

    fn counters(&mut self) -> Counters {
        self.0.calls().waiting
    }

    fn system_calls(&self) -> Option<u64> {
        Some(self.0.calls().system_calls)
    }

    fn kernel_thread(&self) -> Option<i32> {
        self.0.poller_thread()
    }

    fn tells_waiting(&self) -> bool {
        false
    }

    fn start_trace(&mut self, _: usize) {}

    fn take_trace(&mut self) -> Vec<Recorded> {
        Vec::new()
    }

    fn faults(&self) -> Faults {
        Faults::default()
    }
}
