//! The profile of a storage device: its sizes, its times, its power.

mod rules;

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::catalogue::{self, Profile};
use crate::{Figure, LatencyPoint, ProfileError};

/// A storage device, as the emulator emulates it and the models simulate it.
///
/// The fields are public, so that an experiment can change one; call [`DeviceProfile::validate`] afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceProfile {
    /// Name of the profile.
    pub name: String,
    /// The model number that Identify Controller reports (MN, 40 bytes of printable ASCII).
    pub model: String,
    /// Description of what is modelled, in a sentence.
    pub description: String,
    /// Parts of the model names, as the kernel reports them, of the drives that the profile describes; empty: no
    /// particular drive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<String>,
    /// Capacity of its only namespace in bytes.
    pub capacity_bytes: Figure,
    /// Largest number of bytes of one command: a power of two times 4 KiB (MDTS).
    pub max_transfer_bytes: Figure,
    /// Largest number of entries of a queue (MQES + 1).
    pub max_queue_entries: Figure,
    /// Largest number of I/O queue pairs.
    pub max_io_queues: Figure,
    /// True if writes may be lost until they are flushed (VWC).
    pub volatile_write_cache: bool,
    /// Possible sizes of a logical block.
    pub lba: Lba,
    /// Service times.
    pub service: Service,
    /// Power.
    pub power: DevicePower,
}

/// Possible sizes of a logical block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lba {
    /// Sizes in bytes to which the namespace can be formatted: 512, 4096 or both.
    pub sizes_bytes: Vec<u32>,
    /// Size in bytes to which it is formatted.
    pub default_bytes: u32,
    /// Source of the sizes.
    pub source: String,
}

/// Service times of the device; see [`crate::ServiceModel`] for their use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Mean read latency by request size.
    pub read: Vec<LatencyPoint>,
    /// Mean write latency by request size.
    pub write: Vec<LatencyPoint>,
    /// Mean latency of a flush in microseconds.
    pub flush_us: Figure,
    /// Sigma of the lognormal distribution (of mean 1) by which the part of a service time above the floor is
    /// multiplied.
    pub spread: Figure,
    /// Fraction of the mean below which no service time falls, from 0 to 1.
    pub floor: Figure,
    /// Number of I/Os that the device serves at a time.
    pub parallelism: Figure,
    /// Fraction of its service time for which an I/O holds the server that has its data, which is a random one.
    /// Absent: the first free server serves any data, and the I/O holds it for the whole time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_share: Option<Figure>,
    /// Bytes per second that the device can send to the host; absent or 0 if this is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bandwidth: Option<Figure>,
    /// Bytes per second that the device can receive from the host; absent or 0 if this is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bandwidth: Option<Figure>,
    /// Rare slow reads; absent if there are none beyond the spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// Later cost of writes; absent if the medium is written in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub garbage_collection: Option<GarbageCollection>,
}

/// Reads that take much longer than the spread explains: p99.9 and beyond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// Fraction of reads that are slow.
    pub probability: Figure,
    /// Additional microseconds of a slow read. The mean latencies of the profile include the slow reads.
    pub us: Figure,
}

/// Garbage collection: flash must be erased before it is written again. After a number of written bytes the device
/// pauses to free space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GarbageCollection {
    /// Bytes that a host writes between two bursts of collection.
    pub bytes: Figure,
    /// Length of a burst in microseconds.
    pub us: Figure,
    /// Fraction of the medium that a burst occupies: the same fraction of the I/Os that come during a burst waits
    /// until it is over.
    pub fraction: Figure,
}

/// Power of the device; [`crate::power::device`] explains how the three figures are combined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePower {
    /// Watts with no I/O in flight.
    pub idle_watts: Figure,
    /// Watts, including the idle power, while reads saturate the device.
    pub read_active_watts: Figure,
    /// Watts, including the idle power, while writes saturate the device.
    pub write_active_watts: Figure,
    /// NVMe power states from 0 on, as Identify Controller reports them.
    pub states: Vec<PowerState>,
}

