//! A controller with the Identify pages of another drive behaves as they say.

use crate::error::EmulatorError;
use crate::guest::PAGE;
use crate::options::{HostMemoryDemand, Options};
use joulio_model::device::PowerState;
use joulio_model::{DeviceProfile, Figure, FigureKind};
use joulio_nvme_spec::identify::{IdentifyController, PowerStateDescriptor};
use joulio_nvme_spec::register::Cc;
use zerocopy::little_endian::U32;

/// Limit in bytes of MDTS 0: no command is longer than NLB 65536 in blocks of 4096.
const NO_LIMIT: u64 = 65_536 * 4096;

/// Returns the profile of `options`, with the limits, the cache and the power states of the page.
pub(super) fn profile(options: &Options) -> Result<DeviceProfile, EmulatorError> {
    let mut profile = options.profile.clone();
    let Some(pages) = &options.identify else {
        return Ok(profile);
    };
    let page = &pages.controller;
    check_entries("SQES", page.sqes, Cc::SQES, "entries of 64 bytes (6)")?;
    check_entries("CQES", page.cqes, Cc::CQES, "entries of 16 bytes (4)")?;
    let transfer = match page.mdts {
        mdts @ 1..16 => PAGE << mdts,
        _ => NO_LIMIT,
    };
    profile.max_transfer_bytes = figure(transfer as f64);
    profile.volatile_write_cache = page.vwc & 1 != 0;
    profile.power.states = page.power_states().iter().map(power_state).collect();
    Ok(profile)
}

/// Checks a field of entry sizes: bits 3:0 are the required size, bits 7:4 the largest, as powers of two.
fn check_entries(
    field: &'static str,
    value: u8,
    own: u8,
    required: &'static str,
) -> Result<(), EmulatorError> {
    if value == 0 || (value & 0xf..=value >> 4).contains(&own) {
        return Ok(());
    }
    Err(EmulatorError::IdentifyPage {
        field,
        value,
        required,
    })
}

/// Returns the demand for host memory: the page's, or, without a page, the one of the options.
pub(super) fn host_memory(options: &Options) -> Option<HostMemoryDemand> {
    let Some(pages) = &options.identify else {
        return options.host_memory;
    };
    let bytes = |pages: U32| u64::from(pages.get()) * PAGE;
    let demand = HostMemoryDemand {
        preferred: bytes(pages.controller.hmpre),
        minimum: bytes(pages.controller.hmmin),
    };
    (demand.preferred > 0).then_some(demand)
}

/// Returns the page, with the fields that the controller has to fill in itself.
pub(super) fn identity(page: &IdentifyController, own: &IdentifyController) -> IdentifyController {
    let mut page = *page;
    page.nn = U32::new(page.nn.get().max(own.nn.get()));
    // A file has a cache whether or not the drive has one: a host that does not know of it never flushes.
    page.vwc |= own.vwc & 1;
    if page.sn == [0; 20] {
        page.sn = own.sn;
    }
    if page.sqes == 0 {
        page.sqes = own.sqes;
    }
    if page.cqes == 0 {
        page.cqes = own.cqes;
    }
    page
}

fn power_state(descriptor: &PowerStateDescriptor) -> PowerState {
    let watts = |microwatts: u64| figure(microwatts as f64 / 1e6);
    let idle = descriptor.idle_scale().microwatts(descriptor.idlp.get());
    let active = descriptor.active_scale().microwatts(descriptor.actp.get());
    PowerState {
        max_power_watts: watts(descriptor.max_power_microwatts()),
        operational: !descriptor.power_state_flags().nops(),
        entry_latency_us: figure(descriptor.enlat.get().into()),
        exit_latency_us: figure(descriptor.exlat.get().into()),
        idle_watts: idle.map(watts),
        active_watts: active.map(watts),
    }
}

fn figure(value: f64) -> Figure {
    Figure {
        value,
        kind: FigureKind::Published,
        source: "Identify Controller".into(),
        band: None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn a_file_has_a_cache_whatever_the_drive_has() {
        let page = IdentifyController::new_zeroed();
        let mut own = page;
        assert_eq!(identity(&page, &own).vwc & 1, 0);
        own.vwc = 1;
        assert_eq!(identity(&page, &own).vwc & 1, 1);
    }
}
