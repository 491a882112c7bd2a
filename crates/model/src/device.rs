//! The profile of a storage device: its size, its times, its power.

mod rules;

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::catalogue::{self, Profile};
use crate::{Figure, LatencyPoint, ProfileError};

/// A storage device, as the emulator presents it and the models run it.
///
/// Fields are open so that an experiment can vary one; run [`DeviceProfile::validate`] after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceProfile {
    /// The name it is requested by.
    pub name: String,
    /// The model number that Identify Controller reports (MN, 40 bytes of printable ASCII).
    pub model: String,
    /// Sentence on what is modelled.
    pub description: String,
    /// Parts of the model names of the drives that it is a profile of, as the kernel has them; none: of
    /// no one drive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<String>,
    /// The capacity of its one namespace in bytes.
    pub capacity_bytes: Figure,
    /// Maximum number of bytes one command may transfer: a power of two of 4 KiB pages (MDTS).
    pub max_transfer_bytes: Figure,
    /// Maximum number of entries a queue may have (MQES + 1).
    pub max_queue_entries: Figure,
    /// The most I/O queue pairs it grants.
    pub max_io_queues: Figure,
    /// True if writes may be lost until flushed (VWC).
    pub volatile_write_cache: bool,
    /// The sizes a logical block may have.
    pub lba: Lba,
    /// Service times.
    pub service: Service,
    /// Power.
    pub power: DevicePower,
}

/// The sizes a logical block may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lba {
    /// The sizes it can be formatted to, in bytes: 512, 4096 or both.
    pub sizes_bytes: Vec<u32>,
    /// The one it is formatted to, in bytes.
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
    /// Sigma of the lognormal (of mean 1) that the part above the floor is multiplied by.
    pub spread: Figure,
    /// The fraction of the mean that no service time goes under, from 0 to 1.
    pub floor: Figure,
    /// Number of I/Os that the device serves at a time.
    pub parallelism: Figure,
    /// Share of its service time for which an I/O holds the server that has its data, which is a random one. Absent:
    /// the first free server serves any data, and is held for the whole time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_share: Option<Figure>,
    /// Bytes per second it can hand to the host; absent or 0 when that is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bandwidth: Option<Figure>,
    /// Bytes per second it can take from the host; absent or 0 when that is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bandwidth: Option<Figure>,
    /// The rare slow reads; absent when there are none beyond the spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// The later cost of writes; absent when the medium is written in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub garbage_collection: Option<GarbageCollection>,
}

/// Reads that take much longer than the spread explains: p99.9 and beyond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// The fraction of reads that are slow.
    pub probability: Figure,
    /// Microseconds that a slow read takes longer. The mean latencies of the profile include
    /// the slow reads.
    pub us: Figure,
}

/// Garbage collection: flash is erased before it is written again. After a number of bytes written the device stops
/// to free space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GarbageCollection {
    /// The bytes that a host writes between one burst of collection and the next.
    pub bytes: Figure,
    /// Length of a burst in microseconds.
    pub us: Figure,
    /// The fraction of the medium that a burst occupies: of the I/Os that come during one, as many
    /// wait until it is over.
    pub fraction: Figure,
}

/// Power of the device; [`crate::power::device`] explains how the three are mixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePower {
    /// Watts with no I/O in flight.
    pub idle_watts: Figure,
    /// Watts, idle included, while reads saturate it.
    pub read_active_watts: Figure,
    /// Watts, idle included, while writes saturate it.
    pub write_active_watts: Figure,
    /// The NVMe power states from 0 up, as Identify Controller reports them.
    pub states: Vec<PowerState>,
}

/// An NVMe power state: data for Identify, and for the transitions of [`crate::PowerStates`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerState {
    /// The most it draws in this state, in watts (MP).
    pub max_power_watts: Figure,
    /// True if the device does I/O in this state (the inverse of NOPS).
    pub operational: bool,
    /// Microseconds to enter it (ENLAT).
    pub entry_latency_us: Figure,
    /// Microseconds to leave it (EXLAT).
    pub exit_latency_us: Figure,
    /// Watts when idle in it (IDLP); absent when the device does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_watts: Option<Figure>,
    /// Watts when working in it (ACTP); absent when the device does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_watts: Option<Figure>,
}

impl DeviceProfile {
    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        catalogue::names::<DeviceProfile>()
    }

    /// Returns true if `name` is a built-in profile's.
    pub fn is_builtin(name: &str) -> bool {
        DeviceProfile::names().any(|known| known == name)
    }

    /// The built-in profile `name`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name.
    pub fn builtin(name: &str) -> Result<DeviceProfile, ProfileError> {
        catalogue::builtin(name)
    }

    /// The built-in profile of that name, or the one in the file if it ends in `.toml`.
    ///
    /// # Errors
    /// [`ProfileError`]: no built-in profile has the name, or the file cannot be read or is not a profile.
    pub fn load(name_or_path: &str) -> Result<DeviceProfile, ProfileError> {
        catalogue::load(name_or_path)
    }

    /// The built-in profile of a drive whose model name is `model_name`: Identify Controller's MN, or
    /// what /sys/block/DISK/device/model has of it.
    pub fn fitting(model_name: &str) -> Option<DeviceProfile> {
        let mut all = DeviceProfile::names().filter_map(|name| DeviceProfile::builtin(name).ok());
        all.find(|profile| profile.fits(model_name))
    }

    /// Returns whether the profile is of a drive whose model name is `model_name`, also that of an emulated one.
    pub fn fits(&self, model_name: &str) -> bool {
        let part_of = |part: &String| model_name.contains(part.as_str());
        model_name.trim() == self.model || self.drives.iter().any(part_of)
    }

    /// The profile in `text`; errors call it `origin`.
    ///
    /// # Errors
    /// [`ProfileError`]: the text is not a profile, or its numbers make no sense.
    pub fn parse(text: &str, origin: &str) -> Result<DeviceProfile, ProfileError> {
        catalogue::parse(text, origin)
    }

    /// Refuses numbers that make no sense; every function that loads a profile has done this.
    ///
    /// # Errors
    /// [`ProfileError`]: the first number that makes no sense.
    pub fn validate(&self) -> Result<(), ProfileError> {
        self.check(&self.name)
    }

    /// The capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity_bytes.count()
    }

    /// Maximum number of bytes one command may transfer.
    pub fn max_transfer(&self) -> u32 {
        self.max_transfer_bytes.value as u32
    }

    /// Largest transfer as a power of two of 4 KiB pages: Identify Controller's MDTS when MPSMIN is
    /// 0.
    pub fn mdts(&self) -> u8 {
        (self.max_transfer() / rules::PAGE_BYTES).max(1).ilog2() as u8
    }

    /// Number of I/Os that the device serves at a time.
    pub fn parallelism(&self) -> NonZeroUsize {
        let servers = self.service.parallelism.value as usize;
        NonZeroUsize::new(servers.min(rules::MAX_PARALLELISM)).unwrap_or(NonZeroUsize::MIN)
    }
}

impl Service {
    /// Bytes per second it can hand to the host; `None` when that is no limit.
    pub fn read_bytes_per_second(&self) -> Option<f64> {
        limit(&self.read_bandwidth)
    }

    /// Bytes per second it can take from the host; `None` when that is no limit.
    pub fn write_bytes_per_second(&self) -> Option<f64> {
        limit(&self.write_bandwidth)
    }
}

/// A bandwidth that limits: present and more than zero.
fn limit(bandwidth: &Option<Figure>) -> Option<f64> {
    bandwidth
        .as_ref()
        .map(|figure| figure.value)
        .filter(|&value| value > 0.0)
}
