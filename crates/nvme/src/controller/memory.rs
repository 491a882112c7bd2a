//! Memory for commands: allocated here, or the caller's own.

use super::Controller;
use crate::NvmeError;
use joulio_device::{
    Arena, Device, DeviceError, DmaBuffer, DmaMemory, SharedMemory, TrustedArena, TrustedBuffer,
    TrustedDevice, TrustedMemory,
};
use std::sync::Arc;

impl<D: Device> Controller<D> {
    /// Allocates memory that the device can reach.
    ///
    /// # Errors
    /// The system has no memory, or the device cannot reach more.
    pub fn allocate(&self, len: usize) -> Result<DmaMemory, NvmeError> {
        self.check_bytes(len)?;
        Ok(self.shared.device.allocate(len)?)
    }

    /// Refuses more than an address space holds, which cannot be rounded up.
    fn check_bytes(&self, len: usize) -> Result<(), NvmeError> {
        match isize::try_from(len) {
            Ok(_) => Ok(()),
            Err(_) => Err(NvmeError::Unsupported {
                device: self.name().into(),
                what: format!("{len} bytes are more than memory can hold"),
            }),
        }
    }

    /// Allocates `count` data buffers of `len` bytes, each on pages of its own.
    ///
    /// # Errors
    /// As [`Controller::allocate`]; [`NvmeError::Unsupported`] for more than memory can hold.
    pub fn allocate_buffers(&self, count: usize, len: usize) -> Result<Vec<DmaBuffer>, NvmeError> {
        in_pieces(count, &|count| {
            self.allocate_buffers_in_one_piece(count, len)
        })
    }

    /// Allocates `count` data buffers of `len` bytes in one memory, one after the other.
    ///
    /// # Errors
    /// As [`Controller::allocate_buffers`]; [`DeviceError::HugePages`] where a device without an IOMMU would need a
    /// larger contiguous piece than there is.
    pub fn allocate_buffers_in_one_piece(
        &self,
        count: usize,
        len: usize,
    ) -> Result<Vec<DmaBuffer>, NvmeError> {
        let memory = self.allocate(self.bytes_of(count, len)?)?;
        Ok(DmaBuffer::carve(memory, count, len))
    }

    fn bytes_of(&self, count: usize, len: usize) -> Result<usize, NvmeError> {
        (len <= u32::MAX as usize)
            .then(|| count.checked_mul(DmaBuffer::stride(len)))
            .flatten()
            .ok_or_else(|| NvmeError::Unsupported {
                device: self.name().into(),
                what: format!("{count} buffers of {len} bytes are more than memory can hold"),
            })
    }

    /// Allocates an arena of at least `len` bytes: one memory, mapped for the device once, from which buffers of any
    /// size are taken.
    ///
    /// # Errors
    /// As [`Controller::allocate`].
    pub fn allocate_arena(&self, len: usize) -> Result<Arena, NvmeError> {
        Ok(Arena::new(self.allocate(len)?))
    }

    /// Makes memory of the caller's own reachable for the device, as one mapping: of a memfd or a file of huge pages
    /// ([`SharedMemory::from_file`]), or mapped elsewhere ([`SharedMemory::from_raw`]). Buffers are cut from it with
    /// [`DmaBuffer::carve`] or an [`Arena`]. Data is copied in and out, whatever the device; for slices use
    /// [`Controller::register_trusted`].
    ///
    /// # Errors
    /// The back end cannot reach memory that it has not allocated (a vfio-user socket), or as
    /// [`Controller::allocate`].
    pub fn register(&self, memory: SharedMemory) -> Result<DmaMemory, NvmeError> {
        Ok(self.shared.device.reach(Arc::new(memory))?)
    }
}

/// Returns `count` buffers from `make`: of one memory or, where the device cannot have so much in one piece, of
/// several.
fn in_pieces<T>(
    count: usize,
    make: &impl Fn(usize) -> Result<Vec<T>, NvmeError>,
) -> Result<Vec<T>, NvmeError> {
    match make(count) {
        Err(NvmeError::Device(DeviceError::HugePages { .. })) if count > 1 => {
            let mut buffers = in_pieces(count / 2, make)?;
            buffers.extend(in_pieces(count - count / 2, make)?);
            Ok(buffers)
        }
        made => made,
    }
}

/// Memory whose buffers are slices: only for devices that are trusted to write it during commands alone. For any
/// other device it does not compile:
///
/// ```compile_fail,E0599
/// # use joulio_nvme::Controller;
/// # use joulio_device::vfio_user::VfioUserDevice;
/// fn of_a_peer(controller: &Controller<VfioUserDevice>) {
///     controller.allocate_trusted(1, 4096).unwrap();
/// }
/// ```
impl<D: TrustedDevice> Controller<D> {
    /// Allocates `count` data buffers of `len` bytes, each on pages of its own, which are slices while the caller
    /// holds them.
    ///
    /// ```
    /// # use joulio_nvme::{Controller, ControllerOptions, TrustedBuffer};
    /// # use joulio_emulator::{EmulatedDevice, Options};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let profile = joulio_model::DeviceProfile::builtin("instant")?;
    /// # let device = EmulatedDevice::spawn(&Options::new(profile))?;
    /// # let controller = Controller::open(device, ControllerOptions::default())?;
    /// # let namespace = controller.namespace(1)?;
    /// # let mut queue = controller.create_queue_pair(1)?;
    /// let mut buffer = controller.allocate_trusted(1, 4096)?.remove(0);
    /// buffer[..6].copy_from_slice(b"joules");
    /// queue.write(&namespace, 0, 8, buffer, 0)?;
    /// queue.ring();
    /// let mut back = None;
    /// while queue.reap(1, |done| back = done.buffer)? == 0 {}
    /// let buffer = TrustedBuffer::try_from(back.unwrap()).unwrap();
    /// assert!(buffer.starts_with(b"joules"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Controller::allocate_buffers`].
    pub fn allocate_trusted(
        &self,
        count: usize,
        len: usize,
    ) -> Result<Vec<TrustedBuffer>, NvmeError> {
        in_pieces(count, &|count| {
            let bytes = self.bytes_of(count, len)?;
            self.check_bytes(bytes)?;
            let memory = TrustedMemory::allocate(&*self.shared.device, bytes)?;
            Ok(memory.carve(count, len))
        })
    }

    /// Allocates an arena as [`Controller::allocate_arena`] does, of buffers that are slices.
    ///
    /// # Errors
    /// As [`Controller::allocate`].
    pub fn allocate_trusted_arena(&self, len: usize) -> Result<TrustedArena, NvmeError> {
        self.check_bytes(len)?;
        let memory = TrustedMemory::allocate(&*self.shared.device, len)?;
        Ok(TrustedArena::new(memory))
    }

    /// Makes memory of the caller's own ([`SharedMemory::from_raw`]) reachable for the device, as one mapping of
    /// buffers that are slices: [`TrustedMemory::carve`], [`TrustedArena::new`].
    ///
    /// # Errors
    /// [`DeviceError::NotPrivate`](joulio_device::DeviceError::NotPrivate) for memory of a file; else as
    /// [`Controller::allocate`].
    pub fn register_trusted(&self, memory: SharedMemory) -> Result<TrustedMemory, NvmeError> {
        Ok(TrustedMemory::register(&*self.shared.device, memory)?)
    }
}
