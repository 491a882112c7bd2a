//! Engines that jobs run on: the kernel's, and the user-space driver as one of them.

mod error;
mod nvme;
mod split;
mod traced;

pub use error::{EngineError, RequestError};
pub use nvme::{NvmeBuffer, NvmeEngine};
pub use split::{Split, SplitBuffer};
pub use traced::Traced;
