//! The rules for the numbers of a device profile.

use super::{DevicePower, DeviceProfile, GarbageCollection, Lba, PowerState, Service, Tail};
use crate::catalogue::Profile;
use crate::check::FigureCheck;
use crate::range::Range;
use crate::{ProfileError, latency};

/// Smallest memory page of NVMe (CAP.MPSMIN = 0), which is the unit of MDTS.
pub(super) const PAGE_BYTES: u32 = 4096;
/// Limit of the number of servers: more than any device has queue slots, and so few that a typing error uses little
/// memory.
pub(super) const MAX_PARALLELISM: usize = 1 << 16;
/// Length in bytes of Identify Controller's field MN.
const MODEL_BYTES: usize = 40;
/// Largest value of a 16-bit zero-based entry count.
const MAX_ENTRIES: f64 = 65_536.0;
/// Largest value of a 32-bit latency field, in microseconds.
const MAX_LATENCY_US: f64 = u32::MAX as f64;
/// NVMe has power states 0 to 31.
const MAX_STATES: usize = 32;

impl Profile for DeviceProfile {
    const WHAT: &'static str = "device";
    const BUILTIN: &'static [(&'static str, &'static str)] = &[
        (
            "instant",
            include_str!("../../profiles/devices/instant.toml"),
        ),
        (
            "micron-9550-max",
            include_str!("../../profiles/devices/micron-9550-max.toml"),
        ),
        (
            "optane-900p",
            include_str!("../../profiles/devices/optane-900p.toml"),
        ),
        (
            "optane-p4800x",
            include_str!("../../profiles/devices/optane-p4800x.toml"),
        ),
        (
            "optane-p4801x",
            include_str!("../../profiles/devices/optane-p4801x.toml"),
        ),
        (
            "optane-p5800x",
            include_str!("../../profiles/devices/optane-p5800x.toml"),
        ),
        (
            "samsung-850-evo",
            include_str!("../../profiles/devices/samsung-850-evo.toml"),
        ),
        (
            "samsung-960-evo",
            include_str!("../../profiles/devices/samsung-960-evo.toml"),
        ),
        (
            "samsung-970-evo-plus",
            include_str!("../../profiles/devices/samsung-970-evo-plus.toml"),
        ),
        (
            "samsung-980-pro",
            include_str!("../../profiles/devices/samsung-980-pro.toml"),
        ),
        (
            "samsung-983-zet",
            include_str!("../../profiles/devices/samsung-983-zet.toml"),
        ),
        (
            "tipro9000",
            include_str!("../../profiles/devices/tipro9000.toml"),
        ),
        (
            "flash-gc",
            include_str!("../../profiles/devices/flash-gc.toml"),
        ),
        (
            "hdd-7200",
            include_str!("../../profiles/devices/hdd-7200.toml"),
        ),
    ];

    fn check(&self, origin: &str) -> Result<(), ProfileError> {
        let check = &FigureCheck { origin };
        check.text("name", &self.name)?;
        check.text("model", &self.model)?;
        check.rule(
            self.model.len() <= MODEL_BYTES
                && self.model.bytes().all(|b| (0x20..0x7f).contains(&b)),
            "model",
            "must be at most 40 characters of printable ASCII, as Identify's MN is",
        )?;
        check.text("description", &self.description)?;
        for part in &self.drives {
            check.text("drives", part)?;
        }
        sizes(check, self)?;
        lba(check, &self.lba, self.capacity())?;
        service(check, &self.service)?;
        power(check, &self.power)
    }
}

fn sizes(check: &FigureCheck<'_>, device: &DeviceProfile) -> Result<(), ProfileError> {
    // Above 2^53, a float cannot represent every number of bytes.
    check.whole(
        "capacity_bytes",
        &device.capacity_bytes,
        1.0,
        (1u64 << 53) as f64,
    )?;
    let transfer = &device.max_transfer_bytes;
    check.whole(
        "max_transfer_bytes",
        transfer,
        f64::from(PAGE_BYTES),
        (1u64 << 31) as f64,
    )?;
    check.rule(
        transfer.count().is_power_of_two(),
        "max_transfer_bytes",
        "must be a power of two, as MDTS is an exponent",
    )?;
    check.whole(
        "max_queue_entries",
        &device.max_queue_entries,
        2.0,
        MAX_ENTRIES,
    )?;
    check.whole(
        "max_io_queues",
        &device.max_io_queues,
        1.0,
        MAX_ENTRIES - 1.0,
    )
}

fn lba(check: &FigureCheck<'_>, lba: &Lba, capacity: u64) -> Result<(), ProfileError> {
    let sizes = &lba.sizes_bytes;
    check.text("lba.source", &lba.source)?;
    check.rule(
        !sizes.is_empty(),
        "lba.sizes_bytes",
        "is empty: give 512, 4096 or both",
    )?;
    for (i, &size) in sizes.iter().enumerate() {
        let field = format!("lba.sizes_bytes[{i}]");
        if !matches!(size, 512 | 4096) {
            return Err(check.refuse(&field, format!("must be 512 or 4096, is {size}")));
        }
        check.rule(
            !sizes[..i].contains(&size),
            &field,
            "given twice: give each size once",
        )?;
        check.rule(
            capacity.is_multiple_of(u64::from(size)),
            "capacity_bytes",
            "must be whole blocks of every size in lba.sizes_bytes",
        )?;
    }
    check.rule(
        sizes.contains(&lba.default_bytes),
        "lba.default_bytes",
        "must be one of lba.sizes_bytes",
    )
}

