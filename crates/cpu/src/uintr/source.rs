//! Interrupts for tests, made by the module.

use super::device::Device;
use super::{UintrError, abi};
use joulio_units::Nanos;
use rustix::io::{Errno, read, write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A real interrupt with a real vector and no device, raised by a call. Its handler in the kernel signals an eventfd,
/// as VFIO's handlers do.
#[derive(Debug)]
pub struct TestSource {
    file: OwnedFd,
}

impl From<TestSource> for OwnedFd {
    /// Returns the source's descriptor: eight bytes written to it raise the interrupt, as they do
    /// to an eventfd.
    fn from(source: TestSource) -> OwnedFd {
        source.file
    }
}

impl TestSource {
    /// Opens a source that signals `eventfd`, directed at `cpu` at first.
    ///
    /// # Errors
    /// The CPU, the system or this user lacks something; or the module's error.
    pub fn open(eventfd: BorrowedFd<'_>, cpu: u32) -> Result<TestSource, UintrError> {
        let device = Device::open()?;
        if !device.has_source() {
            return Err(UintrError::NoSource);
        }
        let file = abi::source(device.as_fd(), eventfd, cpu).map_err(|errno| match errno {
            Errno::PERM => UintrError::SourceDenied,
            errno => UintrError::other("source")(errno),
        })?;
        Ok(TestSource { file })
    }

    /// Raises the interrupt now.
    ///
    /// # Errors
    /// The module's.
    pub fn raise(&self) -> Result<(), UintrError> {
        let written = write(&self.file, &1u64.to_ne_bytes());
        written.map(drop).map_err(UintrError::other("raise"))
    }

    /// Raises the interrupt once by a timer of the kernel, after `time` (at least a nanosecond); replaces a timer that
    /// was set before.
    ///
    /// # Errors
    /// The module's.
    pub fn raise_after(&self, time: Nanos) -> Result<(), UintrError> {
        // Zero would be none.
        abi::raise_after(self.file.as_fd(), time.0.max(1)).map_err(UintrError::other("raise after"))
    }

    /// Raises the interrupt once, the next time that the calling thread is about to execute the instruction at
    /// `address`; replaces an earlier address, and `None` removes it. An address in the middle of an instruction is
    /// never executed.
    ///
    /// # Errors
    /// The module's: the CPU has no breakpoint free.
    pub fn raise_at(&self, address: Option<usize>) -> Result<(), UintrError> {
        let address = address.unwrap_or(0) as u64;
        abi::raise_at(self.file.as_fd(), address).map_err(UintrError::other("raise at"))
    }

    /// Returns the number of times that the interrupt was raised; it is counted before it is sent, as a device writes
    /// its completion first.
    ///
    /// # Errors
    /// The module's.
    pub fn raised(&self) -> Result<u64, UintrError> {
        let mut count = [0; size_of::<u64>()];
        match read(&self.file, &mut count) {
            Ok(8) => Ok(u64::from_ne_bytes(count)),
            Ok(_) => Err(UintrError::other("raised")(Errno::IO)),
            Err(errno) => Err(UintrError::other("raised")(errno)),
        }
    }
}
