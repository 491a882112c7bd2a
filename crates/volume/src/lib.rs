//! Files on an NVMe namespace, without a kernel: what a database needs of a file system, and no more.
//!
//! A [`Volume`] has one flat directory. A [`VolumeFile`] is read and written at any offset, grows by
//! writing, and is durable when [`VolumeFile::sync`] returns; creating, renaming and removing files are
//! atomic. A process that is killed, or a machine that loses power, at any moment leaves a volume that
//! opens as it was at the last sync, or later.
//!
//! ```
//! # use joulio_emulator::{EmulatedDevice, Options};
//! use joulio_nvme::{Controller, ControllerOptions, wait::AnyPolicy};
//! use joulio_volume::{FormatOptions, NvmeStore, Volume};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let profile = joulio_model::DeviceProfile::builtin("instant")?;
//! # let device = EmulatedDevice::spawn(&Options::new(profile))?;
//! let controller = Controller::open(device, ControllerOptions::default())?;
//! let store = NvmeStore::new(controller, 1, || AnyPolicy::INTERRUPT)?;
//! Volume::format(&store, FormatOptions::default())?;
//!
//! let volume = Volume::open(store)?;
//! let file = volume.create("orders.db")?;
//! file.write_at(0, b"joules per I/O")?;
//! file.sync()?;
//!
//! let mut bytes = [0; 14];
//! volume.open_file("orders.db")?.read_at(0, &mut bytes)?;
//! assert_eq!(&bytes, b"joules per I/O");
//! # Ok(()) }
//! ```
//!
//! # On the device
//!
//! A superblock, two journal regions and allocation units. Changes of the directory are records in one
//! region; each has its generation, sequence and CRC-32C. The last one may be torn, and is as if it had
//! never been; one that others follow may not. A full region is left for the other, which begins with a
//! snapshot. Data is written in place; units that a change sets free are not used again before that change
//! is durable.
//!
//! One process has a volume at a time; the device's back end sees to that. In the process a namespace has one
//! [`Volume`] that may be written ([`BlockStore::claim`]): clones of it are for other threads.
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod catalog;
mod change;
mod error;
mod extent;
mod file;
mod format_options;
mod journal;
mod layout;
mod memory_store;
mod nvme_store;
mod open_files;
mod store;
mod superblock;
mod volume;

pub use error::{StoreError, VolumeError};
pub use file::{FileRead, VolumeFile};
pub use format_options::FormatOptions;
pub use memory_store::MemoryStore;
pub use nvme_store::NvmeStore;
pub use store::{BlockStore, ReadPart, StoreClaim, WritePart};
pub use volume::{Space, Volume};
