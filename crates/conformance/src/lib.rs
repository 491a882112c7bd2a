//! Claims about the driver that hold on every back end, in every completion mode.
//!
//! Each claim is a function of a [`Bench`]: an open controller, and a namespace whose data may be overwritten. The
//! same claims run on the emulator in this process (`tests/claims`) and, through the command `joulio-conformance`,
//! on a real controller in a guest. Claims check counters and contents, never times.
#![forbid(unsafe_code)]

mod awaited;
mod claims;
mod content;
mod endure;
mod line;
mod mixed;
mod modes;
mod turns;

pub use claims::{Claim, STAMPS, claims};
pub use content::{Content, stamp_lba};
pub use endure::{Endured, endure};
pub use line::one_line;
pub use mixed::mixed;
pub use modes::Modes;

use anyhow::Result;
use joulio_device::Device;
use joulio_nvme::{Controller, Namespace};

/// I/Os of a mixed run, by default.
pub const IOS: u64 = 10_000;

/// Controller on which claims are tested.
pub struct Bench<D: Device> {
    /// The open controller.
    pub controller: Controller<D>,
    /// Namespace whose data may be overwritten.
    pub namespace: Namespace,
    /// Seed of all random numbers; failures print it.
    pub seed: u64,
    /// I/Os of a mixed run; the other claims use a fraction of this number.
    pub ios: u64,
}

impl<D: Device> Bench<D> {
    /// Returns a bench on namespace `nsid` of `controller`, with mixed runs of [`IOS`] I/Os.
    pub fn new(controller: Controller<D>, nsid: u32, seed: u64) -> Result<Bench<D>> {
        let namespace = controller.namespace(nsid)?;
        Ok(Bench {
            controller,
            namespace,
            seed,
            ios: IOS,
        })
    }

    /// Changes the number of I/Os of a mixed run to `ios`.
    pub fn with_ios(self, ios: u64) -> Bench<D> {
        Bench { ios, ..self }
    }
}
