//! Files on an NVMe namespace, without a kernel: the parts of a file system that a database needs, and no more.
//!
//! A [`Volume`] has one flat directory. A [`VolumeFile`] can be read and written at any offset, grows when it is
//! written past its end, and is durable when [`VolumeFile::sync`] returns; creating, renaming and removing files
//! are atomic. If the process is killed or the machine loses power, at any moment, the volume opens in the state of
//! the last sync, or of a later one.
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
//! The device has a superblock, two journal regions and allocation units. Each change of the directory is a record
//! in one region, with its generation, sequence and CRC-32C. The last record may be torn, and is then ignored;
//! earlier ones may not. When a region is full, the journal switches to the other, which begins with a snapshot.
//! Data is written in place; units that a change frees are not reused before that change is durable.
//!
//! One process at a time uses a volume, which the device's back end ensures. Within that process a namespace has
//! one [`Volume`] that may be written ([`BlockStore::claim`]); other threads use clones of it.
#![warn(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]

mod catalog;
mod change;
mod error;
mod extent;
mod file;
mod format_options;
mod inner;
mod journal;
mod lane;
mod layout;
mod memory_store;
mod nvme_store;
mod open_files;
mod started;
mod store;
mod superblock;
mod volume;

pub use error::{StoreError, VolumeError};
pub use file::{FileRead, StartedFileRead, VolumeFile};
pub use format_options::FormatOptions;
pub use memory_store::MemoryStore;
pub use nvme_store::NvmeStore;
pub use started::{ReadMemory, StartedRead};
pub use store::{BlockStore, ReadPart, StoreClaim, WritePart};
pub use volume::{Space, Volume};
