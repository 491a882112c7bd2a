//! Errors of opening devices.

use joulio_emulator::EmulatorError;
use joulio_host::ControllerOpenError;
use joulio_kernel_io::DirectFileError;
use joulio_model::ProfileError;
use joulio_nvme::NvmeError;
use joulio_workload::{EngineName, JobError, ReadWrite};
use std::path::PathBuf;

/// Reason why a device, or those of a job, were not opened. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The emulated device's profile cannot be used: name another.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The emulated device's size is not valid: give a multiple of its block.
    #[error("size={size}: must be a multiple of the block of {block} bytes, and above zero")]
    Size {
        /// Bytes that were given.
        size: u64,
        /// Bytes of a block.
        block: u64,
    },
    /// The device would take more than half of the free memory: use a smaller one.
    #[error(
        "{what} of {bytes} bytes would not fit into half of the {free_mib} MiB of free memory: {remedy}"
    )]
    Memory {
        /// Name of the part that would take the memory.
        what: &'static str,
        /// Bytes that it would take.
        bytes: u64,
        /// Free memory in MiB.
        free_mib: u64,
        /// Advice to the user.
        remedy: &'static str,
    },
    /// The emulated device could not be created.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The controller could not be opened.
    #[error(transparent)]
    Controller(#[from] ControllerOpenError),
    /// The emulated controller did not become ready, or the namespace cannot be used.
    #[error(transparent)]
    Namespace(#[from] NvmeError),
    /// The block device or file is in use, or may not be opened.
    #[error(transparent)]
    Kernel(#[from] DirectFileError),
    /// The job does not fit the devices: change the flag that it names.
    #[error(transparent)]
    Job(#[from] JobError),
    /// An engine for block devices on a controller that joulio drives.
    #[error(
        "--engine {engine} on {name}: {engine} takes a block device or a file: --device /dev/nvme0n1"
    )]
    NeedsBlockDevice {
        /// The engine.
        engine: EngineName,
        /// The device's name.
        name: String,
    },
    /// An engine with a user-space driver on a block device or file.
    #[error(
        "--engine {engine} on {}: a user-space driver takes the controller: joulio bind, then --device pcie:ADDRESS",
        path.display()
    )]
    NeedsController {
        /// The engine.
        engine: EngineName,
        /// The block device or file.
        path: PathBuf,
    },
    /// A job that writes on a file without write permission.
    #[error("--rw={rw} on {name}: {} cannot be written to: choose an --rw that only reads, or another file", file.display())]
    ReadOnly {
        /// The job's pattern.
        rw: ReadWrite,
        /// The device's name.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// Data would be lost, and the user has not allowed it.
    #[error("--rw={rw} on {name}: the data there would be lost: add --allow-write if it may be")]
    WouldLoseData {
        /// The job's pattern.
        rw: ReadWrite,
        /// The device's name.
        name: String,
    },
    /// Faults were requested for a device that is not emulated in this process.
    #[error("--faults on {0}: only an emulated device injects faults")]
    NoFaults(String),
}

impl OpenError {
    /// Returns true if the device itself failed or is not present: it may have been, and may be again.
    pub fn is_lost(&self) -> bool {
        matches!(
            self,
            OpenError::Controller(_) | OpenError::Namespace(_) | OpenError::Kernel(_)
        )
    }
}
