//! An NVMe controller in software.
//!
//! The [`EmulatedController`] is a deterministic state machine of registers, queues, namespaces and an MSI-X table;
//! its caller passes the time in. It does not trust the host: every address, queue identifier, length and doorbell
//! value is checked before use.
//!
//! [`EmulatedDevice`] makes it available to a driver in the same process, as a back end of
//! [`joulio_device::Device`]. It runs in one of two ways: in a thread of its own, which serves I/Os at the speed of
//! a device profile ([`EmulatedDevice::spawn`]), or step by step, at times that a test chooses
//! ([`EmulatedDevice::stepped`]).
//!
//! ```
//! use joulio_device::Device;
//! use joulio_emulator::{EmulatedDevice, Fault, Options};
//! use joulio_model::DeviceProfile;
//! use joulio_nvme_spec::register::{CSTS, Csts};
//!
//! let options = Options::new(DeviceProfile::builtin("optane-900p")?);
//! let device = EmulatedDevice::spawn(&options)?;
//! assert!(!Csts::from(device.read32(CSTS)).rdy());
//! // Pulled out: registers read as all ones, as on PCIe.
//! device.inject(Fault::Removed);
//! assert_eq!(device.read32(CSTS), u32::MAX);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sections of the [specifications][Base] are cited in short: "Base 5.27" is section 5.27 of the NVM Express Base
//! Specification, "NVM" is the NVM Command Set Specification, and "PCIe" the NVMe over PCIe Transport Specification, in
//! the versions that [`joulio_nvme_spec`] names. "PCI 3.0" is the [PCI Local Bus Specification][PCI] of that revision.
//! The protocol of [`serve`] is [vfio-user].
//!
//! [Base]: https://nvmexpress.org/specifications/
//! [PCI]: https://pcisig.com/specifications
//! [vfio-user]: https://www.qemu.org/docs/master/interop/vfio-user.html
#![warn(clippy::missing_errors_doc)]
#![deny(unsafe_code)]

mod activity;
mod bell;
mod clock;
mod controller;
mod device;
mod doorbells;
mod error;
mod fault;
mod guest;
mod namespace;
mod options;
mod power;
pub mod serve;
mod shadow;
mod shared;
mod stepper;
mod store;
mod thread;
mod trusted;

pub use activity::Activity;
pub use controller::{EmulatedController, Progress};
pub use device::{EmulatedDevice, EmulatedDoorbell};
pub use error::EmulatorError;
pub use fault::{Fault, FaultPlan, FaultPlanError, Faulted, Planned, When};
pub use guest::MapError;
pub use options::{
    HostMemoryDemand, IdentifyPages, NamespaceOptions, Options, StoreOptions, SyncFailed, SyncFile,
};
pub use power::PowerUse;
pub use stepper::Stepper;
