//! Engines that jobs run on: those of the kernel, and the user-space driver as an engine.

mod error;
mod nvme;
mod split;
mod traced;

pub use error::{EngineError, RequestError};
pub use nvme::{NvmeBuffer, NvmeEngine};
pub use split::{Split, SplitBuffer};
pub use traced::Traced;
