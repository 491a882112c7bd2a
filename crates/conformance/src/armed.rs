//! Queues whose interrupts are on before the first command.

use anyhow::{Result, ensure};
use joulio_device::Device;
use joulio_nvme::PollGroup;
use joulio_nvme::wait::now;
use joulio_units::Nanos;

/// Lets a group with nothing outstanding wait once, so that its vectors are unmasked.
///
/// A queue unmasks its vector when it first blocks, and a device that is done by the first look is
/// never blocked for: without this, whether a run sees interrupts is a matter of luck.
pub(crate) fn arm<D: Device>(group: &mut PollGroup<D>) -> Result<()> {
    ensure!(group.outstanding() == 0, "there is work to wait for");
    let delivered = group.reap(1, Some(now() + Nanos::from_millis(1)), |_, _| {})?;
    ensure!(delivered == 0, "{delivered} completions of nothing");
    Ok(())
}