fn service(check: &FigureCheck<'_>, service: &Service) -> Result<(), ProfileError> {
    latency::check(check, "service.read", &service.read)?;
    latency::check(check, "service.write", &service.write)?;
    check.inside("service.flush_us", &service.flush_us, Range::SERVICE_US)?;
    // With sigma 4 the 99th percentile is already four times the mean, and the median 1/3000 of it.
    check.within("service.spread", &service.spread, 0.0, 4.0)?;
    check.within("service.floor", &service.floor, 0.0, 1.0)?;
    check.whole(
        "service.parallelism",
        &service.parallelism,
        1.0,
        MAX_PARALLELISM as f64,
    )?;
    if let Some(share) = &service.channel_share {
        check.within("service.channel_share", share, 0.0, 1.0)?;
    }
    for (field, bandwidth) in [
        ("service.read_bandwidth", &service.read_bandwidth),
        ("service.write_bandwidth", &service.write_bandwidth),
    ] {
        if let Some(bandwidth) = bandwidth {
            check.zero_or_inside(field, bandwidth, "no limit", Range::BANDWIDTH)?;
        }
    }
    if let Some(found) = &service.tail {
        tail(check, found, service)?;
    }
    if let Some(found) = &service.garbage_collection {
        garbage_collection(check, found)?;
    }
    Ok(())
}

fn tail(check: &FigureCheck<'_>, tail: &Tail, service: &Service) -> Result<(), ProfileError> {
    check.within("service.tail.probability", &tail.probability, 0.0, 1.0)?;
    check.inside("service.tail.us", &tail.us, Range::SERVICE_US)?;
    // The slow reads are part of the mean: the others must be quicker by as much, and still not fall below the
    // floor.
    let least = service.read.iter().map(|point| point.us.value);
    let above = (1.0 - service.floor.value) * least.fold(f64::INFINITY, f64::min);
    check.rule(
        tail.probability.value * tail.us.value <= above,
        "service.tail",
        "must not take more of the mean than lies above service.floor: \
         lower its probability or us",
    )
}

fn garbage_collection(
    check: &FigureCheck<'_>,
    collection: &GarbageCollection,
) -> Result<(), ProfileError> {
    // At least one byte, and at most what a float counts exactly.
    check.whole(
        "service.garbage_collection.bytes",
        &collection.bytes,
        1.0,
        (1u64 << 53) as f64,
    )?;
    check.inside(
        "service.garbage_collection.us",
        &collection.us,
        Range::SERVICE_US,
    )?;
    check.within(
        "service.garbage_collection.fraction",
        &collection.fraction,
        0.0,
        1.0,
    )
}

fn power(check: &FigureCheck<'_>, power: &DevicePower) -> Result<(), ProfileError> {
    check.inside("power.idle_watts", &power.idle_watts, Range::DEVICE_WATTS)?;
    for (field, active) in [
        ("power.read_active_watts", &power.read_active_watts),
        ("power.write_active_watts", &power.write_active_watts),
    ] {
        check.inside(field, active, Range::DEVICE_WATTS)?;
        check.rule(
            active.value >= power.idle_watts.value,
            field,
            "must not be less than power.idle_watts, which it includes",
        )?;
    }
    let states = &power.states;
    check.rule(
        (1..=MAX_STATES).contains(&states.len()),
        "power.states",
        "must be 1 to 32 states: NVMe has at least power state 0",
    )?;
    check.rule(
        states[0].operational,
        "power.states[0].operational",
        "must be true: the device starts in power state 0",
    )?;
    for (i, state) in states.iter().enumerate() {
        let field = format!("power.states[{i}]");
        power_state(check, &field, state)?;
        check.rule(
            i == 0 || state.max_power_watts.value <= states[i - 1].max_power_watts.value,
            &format!("{field}.max_power_watts"),
            "must not exceed the state before it: NVMe orders states by falling power",
        )?;
    }
    Ok(())
}

fn power_state(
    check: &FigureCheck<'_>,
    field: &str,
    state: &PowerState,
) -> Result<(), ProfileError> {
    check.inside(
        &format!("{field}.max_power_watts"),
        &state.max_power_watts,
        Range::STATE_WATTS,
    )?;
    let (entry, exit) = (&state.entry_latency_us, &state.exit_latency_us);
    check.whole(
        &format!("{field}.entry_latency_us"),
        entry,
        0.0,
        MAX_LATENCY_US,
    )?;
    check.whole(
        &format!("{field}.exit_latency_us"),
        exit,
        0.0,
        MAX_LATENCY_US,
    )?;
    for (name, watts) in [
        ("idle_watts", &state.idle_watts),
        ("active_watts", &state.active_watts),
    ] {
        if let Some(watts) = watts {
            check.inside(&format!("{field}.{name}"), watts, Range::STATE_WATTS)?;
        }
    }
    Ok(())
}