/// An NVMe power state: its data for Identify Controller, and for the transitions of [`crate::PowerStates`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerState {
    /// Maximum power in this state, in watts (MP).
    pub max_power_watts: Figure,
    /// True if the device does I/O in this state (NOPS is 0).
    pub operational: bool,
    /// Microseconds to enter the state (ENLAT).
    pub entry_latency_us: Figure,
    /// Microseconds to leave the state (EXLAT).
    pub exit_latency_us: Figure,
    /// Watts in this state when idle (IDLP); absent if the device does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_watts: Option<Figure>,
    /// Watts in this state when active (ACTP); absent if the device does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_watts: Option<Figure>,
}

impl DeviceProfile {
    /// Returns the names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        catalogue::names::<DeviceProfile>()
    }

    /// Returns true if a built-in profile is called `name`.
    pub fn is_builtin(name: &str) -> bool {
        DeviceProfile::names().any(|known| known == name)
    }

    /// Returns the built-in profile `name`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name.
    pub fn builtin(name: &str) -> Result<DeviceProfile, ProfileError> {
        catalogue::builtin(name)
    }

    /// Returns the built-in profile of that name, or the one in the file if the name ends in `.toml`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name, or the file cannot be read or is not a profile.
    pub fn load(name_or_path: &str) -> Result<DeviceProfile, ProfileError> {
        catalogue::load(name_or_path)
    }

    /// Returns the built-in profile of the drive with the model name `model_name`, which is Identify Controller's
    /// MN or the part of it in /sys/block/DISK/device/model.
    pub fn fitting(model_name: &str) -> Option<DeviceProfile> {
        let mut all = DeviceProfile::names().filter_map(|name| DeviceProfile::builtin(name).ok());
        all.find(|profile| profile.fits(model_name))
    }

    /// Returns true if the profile describes a drive with the model name `model_name`, or one that is emulated from
    /// it.
    pub fn fits(&self, model_name: &str) -> bool {
        let part_of = |part: &String| model_name.contains(part.as_str());
        model_name.trim() == self.model || self.drives.iter().any(part_of)
    }

    /// Parses the profile in `text`; errors name `origin`.
    ///
    /// # Errors
    /// [`ProfileError`]: the text is not a profile, or a number is invalid.
    pub fn parse(text: &str, origin: &str) -> Result<DeviceProfile, ProfileError> {
        catalogue::parse(text, origin)
    }

    /// Checks all numbers; functions that load a profile do this.
    ///
    /// # Errors
    /// [`ProfileError`]: the first invalid number.
    pub fn validate(&self) -> Result<(), ProfileError> {
        self.check(&self.name)
    }

    /// Returns the capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity_bytes.count()
    }

    /// Returns the largest number of bytes of one command.
    pub fn max_transfer(&self) -> u32 {
        self.max_transfer_bytes.value as u32
    }

    /// Returns the largest transfer as a power of two of 4 KiB pages: Identify Controller's MDTS with MPSMIN 0.
    pub fn mdts(&self) -> u8 {
        (self.max_transfer() / rules::PAGE_BYTES).max(1).ilog2() as u8
    }

    /// Returns the number of I/Os that the device serves at a time.
    pub fn parallelism(&self) -> NonZeroUsize {
        let servers = self.service.parallelism.value as usize;
        NonZeroUsize::new(servers.min(rules::MAX_PARALLELISM)).unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns the number of I/Os in service while all servers are busy: more than servers if an I/O holds its server
    /// for only a share of its service time, and infinite if for none of it.
    pub fn saturating_ios(&self) -> f64 {
        let share = self.service.channel_share.as_ref();
        self.parallelism().get() as f64 / share.map_or(1.0, |share| share.value)
    }
}

impl Service {
    /// Returns the bytes per second that the device can send to the host; `None` if this is no limit.
    pub fn read_bytes_per_second(&self) -> Option<f64> {
        limit(&self.read_bandwidth)
    }

    /// Returns the bytes per second that the device can receive from the host; `None` if this is no limit.
    pub fn write_bytes_per_second(&self) -> Option<f64> {
        limit(&self.write_bandwidth)
    }
}

/// Returns a bandwidth that is a limit: present and not zero.
fn limit(bandwidth: &Option<Figure>) -> Option<f64> {
    bandwidth
        .as_ref()
        .map(|figure| figure.value)
        .filter(|&value| value > 0.0)
}
