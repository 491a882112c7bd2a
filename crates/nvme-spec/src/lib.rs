//! Structures and constants of the NVM Express specification, without behaviour.
//!
//! Every structure cites its section of the [specifications][Base]: "Base 5.27" is section 5.27 of the NVM Express Base
//! Specification 2.0c. "NVM" is the NVM Command Set Specification 1.0c, "PCIe" the NVMe over PCIe Transport
//! Specification 1.0c. Layouts are little-endian on every host, and their sizes are asserted at compile time.
//!
//! [Base]: https://nvmexpress.org/specifications/
//!
//! ```
//! use joulio_nvme_spec::{Command, NamespaceId, NvmOpcode};
//! use zerocopy::IntoBytes;
//!
//! let mut read = Command::nvm(NvmOpcode::READ, NamespaceId(1));
//! // The first block, and the number of blocks, which is 0's based.
//! read.cdw10[0] = 2048.into();
//! read.cdw10[2] = (8 - 1).into();
//! let entry = read.as_bytes();
//! assert_eq!(entry.len(), 64);
//! assert_eq!(entry[0], 0x02);
//! assert_eq!(entry[40..44], [0x00, 0x08, 0x00, 0x00]);
//! ```
#![warn(clippy::missing_errors_doc)]
#![no_std]
#![forbid(unsafe_code)]

pub mod command;
pub mod completion;
pub mod event;
pub mod feature;
pub mod identify;
pub mod log;
pub mod opcode;
pub mod register;
pub mod sgl;
pub mod status;
mod text;

pub use command::{Command, CommandId, DsmAttributes, DsmRange, NamespaceId, QueueId};
pub use completion::CompletionEntry;
pub use event::{AsyncEvent, AsyncEventType};
pub use opcode::{AdminOpcode, NvmOpcode};
pub use sgl::{Psdt, SglDescriptor};
pub use status::Status;
pub use text::ascii;

/// Memory page size that joulio programs into CC.MPS: 4 KiB, which every x86 controller supports (CAP.MPSMIN = 0).
pub const PAGE_SIZE: usize = 4096;
